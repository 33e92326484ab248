"""The command `agent-runner serve`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from agent_runner._agent.environment import read_production_env
from agent_runner._agent.folder import SCRIPT, read_folder
from agent_runner._errors import ConfigurationError, RunnerError, refusing_os_errors
from agent_runner._run.runner import AgentRunner
from agent_server.command import refuse, serve, takes_settings

from .executor import ScriptExecutor
from .settings import ScriptServerSettings


__all__ = ["app"]

# Names that a setting had before; an old environment is refused rather than ignored.
_RENAMED = {"API_KEY": "API_KEYS"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_FOLDERS = typer.Argument(help="Folders of agents; each is served under its folder's name.")
_FOLDER = typer.Option(help="A folder of agents' folders, all of which are served. Repeatable.")
_PRODUCTION_ENV = typer.Option(
    help="NAME=VALUE or a file in .env form; overrides the agents' .env. Repeatable."
)
_PASS_ENV = typer.Option(
    help="Variable of this environment that scripts may see; one that is not set is not passed. Repeatable."
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
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
        agents = _find_agents(folders or (), folder or ())
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
        agents,
        runner,
        on_crash=settings.on_crash,
        run_logs=settings.run_logs,
        traces=settings.traces,
    )
    serve(executor, settings)


def _find_agents(folders: Iterable[Path], collections: Iterable[Path] = ()) -> Mapping[str, Path]:
    """Return agents by the names of their folders.

    Args:
        folders: Folders that are agents.
        collections: Folders that hold folders of agents; everything else in them is ignored.

    Raises:
        ConfigurationError: If there is no agent, a folder holds none, a name does not fit into a URL, or two agents share a name.
    """
    agents: dict[str, Path] = {}
    for folder in (*folders, *(found for one in collections for found in _iter_agents(one))):
        path = read_folder(folder.resolve()).path
        if not _NAME.fullmatch(path.name):
            raise ConfigurationError(
                str(folder),
                "expected a folder's name of letters, digits, dots, hyphens and underscores",
            )
        # The same folder twice, alone and in a collection, is not a clash.
        if agents.setdefault(path.name, path) != path:
            raise ConfigurationError(
                str(folder),
                f"expected a name that no other agent has; {agents[path.name]} has it too",
            )
    if not agents:
        raise ConfigurationError("--folder", "expected an agent's folder, or one that holds some")
    return agents


def _iter_agents(collection: Path) -> Iterator[Path]:
    with refusing_os_errors(collection, "expected a folder that holds agents"):
        found = sorted(path for path in collection.iterdir() if (path / SCRIPT).is_file())
    if not found:
        raise ConfigurationError(
            str(collection), f"expected a folder that holds folders with a {SCRIPT} each"
        )
    yield from found
