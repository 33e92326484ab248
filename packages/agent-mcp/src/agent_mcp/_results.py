"""A server's results as what a model reads."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, assert_never

from mcp import types

from agent_tooling import ToolError
from stream_text import KnownSecrets, is_object


# What the Responses API takes as pictures (docs/evidence/responses-api.md).
_PICTURES: Final = ("image/gif", "image/jpeg", "image/png", "image/webp")
_MAX_COMPARED: Final = 1_000_000
_PDF: Final = "application/pdf"

type Part = Mapping[str, str]


def read_result(result: types.CallToolResult, known: KnownSecrets) -> str | list[Part]:
    """Return a result as a text or, if there is more than texts, as content parts. A structured result is shown as JSON, unless a text says the same.

    Args:
        result: The result.
        known: The secrets that no text may show.

    Raises:
        ToolError: If the server says that the call has failed, with its text.
    """
    parts = [_read_block(block, known) for block in result.content]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    structured = result.structured_content
    said = [block.text for block in result.content if isinstance(block, types.TextContent)]
    if structured is not None and not _is_said(structured, said):
        written = known.redact(json.dumps(structured, ensure_ascii=False))
        parts.append(_text(written))
        texts.append(written)
    if result.is_error:
        raise ToolError("\n".join(texts) or "the tool has failed")
    return "\n".join(texts) if len(texts) == len(parts) else parts


def _is_said(structured: Any, texts: Sequence[str]) -> bool:
    """Return whether the texts say the same, or the only member of it, as servers wrap what is not an object; a list may be said item by item."""
    values = [structured]
    if is_object(structured) and len(structured) == 1:
        values += structured.values()
    said = [list(texts), *(value for text in texts for value in _iter_values(text))]
    return any(value in values for value in said)


def _iter_values(text: str) -> Iterator[Any]:
    yield text
    try:
        # A longer one may become more than there is memory for, and nobody reads to its end.
        yield json.loads(text[:_MAX_COMPARED])
    except (ValueError, RecursionError):
        return


def _read_block(block: types.ContentBlock, known: KnownSecrets) -> Part:
    match block:
        case types.TextContent():
            return _text(known.redact(block.text))
        case types.ImageContent():
            return _read_data(block.data, block.mime_type, known)
        case types.AudioContent():
            return _left_out(block.mime_type, block.data, known)
        case types.ResourceLink():
            return _text(known.redact(f"{block.title or block.name}: {block.uri}"))
        case types.EmbeddedResource():
            return _read_resource(block.resource, known)
        case _:
            assert_never(block)


def _read_resource(
    resource: types.TextResourceContents | types.BlobResourceContents, known: KnownSecrets
) -> Part:
    if isinstance(resource, types.TextResourceContents):
        return _text(known.redact(resource.text))
    name = known.redact(str(resource.uri)).rpartition("/")[2]
    return _read_data(resource.blob, resource.mime_type or "", known, name=name)


def _read_data(data: str, mime_type: str, known: KnownSecrets, *, name: str = "") -> Part:
    if mime_type in _PICTURES:
        return {"type": "image", "data": data, "mime_type": mime_type}
    if mime_type == _PDF:
        return {
            "type": "file",
            "data": data,
            "mime_type": mime_type,
            "filename": name or "file.pdf",
        }
    return _left_out(mime_type, data, known)


def _left_out(mime_type: str, data: str, known: KnownSecrets) -> Part:
    kind = known.redact(mime_type[:100]) or "data"
    return _text(f"[{kind} of {len(data) * 3 // 4} bytes, which cannot be shown]")


def _text(text: str) -> Part:
    return {"type": "text", "text": text}
