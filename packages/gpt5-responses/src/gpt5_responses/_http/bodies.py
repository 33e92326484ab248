"""Bodies of answers, decompressed and read within bounds, since a small body may expand to a huge one."""

import zlib
from collections.abc import Iterator

from gpt5_responses._errors import UnexpectedResponseError


ACCEPTED = "gzip"
"""The `accept-encoding` of every request."""

MOST_WHOLE_BYTES = 16 * 1024 * 1024
"""The limit on anything decoded in one go: an answer that is not streamed, one event, a stored response. Images make them large."""

TOO_LARGE = "Stopped reading the server's answer: it exceeds {} MiB."
"""The error message for an answer that is too large."""

_OTHER_ENCODINGS = ("br", "compress", "dcb", "dcz", "zstd")
# Unpacked at a time, so that the bounds are checked before a small body has expanded to a huge one.
_PIECE_BYTES = 256 * 1024
_GZIP_OR_ZLIB = zlib.MAX_WBITS + 32  # zlib finds out which of the two it is


class Unpacker:
    """A decompressor of one body, in pieces of bounded size.

    Args:
        encoding: The body's `content-encoding`.

    Raises:
        UnexpectedResponseError: If the encoding is not one that was asked for.
    """

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            # Any other text could be anything, such as part of a secret.
            named = f" ({name!r})" if name in _OTHER_ENCODINGS else ""
            raise UnexpectedResponseError(
                f"The server compressed its answer in a way that was not requested{named}."
            )
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB) if name not in ("", "identity") else None

    def unpack(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed form of the next bytes.

        Raises:
            UnexpectedResponseError: If they are not in the announced encoding.
        """
        if self._inflate is None:
            yield data
            return
        while data:
            try:
                piece = self._inflate.decompress(data, _PIECE_BYTES)
            except zlib.error:
                raise UnexpectedResponseError("The server's answer cannot be unpacked.") from None
            data = self._inflate.unconsumed_tail
            yield piece


class BoundedBody:
    """The beginning of a body, decompressed.

    Args:
        encoding: The body's `content-encoding`.
        max_bytes: How much of it to keep, unpacked.
    """

    def __init__(self, encoding: str, *, max_bytes: int) -> None:
        self._encoding = encoding
        self._max_bytes = max_bytes
        self._content = bytearray()
        self._unpacker: Unpacker | None = None

    @property
    def content(self) -> bytes:
        """The content kept so far."""
        return bytes(self._content[: self._max_bytes])

    def take(self, chunk: bytes) -> bool:
        """Add a chunk and return whether more is wanted; data that cannot be decompressed is dropped."""
        try:
            # Not made before: an unknown encoding makes an empty body here, and no error.
            self._unpacker = self._unpacker or Unpacker(self._encoding)
            for piece in self._unpacker.unpack(chunk):
                self._content += piece
                if len(self._content) >= self._max_bytes:
                    return False
        except UnexpectedResponseError:
            return False
        return True
