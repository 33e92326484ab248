"""How a place in a document, and what stands there, are shown to a model."""

import json
from collections.abc import Iterable
from typing import Final


_MAX_CHARACTERS: Final = 100


def path_text(path: Iterable[str | int]) -> str:
    """Return a path such as `rooms[0].name`."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return shorten(text.removeprefix("."), _MAX_CHARACTERS)


def value_text(value: object) -> str:
    """Return a value as JSON, shortened."""
    return shorten(json.dumps(value, ensure_ascii=False, default=str), _MAX_CHARACTERS)


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, and a mark where there are more."""
    return text if len(text) <= limit else f"{text[:limit]}…"
