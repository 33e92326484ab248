"""The command `dify-agent`."""

from typing import Annotated

import typer

from agent_server import command

from ._settings import RENAMED_SETTINGS, DifyAgentSettings


_VERSION = command.version_option("dify-agent", "dify-agent")

app = typer.Typer(
    help="Run agents with the models and tools of Dify plugins.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
"""The command `dify-agent`."""


# Without a callback Typer would take a single command for the whole program and drop its name.
@app.callback()
def _name_commands(*, _version: Annotated[bool, _VERSION] = False) -> None:
    """Run agents with the models and tools of Dify plugins."""


@app.command()
@command.takes_settings(DifyAgentSettings, renamed=RENAMED_SETTINGS)
def serve(settings: DifyAgentSettings) -> None:
    """Serve agent runs over HTTP. Each option is an environment variable, too: DIFY_AGENT_ and its name."""
    with command.listen(settings) as listener:
        # Who listens need not wait for these imports, which take a second: Dify gives up a server that is away for three.
        from .server._dify.routes import build_dify_routes  # noqa: PLC0415
        from .server._executor import DifyAgentExecutor  # noqa: PLC0415

        executor = DifyAgentExecutor(settings)
        routes = build_dify_routes(executor, settings)
        command.serve(executor, settings, routes=routes, listener=listener)


def main() -> None:
    """Run the command."""
    app()
