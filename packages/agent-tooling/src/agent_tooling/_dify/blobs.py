"""Putting the files of a tool result together from their chunks.

The checks of order, length and completeness are our addition.

Source: docs/evidence/dify-platform.md, P5; docs/contracts/dify-agent.md, C31.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self

from agent_tooling._errors import BlobChunkError, BlobTooLargeError, UnfinishedBlobError
from agent_tooling._json_text import plain_value
from stream_text import read_member


# The limits of Dify and its daemon.
MAX_FILE_BYTES: Final = 30 * 1024 * 1024
MAX_CHUNK_BYTES: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """The content of one file.

    Attributes:
        blob: The bytes.
    """

    blob: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobMessage:
    """One file of a tool result, in the shape of a tool message.

    Attributes:
        message: The content.
        meta: What the sender said about the file, such as `mime_type` and `filename`.
        type: Always `blob`.
    """

    message: Blob
    meta: Mapping[str, Any] | None = None
    type: Literal["blob"] = "blob"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunk:
    """One piece of a file, with its fields checked."""

    id: str
    sequence: int
    total_length: int
    data: bytes = field(repr=False)
    is_last: bool

    @classmethod
    def from_raw(cls, payload: object) -> Self:
        fields = [read_member(payload, name) for name in ("id", "sequence", "total_length", "end")]
        match [*fields, _bytes(read_member(payload, "blob"))]:
            case [str(name), int(sequence), int(total), bool(is_last), bytes(data)]:
                return cls(
                    id=name, sequence=sequence, total_length=total, data=data, is_last=is_last
                )
            case _:
                raise BlobChunkError("Blob chunk responses must carry BlobChunkMessage payloads.")


@dataclass(slots=True)
class _Buffer:
    """The bytes of one file so far. It grows with the data, never to the length that the sender announces."""

    next_sequence: int
    data: bytearray = field(default_factory=bytearray)


def merge_blob_chunks[Message](
    messages: Iterable[Message],
    *,
    max_file_size: int = MAX_FILE_BYTES,
    max_chunk_size: int = MAX_CHUNK_BYTES,
) -> list[Message | BlobMessage | dict[str, Any]]:
    """Replace the blob chunks among a tool's messages with whole blobs.

    A blob stands where its last chunk stood, with that chunk's `meta`: as a mapping when the chunk was a mapping,
    otherwise as a `BlobMessage`. Other messages pass unchanged and in order. The chunks of several files may
    alternate.

    Args:
        messages: Mappings or objects with `type`, `message` and `meta`; a chunk's data may be bytes or base64 text.
        max_file_size: Largest file in bytes, inclusive.
        max_chunk_size: Largest chunk in bytes, inclusive.

    Raises:
        BlobChunkError: If a chunk lacks a field or is out of order, or if its file has another length than announced.
        BlobTooLargeError: If a chunk or a file is over its limit; nothing of that size has been allocated.
        UnfinishedBlobError: If the messages ended before a file did.
    """
    buffers: dict[str, _Buffer] = {}
    merged: list[Message | BlobMessage | dict[str, Any]] = []
    for message in messages:
        if plain_value(read_member(message, "type")) != "blob_chunk":
            merged.append(message)
            continue
        chunk = _Chunk.from_raw(read_member(message, "message"))
        # Checked before anything is added, by the announced length as well, so that nothing too large
        # is gathered.
        _validate_limits(chunk, buffers.get(chunk.id), max_file_size, max_chunk_size)
        data = _add(chunk, buffers)
        if data is not None:
            merged.append(_to_blob(message, data))
    if buffers:
        raise UnfinishedBlobError(tuple(buffers))
    return merged


def _validate_limits(
    chunk: _Chunk, buffer: _Buffer | None, max_file_size: int, max_chunk_size: int
) -> None:
    size = len(chunk.data) + (len(buffer.data) if buffer else 0)
    if max(size, chunk.total_length) > max_file_size:
        limit = f"{max_file_size / 1024 / 1024}MB"
        message = f"File is too large which reached the limit of {limit}"
        raise BlobTooLargeError(chunk.id, max_file_size, message)
    if len(chunk.data) > max_chunk_size:
        limit = f"{max_chunk_size / 1024}KB"
        message = f"File chunk is too large which reached the limit of {limit}"
        raise BlobTooLargeError(chunk.id, max_chunk_size, message)


def _add(chunk: _Chunk, buffers: dict[str, _Buffer]) -> bytes | None:
    """Add a chunk to its file, and return the file when it is complete."""
    # The first chunk decides where the sequence of its file begins.
    buffer = buffers.setdefault(chunk.id, _Buffer(chunk.sequence))
    if chunk.sequence != buffer.next_sequence:
        raise BlobChunkError(
            f"blob {chunk.id!r}: chunk {buffer.next_sequence} expected, got {chunk.sequence}"
        )
    buffer.next_sequence += 1
    buffer.data += chunk.data
    if not chunk.is_last:
        return None
    del buffers[chunk.id]
    if len(buffer.data) != chunk.total_length:
        raise BlobChunkError(
            f"blob {chunk.id!r}: {chunk.total_length} bytes announced, got {len(buffer.data)}"
        )
    return bytes(buffer.data)


def _to_blob(message: object, data: bytes) -> BlobMessage | dict[str, Any]:
    """Build the message of a whole file in the shape of its last chunk's message."""
    meta = read_member(message, "meta")
    if isinstance(message, Mapping):
        return {"type": "blob", "message": {"blob": data}, "meta": meta}
    return BlobMessage(message=Blob(blob=data), meta=meta)


def _bytes(data: object) -> bytes | None:
    """Return a chunk's data, which a dump holds as base64 text."""
    if isinstance(data, bytes):
        return data
    if not isinstance(data, str):
        return None
    try:
        # Without `validate`, characters that are not base64 would be dropped silently.
        return base64.b64decode(data, validate=True)
    except ValueError:
        return None
