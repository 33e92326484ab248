"""The commands `dify-host runs` and `dify-host view`: logged runs as a table and on a page."""

import asyncio
import contextlib
import functools
import sys
import webbrowser
from collections.abc import Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from rich.console import Console
from rich.table import Table

from dify_plugin_host._errors import PluginHostError, UnknownNameError
from dify_plugin_host._platform.recorded import RecordedAnswers
from dify_plugin_packager.json_access import JsonObject, object_at
from run_log import RunFile, RunLogError, RunSummary, list_runs

from .chat import RUN_LOG, answer_again
from .options import ChatOptions


if TYPE_CHECKING:  # Listing runs does not need the server, which is slow to import.
    from run_log.view import RunAgain, ViewServer

_DEFAULT_FOLDER: Final = Path("runs")


class RunFolderError(PluginHostError):
    """A folder of runs that cannot be read, or has no such run."""


def find_folder(given: Path | None, environment: Mapping[str, str]) -> Path:
    """Return the folder of the runs: `given`, else the environment's, else `runs`."""
    named = environment.get(RUN_LOG, "").strip()
    return given or (Path(named) if named else _DEFAULT_FOLDER)


def show_runs(folder: Path, out: TextIO) -> None:
    """Print a table of the runs of a folder, the newest first.

    Raises:
        RunFolderError: If there is no such folder.
    """
    table = Table(box=None, pad_edge=False)
    for name in ("run", "began", "stopped", "model"):
        # A name stays in one piece, to be copied.
        table.add_column(name, no_wrap=name == "run")
    for name in ("rounds", "seconds", "tokens", "cost"):
        table.add_column(name, justify="right")
    for summary in _list(folder):
        table.add_row(*_describe(summary))
    # For a pipe rich would take 80 columns, which is too narrow for the table.
    console = Console(file=out, width=None if out.isatty() else 160, markup=False, highlight=False)
    console.print(table)


def _describe(summary: RunSummary) -> tuple[str, ...]:
    end: Mapping[str, Any] = summary.end or {}
    usage = object_at(dict(end), "usage")
    problem = summary.error or next(map(str, summary.problems), "")
    cost = f"{float(usage['total_price']):.4f}" if usage.get("total_price") else ""
    return (
        summary.path.stem,
        summary.time[:19].replace("T", " "),
        problem or str(end.get("reason", "still running, or broken off")),
        str(summary.about.get("model") or ""),
        str(end.get("rounds", "")),
        f"{end['t']:.1f}" if end else "",
        str(usage.get("total_tokens", "")),
        cost and f"{cost} {usage.get('currency') or ''}".strip(),
    )


def find_name(folder: Path, wanted: str | None) -> str | None:
    """Return the full name of a run by its name or by a unique part of it.

    Raises:
        UnknownNameError: If there is none, or more than one.
        RunFolderError: If there is no such folder.
    """
    if wanted is None:
        return None
    names = [summary.path.stem for summary in _list(folder)]
    found = [name for name in names if wanted in name]
    # A full name wins, even if other names contain it.
    if wanted in names:
        return wanted
    if len(found) != 1:
        raise UnknownNameError("run", wanted, tuple(found or names)[:10])
    return found[0]


def view_runs(
    folder: Path, run: str | None, *, options: ChatOptions, port: int, opens: bool
) -> None:
    """Show the runs on a page until interrupted.

    Raises:
        RunFolderError: If the port is not free.
    """
    with _server(folder, options, port) as server:
        _announce(server.url(run), opens=opens)
        server.run()


@contextlib.contextmanager
def shown_live(options: ChatOptions) -> Generator[None]:
    """Show the run that begins now, and keep the page afterwards until interrupted.

    Raises:
        RunFolderError: If no port is free.
    """
    folder = options.run_log or _DEFAULT_FOLDER
    with _server(folder, options, 0) as server, server:
        _announce(server.url(waits=True), opens=True)
        yield
        Console(stderr=True, highlight=False).print("the page stays until Ctrl-C")
        server.wait()


@contextlib.contextmanager
def _server(folder: Path, options: ChatOptions, port: int) -> Generator["ViewServer"]:
    from run_log.view import ViewServer  # noqa: PLC0415 - only a page needs the server

    again = functools.partial(_run_again, replace(options, run_log=folder))
    try:
        server = ViewServer(folder, port=port, again=again)
    except OSError as error:
        raise RunFolderError(f"--port {port}: {error.strerror}") from None
    yield server


def _announce(address: str, *, opens: bool) -> None:
    print(address, file=sys.stderr, flush=True)  # noqa: T201 - stdout is for the answer
    if opens and sys.stdin.isatty() and sys.stderr.isatty():
        webbrowser.open(address)


def _list(folder: Path) -> list[RunSummary]:
    try:
        return list_runs(folder)
    except RunLogError as error:
        raise RunFolderError(str(error)) from None


def _run_again(options: ChatOptions, wanted: "RunAgain") -> None:
    """Run a logged run again, with this machine's plugins, and the simulator or the server that the environment names.

    Args:
        options: The plugins and the tools; everything else comes from the run.
        wanted: The run, and the changes to it.

    Raises:
        PluginHostError: If the run fails, or cannot be run again.
    """
    about, history = _read_beginning(wanted.path)
    options = replace(
        options,
        question=str(about["query"]),
        strategy=options.strategy or about.get("strategy"),
        model=wanted.model or about.get("model"),
        effort=about.get("effort"),
        instruction=str(about.get("instruction") or "")
        if wanted.instruction is None
        else wanted.instruction,
        max_iterations=about.get("maximum_iterations"),
        file=None,
    )
    recorded = RecordedAnswers(wanted.path, rounds=wanted.round - 1)
    controls = object_at(about, "parameters")
    again = {"again": wanted.about}
    asyncio.run(answer_again(options, history, recorded, controls=controls, about=again))


def _read_beginning(path: Path) -> tuple[JsonObject, list[JsonObject]]:
    """Return the facts in a run's first record, and the turns before its question.

    Raises:
        RunFolderError: If they are not enough to run it again.
    """
    file = RunFile(path)
    starts = (one["about"] for one in file.iter_records() if one["type"] == "start")
    about: JsonObject = file.expand(next(starts, None)) or {}
    first = next(iter(file.iter_requests()), None)
    if not isinstance(about.get("query"), str) or first is None:
        raise RunFolderError(
            "only runs of the agent strategies record what is needed to repeat them"
        )
    messages: list[JsonObject] = first.messages
    if not isinstance(messages[-1].get("content"), str):
        raise RunFolderError("a run whose question came with files cannot be run again from here")
    # The run gets its instruction from the options.
    return about, [one for one in messages[:-1] if one.get("role") not in {"system", "developer"}]
