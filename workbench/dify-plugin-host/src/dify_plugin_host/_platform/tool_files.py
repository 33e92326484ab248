"""The files of tools on their way to a strategy: Dify keeps a tool's blob and hands on a link to it.

Source: `api/core/tools/utils/message_transformer.py` of langgenius/dify at 06bb7da2, read 2026-11.
"""

import base64
import contextlib
import dataclasses
from collections.abc import AsyncGenerator

from dify_plugin_host._files.links import FileLinks
from dify_plugin_host._files.local_file import LocalFile
from dify_plugin_host._process.blobs import BlobAssembler
from dify_plugin_host._settings import HostSettings
from dify_plugin_packager.json_access import JsonObject, object_at


# Dify's limit for a tool's file: docs/evidence/dify-platform.md, P5.
_MOST_BYTES = 30 * 1024 * 1024


async def link_blobs(
    messages: AsyncGenerator[JsonObject], links: FileLinks, settings: HostSettings
) -> AsyncGenerator[JsonObject]:
    """Yield a tool's messages, with a link in place of each blob.

    Raises:
        StreamRejectedError: If the chunks of a blob break a rule of the platform.
    """
    blobs = BlobAssembler(dataclasses.replace(settings, blob_limit_bytes=_MOST_BYTES))
    async with contextlib.aclosing(messages):
        async for message in messages:
            whole = blobs.feed(message)
            if whole is None:
                continue
            yield await _linked(whole, links) if whole.get("type") == "blob" else whole


async def _linked(message: JsonObject, links: FileLinks) -> JsonObject:
    meta = object_at(message, "meta")
    mime_type = str(meta.get("mime_type") or "application/octet-stream")
    content = base64.b64decode(str(object_at(message, "message").get("blob") or ""))
    named = LocalFile(name=str(meta.get("filename") or ""), content=content, mime_type=mime_type)
    file = named if named.name else dataclasses.replace(named, name=f"file{named.extension}")
    shared = await links.share(file, is_tool_file=True)
    return {
        "type": "image_link" if "image" in mime_type else "binary_link",
        "message": {"text": shared.url},
        "meta": {**meta, "tool_file_id": shared.id},
    }
