"""Schemas of tools as they are found: of any draft, with words that are in none, and with references that lead elsewhere.

A word that no draft takes as it stands says nothing, in `not` as little as elsewhere, and `nullable` says what it says
in OpenAPI 3.0: one part that cannot be read must not cost the tool, whose server checks its arguments once more.
"""

import copy
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema, listed, members
from stream_text import is_list, is_object

from .references import SCHEMAS_BY_NAME, UNREAD, drop_lost_references, iter_schemas
from .validation import bound_validator, find_draft, find_faults


_TYPES: Final[Mapping[object, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_MOST_ROUNDS: Final = 10  # what is dropped may lay bare what was behind it


def read_object_schema(schema: object) -> JsonSchema:
    """Return a copy of the schema of an object with its `type`, `properties` and `required` as they should be, and the rest as it stands.

    Raises:
        DeclarationError: If it is not a mapping, holds what JSON does not have, nests some hundred levels deep, or has another type.
    """
    if not is_object(schema):
        raise DeclarationError("tool parameters", "a JSON schema object", schema)
    read: JsonSchema = {"type": "object", "properties": {}}
    try:
        read |= copy.deepcopy(dict(schema))
    except RecursionError:
        raise DeclarationError("tool parameters", "less deep", found="too many levels") from None
    _validate_json(read)
    if not is_of_type({}, read["type"]):
        raise DeclarationError("type of the tool parameters", "'object'", found=repr(read["type"]))
    read["type"] = "object"
    if not isinstance(read["properties"], dict):
        read["properties"] = {}
    if "required" in read:
        names = read["required"] if is_list(read["required"]) else ()
        read["required"] = [name for name in names if isinstance(name, str)]
    return read


def _validate_json(schema: JsonSchema) -> None:
    try:
        json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise DeclarationError("tool parameters", "JSON", found=type(error).__name__) from error


def is_of_type(value: object, declared: object) -> bool:
    """Return whether a value is of a type, or of one of a list; any value is, if JSON schema does not know one of them."""
    kinds = listed(declared)
    is_known = all(isinstance(kind, str) and kind in _TYPES for kind in kinds)
    return not is_known or not kinds or any(_is_of(value, kind) for kind in kinds)


def _is_of(value: object, kind: object) -> bool:
    # In Python a boolean is an integer.
    if isinstance(value, bool) and kind != "boolean":
        return False
    # In JSON schema 3.0 is an integer.
    if isinstance(value, float) and kind == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def build_found_validator(schema: JsonSchema, *, is_checked: bool = False) -> Any:
    """Return jsonschema's validator for what can be read of a schema; None if that is not installed.

    Args:
        schema: The schema.
        is_checked: Whether all of it can be read, as far as is known.
    """
    if (kind := find_draft(schema)) is None:
        return None
    read = copy.deepcopy(schema)
    nodes = list(iter_schemas(read))
    for node in nodes if "prefixItems" in kind.VALIDATORS else ():
        _read_older_words(node)
    for node in nodes[1:]:
        if "exclusiveMinimum" in kind.VALIDATORS:
            _read_bounds(node)
        _read_nullable(node)
    if is_checked:
        with suppress(Exception):  # where some part of it cannot be read after all
            return bound_validator(kind, read)
    # Deeper than jsonschema goes: what it reaches of the arguments is checked all the same.
    with suppress(RecursionError):
        _mend(read, kind)
    return bound_validator(kind, read)


def _mend(read: JsonSchema, kind: Any) -> None:
    """Take out of a schema what its draft cannot read."""
    drop_lost_references(read)
    left = _MOST_ROUNDS
    while left and (faults := find_faults(kind, read)):
        left -= 1
        for fault in faults:
            # The place may have gone with another.
            with suppress(LookupError, TypeError):
                _drop(read, fault)


def _read_older_words(node: JsonSchema) -> None:
    """Write the words that 2020-12 has no more in those that it has in their place."""
    if isinstance(node.get("items"), list):
        node |= {"prefixItems": node["items"], "items": node.pop("additionalItems", True)}
    for name, needed in members(node.pop("dependencies", None)).items():
        word = "dependentRequired" if isinstance(needed, list) else "dependentSchemas"
        node.setdefault(word, {}).setdefault(name, needed)


def _read_bounds(node: JsonSchema) -> None:
    """Write the exclusive bounds of OpenAPI 3.0 and of draft 4 in the words of today."""
    for bound in ("minimum", "maximum"):
        word = f"exclusive{bound.capitalize()}"
        if isinstance(node.get(word), bool) and node.pop(word) and bound in node:
            node[word] = node.pop(bound)


def _read_nullable(node: JsonSchema) -> None:
    """Write what OpenAPI 3.0 says with a word that no draft has."""
    if node.pop("nullable", None) is True:
        rest = dict(node)
        node.clear()
        node["anyOf"] = [rest, {"type": "null"}]


def _drop(schema: JsonSchema, fault: Any) -> None:
    """Take out of a schema what a fault is about; where a schema should be, one that takes anything comes in its place."""
    # In draft 4 an exclusive bound is a boolean beside another bound.
    if fault.validator == "dependencies":
        for word in fault.validator_value.keys() & fault.instance.keys():
            del fault.instance[word]
        return
    *way, last = fault.absolute_path
    place: Any = schema
    holder: Any = {}
    for step in way:
        holder, place = place, place[step]
    if fault.validator == "type" and "object" in fault.validator_value:
        place[last] = {UNREAD: {}}
    elif isinstance(place, list):
        del holder[way[-1]]
        holder[UNREAD] = {}
    else:
        # To be of any type is what a schema says that names none.
        is_read = last == "type" and '"any"' in json.dumps(place[last])
        del place[last]
        if not is_read:
            (holder if way and way[-1] in SCHEMAS_BY_NAME else place)[UNREAD] = {}
