"""Reading and writing of TOML files."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from dify_plugin_packager._errors import PackageError
from dify_plugin_packager.json_access import JsonObject, object_at


type Value = str | bool | list[str] | tuple[str, ...] | Mapping[str, str]
"""A value in a table to be written."""


def read_toml(path: Path) -> JsonObject:
    """Return the content of a TOML file.

    Raises:
        PackageError: If it cannot be read.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PackageError(path, f"expected TOML: {error}") from None


def read_settings(folder: Path) -> JsonObject:
    """Return `[tool.dify-host]` of a folder's pyproject.toml; an empty table if there is none.

    Raises:
        PackageError: If the file cannot be read.
    """
    path = folder / "pyproject.toml"
    return object_at(read_toml(path), "tool", "dify-host") if path.is_file() else {}


def write_toml(tables: Mapping[str, Mapping[str, Value]]) -> str:
    """Return a TOML file of these tables; a list takes one line for each item, a tuple only one."""
    lines: list[str] = []
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {_write(value)}" for key, value in table.items()), ""]
    return "\n".join(lines)


def _write(value: Value) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_write(item)}' for key, item in value.items())} }}"
    if isinstance(value, list) and value:
        lines = "".join(f"  {_write(item)},\n" for item in value)
        return f"[\n{lines}]"
    # A string of JSON is one of TOML, too.
    return json.dumps(value, ensure_ascii=False)
