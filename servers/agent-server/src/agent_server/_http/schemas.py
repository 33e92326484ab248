"""Limits of the schemas that a client sends, which are looked at with each value and sent with each call of a model."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .problems import refuse


_MOST_BYTES: Final = 256 * 1024
_MOST_VALUES: Final = 4000
_MOST_LEVELS: Final = 64


def check_schemas(schemas: Iterable[tuple[str, Any]]) -> None:
    """Check that schemas are not too large together: 256 kB as JSON, 4,000 objects, lists, numbers and booleans, and 64 levels of nesting each.

    Our choice, far above what clients send: 4,000 schemas take a second to check, and without a limit a request takes minutes.

    Args:
        schemas: Each with its place in the request, such as `tools[3].parameters`.

    Raises:
        RequestRefusedError: If they are; it names the first that is too much.
    """
    values = size = 0
    for field, schema in schemas:
        for level in _iter_levels(schema):
            values += 1
            if values > _MOST_VALUES:
                raise refuse(field, f"expected schemas of at most {_MOST_VALUES:,} values together")
            if level > _MOST_LEVELS:
                raise refuse(field, f"expected at most {_MOST_LEVELS} levels of nesting")
        size += len(json.dumps(schema, ensure_ascii=False).encode(errors="replace"))
        if size > _MOST_BYTES:
            raise refuse(field, f"expected schemas of at most {_MOST_BYTES:,} bytes together")


def _iter_levels(schema: Any) -> Iterator[int]:
    """Yield how deep each value stands that is no text, without recursion and without a list of all."""
    waiting = [iter([schema])]
    while waiting:
        for value in waiting[-1]:
            if not isinstance(value, str):
                yield len(waiting)
            if isinstance(value, dict | list):
                inner: Any = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType] - any JSON
                waiting.append(iter(inner))
                break
        else:
            waiting.pop()
