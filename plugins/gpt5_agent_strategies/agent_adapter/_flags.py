"""What is on or off, as a person or Dify writes it."""

_FALSE_TEXTS = frozenset({"false", "0", "no", "off"})


def read_flag(value: object, *, default: bool) -> bool:
    """Read a flag that may be text or, since the SDK reads YAML's `true` so, a number; nothing and blank text are the default."""
    if isinstance(value, str):
        value = value.strip().lower()
        return value not in _FALSE_TEXTS if value else default
    return default if value is None else bool(value)
