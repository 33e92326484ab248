"""A new agent."""

from importlib.resources import files
from pathlib import Path

from agent_runner._errors import ConfigurationError


_SUFFIX = ".txt"  # so that no tool takes the template for code of this package


def create_agent(folder: Path) -> list[Path]:
    """Lay out a working agent in a folder that does not exist yet or is empty, and return its files.

    Raises:
        ConfigurationError: If the folder holds anything, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ConfigurationError(str(folder), "expected a folder that is new or empty")
        return [
            _write(folder / entry.name.removesuffix(_SUFFIX), entry.read_text(encoding="utf-8"))
            for entry in sorted(files(__package__).joinpath("template").iterdir(), key=str)
        ]
    except OSError as error:
        raise ConfigurationError(
            str(folder), f"expected a folder to write to: {error.strerror}"
        ) from error


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
