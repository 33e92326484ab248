"""Images in a model's answer, as files for the agent node."""

from base64 import b64decode
from contextlib import suppress
from typing import Any

from dify_plugin.entities.invoke_message import InvokeMessage
from dify_plugin.entities.model.message import MultiModalPromptMessageContent
from dify_plugin.entities.tool import ToolInvokeMessage

from stream_text import render_omission

from ._fetch import MAX_FILE_BYTES, fetch_all


def to_blob(data: bytes, meta: dict[str, Any] | None) -> ToolInvokeMessage:
    """Return a file as a tool message, the only kind whose content the SDK sends in chunks."""
    return ToolInvokeMessage(
        type=ToolInvokeMessage.MessageType.BLOB,
        message=InvokeMessage.BlobMessage(blob=data),
        meta=meta,
    )


def read_answer_file(part: MultiModalPromptMessageContent) -> ToolInvokeMessage | str:
    """Return a part of a model's answer as a file, or the sentence that replaces it."""
    meta = {"mime_type": part.mime_type, "filename": part.filename or f"answer.{part.format}"}
    problem = "its data could not be read"
    data: bytes | None = None
    if part.url and not part.url.startswith("data:"):
        [fetched] = fetch_all([part.url])
        data, problem = fetched.data, fetched.problem
    else:
        with suppress(ValueError):
            data = b64decode(part.base64_data or part.url.partition(",")[2], validate=True)
    if data and len(data) > MAX_FILE_BYTES:
        data, problem = None, f"it has {len(data):,} bytes, and Dify takes {MAX_FILE_BYTES:,}"
    if data:
        return to_blob(data, meta)
    kind = str(getattr(part, "type", "file"))
    return render_omission(kind, reason=problem, name=part.filename)
