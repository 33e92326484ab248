"""A plugin's start, of which the import of Dify's SDK is most."""

from collections.abc import Generator
from contextlib import contextmanager
from importlib import metadata


__all__ = ["cached_entry_points"]


@contextmanager
def cached_entry_points() -> Generator[None]:
    """Read the entry points of all installed packages once, whoever asks for them inside.

    gevent asks some 25 times while it patches the process, each time from files of every package: 60 ms of a start.

    Source: gevent 26.9, `events.py`.
    """
    read = metadata.entry_points
    metadata.entry_points = read().select
    try:
        yield
    finally:
        metadata.entry_points = read
