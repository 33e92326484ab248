"""The agents of a server, by name."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from agent_runner._agent import SCRIPT, read_folder
from agent_runner._errors import ConfigurationError


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def find_agents(folders: Iterable[Path], collections: Iterable[Path] = ()) -> Mapping[str, Path]:
    """Return agents by the names of their folders.

    Args:
        folders: Folders that are agents.
        collections: Folders that hold folders of agents; whatever else they hold is passed over.

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
        if agents.setdefault(path.name, path) != path:
            raise ConfigurationError(
                str(folder),
                f"expected a name that no other agent has; {agents[path.name]} has it too",
            )
    if not agents:
        raise ConfigurationError("--folder", "expected an agent's folder, or one that holds some")
    return agents


def _iter_agents(collection: Path) -> Iterator[Path]:
    try:
        found = sorted(path for path in collection.iterdir() if (path / SCRIPT).is_file())
    except OSError as error:
        raise ConfigurationError(
            str(collection), f"expected a folder that holds agents: {error.strerror}"
        ) from error
    if not found:
        raise ConfigurationError(
            str(collection), f"expected a folder that holds folders with a {SCRIPT} each"
        )
    yield from found
