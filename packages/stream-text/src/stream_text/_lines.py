r"""Lines of bytes with a bound. Only `\n` ends a line.

`str.splitlines()` and its like would also cut at U+0085, U+2028 and others, which may stand inside JSON strings.
"""

from itertools import takewhile


class LineSplitter:
    r"""The lines of a stream of bytes, however it is cut into chunks.

    Args:
        max_line_bytes: How long a line may be, without its `\n`.

    Attributes:
        overflowed: Whether a line was too long, finished or not; it and everything after it are dropped.

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
        """Stop reading and return the lines before the one that is too long."""
        self.overflowed = True
        self._pieces, self._size = [], 0
        return list(takewhile(lambda line: len(line) <= self._max_line_bytes, lines))
