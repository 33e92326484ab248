"""What of a tool's result goes to the user, and what the model reads of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dify_plugin.entities.invoke_message import InvokeMessage
from dify_plugin.entities.tool import ToolInvokeMessage

from agent_tooling import (
    LOCAL_FILE_FAILED,
    LocalFileError,
    LocalFileNotFoundError,
    ToolContent,
    ToolOutput,
    merge_blob_chunks,
    mime_type_of,
    observation_content,
    read_local_file,
)
from stream_text import render_omission

from ._answer_files import to_blob
from ._fetch import MAX_FILE_BYTES, Fetched, fetch_all
from ._file_links import FileLink
from ._model import Model
from ._parts import IMAGE_TYPES, Part, file_part, is_readable, join_texts, kind_of, text_part


_TYPES = ToolInvokeMessage.MessageType
_IMAGES = frozenset({_TYPES.IMAGE, _TYPES.IMAGE_LINK})
_SHOWN = frozenset({*_IMAGES, _TYPES.BLOB, _TYPES.FILE})
_FILE_KEYS = ("tool_file_id", "file")
# Of what describes a file: it leaves with every piece of the file.
_MAX_META_CHARACTERS = 64 * 1024
_READ_TYPES = IMAGE_TYPES | {"application/pdf", "application/json"}
_READ_BEGINNINGS = ("text/", "application/vnd.openxmlformats-officedocument.")
_TOO_LONG = "A file of the tool is left out: what describes it is too long."


def read_answer(messages: Iterable[object], *, files_root: str, model: Model) -> ToolOutput:
    """Read a tool's messages, the files under `files_root` that they name as images, and what their links lead to that the model can read.

    What goes to the user, files and images, is the artifact. It stays a tool message: of those, and of no other, the SDK sends the content in chunks, and a line with a whole file of several
    megabytes would kill the plugin.

    Raises:
        BlobError: If the chunks of a file do not add up, or it is over 15 MiB.
    """
    merged = merge_blob_chunks(messages, max_file_size=MAX_FILE_BYTES)
    said = [_to_sdk(message) for message in merged]
    local = [_load_local(message, files_root) for message in said]
    told = [_to_told(old, new) for old, new in zip(said, local, strict=True)]
    parts = {id(old): part for old, part in zip(told, _find_parts(local, model), strict=True)}
    content = observation_content(told, find_part=lambda message: parts[id(message)])
    return ToolOutput(content=_joined(content), artifact=tuple(_iter_shown(local)))


def _joined(content: ToolContent) -> ToolContent:
    return content if isinstance(content, str) else join_texts([dict(part) for part in content])


def _find_parts(messages: Sequence[ToolInvokeMessage], model: Model) -> list[Part | None]:
    """Return what the model sees of each message besides a text: the file in it, or behind the link in it."""
    urls = {_text(message): _kind_of_link(message) for message in messages}
    wanted = [url for url, kind in urls.items() if kind and is_readable(kind, model)]
    fetched = dict(zip(wanted, fetch_all(wanted), strict=True)) if wanted else {}
    return [_find_part(message, fetched, model) for message in messages]


def _find_part(
    message: ToolInvokeMessage, fetched: Mapping[str, Fetched], model: Model
) -> Part | None:
    meta = message.meta or {}
    name = str(meta.get("filename") or "")
    mime_type = str(meta.get("mime_type") or "")
    match message.message:
        case InvokeMessage.BlobMessage(blob=data):
            pass
        case InvokeMessage.TextMessage(text=url) if url in fetched and _kind_of_link(message):
            data = fetched[url].data
            mime_type = mime_type or fetched[url].media_type
            if data is None:
                kind = _kind_of_link(message)
                return text_part(render_omission(kind, reason=fetched[url].problem, name=name))
        case _:
            return None
    kind = kind_of(mime_type)
    if kind == "image" or not mime_type:
        mime_type = mime_type_of(
            data
        )  # What is called an image and is none would have the whole request refused.
        kind = kind_of(mime_type)
    if not data or not _is_shown(mime_type) or not is_readable(kind, model):
        return None
    return file_part(kind, data, mime_type=mime_type, name=name)


def _is_shown(mime_type: str) -> bool:
    """Return whether models read files of a type; of others they read that there is one."""
    return mime_type in _READ_TYPES or mime_type.startswith(_READ_BEGINNINGS)


def _kind_of_link(message: ToolInvokeMessage) -> str:
    """Return what a link leads to that a model could read; nothing where it leads to nothing of that kind, or is none."""
    mime_type = str((message.meta or {}).get("mime_type") or "")
    if isinstance(message, FileLink) or message.type is _TYPES.LINK:
        return kind_of(mime_type) if _is_shown(mime_type) else ""
    return "image" if message.type in _IMAGES else ""


def _to_told(said: ToolInvokeMessage, local: ToolInvokeMessage) -> ToolInvokeMessage:
    """Return what the model is told of a message: an image stays an image, and not some file, unless it must not be read."""
    if isinstance(said, FileLink):
        return said.to_link()
    return local if local.type is _TYPES.TEXT else said


def _iter_shown(messages: Iterable[ToolInvokeMessage]) -> Iterator[ToolInvokeMessage]:
    for message in messages:
        is_file_link = message.type is _TYPES.LINK and any(
            (message.meta or {}).get(key) for key in _FILE_KEYS
        )
        is_failure = message.type is _TYPES.TEXT and _text(message) == LOCAL_FILE_FAILED
        if message.type not in _SHOWN and not is_file_link and not is_failure:
            continue
        is_long = len(str(message.meta)) > _MAX_META_CHARACTERS
        yield _to_text(_TOO_LONG) if is_long else message


def _to_sdk(message: Any) -> ToolInvokeMessage:
    """Return a message as it is, or a merged blob as the SDK's own kind."""
    if isinstance(message, ToolInvokeMessage):
        return message
    return to_blob(message.message.blob, message.meta)


def _load_local(message: ToolInvokeMessage, root: str) -> ToolInvokeMessage:
    """Replace an image that is a file of this machine by its content, or by a sentence where it must not be read.

    A path of the platform looks the same (`/files/tools/...`) but is no file here; it passes.
    """
    path = _text(message)
    if message.type not in _IMAGES or not path.startswith(f"{root}/"):
        return message
    try:
        file = read_local_file(path, root=root)
    except LocalFileNotFoundError:
        return message
    except LocalFileError:
        return _to_text(LOCAL_FILE_FAILED)
    return to_blob(file.data, {"mime_type": file.mime_type, "filename": file.filename})


def _to_text(text: str) -> ToolInvokeMessage:
    return ToolInvokeMessage(type=_TYPES.TEXT, message=InvokeMessage.TextMessage(text=text))


def _text(message: ToolInvokeMessage) -> str:
    payload = message.message
    return payload.text if isinstance(payload, InvokeMessage.TextMessage) else ""
