"""A tool's result: the files for the user, and the text and parts for the model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from ._files_at_hand import FilesAtHand
from ._model import Model
from ._parts import (
    IMAGE_TYPES,
    Part,
    file_part,
    is_readable,
    join_texts,
    kind_of,
    list_files,
    text_part,
)


_TYPES = ToolInvokeMessage.MessageType
_IMAGES = frozenset({_TYPES.IMAGE, _TYPES.IMAGE_LINK})
_SHOWN = frozenset({*_IMAGES, _TYPES.BLOB, _TYPES.FILE})
_FILE_KEYS = ("tool_file_id", "file")
# The limit for a file's description, which is sent with every piece of the file.
_MAX_META_CHARACTERS = 64 * 1024
_MAX_TYPE_CHARACTERS = 100
_READ_TYPES = IMAGE_TYPES | {"application/pdf", "application/json"}
_READ_BEGINNINGS = ("text/", "application/vnd.openxmlformats-officedocument.")
_UNKNOWN_TYPE = "application/octet-stream"
_TOO_LONG = "A file of the tool is left out: what describes it is too long."


@dataclass(frozen=True, slots=True, kw_only=True)
class _ToolFile:
    """A file in a tool's message, or behind its link.

    Attributes:
        name: Its name, at hand or from the tool.
        mime_type: Its MIME type, according to the tool or the server.
        fetched: Its bytes, or why there are none.
        url: The link; empty if there is none.
        kind: The kind of file, of those that a model could read, that a link should lead to; empty for none.
    """

    name: str
    mime_type: str
    fetched: Fetched = field(repr=False)
    url: str = ""
    kind: str = ""

    @property
    def found_type(self) -> str:
        """The MIME type by its bytes or else as declared; empty if unknown."""
        found = mime_type_of(self.fetched.data) if self.fetched.data else ""
        return self.mime_type or found if found in {"", _UNKNOWN_TYPE} else found


def read_answer(
    messages: Iterable[object], *, files_root: str, model: Model, at_hand: FilesAtHand
) -> ToolOutput:
    """Read a tool's messages, the files under `files_root` that they name as images, and the files behind links that the model can read or choose.

    Files and images for the user are the artifact. They stay tool messages, the only kind whose content the SDK sends
    in chunks: a line with a whole file of several megabytes would kill the plugin. If a tool takes files, all of them
    are put at hand, and the model reads their names first.

    Raises:
        BlobError: If the chunks of a file do not add up, or it is over 15 MiB.
    """
    merged = merge_blob_chunks(messages, max_file_size=MAX_FILE_BYTES)
    received = [_to_sdk(message) for message in merged]
    local = [_load_local(message, files_root) for message in received]
    observed = [_to_observed(old, new) for old, new in zip(received, local, strict=True)]
    files = _find_files(local, model, has_all=at_hand.are_offered)
    names: list[str] = []
    if at_hand.are_offered:
        # Before the parts are built, which name the files as they are named at hand.
        files = [file and _put_at_hand(file, at_hand, names) for file in files]
    parts = {
        # By identity: messages have no hash, and two may be equal.
        id(message): file and _find_part(file, model)
        for message, file in zip(observed, files, strict=True)
    }
    content = observation_content(observed, find_part=lambda message: parts[id(message)])
    return ToolOutput(content=_with_names(content, names), artifact=tuple(_iter_shown(local)))


def _with_names(content: ToolContent, names: Sequence[str]) -> ToolContent:
    if isinstance(content, str):
        return "\n".join(filter(None, (list_files(names), content))) if names else content
    named = [text_part(list_files(names))] if names else []
    return join_texts([*named, *map(dict, content)])


def _find_files(
    messages: Sequence[ToolInvokeMessage], model: Model, *, has_all: bool
) -> list[_ToolFile | None]:
    """Return the file of each message; files behind links that the model does not read are included only with `has_all`."""
    kinds = {_text(message): _kind_of_link(message) for message in messages if _is_link(message)}
    wanted = [url for url, kind in kinds.items() if has_all or (kind and is_readable(kind, model))]
    fetched = dict(zip(wanted, fetch_all(wanted), strict=True)) if wanted else {}
    return [_find_file(message, fetched) for message in messages]


def _find_file(message: ToolInvokeMessage, fetched: Mapping[str, Fetched]) -> _ToolFile | None:
    meta = message.meta or {}
    name, mime_type = str(meta.get("filename") or ""), str(meta.get("mime_type") or "")
    match message.message:
        case InvokeMessage.BlobMessage(blob=data):
            return _ToolFile(name=name, mime_type=mime_type, fetched=Fetched(data=data))
        case InvokeMessage.TextMessage(text=url) if url in fetched and _is_link(message):
            return _ToolFile(
                name=name,
                mime_type=mime_type or fetched[url].media_type,
                fetched=fetched[url],
                url=url,
                kind=_kind_of_link(message),
            )
        case _:
            return None


def _put_at_hand(file: _ToolFile, at_hand: FilesAtHand, names: list[str]) -> _ToolFile:
    """Put a file at hand if it has bytes or a link that could lead to them, and add its line for the model to `names`."""
    data = file.fetched.data
    if not data and not file.url.lower().startswith(("https://", "http://")):
        return file
    mime_type = file.found_type
    kind = file.kind if file.kind and not data else kind_of(mime_type)
    described: dict[str, Any] = {"mime_type": mime_type or None, "type": kind}
    if file.url:
        described["url"] = file.url
    facts = [mime_type[:_MAX_TYPE_CHARACTERS] or kind]
    if data:
        described["size"] = len(data)
        facts.append(f"{len(data):,} bytes")
    name = at_hand.add(described, data, name=file.name, is_held=True)
    names.append(f"{name} ({', '.join(facts)})")
    return replace(file, name=name)


def _find_part(file: _ToolFile, model: Model) -> Part | None:
    """Return the part that shows a file to the model; None if the text is enough."""
    if file.url and not (file.kind and is_readable(file.kind, model)):
        return None
    data, mime_type = file.fetched.data, file.mime_type
    if data is None:
        return text_part(render_omission(file.kind, reason=file.fetched.problem, name=file.name))
    kind = kind_of(mime_type)
    if kind == "image" or not mime_type:
        # Something called an image that is none would get the whole request refused.
        mime_type = mime_type_of(data)
        kind = kind_of(mime_type)
    if not data or not _is_shown(mime_type) or not is_readable(kind, model):
        return None
    return file_part(kind, data, mime_type=mime_type, name=file.name)


def _is_shown(mime_type: str) -> bool:
    """Return whether models read files of a type."""
    return mime_type in _READ_TYPES or mime_type.startswith(_READ_BEGINNINGS)


def _kind_of_link(message: ToolInvokeMessage) -> str:
    """Return the kind of file that a link leads to, of those that a model could read; empty for any other link or message."""
    mime_type = str((message.meta or {}).get("mime_type") or "")
    if isinstance(message, FileLink) or message.type is _TYPES.LINK:
        return kind_of(mime_type) if _is_shown(mime_type) else ""
    return "image" if message.type in _IMAGES else ""


def _is_link(message: ToolInvokeMessage) -> bool:
    """Return whether a message is a link to a file, not to a page."""
    return bool(_text(message)) and (
        message.type in _IMAGES or _is_stored(message) or bool(_kind_of_link(message))
    )


def _is_stored(message: ToolInvokeMessage) -> bool:
    """Return whether a message is a link to a file that Dify has stored."""
    keys = message.meta or {}
    return message.type is _TYPES.LINK and any(keys.get(key) for key in _FILE_KEYS)


def _to_observed(received: ToolInvokeMessage, local: ToolInvokeMessage) -> ToolInvokeMessage:
    """Return the message for the model: an image stays an image, unless it must not be read."""
    if isinstance(received, FileLink):
        return received.to_link()
    return local if local.type is _TYPES.TEXT else received


def _iter_shown(messages: Iterable[ToolInvokeMessage]) -> Iterator[ToolInvokeMessage]:
    for message in messages:
        # The user is told of an image that could not be read, as the model is.
        is_failure = message.type is _TYPES.TEXT and _text(message) == LOCAL_FILE_FAILED
        if message.type not in _SHOWN and not _is_stored(message) and not is_failure:
            continue
        is_long = len(str(message.meta)) > _MAX_META_CHARACTERS
        yield _to_text(_TOO_LONG) if is_long else message


def _to_sdk(message: Any) -> ToolInvokeMessage:
    """Return a message as it is, or a merged blob as the SDK's own kind."""
    if isinstance(message, ToolInvokeMessage):
        return message
    return to_blob(message.message.blob, message.meta)


def _load_local(message: ToolInvokeMessage, root: str) -> ToolInvokeMessage:
    """Replace an image that is a file on this machine by its content, or by a sentence if it must not be read.

    A path of the platform looks the same (`/files/tools/...`) but is not a file here, so it passes unchanged.
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
