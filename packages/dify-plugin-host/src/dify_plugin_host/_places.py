"""Where the two plugins of a conversation lie."""

from pathlib import Path

from ._errors import PluginFolderError
from ._folder import PluginFolder, PluginKind


def find_plugins(explicit: Path | None, *, start: Path) -> tuple[PluginFolder, PluginFolder]:
    """Return a model plugin and an agent strategy plugin.

    Args:
        explicit: The folder that holds them; None looks for a `plugins` folder in `start` and its parents.
        start: Where to look from.

    Raises:
        PluginFolderError: If there is no such folder, or not one plugin of each kind in it.
    """
    place = explicit or _look_up(start)
    if not place.is_dir():
        raise PluginFolderError(place, "no such folder; expected one that holds plugin folders")
    found = [PluginFolder.read(path.parent) for path in sorted(place.glob("*/manifest.yaml"))]
    models = _single(place, found, "models", "model plugin")
    return models, _single(place, found, "agent_strategies", "agent strategy plugin")


def _look_up(start: Path) -> Path:
    for folder in (start, *start.parents):
        if (folder / "plugins").is_dir():
            return folder / "plugins"
    raise PluginFolderError(
        start, "expected a folder 'plugins' here or in a folder above; --plugins names another"
    )


def _single(place: Path, found: list[PluginFolder], kind: PluginKind, name: str) -> PluginFolder:
    fitting = [folder for folder in found if folder.has(kind)]
    match fitting:
        case [folder]:
            return folder
        case []:
            problem = f"expected a folder in it with a {name} (manifest.yaml with plugins.{kind})"
            raise PluginFolderError(place, problem)
        case _:
            names = ", ".join(folder.path.name for folder in fitting)
            raise PluginFolderError(place, f"expected one {name} in it, found: {names}")
