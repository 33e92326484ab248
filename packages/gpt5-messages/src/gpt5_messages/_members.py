"""Members of values whose shape nobody has promised, mappings and objects alike."""

from collections.abc import Mapping

from stream_text import MessageError


def has_member(value: object, *names: str) -> bool:
    """Return whether a mapping or an object has any of these, None included."""
    if isinstance(value, Mapping):
        return any(name in value for name in names)
    return any(hasattr(value, name) for name in names)


def wrong_kind(field: str, expected: str, value: object) -> MessageError:
    """Return the error that says what was expected in the place of a value."""
    got = "nothing" if value is None else type(value).__name__
    return MessageError(f"{field}: expected {expected}, got {got}", field=field)
