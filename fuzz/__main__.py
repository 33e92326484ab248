"""Look for inputs that break a promise: `python -m fuzz [--minutes 120] [-- -k streams]`.

Without `--minutes` a few cases of each property are tried, without processes; with it hundreds of all properties, again and again, each
time with other cases. Recordings beside those of the tests are taken from the folders in `FUZZ_RECORDINGS`, with a colon between them.
"""

import argparse
import subprocess
import sys
import time
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest


_FOLDER = Path(__file__).parent
# The members' own tests have peers that serve here, too.
_PATHS = [".", "../packages/gpt5-responses/tests", "../plugins/gpt5_agent_strategies/tests"]
_SHOWN_CHARACTERS = 300  # of a line; what is drawn may be long


def main() -> None:
    """Run rounds until the time is over; print each finding with the seed that brings it back."""
    parser = argparse.ArgumentParser(
        prog="fuzz", description="Look for inputs that break a promise."
    )
    parser.add_argument("--minutes", type=float, help="how long; a short round without it")
    parser.add_argument("--seed", type=int, default=1, help="of the first round, 1 by default")
    parser.add_argument("rest", nargs="*", metavar="-- ...", help="what pytest is to be told")
    options = parser.parse_args()
    if options.minutes is None:
        sys.exit(_run(["-m", "not long", *options.rest]).returncode)
    started = time.monotonic()
    findings = 0
    for seed in count(options.seed):
        is_clean = _try_round(seed, options.rest)
        findings += not is_clean
        minutes = (time.monotonic() - started) / 60
        _tell(f"seed {seed}: {'nothing' if is_clean else 'FOUND'}; {minutes:.1f} minutes so far")
        if minutes >= options.minutes:
            break
    sys.exit(f"{findings} rounds found something" if findings else 0)


def _try_round(seed: int, rest: list[str]) -> bool:
    """Try hundreds of cases of every property and return whether all held."""
    options = ["--hypothesis-profile=long", f"--hypothesis-seed={seed}", *rest]
    done = _run(options, stdout=subprocess.PIPE)
    if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.exit(f"pytest could not be run:\n{done.stdout}")
    if done.returncode:
        _tell("\n".join(line[:_SHOWN_CHARACTERS] for line in done.stdout.splitlines()))
    return done.returncode == 0


def _run(options: list[str], stdout: int | None = None) -> subprocess.CompletedProcess[str]:
    paths = " ".join(str(_FOLDER / path) for path in _PATHS)
    always = ["--import-mode=importlib", "-o", f"pythonpath={paths}", "-p", "no:cacheprovider"]
    always += ["-W", "ignore::hypothesis.errors.HypothesisWarning"]  # of what is long to write down
    command = [sys.executable, "-m", "pytest", *always, "--tb=short", "-q", str(_FOLDER), *options]
    return subprocess.run(command, stdout=stdout, text=True, check=False)


def _tell(text: str) -> None:
    print(f"{datetime.now(tz=UTC):%H:%M:%S} {text}", flush=True)  # noqa: T201 - the result


if __name__ == "__main__":
    main()
