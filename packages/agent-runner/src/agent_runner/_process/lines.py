"""Lines out of chunks of bytes."""

from itertools import takewhile


class LineSplitter:
    r"""Cut a stream of bytes into lines at `\n`, and at nothing else.

    `str.splitlines()` would also cut at U+2028 and others, which may stand inside JSON strings.

    Attributes:
        overflowed: Whether a line came that is longer than allowed; it and all after it are dropped.
    """

    def __init__(self, *, max_line_bytes: int) -> None:
        self._max_line_bytes = max_line_bytes
        self._rest = bytearray()
        self.overflowed = False

    def feed(self, chunk: bytes) -> list[bytes]:
        r"""Return the lines that end within the chunk, without their `\n`."""
        self._rest += chunk
        lines: list[bytes] = []
        if b"\n" in chunk:
            *lines, rest = bytes(self._rest).split(b"\n")
            self._rest = bytearray(rest)
        return self._within(lines)

    def close(self) -> list[bytes]:
        r"""Return the last line if the stream did not end with `\n`."""
        rest, self._rest = bytes(self._rest), bytearray()
        return [rest] if rest and not self.overflowed else []

    def _within(self, lines: list[bytes]) -> list[bytes]:
        if self.overflowed:
            return []
        allowed = list(takewhile(lambda line: len(line) <= self._max_line_bytes, lines))
        self.overflowed = len(allowed) < len(lines) or len(self._rest) > self._max_line_bytes
        return allowed
