"""The command `agent-runner`."""

import asyncio
import importlib.metadata
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from agent_runner._agent.environment import read_production_env
from agent_runner._agent.files import MAX_BYTES
from agent_runner._errors import (
    ConfigurationError,
    InputError,
    InputProblem,
    RunnerError,
    refusing_os_errors,
)
from agent_runner._output.outputs import Output
from agent_runner._run.result import RunResult
from agent_runner._run.runner import AgentRunner
from stream_text import InvalidJsonError, is_object, parse_json
from stream_text.signals import cancelled_by_signals

from .view import Progress, Show, print_text, show_json, show_text


_FAILED = 1
_BAD_USAGE = 2
_TIMED_OUT = 124  # As `timeout` of the GNU coreutils.
_INTERRUPTED = 130
_TEMPLATE_SUFFIX = ".txt"  # So that no tool takes the template for code of this package.

_FOLDER = typer.Argument(help="Folder of the agent, with its main.py.")
_INPUT = typer.Option(help="The input, a JSON object. Without it the input is read from stdin.")
_FILE = typer.Option(
    help="A file for the script, which gets its path in the field files of its input. Repeatable."
)
_PRODUCTION_ENV = typer.Option(
    help="NAME=VALUE or a file in .env form; overrides the agent's .env. Repeatable."
)
_PASS_ENV = typer.Option(
    help="Variable of this environment that the script may see; one that is not set is not passed. Repeatable."
)
_MODEL = typer.Option(help="Value of OPENAI_DEFAULT_MODEL if the agent's .env sets none.")
_TIMEOUT = typer.Option(help="Seconds that the run may take.", min=0.001)
_CLIENT_REQUEST_ID = typer.Option(help="Your own id for the run, which the script gets.")
_JSON = typer.Option("--json", help="Print each output, and finally the result, as a line of JSON.")
_SAVE_IMAGES = typer.Option(help="Folder to save images to; without --json.")

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _show_version(is_asked: bool) -> None:  # noqa: FBT001 - so a callback gets its value
    if is_asked:
        typer.echo(f"agent-runner {importlib.metadata.version('gpt5-agent-runner')}")
        raise typer.Exit


_VERSION = typer.Option(
    "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
)


@app.callback()
def _take_version(*, _version: Annotated[bool, _VERSION] = False) -> None:
    """Run agent scripts: JSON in, typed outputs out, from a terminal or over HTTP."""


@app.command()
def run(  # noqa: PLR0913  a command's options are its parameters
    folder: Annotated[Path, _FOLDER],
    *,
    input: Annotated[str | None, _INPUT] = None,  # noqa: A002 - the word of the contract
    file: Annotated[list[Path] | None, _FILE] = None,
    production_env: Annotated[list[str] | None, _PRODUCTION_ENV] = None,
    pass_env: Annotated[list[str] | None, _PASS_ENV] = None,
    model: Annotated[str | None, _MODEL] = None,
    timeout: Annotated[float, _TIMEOUT] = 600.0,
    client_request_id: Annotated[str | None, _CLIENT_REQUEST_ID] = None,
    as_json: Annotated[bool, _JSON] = False,
    save_images: Annotated[Path | None, _SAVE_IMAGES] = None,
) -> None:
    """Run an agent and print its outputs as they come.

    Exit code: 0 succeeded, 1 failed, 2 the input or the agent's setup is wrong, 124 timed out.
    """
    try:
        runner = AgentRunner(
            default_model=model,
            production_env=read_production_env(production_env or ()),
            pass_env=pass_env or (),
            timeout_seconds=timeout,
        )
        fields = _read_input(input)
        files = _read_files(file or ())
        outputs = runner.run(folder, fields, client_request_id=client_request_id, files=files)
        if as_json:
            result = asyncio.run(_show_all(outputs, show_json))
        else:
            result = asyncio.run(_show_live(outputs, partial(show_text, save_images=save_images)))
    except RunnerError as error:
        raise _refused(error) from error
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise typer.Exit(_INTERRUPTED) from None
    raise typer.Exit(_exit_code(result))


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(help="Folder for the agent, new or empty.")],
) -> None:
    """Create a working agent to start from."""
    try:
        paths = _create_agent(folder)
    except RunnerError as error:
        raise _refused(error) from error
    for path in paths:
        typer.echo(path)


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def serve(context: typer.Context) -> None:
    """Serve agents over HTTP, with a queue that outlives the server; see `serve --help`."""
    try:
        # It takes a second to load, and needs the extra `server`.
        from agent_runner.server.command import app as server  # noqa: PLC0415
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        problem = f"expected {package} to be installed; it comes with the extra 'server': gpt5-agent-runner[server]"
        raise _refused(ConfigurationError("serve", problem)) from error
    server(args=context.args, prog_name=context.command_path)


def main() -> None:
    """Run the command."""
    app()


def _create_agent(folder: Path) -> list[Path]:
    """Create a working agent in a new or empty folder, and return its files.

    Raises:
        ConfigurationError: If the folder is not empty, or cannot be written.
    """
    created: list[Path] = []
    with refusing_os_errors(folder, "expected a folder to write to"):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ConfigurationError(str(folder), "expected a folder that is new or empty")
        for entry in sorted(files(__package__).joinpath("template").iterdir(), key=str):
            path = folder / entry.name.removesuffix(_TEMPLATE_SUFFIX)
            path.write_bytes(entry.read_bytes())
            created.append(path)
    return created


async def _show_all(outputs: AsyncGenerator[Output | RunResult], show: Show) -> RunResult | None:
    # The result comes last, unless a signal ends the run before.
    last = None
    with cancelled_by_signals():
        async with aclosing(outputs):
            async for last in outputs:
                show(last)
    return last if isinstance(last, RunResult) else None


async def _show_live(outputs: AsyncGenerator[Output | RunResult], show: Show) -> RunResult | None:
    """Show all outputs above a progress line."""
    progress = Progress()

    def show_above(output: Output | RunResult) -> None:
        progress.erase()
        show(output)
        progress.count(output)

    async with progress.running():
        return await _show_all(outputs, show_above)


def _read_input(text: str | None) -> Mapping[str, Any]:
    try:
        value = parse_json(_read_stdin() if text is None else text)
    except InvalidJsonError as error:
        raise _bad_input(f"expected JSON: {error}") from None
    if not is_object(value):
        raise _bad_input("expected a JSON object")
    return value


def _read_files(paths: Sequence[Path]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for path in paths:
        field = f"--file {path}"
        if path.name in files:
            raise _bad_input("expected another name than that of a file before it", field)
        try:
            # Not read at all if too large: it may not fit into memory.
            too_large = path.stat().st_size > MAX_BYTES
            files[path.name] = b"" if too_large else path.read_bytes()
        except OSError as error:
            raise _bad_input(f"expected a file that can be read: {error.strerror}", field) from None
        if too_large:
            raise _bad_input(f"expected at most {MAX_BYTES} bytes", field)
    return files


def _read_stdin() -> str:
    data = b""
    if sys.stdin is not None and not sys.stdin.isatty():  # None if it was closed.
        data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _bad_input("expected JSON in UTF-8") from None
    if not text.strip():
        raise _bad_input("expected --input or JSON on stdin")
    return text


def _bad_input(message: str, field: str = "input") -> InputError:
    return InputError(InputProblem(field=field, message=message))


def _exit_code(result: RunResult | None) -> int:
    match result:
        case RunResult(status="succeeded"):
            return 0
        case RunResult(stop_reason="timed_out"):
            return _TIMED_OUT
        case _:
            return _FAILED


def _refused(error: RunnerError) -> typer.Exit:
    print_text(f"agent-runner: {error}", err=True)  # It may quote a field's name, so it is escaped.
    return typer.Exit(_BAD_USAGE)
