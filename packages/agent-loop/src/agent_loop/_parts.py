"""What a person can read of content parts."""

from typing import Any

from stream_text import read_member


_MAX_PARTS_TOLD = 100
_MAX_KIND_CHARACTERS = 40


def parts_text(parts: tuple[Any, ...]) -> str:
    """Return the texts of content parts, and the kind of every other part in brackets; of 100 parts at most."""
    told = [_part_text(part) for part in parts[:_MAX_PARTS_TOLD]]
    more = len(parts) - len(told)
    return "\n".join([*told, f"[{more:,} more parts]"] if more else told)


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    kind = read_member(part, "type")
    kind = str(getattr(kind, "value", kind) or "")
    if kind.endswith("text"):
        text = read_member(part, "text", "data")  # `data` in Dify's parts
    else:
        text = None if kind else read_member(part, "text")
    if isinstance(text, str):
        return text
    return f"[{kind if 0 < len(kind) <= _MAX_KIND_CHARACTERS else 'part'}]"
