"""Selection of the files of a tool's reply that a model sees.

Source: docs/contracts/dify-agent.md, C53; our choice.
"""

import base64
import binascii
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote_to_bytes

from pydantic_ai.messages import BinaryContent

from stream_text import find_media_type, render_omission

from ._tool_messages import DifyPluginToolInvokeMessage


_Type: Final = DifyPluginToolInvokeMessage.MessageType
_PDF: Final = "application/pdf"
_READABLE: Final = frozenset({_PDF, "image/gif", "image/jpeg", "image/png", "image/webp"})
_IMAGES: Final = frozenset({_Type.IMAGE, _Type.IMAGE_LINK})
_LINKS: Final = _IMAGES | {_Type.LINK, _Type.BINARY_LINK}
_MOST_BYTES: Final = 3_800_000  # In base64 as much as one request carries beside its texts.
_MOST_FILES: Final = 20


def readable_files(
    messages: Iterable[DifyPluginToolInvokeMessage],
) -> tuple[list[BinaryContent], list[str]]:
    """Return the images and PDFs of a reply that come with their bytes, at most twenty, and sentences for those that are left out.

    The bytes are in blobs, and in data URLs where a link could be. The first bytes decide about the type: an alleged image that is not one
    would make every later request fail.
    """
    read = [found for message in messages if (found := _read_file(message)) is not None]
    files = [found for found in read if isinstance(found, BinaryContent)]
    left_out = [found for found in read if isinstance(found, str)]
    left_out += [_omission("a model is shown twenty files of a reply")] * (len(files) - _MOST_FILES)
    # As many sentences as files at most; the others are counted.
    if (rest := len(left_out) - _MOST_FILES) > 0:
        left_out[_MOST_FILES:] = [f"[{rest} more files omitted]"]
    return files[:_MOST_FILES], left_out


def _read_file(message: DifyPluginToolInvokeMessage) -> BinaryContent | str | None:
    """Return the image or PDF in a message, or the sentence for one that the model does not see; None if there is none."""
    meta = message.meta or {}
    mime, data = str(meta.get("mime_type") or ""), b""
    if message.type == _Type.BLOB:
        data = message.message.blob
    elif message.type not in _LINKS:
        return None
    elif message.message.text[:5].lower() == "data:":
        mime, data = _parse_data_url(message.message.text)
    mime = mime.partition(";")[0].strip().lower()
    name = meta.get("filename")
    metadata = {"filename": name} if isinstance(name, str) and name else {}
    found = find_media_type(data)
    if found in _READABLE and len(data) <= _MOST_BYTES:
        file = BinaryContent(data=data, media_type=found, vendor_metadata=metadata or None)
        return BinaryContent.narrow_type(file)
    # An alleged image whose bytes are not one that a model reads.
    if message.type in _IMAGES or mime.startswith("image/"):
        return _omission(_reason(message, data, found), **metadata)
    return (
        _omission(_reason(message, data, found), kind="file", **metadata) if mime == _PDF else None
    )


def _reason(message: DifyPluginToolInvokeMessage, data: bytes, found: str) -> str:
    if not data:
        is_link = message.type in _LINKS and message.message.text[:5].lower() != "data:"
        return "it is behind a link, which is not followed here" if is_link else "it is empty"
    if found in _READABLE:
        return f"it has {len(data):,} bytes, and a model is shown {_MOST_BYTES:,} at most"
    return "models read PNG, JPEG, WebP and GIF images and PDFs, and this is none"


def _omission(reason: str, *, kind: str = "image", filename: str = "") -> str:
    return render_omission(kind, reason=reason, name=filename)


def _parse_data_url(url: str) -> tuple[str, bytes]:
    """Return media type and bytes of a data URL; no bytes if they are not in base64."""
    head, _, body = url.partition(",")
    media_type = head[5:].partition(";")[0]
    if not head.endswith(";base64"):
        return media_type, b""
    try:
        return media_type, base64.b64decode(unquote_to_bytes(body), validate=True)
    except binascii.Error:
        return media_type, b""
