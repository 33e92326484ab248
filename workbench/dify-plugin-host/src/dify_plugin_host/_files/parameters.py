"""File parameters of tools and agent strategies, filled as Dify fills them.

Source: `api/core/plugin/entities/parameters.py` of langgenius/dify at 70f6d8b4, read 2026-11.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dify_plugin_host._errors import BackwardsError
from dify_plugin_packager.json_access import JsonObject, is_list


_LISTS = frozenset({"files", "system-files"})
_ONE = "This parameter only accepts one file but got multiple files while invoking."


def cast_files(declared: Iterable[JsonObject], given: Mapping[str, Any]) -> JsonObject:
    """Return parameters with files as a plugin gets them: a list for several, the file itself for one.

    Raises:
        BackwardsError: If there are several files where one is expected.
    """
    kinds = {str(parameter.get("name")): parameter.get("type") for parameter in declared}
    return {name: _cast(kinds.get(name), value) for name, value in given.items()}


def file_parameter(declared: Iterable[JsonObject]) -> str | None:
    """Return the name of the first parameter that takes files; None if none does."""
    for parameter in declared:
        kind = parameter.get("type")
        scope = str(parameter.get("scope") or "")
        if kind in {"file", *_LISTS} or (kind == "any" and "file" in scope):
            return str(parameter.get("name"))
    return None


def _cast(kind: Any, value: Any) -> Any:
    if kind in _LISTS:
        return value if is_list(value) else [value]
    if kind != "file" or not is_list(value):
        return value
    if len(value) != 1:
        raise BackwardsError(_ONE)
    return value[0]
