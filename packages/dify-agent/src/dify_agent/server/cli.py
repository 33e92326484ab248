"""The command `dify-agent`."""

import errno
import socket
from typing import Annotated, Final, NoReturn

import typer
import uvicorn
from pydantic import ValidationError
from starlette.applications import Starlette

from ._errors import StorageError
from .app import build_app
from .settings import ServerSettings


_BAD_USAGE: Final = 2
# What pydantic says of a number, in our words; everything else the settings say themselves.
_EXPECTED: Final = {
    "int_parsing": "expected a whole number",
    "int_parsing_size": "expected a whole number with fewer digits",
    "float_parsing": "expected a number",
    "greater_than": "expected more than {gt}",
    "greater_than_equal": "expected at least {ge}",
    "less_than_equal": "expected at most {le}",
}
_SHUTDOWN_SECONDS = 5  # Streams end by themselves; this is for clients that do not read.

app = typer.Typer(
    help="Run agents with the models and tools of Dify plugins.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _name_commands() -> None:
    """Run agents with the models and tools of Dify plugins."""


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; overrides DIFY_AGENT_HOST.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; overrides DIFY_AGENT_PORT.")
    ] = None,
) -> None:
    """Serve agent runs over HTTP. The other settings are environment variables whose names begin with DIFY_AGENT_."""
    settings = _read_settings(host=host, port=port)
    try:
        application = build_app(settings)
    except StorageError as error:
        _refuse(str(error))
    _listen(application, settings)


def _read_settings(**options: object) -> ServerSettings:
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return ServerSettings.model_validate(given)
    except ValidationError as error:
        problems: list[str] = []
        for problem in error.errors(include_url=False, include_input=False):
            field = str(problem["loc"][0])
            name = f"--{field}" if field in given else f"DIFY_AGENT_{field.upper()}"
            own = problem["msg"].removeprefix("Value error, ")
            words = _EXPECTED.get(problem["type"])
            expected = words.format(**problem.get("ctx", {})) if words else own
            problems.append(f"{name}: {expected}")
        _refuse(*problems)


def _listen(application: Starlette, settings: ServerSettings) -> None:
    config = uvicorn.Config(
        application,
        host=settings.host,
        port=settings.port,
        log_level="warning",
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    listener = _bind(settings.host, settings.port)
    address, port = listener.getsockname()[:2]
    typer.echo(f"dify-agent listens on http://{_to_url_host(address)}:{port}")
    uvicorn.Server(config).run(sockets=[listener])


def _bind(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            _refuse(f"{host}:{port}: expected a port that no other program listens on")
        _refuse(
            f"{host}:{port}: expected an address of this machine and a port that may be listened on"
        )
    return listener


def _refuse(*problems: str) -> NoReturn:
    for problem in problems:
        typer.echo(f"dify-agent: {problem}", err=True)
    raise typer.Exit(_BAD_USAGE) from None


def _to_url_host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def main() -> None:
    """Run the command."""
    app()
