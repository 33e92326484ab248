"""Assembly of blobs from their chunks, with the daemon's limits."""

import base64
import re
import string

from dify_plugin_host._errors import StreamRejectedError
from dify_plugin_host._settings import HostSettings
from dify_plugin_packager.json_access import JsonObject, object_at


_KINDS = {"id": str, "total_length": int | float, "blob": str, "end": bool}
_LINE_ENDS = str.maketrans("", "", "\r\n")
_DIGITS = frozenset(string.ascii_letters + string.digits + "+/")
_GROUP = 4
_BASE64 = re.compile("([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


class BlobAssembler:
    """A collector of one call's `blob_chunk` messages, which makes one `blob` message of each blob.

    Like the daemon it ignores malformed chunks, a blob that never ends, and a length that does not fit.

    Source: `internal/core/io_tunnel/agent_service.go` of langgenius/dify-plugin-daemon at bdb5642a.
    """

    def __init__(self, settings: HostSettings) -> None:
        self._settings = settings
        self._open: dict[str, bytearray] = {}

    def feed(self, message: JsonObject) -> JsonObject | None:
        """Take one stream object; return the object for the caller, if there is one now.

        Raises:
            StreamRejectedError: If a chunk is not base64 or a limit is exceeded.
        """
        if message.get("type") != "blob_chunk":
            return message
        chunk = object_at(message, "message")
        if not all(isinstance(chunk.get(key), kind) for key, kind in _KINDS.items()):
            return None
        content = self._open.setdefault(chunk["id"], bytearray())
        if not chunk["end"]:
            self._append(content, chunk["blob"])
            return None
        encoded = base64.b64encode(content).decode("ascii")
        return {"type": "blob", "message": {"blob": encoded}, "meta": message.get("meta")}

    def _append(self, content: bytearray, text: str) -> None:
        # Before the piece is added, like the daemon, so a blob may exceed the limit by one piece.
        if len(content) > self._settings.blob_limit_bytes:
            raise StreamRejectedError("file is too large", error_type="blob_error")
        piece = _decode(text)
        if len(piece) > self._settings.blob_chunk_limit_bytes:
            raise StreamRejectedError("single file chunk is too large", error_type="blob_error")
        content += piece


def _decode(text: str) -> bytes:
    """Decode base64; like Go ignore line ends, and report the position of an error."""
    written = text.translate(_LINE_ENDS)
    if not _BASE64.fullmatch(written):
        problem = f"illegal base64 data at input byte {_find_error(text)}"
        raise StreamRejectedError(problem, error_type="blob_error")
    return base64.b64decode(written)


def _find_error(text: str) -> int:
    """Return the position at which Go reports the error in a text that is not base64."""
    written = [index for index, char in enumerate(text) if char not in "\r\n"]
    padding = next((n for n, index in enumerate(written) if text[index] not in _DIGITS), None)
    if padding is None:
        return len(text) - len(written) % _GROUP
    index, digits = written[padding], padding % _GROUP
    if text[index] != "=" or digits < 2:  # noqa: PLR2004 - two digits make the first byte
        return index
    after = [*written[padding + 1 :], len(text)]
    if digits == 3 or after[0] == len(text):  # noqa: PLR2004 - one padding is due
        return after[0]
    return after[1] if text[after[0]] == "=" else after[0] - 1
