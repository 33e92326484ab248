"""The command `dify-agent`."""

import typer

from agent_server import command

from .dify.routes import build_dify_routes
from .executor import DifyAgentExecutor
from .settings import RENAMED_SETTINGS, DifyAgentSettings


__all__ = ["app", "main"]

app = typer.Typer(
    help="Run agents with the models and tools of Dify plugins.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
"""The command `dify-agent`."""


# Without a callback Typer would take a single command for the whole program and drop its name.
@app.callback()
def _name_commands() -> None:
    """Run agents with the models and tools of Dify plugins."""


@app.command()
@command.takes_settings(DifyAgentSettings, renamed=RENAMED_SETTINGS)
def serve(settings: DifyAgentSettings) -> None:
    """Serve agent runs over HTTP. Each option is an environment variable, too: DIFY_AGENT_ and its name."""
    executor = DifyAgentExecutor(settings)
    command.serve(executor, settings, routes=build_dify_routes(executor, settings))


def main() -> None:
    """Run the command."""
    app()
