"""Run deptry in each folder, in one process: `python -P run_deptry.py NAMES FOLDER...`, where NAMES says which package has which module.

Nearly all that it takes for a package is to start and to import itself.
"""

import sys
from contextlib import chdir

from deptry.cli import cli


def main(names: str, *folders: str) -> bool:
    """Print what is wrong in each folder, and return whether anything is."""
    is_wrong = False
    for folder in folders:
        with chdir(folder):
            try:
                cli(["--package-module-name-map", names, "src"])
            except SystemExit as end:
                is_wrong |= bool(end.code)
    return is_wrong


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
