"""The command `run-view`.

Exit codes: 0 stopped, 2 bad usage.
"""

import argparse
import importlib.metadata
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from run_log import find_run

from ._server import ViewServer


_LAST_PORT: Final = 65_535


def main(arguments: Sequence[str] | None = None) -> None:
    """Show the runs of a folder, or one run, in a browser."""
    parser = argparse.ArgumentParser(
        prog="run-view",
        description="Show the run logs of a folder on a local page. The address has a key: anybody who knows it can read the logs.",
    )
    version = importlib.metadata.version("gpt5-run-log")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}")
    parser.add_argument("folder", type=Path, help="the folder of the logs, or the file of one run")
    parser.add_argument(
        "--port", type=_read_port, default=0, help="the port; by default a free one"
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    options = parser.parse_args(arguments)
    folder, run = options.folder, None
    if folder.is_file():
        folder, run = folder.parent, folder.stem
        if find_run(folder, run) is None:
            parser.error(
                f"{options.folder}: expected a name such as run-20261123T010000Z-0123456789ab.jsonl"
            )
    elif not folder.is_dir():
        parser.error(f"{folder}: expected a folder")
    try:
        server = ViewServer(folder, port=options.port)
    except OSError as error:
        parser.error(f"port {options.port}: {error.strerror}")
    address = server.url(run)
    print(address, flush=True)  # noqa: T201 - it is what the command is for
    if options.open:
        webbrowser.open(address)
    try:
        server.run()
    except KeyboardInterrupt:
        sys.exit(0)


def _read_port(text: str) -> int:
    if not text.isdecimal() or int(text) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"expected a port, from 0 to {_LAST_PORT}, got {text!r}")
    return int(text)
