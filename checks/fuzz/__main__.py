"""Look for inputs that break a promise: `uv run nox -s fuzz -- [--minutes 120] [-- -k streams]`.

Without `--minutes` a few cases of each property are tried, and of what needs processes only the three servers of agents; with it hundreds of
cases of all properties, again and again, each time others. Recordings beside those of the tests are taken from the folders in `FUZZ_RECORDINGS`,
with a colon between them.

Exits with 1 where something was found, and with 2 where a round could not be run.
"""

import argparse
import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime
from itertools import count
from pathlib import Path


_FOLDER = Path(__file__).parent
# The members' own tests have peers that serve here, too.
_PATHS = [
    *(".", "../../packages/gpt5-responses/tests", "../../plugins/gpt5_agent_strategies/tests"),
    "../../tools/testing",
]
# Python itself ends with 1 where it cannot import pytest, as pytest does where tests fail.
_PYTEST = "import sys, pytest; sys.exit(100 + pytest.main())"
_PASSED, _FAILED = 100, 101
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
        sys.exit(0 if _try_round(["-m", "not long", *options.rest], stdout=None) else 1)
    started = time.monotonic()
    findings = 0
    for seed in count(options.seed):
        is_clean = _try_round(
            ["--hypothesis-profile=long", f"--hypothesis-seed={seed}", *options.rest]
        )
        findings += not is_clean
        minutes = (time.monotonic() - started) / 60
        _tell(f"seed {seed}: {'nothing' if is_clean else 'FOUND'}; {minutes:.1f} minutes so far")
        if minutes >= options.minutes:
            break
    sys.exit(f"{findings} rounds found something" if findings else 0)


def _try_round(options: list[str], stdout: int | None = subprocess.PIPE) -> bool:
    """Try cases of every property and return whether all held."""
    paths = shlex.join(str(_FOLDER / path) for path in _PATHS)
    always = ["--import-mode=importlib", "-o", f"pythonpath={paths}", "-p", "no:cacheprovider"]
    always += ["-W", "ignore::hypothesis.errors.HypothesisWarning"]  # of what is long to write down
    command = [sys.executable, "-c", _PYTEST, *always, "--tb=short", "-q", str(_FOLDER), *options]
    done = subprocess.run(command, stdout=stdout, text=True, check=False)
    if done.returncode != _PASSED and done.stdout:
        _tell("\n".join(line[:_SHOWN_CHARACTERS] for line in done.stdout.splitlines()))
    if done.returncode not in (_PASSED, _FAILED):
        _tell("the round could not be run")
        sys.exit(2)
    return done.returncode == _PASSED


def _tell(text: str) -> None:
    print(f"{datetime.now(tz=UTC):%H:%M:%S} {text}", flush=True)  # noqa: T201 - the result


if __name__ == "__main__":
    main()
