"""The command `dify-agent`."""

from typing import Annotated

import typer
import uvicorn
from pydantic import ValidationError
from starlette.applications import Starlette

from ._errors import StorageError
from .app import build_app
from .settings import ServerSettings


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
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    _listen(application, settings)


def _read_settings(**options: object) -> ServerSettings:
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return ServerSettings.model_validate(given)
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_context=False, include_input=False):
            field = "_".join(("DIFY_AGENT", *map(str, problem["loc"]))).upper()
            message = problem["msg"].removeprefix("Value error, ")
            typer.echo(f"{field}: {message}", err=True)
        raise typer.Exit(2) from None


def _listen(application: Starlette, settings: ServerSettings) -> None:
    config = uvicorn.Config(
        application,
        host=settings.host,
        port=settings.port,
        log_level="warning",
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    listener = config.bind_socket()
    listener.listen()
    address, port = listener.getsockname()[:2]
    typer.echo(f"dify-agent listens on http://{_to_url_host(address)}:{port}")
    uvicorn.Server(config).run(sockets=[listener])


def _to_url_host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def main() -> None:
    """Run the command."""
    app()
