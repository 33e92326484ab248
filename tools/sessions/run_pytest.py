"""Run pytest as its own command does, but look for garbage only among what the tests make: `python -P run_pytest.py ARGUMENTS`.

What is imported and collected before stays to the end, and to look through it again and again takes a tenth of the CPU of most sessions.
"""

import gc
import sys


gc.disable()

import pytest  # noqa: E402 - now that nobody looks for garbage


class _Freezing:
    @staticmethod
    def pytest_collection_finish() -> None:
        """Leave all that there is so far out of account."""
        gc.freeze()
        gc.enable()


if __name__ == "__main__":
    sys.exit(pytest.main(plugins=[_Freezing()]))
