"""Values and paths in them as text for a model: JSON without bytes, and never a repr."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any, Final, TypeGuard, cast

from stream_text import is_list, is_object


_MAX_CHARACTERS: Final = 100

type JsonSchema = dict[str, Any]


def is_schema(value: object) -> TypeGuard[JsonSchema]:
    """Return whether a value is an object that may be written into, as the parts of a schema are."""
    return isinstance(value, dict)


def listed(value: object) -> Sequence[Any]:
    """Return a list, or a list of what is none."""
    return value if is_list(value) else [value]


def members(value: object) -> Mapping[str, Any]:
    """Return an object; an empty one in place of what is none."""
    return value if is_object(value) else {}


def to_json(value: object) -> str | None:
    """Return a value as JSON text; None if JSON cannot carry it.

    Enum members become their values, dataclasses and pydantic models objects of their fields, sets and other
    collections lists. Bytes become their size. Exceptions, whose texts may hold secrets, and other objects without a
    text of their own become the name of their type. Infinity and NaN, which JSON does not have, become texts.
    """
    try:
        return _without_constants(json.dumps(value, ensure_ascii=False, default=_json_stand_in))
    except Exception:  # noqa: BLE001 - a cycle, a key that is not text, a value that cannot be printed, too many digits or levels
        return None


def _without_constants(text: str) -> str:
    """Return JSON without the names that Python writes for Infinity and NaN."""
    if "NaN" not in text and "Infinity" not in text:
        return text
    return json.dumps(json.loads(text, parse_constant=str), ensure_ascii=False)


def _json_stand_in(value: object) -> object:  # noqa: PLR0911 - one line per kind of value
    """Return a JSON value that stands for one that JSON does not know."""
    dump: Callable[..., object] | None = getattr(value, "model_dump", None)
    # Classes come first: a model's class has `model_dump`, too. Texts of exceptions are never shown.
    match value:
        case type() | BaseException():
            return f"<{(value if isinstance(value, type) else type(value)).__name__}>"
        case Enum():
            return value.value
        case _ if is_object(value):
            return dict(value)
        case bytes() | bytearray() | memoryview():
            return f"<{len(cast('bytes', value))} bytes>"
        case date() | time():
            return value.isoformat()
        case _ if callable(dump):
            return dump(mode="json")
        case _ if is_dataclass(value):
            return {field.name: getattr(value, field.name) for field in fields(value)}
        case Collection():
            items = list(cast("Collection[object]", value))
            return sorted(items, key=str) if isinstance(value, AbstractSet) else items
        case _:
            has_words = type(value).__str__ is not object.__str__  # Else it has only a repr.
            return str(value) if has_words else f"<{type(value).__name__}>"


def find_path(loc: Sequence[str | int], value: Any, *, is_missing: bool) -> Iterator[str | int]:
    """Yield the path of one of pydantic's findings in a value, without what pydantic has tried there, such as the members of a union.

    Args:
        loc: The place as pydantic tells it.
        value: The value that it was given.
        is_missing: Whether the finding is that the last key is missing.
    """
    for number, key in enumerate(loc, start=1):
        if _has(value, key):
            value = value[key]
        elif number < len(loc) or not is_missing:
            continue
        yield key


def _has(value: object, key: str | int) -> bool:
    if is_object(value):
        return key in value
    return is_list(value) and isinstance(key, int) and key < len(value)


def path_text(path: Iterable[str | int]) -> str:
    """Return a path such as `rooms[0].name`."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return shorten(text.removeprefix("."), _MAX_CHARACTERS)


def value_text(value: object) -> str:
    """Return a value as JSON, shortened."""
    return shorten(json.dumps(value, ensure_ascii=False, default=str), _MAX_CHARACTERS)


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, with an ellipsis if there are more."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def plain_value(value: object) -> object:
    """Return the value of an enum member, and anything else unchanged."""
    return value.value if isinstance(value, Enum) else value
