"""An agent's folder: its script and its input schema."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_runner._errors import ConfigurationError, refusing_os_errors
from stream_text import parse_json


SCRIPT = "main.py"
INPUT_SCHEMA = "input_schema.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFolder:
    """A folder with a script and, perhaps, a schema of the script's input.

    Attributes:
        path: The folder, absolute.
        input_schema: The JSON Schema of the input; None takes any object.
    """

    path: Path
    input_schema: dict[str, Any] | None


def read_folder(folder: Path) -> AgentFolder:
    """Return the agent in a folder.

    Raises:
        ConfigurationError: If there is no `main.py`, or `input_schema.json` is not a JSON Schema.
    """
    path = folder.absolute()
    if not (path / SCRIPT).is_file():
        raise ConfigurationError(str(folder / SCRIPT), "expected a script, found no such file")
    return AgentFolder(path=path, input_schema=_read_schema_file(path / INPUT_SCHEMA))


def _read_schema_file(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        with refusing_os_errors(path.name, "expected a file that can be read"):
            # Some editors write a byte order mark, which JSON does not allow.
            schema = parse_json(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ConfigurationError(path.name, f"expected JSON: {error}") from error
    from .schema import read_schema  # noqa: PLC0415 - slow to load, and most agents have no schema

    return read_schema(schema, name=path.name)
