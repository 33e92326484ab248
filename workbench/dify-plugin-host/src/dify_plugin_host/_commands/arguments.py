"""The arguments of a call on the command line: `name=text`, `name:=JSON` and `name=@FILE`."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dify_plugin_host._errors import FileInputError, ParameterError
from dify_plugin_host._files.local_file import LocalFile
from stream_text import is_list, parse_json


_FORMS = "expected name=text, name:=JSON or name=@FILE"
# Types whose values are written as JSON, also after a plain `=`.
_STRUCTURED = frozenset(
    {"any", "array", "array[tools]", "app-selector", "model-selector", "object"}
)
_FILES = frozenset({"file", "files", "system-files"})


def parse_arguments(texts: Iterable[str]) -> dict[str, Any]:
    """Parse arguments; one that is given several times becomes a list.

    Raises:
        ParameterError: If one is in none of the forms, or its JSON is invalid.
        FileInputError: If a file cannot be sent as Dify would.
    """
    found: dict[str, list[Any]] = {}
    for text in texts:
        name, is_argument, value = text.partition("=")
        if not is_argument or not name.rstrip(":"):
            raise ParameterError(text, _FORMS)
        found.setdefault(name.removesuffix(":"), []).append(_parse(name, value))
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def cast_argument(kind: object, value: Any) -> Any:
    """Return an argument as the value of a parameter of this type: structured ones from JSON, a file's text where no file is expected."""
    if is_list(value):
        return [cast_argument(kind, item) for item in value]
    if isinstance(value, LocalFile):
        return value if kind in _FILES else value.content.decode("utf-8", errors="replace")
    if isinstance(value, str) and kind in _STRUCTURED:
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def cast_by_rules(rules: Iterable[Mapping[str, Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's parameters with numbers and truth values in place of their texts.

    Raises:
        ParameterError: If a text is none.
    """
    kinds = {str(rule.get("name")): str(rule.get("type")) for rule in rules}
    return {name: _cast_parameter(name, kinds.get(name), value) for name, value in given.items()}


def _parse(name: str, value: str) -> Any:
    if name.endswith(":"):
        try:
            return parse_json(value)
        except ValueError as error:
            raise ParameterError(name[:-1], f"expected JSON after :=: {error}") from None
    if not value.startswith("@"):
        return value
    try:
        return LocalFile.read(Path(value[1:]))
    except FileInputError as error:
        raise FileInputError(f"{name}=@{error.file}", error.problem) from None


def _cast_parameter(name: str, kind: str | None, value: Any) -> Any:
    if not isinstance(value, str) or kind not in {"int", "float", "boolean"}:
        return value
    try:
        found: object = json.loads(value.lower())
    except ValueError:
        found = None
    wanted = {"int": (int,), "float": (int, float), "boolean": (bool,)}[kind]
    # Python counts a bool as an int; the platform does not.
    if not isinstance(found, wanted) or isinstance(found, bool) != (kind == "boolean"):
        raise ParameterError(name, f"expected a value of the type {kind}, got {value!r}")
    return found
