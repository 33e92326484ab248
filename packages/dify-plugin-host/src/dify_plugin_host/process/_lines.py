"""Lines out of a byte stream, with a limit, and with no I/O."""

from collections.abc import Iterator


class LineTooLongError(ValueError):
    """A line over the limit."""


class LineSplitter:
    """A splitter of a byte stream into its lines.

    `asyncio.StreamReader.readline` has a limit of its own and drops what exceeds it; the protocol's limit is another one,
    and exceeding it has a consequence.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Iterate over the non-blank lines that `data` completes.

        Raises:
            LineTooLongError: If a line, finished or not, exceeds the limit.
        """
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield from self._complete(line)
        self._add(rest)

    def close(self) -> Iterator[bytes]:
        """Iterate over what is left: the last line, if no newline ended it."""
        yield from self._complete(b"")

    def _complete(self, line: bytes) -> Iterator[bytes]:
        self._add(line)
        whole = b"".join(self._parts).strip()
        self._parts.clear()
        self._size = 0
        if whole:
            yield whole

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            raise LineTooLongError
        if part:
            self._parts.append(part)
