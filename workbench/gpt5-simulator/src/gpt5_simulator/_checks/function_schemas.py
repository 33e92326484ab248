"""The rules for the schema of a function, whether it is strict or not.

Source: docs/evidence/responses-api.md, R15 and R40; function_schema.json says more.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_array, is_object


_RULES: Final = json.loads(Path(__file__).with_name("function_schema.json").read_text("utf-8"))
_KINDS = {word: kind for kind, words in _RULES["words"].items() for word in words}
_PYTHON: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "string": str,
}
_HOLDERS = {"a list of schemas": "array", "schemas by name": "object"}
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_URI_REFERENCE = re.compile(r"[^\s<>\"{}|\\^`]*")


def validate_function_schema(schema: Json, *, name: str, param: str) -> None:
    """Refuse a function's schema for the first fault that the API finds in it.

    Args:
        schema: The schema, which has the type `object`.
        name: The function's name.
        param: The schema's path in the request.

    Raises:
        ApiError: If there is a fault.
    """
    code = "invalid_function_parameters"
    words = _RULES["not at the root"]
    if not schema.keys().isdisjoint(words):
        listed = "/".join(f"'{word}'" for word in words)
        fault = f"schema must have type 'object' and not have {listed} at the top level."
        raise _refused(name, fault, param, code)
    nodes = list(_iter_nodes(schema))
    for _, place, node in nodes:
        if (fault := next(iter_faults(node, schema), None)) is not None:
            raise _refused(name, fault, param, code)
        kinds: object = node.get("type")
        types = kinds if is_array(kinds) else [kinds]
        for kind, word in (("array", "items"), ("object", "properties")):
            if kind in types and word not in node:
                fault = f"In context=({place}), {kind} schema missing {word}."
                raise _refused(name, fault, param, code)
    for path, _, node in nodes:
        if _LOOK_AROUND.search(node.get("pattern", "")):
            text = (
                f"Invalid JSON schema: regex lookaround is not supported. Found at {path}.pattern."
            )
            raise ApiError(text, param="tools", code="invalid_json_schema")


def _refused(name: str, fault: str, param: str, code: str) -> ApiError:
    return ApiError(f"Invalid schema for function '{name}': {fault}", param=param, code=code)


def _iter_nodes(
    schema: object, path: str = "$", place: str = ""
) -> Iterator[tuple[str, str, Json]]:
    """Yield each schema in a schema that is an object, outermost first, with its path in both ways of the API to write one."""
    if not is_object(schema):
        return
    yield path, place, schema
    for word, value in schema.items():
        here = f"{place}, '{word}'" if place else f"'{word}'"
        kind = _KINDS.get(word)
        if kind == "a schema":
            yield from _iter_nodes(value, f"{path}.{word}", here)
        elif kind == "a list of schemas" and is_array(value):
            for index, one in enumerate(value):
                yield from _iter_nodes(one, f"{path}.{word}[{index}]", f"{here}, '{index}'")
        elif kind == "schemas by name" and is_object(value):
            for name, one in value.items():
                yield from _iter_nodes(one, f"{path}.{word}.{name}", f"{here}, '{name}'")


def iter_faults(node: Json, root: Json) -> Iterator[str]:
    """Yield what is wrong with a schema itself, in the words of jsonschema."""
    found = (_word_fault(_KINDS.get(word, ""), value) for word, value in node.items())
    yield from filter(None, found)
    kinds: object = node.get("type", "null")
    listed: list[object] = kinds if is_array(kinds) and kinds else [kinds]
    if any(kind not in _RULES["types"] for kind in listed):
        yield f"{kinds!r} is not valid under any of the given schemas"
    for pattern in (node.get("pattern", ""), *node.get("patternProperties", ())):
        if not _is_regex(pattern):
            yield f"{pattern!r} is not a 'regex'"
    names: list[object] = node.get("required", [])
    if len(set(map(repr, names))) < len(names):
        yield f"{names!r} has non-unique elements"
    yield from (f"{name!r} is not of type 'string'" for name in names if not isinstance(name, str))
    counts = (node.get(word, 0) for word in _RULES["words"]["integer"])
    yield from (f"{count} is less than the minimum of 0" for count in counts if count < 0)
    if node.get("multipleOf", 1) <= 0:
        yield f"{node['multipleOf']} is less than or equal to the minimum of 0"
    if not _URI_REFERENCE.fullmatch(node.get("$id", "")):
        yield f"{node['$id']!r} is not a 'uri-reference'"
    if "$ref" in node and not _leads_somewhere(node["$ref"], root):
        yield f"Error resolving schema reference '{node['$ref']}'"


def _word_fault(kind: str, value: object) -> str | None:
    wanted = _HOLDERS.get(kind, kind)
    if wanted == "integer" and isinstance(value, float) and value.is_integer():
        return None
    is_wrong_bool = isinstance(value, bool) and wanted != "boolean"
    if wanted in _PYTHON and (is_wrong_bool or not isinstance(value, _PYTHON[wanted])):
        return f"{value!r} is not of type '{wanted}'"
    if kind == "a list of schemas" and value == []:
        return "[] should be non-empty"
    members: list[object] = [value] if kind == "a schema" else []
    if kind in _HOLDERS:
        members = value if is_array(value) else list(value.values() if is_object(value) else ())
    wrong = (one for one in members if not (is_object(one) or isinstance(one, bool)))
    return next((f"{one!r} is not of type 'object', 'boolean'" for one in wrong), None)


def _is_regex(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError):
        return False
    return True


def _leads_somewhere(reference: str, root: Json) -> bool:
    place: object = root if reference.startswith("#") else None
    for part in unquote(reference).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        items = {str(index): one for index, one in enumerate(place)} if is_array(place) else {}
        place = (place if is_object(place) else items).get(name)
    return is_object(place) or isinstance(place, bool)
