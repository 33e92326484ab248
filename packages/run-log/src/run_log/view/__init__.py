"""The page of runs: a local server that shows the logs of a folder. It needs the extra `gpt5-run-log[view]`."""

from ._app import Again, RunAgain, create_app, create_pages
from ._cli import main
from ._files import HEADERS, answer_file
from ._fixture import write_fixture
from ._search import Hit, search_run, search_runs
from ._server import ViewServer


__all__ = [
    "HEADERS",
    "Again",
    "Hit",
    "RunAgain",
    "ViewServer",
    "answer_file",
    "create_app",
    "create_pages",
    "main",
    "search_run",
    "search_runs",
    "write_fixture",
]
