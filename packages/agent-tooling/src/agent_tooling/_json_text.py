"""Values as JSON that a model can read: no bytes, and the repr of nothing."""

import json
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any, cast


def to_json(value: object) -> str | None:
    """Return a value as JSON text, None for one that JSON cannot carry.

    Enum members are their value, dataclasses and pydantic models objects of their fields, sets and other collections lists. Bytes become their size, exceptions,
    whose text may hold secrets, and anything else that has no words of its own the name of their type.
    """
    try:
        return json.dumps(value, ensure_ascii=False, default=_json_stand_in)
    except Exception:  # noqa: BLE001 - a circle, a key that is no text, a value that cannot be printed, too many digits or levels
        return None


def _json_stand_in(value: object) -> object:  # noqa: PLR0911 - one line per kind of value
    """Stand in for a value that JSON does not know."""
    dump: Callable[..., object] | None = getattr(value, "model_dump", None)
    match value:
        case type() | BaseException():
            return f"<{(value if isinstance(value, type) else type(value)).__name__}>"
        case Enum():
            return value.value
        case Mapping():
            return dict(cast("Mapping[str, Any]", value))
        case bytes() | bytearray() | memoryview():
            return f"<{len(cast('bytes', value))} bytes>"
        case date() | time():
            return value.isoformat()
        case _ if callable(dump):
            return dump(mode="json")
        case _ if is_dataclass(value):
            return {field.name: getattr(value, field.name) for field in fields(value)}
        case AbstractSet():
            return sorted(cast("AbstractSet[object]", value), key=str)
        case Collection():
            return list(cast("Collection[object]", value))
        case _:
            has_words = type(value).__str__ is not object.__str__  # Otherwise it has but a repr.
            return str(value) if has_words else f"<{type(value).__name__}>"
