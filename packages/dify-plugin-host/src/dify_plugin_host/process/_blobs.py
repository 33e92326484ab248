"""Blobs put together again from their chunks, with the daemon's limits."""

import base64
import binascii
from typing import Any

from dify_plugin_host._errors import StreamRejectedError
from dify_plugin_host._json import JsonObject, is_object
from dify_plugin_host._settings import HostSettings


_CHUNK_FIELDS = {"id": str, "total_length": int, "blob": str, "end": bool}


class BlobAssembler:
    """A collector of one call's `blob_chunk` messages, which makes one `blob` message of each blob.

    Source: `internal/core/io_tunnel/agent_service.go` of langgenius/dify-plugin-daemon at bdb5642a, for the limits and the texts.
    The daemon ignores a blob that never ends and a count that does not fit; here both are errors, since either means
    that bytes were lost.
    """

    def __init__(self, settings: HostSettings) -> None:
        self._settings = settings
        self._open: dict[str, bytearray] = {}

    def feed(self, message: JsonObject) -> JsonObject | None:
        """Take one stream object; return what the caller shall see of it now, if anything.

        Raises:
            StreamRejectedError: If a chunk is malformed or a limit is exceeded.
        """
        if message.get("type") != "blob_chunk":
            return message
        chunk = self._chunk(message)
        if not chunk["end"]:
            self._append(chunk)
            return None
        return self._finish(chunk, message.get("meta"))

    def close(self) -> None:
        """Make sure that nothing is left open.

        Raises:
            StreamRejectedError: If a blob has not come to its end.
        """
        for blob_id, content in self._open.items():
            problem = f"blob {blob_id!r}: the last chunk is missing after {len(content)} bytes"
            raise StreamRejectedError(problem, error_type="blob_error")

    def _chunk(self, message: JsonObject) -> JsonObject:
        given = message.get("message")
        chunk = given if is_object(given) else {}
        for key, kind in _CHUNK_FIELDS.items():
            if not isinstance(chunk.get(key), kind):
                problem = f"blob chunk: expected {key!r} as {kind.__name__}"
                raise StreamRejectedError(problem, error_type="blob_error")
        return chunk

    def _append(self, chunk: JsonObject) -> None:
        content = self._open.setdefault(chunk["id"], bytearray())
        try:
            piece = base64.b64decode(chunk["blob"], validate=True)
        except binascii.Error as error:
            problem = f"blob chunk: expected base64: {error}"
            raise StreamRejectedError(problem, error_type="blob_error") from None
        if len(piece) > self._settings.blob_chunk_limit_bytes:
            raise StreamRejectedError("single file chunk is too large", error_type="blob_error")
        if len(content) + len(piece) > self._settings.blob_limit_bytes:
            raise StreamRejectedError("file is too large", error_type="blob_error")
        content += piece

    def _finish(self, chunk: JsonObject, meta: Any) -> JsonObject:
        content = self._open.pop(chunk["id"], bytearray())
        if len(content) != chunk["total_length"]:
            problem = (
                f"blob {chunk['id']!r}: expected {chunk['total_length']} bytes, got {len(content)}"
            )
            raise StreamRejectedError(problem, error_type="blob_error")
        encoded = base64.b64encode(content).decode("ascii")
        return {"type": "blob", "message": {"blob": encoded}, "meta": meta}
