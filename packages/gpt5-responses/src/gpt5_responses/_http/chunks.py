"""Joining the many small chunks of an HTTP body into few large ones before they are parsed.

Servers send each event of a stream as a chunk of its own, and many chunks arrive together. The HTTP library spends more
time on a chunk than everything else spends on the event in it. Anything but a plain chunk is passed on unchanged, for
the HTTP library to judge.

Source: RFC 9112, section 7.1.
"""

import re


_MOST_HEAD_BYTES = 100 * 1024  # the HTTP library's own limit
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_CHUNKED = re.compile(rb"\ntransfer-encoding:[ \t]*chunked[ \t]*\r?\n", re.IGNORECASE)
_INTERIM = re.compile(rb"HTTP/\d\.\d 1(?!01)\d\d")
_UPGRADED = re.compile(rb"HTTP/\d\.\d 101\b")
# Without extensions: a chunk that has some ends the joining.
_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})\r\n")
_BEGUN_SIZE = re.compile(rb"[0-9a-fA-F]{0,8}\r?")


class ChunkJoiner:
    r"""A joiner of HTTP chunks that have arrived together on one connection.

    Attributes:
        bytes_ahead: How many bytes of informational answers (1xx) came before the answer itself.

    Example:
        >>> joiner = ChunkJoiner()
        >>> joiner.feed(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\na\r\n")[
        ...     -6:
        ... ]
        b'1\r\na\r\n'
        >>> joiner.feed(b"2\r\nbc\r\n" + b"1\r\nd\r\n" + b"5\r\ne")
        b'3\r\nbcd\r\n5\r\ne'
    """

    def __init__(self) -> None:
        self._is_upgraded = False
        self.begin()

    @property
    def is_in_head(self) -> bool:
        """Whether the head of the answer has not been read to its end."""
        return self._head is not None

    def begin(self) -> None:
        """Expect the head of an answer next; nothing once the connection speaks another protocol."""
        self._head: bytearray | None = None if self._is_upgraded else bytearray()
        self._is_joining = False
        self._left = 0  # bytes of the last chunk that are still to come
        self._begun_size = b""
        self.bytes_ahead = 0

    def feed(self, data: bytes) -> bytes:
        """Return the next bytes in fewer chunks, with the same content."""
        start = 0 if self._head is None else self._body_start(self._head, data)
        if not self._is_joining or (self._begun_size and not self._has_size(data)):
            return data
        start += self._left
        if start > len(data):
            self._left = start - len(data)
            return data
        return data[:start] + self._join(data, start)

    def _body_start(self, head: bytearray, data: bytes) -> int:
        """Add to the head and return where in the data the body begins."""
        searched = max(len(head) - 3, 0)  # the blank line may begin in the bytes before
        head += data
        while end := _END_OF_HEAD.search(head, searched):
            if not _INTERIM.match(head):
                self._is_upgraded = _UPGRADED.match(head) is not None
                is_chunked = _CHUNKED.search(head, 0, end.end()) is not None
                self._is_joining = is_chunked and not self._is_upgraded
                self._head = None
                return len(data) - (len(head) - end.end())
            self.bytes_ahead += end.end()
            del head[: end.end()]
            searched = 0
        if len(head) > _MOST_HEAD_BYTES:  # the HTTP library will refuse it
            self._head = None
        return 0

    def _has_size(self, data: bytes) -> bool:
        """Add to a chunk size that arrives in pieces, and return whether it is complete."""
        begun = self._begun_size + data
        size = _SIZE.match(begun)
        if size is not None and (length := int(size[1], 16)):
            # The chunk with its line break, and the rest of its size; the begun one is passed on.
            self._left = size.end() + length + 2 - len(self._begun_size)
            self._begun_size = b""
            return True
        self._expect(begun)
        return False

    def _join(self, data: bytes, start: int) -> bytes:
        """Return the bytes after the end of a chunk, with the whole chunks among them joined."""
        pieces: list[bytes] = []
        at, self._left = start, 0
        while (size := _SIZE.match(data, at)) and (length := int(size[1], 16)):
            end = size.end() + length
            if data[end : end + 2] != b"\r\n":
                # Either the chunk ends in later bytes, or it is broken.
                self._left = max(end + 2 - len(data), 0)
                self._is_joining = self._left > 0
                break
            pieces.append(data[size.end() : end])
            at = end + 2
        else:
            self._expect(data[at:])
        if len(pieces) < 2:  # noqa: PLR2004  there is nothing to join
            return data[start:]
        joined = b"".join(pieces)
        return b"%x\r\n%b\r\n%b" % (len(joined), joined, data[at:])

    def _expect(self, rest: bytes) -> None:
        """Keep the bytes where the size of a chunk is expected."""
        if _BEGUN_SIZE.fullmatch(rest):
            self._begun_size = rest
        else:  # the last chunk, or none at all
            self._is_joining = False
