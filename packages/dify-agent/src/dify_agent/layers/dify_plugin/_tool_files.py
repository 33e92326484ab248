"""The files of a tool's reply that a model may see.

Source: docs/contracts/dify-agent.md, C53; our choice.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from pydantic_ai.messages import BinaryContent

from ._tool_messages import DifyPluginToolInvokeMessage


_Type: Final = DifyPluginToolInvokeMessage.MessageType
_READABLE: Final = frozenset(
    {"application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp"}
)
_LINKS: Final = frozenset({_Type.IMAGE, _Type.IMAGE_LINK, _Type.LINK, _Type.BINARY_LINK})
_MOST_BYTES: Final = 3_800_000  # As base64 it is what one request carries, less the texts.
_MOST_FILES: Final = 20


def readable_files(messages: Iterable[DifyPluginToolInvokeMessage]) -> list[BinaryContent]:
    """Return the images and PDFs of a reply whose bytes are in it: blobs, and data URLs in the place of links.

    Those over 3.8 MB and those after the first twenty are left to the text that describes them.
    """
    files = [file for message in messages for file in _files(message)]
    return [file for file in files if 0 < len(file.data) <= _MOST_BYTES][:_MOST_FILES]


def _files(message: DifyPluginToolInvokeMessage) -> Iterator[BinaryContent]:
    meta = message.meta or {}
    if message.type == _Type.BLOB:
        media_type, data = str(meta.get("mime_type") or ""), message.message.blob
    elif message.type in _LINKS:
        media_type, data = _parse_data_url(message.message.text)
    else:
        return
    media_type = media_type.partition(";")[0].strip().lower()
    if media_type in _READABLE:
        yield BinaryContent.narrow_type(
            BinaryContent(data=data, media_type=media_type, vendor_metadata=_metadata(meta))
        )


def _metadata(meta: dict[str, Any]) -> dict[str, Any] | None:
    name = meta.get("filename")
    return {"filename": name} if isinstance(name, str) and name else None


def _parse_data_url(url: str) -> tuple[str, bytes]:
    """Return media type and bytes of a data URL with base64; of anything else nothing."""
    head, comma, body = url.partition(",")
    scheme, _, media_type = head.partition(":")
    if scheme.lower() != "data" or not comma or not head.endswith(";base64"):
        return "", b""
    try:
        return media_type, base64.b64decode(unquote_to_bytes(body), validate=True)
    except binascii.Error:
        return "", b""
