r"""Lines of bytes with a bound, read and written. Only `\n` ends a line.

`str.splitlines()` and its like would also cut at U+0085, U+2028 and others, which may stand inside JSON strings.
"""

from collections.abc import Callable
from itertools import takewhile

from ._errors import InvalidLineError, LineTooLongError


class LineSplitter:
    r"""The lines of a stream of bytes, however it is cut into chunks.

    Args:
        max_line_bytes: How long a line may be, without its `\n`.

    Attributes:
        overflowed: Whether a line came that is longer than allowed, finished or not; it and all after it are dropped.

    Example:
        >>> splitter = LineSplitter(max_line_bytes=80)
        >>> splitter.feed(b"one\ntw"), splitter.feed(b"o"), splitter.close()
        ([b'one'], [], [b'two'])
    """

    def __init__(self, *, max_line_bytes: int) -> None:
        self._max_line_bytes = max_line_bytes
        self._pieces: list[bytes] = []  # joined once, so that many small chunks cost no more
        self._size = 0
        self.overflowed = False

    def feed(self, chunk: bytes) -> list[bytes]:
        r"""Return the lines that end within the chunk, without their `\n`."""
        if self.overflowed:
            return []
        *lines, rest = chunk.split(b"\n")
        if lines:
            if self._pieces:
                lines[0] = b"".join((*self._pieces, lines[0]))
                self._pieces = []
            self._size = 0
        if rest:
            self._pieces.append(rest)
            self._size += len(rest)
            if self._size > self._max_line_bytes:
                return self._overflow(lines)
        for line in lines:
            if len(line) > self._max_line_bytes:
                return self._overflow(lines)
        return lines

    def close(self) -> list[bytes]:
        r"""Return the last line if the stream did not end with `\n`."""
        last = b"".join(self._pieces)
        self._pieces, self._size = [], 0
        return [last] if last else []

    def _overflow(self, lines: list[bytes]) -> list[bytes]:
        """Give the stream up; return the lines before the one that is too long."""
        self.overflowed = True
        self._pieces, self._size = [], 0
        return list(takewhile(lambda line: len(line) <= self._max_line_bytes, lines))


type Shorten = Callable[[bytes, int], bytes]
"""A rule that shortens a line: given the line and the limit in bytes, it returns a line within the limit, or raises what its writer has to know."""


class LineWriter:
    r"""A writer of lines that lets no line leave that is over a limit.

    Whatever reads lines with a bound gives up on one that is longer, often the whole stream with it. So the line is refused
    where it is written, or shortened by whoever knows what may be left out.

    Args:
        write: Takes each line with its `\n`, in one call.
        max_line_bytes: How long a line may be, without its `\n`.
        shorten: What makes a line shorter that is over the limit; without it such a line is refused.

    Example:
        >>> written = []
        >>> writer = LineWriter(
        ...     written.append, max_line_bytes=4, shorten=lambda line, limit: line[:limit]
        ... )
        >>> writer.write(b"one"), writer.write(b"three"), written
        (None, None, [b'one\n', b'thre\n'])
    """

    def __init__(
        self,
        write: Callable[[bytes], object],
        *,
        max_line_bytes: int,
        shorten: Shorten | None = None,
    ) -> None:
        self._write = write
        self._max_line_bytes = max_line_bytes
        self._shorten = shorten

    def write(self, line: bytes) -> None:
        r"""Write one line, given without its `\n`.

        Raises:
            InvalidLineError: If a `\n` stands in the line, which would make it two.
            LineTooLongError: If the line is over the limit, and after shortening still is. Nothing has been written then.
        """
        if len(line) > self._max_line_bytes and self._shorten is not None:
            line = self._shorten(line, self._max_line_bytes)
        if len(line) > self._max_line_bytes:
            raise LineTooLongError(size_bytes=len(line), max_line_bytes=self._max_line_bytes)
        if b"\n" in line:
            raise InvalidLineError("expected one line, got a line feed in it")
        self._write(line + b"\n")
