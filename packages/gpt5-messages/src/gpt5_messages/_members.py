"""Members of values of an unknown shape, mappings and objects alike."""

from stream_text import MessageError, is_object


def has_member(value: object, *names: str) -> bool:
    """Return whether a mapping or an object has any of these, None included."""
    if is_object(value):
        return any(name in value for name in names)
    return any(hasattr(value, name) for name in names)


def wrong_kind(field: str, expected: str, value: object) -> MessageError:
    """Return the error for a value of the wrong kind, which says what was expected instead."""
    got = "nothing" if value is None else type(value).__name__
    return MessageError(f"{field}: expected {expected}, got {got}", field=field)
