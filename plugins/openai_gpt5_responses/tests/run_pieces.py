"""Run pieces of Python, each in a fork of this process; started by `inside_plugin.py`.

Reads a JSON object with `code`, `environment` and `output` from each line of stdin, and writes the exit code to stdout.
"""

# ruff: noqa: E402  the plugin is imported as the daemon has it: first, and writing where nobody takes it for an answer

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any


_ANSWERS = os.dup(1)
os.dup2(2, 1)

import main  # noqa: F401


IMPORTED = frozenset(sys.modules)  # by the plugin alone

# For the pieces, which have it at once then.
import gpt5_simulator  # noqa: F401


_MOST_SECONDS = 120


def run_pieces() -> None:
    # Not `sys.stdin`, which the SDK has replaced: nothing of gevent must be at work while this process forks.
    with os.fdopen(os.dup(0), encoding="utf-8") as lines:
        for line in lines:
            child = os.fork()
            if child == 0:
                _run(json.loads(line))
            _, status = os.waitpid(child, 0)
            os.write(_ANSWERS, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _run(piece: dict[str, Any]) -> None:
    signal.alarm(_MOST_SECONDS)
    os.environ.update(piece["environment"])
    exit_code = 0
    with Path(piece["output"]).open("w", encoding="utf-8") as output:
        sys.stdout = sys.stderr = output
        try:
            exec(piece["code"], {"__name__": "piece"})
        except BaseException:  # noqa: BLE001  whatever a piece raises is its result
            traceback.print_exc()
            exit_code = 1
    os._exit(exit_code)


if __name__ == "__main__":
    run_pieces()
