"""The command `agent-runner`."""

import asyncio
import sys
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ._environment import read_production_env
from ._errors import InputError, InputProblem, RunnerError
from ._json import parse_json
from ._result import RunResult
from ._runner import AgentRunner
from ._signals import cancelled_by_signals
from ._template import create_agent
from ._view import Show, show_json, show_text


_FAILED = 1
_BAD_USAGE = 2
_TIMED_OUT = 124  # as `timeout` of the GNU coreutils says it
_INTERRUPTED = 130

_FOLDER = typer.Argument(help="Folder of the agent, with its main.py.")
_INPUT = typer.Option(help="The input, a JSON object. Without it the input is read from stdin.")
_PRODUCTION_ENV = typer.Option(
    help="NAME=VALUE or a file in .env form; wins over the agent's .env; repeatable."
)
_PASS_ENV = typer.Option(help="Variable of this environment that the script may see; repeatable.")
_MODEL = typer.Option(help="OPENAI_DEFAULT_MODEL where the agent's .env sets none.")
_TIMEOUT = typer.Option(help="Seconds that the run may take.", min=0.001)
_CLIENT_REQUEST_ID = typer.Option(help="Your own id for the run, handed to the script.")
_JSON = typer.Option("--json", help="Print each output, and at last the result, as a line of JSON.")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)


@app.command()
def run(  # noqa: PLR0913  a command's options are its parameters
    folder: Annotated[Path, _FOLDER],
    *,
    input: Annotated[str | None, _INPUT] = None,  # noqa: A002 - the word of the contract
    production_env: Annotated[list[str] | None, _PRODUCTION_ENV] = None,
    pass_env: Annotated[list[str] | None, _PASS_ENV] = None,
    model: Annotated[str | None, _MODEL] = None,
    timeout: Annotated[float, _TIMEOUT] = 600.0,
    client_request_id: Annotated[str | None, _CLIENT_REQUEST_ID] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Run an agent and print what it says as it says it.

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
        show = show_json if as_json else show_text
        result = asyncio.run(_run(runner, folder, fields, client_request_id, show))
    except RunnerError as error:
        raise _refused(error) from error
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise typer.Exit(_INTERRUPTED) from None
    raise typer.Exit(_exit_code(result))


@app.command()
def new(folder: Annotated[Path, typer.Argument(help="Folder to lay out, new or empty.")]) -> None:
    """Lay out a working agent."""
    try:
        paths = create_agent(folder)
    except RunnerError as error:
        raise _refused(error) from error
    for path in paths:
        typer.echo(path)


def main() -> None:
    """Run the command."""
    app()


async def _run(
    runner: AgentRunner,
    folder: Path,
    fields: Mapping[str, Any],
    client_request_id: str | None,
    show: Show,
) -> RunResult | None:
    last = None
    with cancelled_by_signals():
        async with aclosing(
            runner.run(folder, fields, client_request_id=client_request_id)
        ) as outputs:
            async for last in outputs:
                show(last)
    return last if isinstance(last, RunResult) else None


def _read_input(text: str | None) -> Mapping[str, Any]:
    if text is None and sys.stdin.isatty():
        raise InputError(InputProblem(field="input", message="expected --input or JSON on stdin"))
    try:
        value = parse_json(sys.stdin.buffer.read().decode("utf-8-sig") if text is None else text)
    except ValueError:
        raise InputError(InputProblem(field="input", message="expected JSON in UTF-8")) from None
    if not isinstance(value, dict):
        raise InputError(InputProblem(field="input", message="expected a JSON object"))
    return cast("dict[str, Any]", value)


def _exit_code(result: RunResult | None) -> int:
    match result:
        case RunResult(status="succeeded"):
            return 0
        case RunResult(stop_reason="timed_out"):
            return _TIMED_OUT
        case _:
            return _FAILED


def _refused(error: RunnerError) -> typer.Exit:
    typer.echo(f"agent-runner: {error}", err=True)
    return typer.Exit(_BAD_USAGE)
