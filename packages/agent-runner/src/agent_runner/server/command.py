"""The command `agent-runner serve`."""

from pathlib import Path
from typing import Annotated

import typer

from agent_runner._agent import read_production_env
from agent_runner._errors import RunnerError
from agent_runner._run import AgentRunner
from agent_server.command import refuse, serve, takes_settings

from ._agents import find_agents
from .executor import ScriptExecutor
from .settings import ScriptServerSettings


__all__ = ["app"]

_RENAMED = {"API_KEY": "API_KEYS"}

_FOLDERS = typer.Argument(help="Folders of agents; each is served under its folder's name.")
_FOLDER = typer.Option(
    help="A folder that holds folders of agents, all of which are served. Repeatable."
)
_PRODUCTION_ENV = typer.Option(
    help="NAME=VALUE or a file in .env form; wins over the agents' .env; repeatable."
)
_PASS_ENV = typer.Option(
    help="Variable of this environment that scripts may see; one that is not set is not passed. Repeatable."
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
"""The command `serve`."""


@app.command()
@takes_settings(ScriptServerSettings, renamed=_RENAMED)
def serve_scripts(
    folders: Annotated[list[Path] | None, _FOLDERS] = None,
    *,
    settings: ScriptServerSettings,
    folder: Annotated[list[Path] | None, _FOLDER] = None,
    production_env: Annotated[list[str] | None, _PRODUCTION_ENV] = None,
    pass_env: Annotated[list[str] | None, _PASS_ENV] = None,
) -> None:
    """Serve agents over HTTP, with a queue that outlives the server.

    Runs are kept in the user's state folder, or in the database that --database names.
    """
    try:
        agents = find_agents(folders or (), folder or ())
        runner = AgentRunner(
            default_model=settings.model,
            production_env=read_production_env(production_env or ()),
            pass_env=pass_env or (),
            timeout_seconds=settings.timeout,
            max_output_bytes=settings.max_output_bytes,
            max_output_lines=settings.max_output_lines,
            keep_logs=settings.keep_logs,
        )
    except RunnerError as error:
        refuse(f"agent-runner: {error}")
    executor = ScriptExecutor(
        agents, runner, on_crash=settings.on_crash, run_logs=settings.run_logs
    )
    serve(executor, settings)
