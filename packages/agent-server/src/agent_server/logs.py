"""What the lines of a server's log say besides their message."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final


__all__ = ["about", "read_about"]

_NOTHING: Final = MappingProxyType[str, object]({})
_about = ContextVar[Mapping[str, object]]("agent_server_about", default=_NOTHING)


@contextmanager
def about(**fields: object) -> Generator[None]:
    """Put fields into each line that is logged inside the context, and by the tasks that begin there.

    A server's lines show `run`, `tenant`, `agent`, `attempt` and `tool`.

    Example:
        >>> with about(tool="refund"):
        ...     print(dict(read_about()))
        {'tool': 'refund'}
    """
    token = _about.set({**_about.get(), **fields})
    try:
        yield
    finally:
        _about.reset(token)


def read_about() -> Mapping[str, object]:
    """Return the fields of lines that are logged here."""
    return _about.get()
