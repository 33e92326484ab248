"""Images and files in the content of messages, in any platform's shape, as the parts that the Responses API takes.

All shapes say where the bytes are and describe them, but under different names, in the part itself or in a mapping
inside it: Dify's parts (`base64_data`, `mime_type`), those of chat completions (`image_url`, `file`), of the Responses
API, of langchain (`base64`, `source_type`), of Anthropic (`source`), of AG-UI (`source` with `value`), of MCP
(`mimeType`, `blob`), of pydantic-ai (`kind`, `vendor_metadata`) and of the AI SDK (`image` or `data`, which may be a
link, `mediaType`).

Source: `dify_plugin.entities.model.message` of dify-plugin 0.10.2, `pydantic_ai.messages` of pydantic-ai-slim 2.68, the content blocks of
langchain-core 1.0, `types/responses` of openai 3.54; docs/contracts/openai-gpt5-responses.md, A52 to A54.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self, cast

from stream_text import (
    MAX_SIGNATURE_BYTES,
    find_media_type,
    is_list,
    is_object,
    read_member,
    render_omission,
)


type Part = dict[str, Any]

_KINDS = {
    **dict.fromkeys(("image", "image_url", "image-url", "image_file", "input_image"), "image"),
    **dict.fromkeys(("image-data", "image-file-id"), "image"),
    **dict.fromkeys(("file", "input_file", "document", "document-url", "text-plain"), "file"),
    **dict.fromkeys(("binary", "media", "resource", "uploaded-file"), "file"),
    **dict.fromkeys(("file-data", "file-id", "file-url"), "file"),
    **dict.fromkeys(("audio", "audio-url", "input_audio"), "audio"),
    **dict.fromkeys(("video", "video-url", "video_url"), "video"),
}
_OWN_KINDS = ("input_image", "input_file")
# The member of the API's own parts that says that the prompt is to be cached up to there.
CACHE_MARK = "prompt_cache_breakpoint"
# Members in which some shapes keep what others have in the part itself.
_HOLDERS = (
    "image_url",
    "image_file",
    "file",
    "source",
    "input_audio",
    "resource",
    "vendor_metadata",
    "extras",
    "metadata",
)
_URL = ("url", "image_url", "file_url")
_DATA = ("base64_data", "base64", "file_data", "blob")
_MEDIA_TYPE = ("mime_type", "media_type", "mimeType", "mediaType")
_NAME = ("filename", "file_name", "name", "title")
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_FILE_DETAILS = ("auto", "low", "high")
_EXTENSIONS = {
    "csv": "text/csv",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "txt": "text/plain",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "text/xml",
}
_NO_TYPES = ("", "application/octet-stream", "binary/octet-stream")
_MAX_LINK = 8  # characters of `https://`
_MAX_SCHEME = 6  # characters of `https:`, the longest of the schemes that matter here
_MAX_HEADER = 256  # characters of a data URL before its data
_HEAD_CHARACTERS = -(-MAX_SIGNATURE_BYTES // 3) * 4  # of base64, enough to know a file by
_STANDARD_ALPHABET = str.maketrans("-_", "+/", " \t\r\n")


def kind_of(part: object) -> str | None:
    """Return the kind that a part names, in lower case; None if it names none."""
    return word(read_member(part, "type", "kind"))


def word(value: object) -> str | None:
    """Return a text or a member of an enum in lower case; None for anything else."""
    value = _plain(value)
    return value.lower() if isinstance(value, str) else None


def is_media(value: object) -> bool:
    """Return whether a value is a part that holds bytes or refers to them."""
    return kind_of(value) in _KINDS and _Media.read(value).has_source


def are_own_parts(content: object) -> bool:
    """Return whether content is a list of parts, none of them in the shape of another API."""
    if not is_list(content):
        return False
    kinds = {kind_of(part) for part in content if not isinstance(part, str)}
    return kinds.isdisjoint({"text", *_KINDS} - {*_OWN_KINDS})


def media_part(part: object) -> Part:
    """Return an image or a file as the API takes it, or a sentence if the API takes no such part."""
    media = _Media.read(part)
    text = "" if media.has_source else _find(_holders(part), ("text",))
    if reason := "" if text else media.refusal():
        text = render_omission(media.kind, reason=reason, name=media.name)
    if text:
        mark = read_member(part, CACHE_MARK)
        return {"type": "input_text", "text": text, **({CACHE_MARK: mark} if mark else {})}
    return _further(part) | (media.to_image() if media.kind == "image" else media.to_file())


def _further(part: object) -> Part:
    """Return all members of a part that already has the API's own shape; none of any other part."""
    if not is_object(part) or kind_of(part) not in _OWN_KINDS:
        return {}
    return {name: value for name, value in part.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Media:
    """The facts about an image or a file in a part; unknown ones are empty.

    Attributes:
        kind: `image`, `file`, `audio`, `video`, or the part's own word.
        media_type: The MIME type, in lower case.
        name: The name of the file.
        detail: How closely the model should look at it.
        file_id: The id of a file at the server.
        url: The address from which the server can fetch it.
        data: The bytes, or a text that is their base64 or a data URL.
    """

    kind: str
    media_type: str
    name: str
    detail: str
    file_id: str
    url: str
    data: str | bytes

    @classmethod
    def read(cls, part: object) -> Self:
        """Read a part of any shape."""
        holders = _holders(part)
        is_kept = kind_of(read_member(part, "source")) == "file"  # at the server, as AG-UI has it
        url, data = _with_small_scheme(_find(holders, _URL)), _find_data(holders, _DATA)
        if url.startswith("data:"):
            url, data = "", _without_emptiness(url)
        elif not url and not data:
            # Asked for last: Dify's classes compute it from everything else.
            data = _find_data(holders, ("data", "image", *(() if is_kept else ("value",))))
        if isinstance(data, str) and kind_of(read_member(part, "source")) == "text":
            data = data.encode(errors="replace")  # as Anthropic's documents of plain text have it
        if isinstance(data, str) and data[:_MAX_LINK].lower().startswith(("https://", "http://")):
            url, data = _with_small_scheme(data), ""
        name = _find(holders, _NAME)
        media_type = _media_type(holders, data, name)
        named = kind_of(part) or "part"
        kind = _KINDS.get(named, named)
        if kind == "file":
            kind = _KINDS.get(media_type.partition("/")[0], kind)
        has_id = _find(holders, ("source_type",)) == "id"
        id_names = ("file_id", "fileId", *(("value",) if is_kept else ()))
        return cls(
            kind=kind,
            media_type=media_type,
            name=name,
            detail=_find(holders, ("detail",)).lower(),
            file_id=_find(holders, ("id",) if has_id else id_names),
            url=url,
            data=data,
        )

    @property
    def has_source(self) -> bool:
        """Whether it has bytes or refers to them."""
        return bool(self.data or self.url or self.file_id)

    def refusal(self) -> str:
        """Return why the API takes no such part, as the end of a sentence; an empty text if it takes it."""
        if self.kind in ("audio", "video"):
            return f"models read text, images and documents, and no {self.kind}"
        if self.kind not in ("image", "file"):
            return "it is no text, image or document"
        if not self.has_source:
            return "it is empty"
        if self.url and not self.data and not self.url.startswith(("https://", "http://")):
            return "its link is no http or https address"
        is_unknown = self.media_type in _NO_TYPES or self.media_type.endswith("/*")
        if is_unknown if self.kind == "file" else self.media_type not in _IMAGE_TYPES:
            return self._refusal_of_type() if self.data or not is_unknown else ""
        return ""

    def _refusal_of_type(self) -> str:
        if self.kind == "file":
            return "nothing says of which type it is"
        return f"models read PNG, JPEG, WebP and GIF images, and not {self.media_type or 'this'}"

    def to_image(self) -> Part:
        """Return the image as the API takes it, always with a detail, which other servers demand."""
        part = {"type": "input_image", "detail": self.detail or "auto"}
        if self.data or self.url:
            return part | {"image_url": self._data_url() if self.data else self.url}
        return part | {"file_id": self.file_id}

    def to_file(self) -> Part:
        """Return the file as the API takes it; data must have a name."""
        part = {"type": "input_file"}
        if self.detail in _FILE_DETAILS:
            part["detail"] = self.detail
        if self.data:
            return part | {"filename": self._filename(), "file_data": self._data_url()}
        return part | ({"file_url": self.url} if self.url else {"file_id": self.file_id})

    def _filename(self) -> str:
        endings = (ending for ending, kind in _EXTENSIONS.items() if kind == self.media_type)
        return self.name or f"document.{next(endings, 'txt')}"

    def _data_url(self) -> str:
        if isinstance(self.data, bytes):
            return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"
        if self.data.startswith("data:"):
            return self.data
        return f"data:{self.media_type};base64,{_in_standard_alphabet(self.data)}"


def _holders(part: object) -> list[object]:
    """Return a part and the mappings and objects inside it that describe it."""
    held = (read_member(part, name) for name in _HOLDERS)
    return [part, *(one for one in held if one is not None and not isinstance(one, str | bytes))]


def _find(holders: Sequence[object], names: Sequence[str]) -> str:
    found = next(_iter_found(holders, names), "")
    return found if isinstance(found, str) else ""


def _find_data(holders: Sequence[object], names: Sequence[str]) -> str | bytes:
    found = next(_iter_found(holders, names), "")
    return _without_emptiness(found) if isinstance(found, str) else found


def _iter_found(holders: Sequence[object], names: Sequence[str]) -> Iterator[str | bytes]:
    """Yield the texts and bytes under any of these names, the part's own first."""
    for holder in holders:
        for name in names:
            value: object = None
            # Properties that pydantic-ai computes from a URL raise if they cannot.
            with suppress(ValueError):
                value = _plain(read_member(holder, name))
            if isinstance(value, bytearray | memoryview):
                value = bytes(cast("bytearray", value))
            if isinstance(value, str | bytes) and value:
                yield value


def _with_small_scheme(url: str) -> str:
    """Return a link with its scheme in lower case, where capitals mean the same; megabytes are not copied for it."""
    scheme = url[:_MAX_SCHEME].partition(":")[0]
    return url if scheme.islower() else scheme.lower() + url[len(scheme) :]


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value


def _without_emptiness(data: str) -> str:
    """Return a data URL, or an empty text if there is no data in it."""
    is_empty = data.startswith("data:") and len(data) <= _MAX_HEADER and data.endswith(",")
    return "" if is_empty else data


def _media_type(holders: Sequence[object], data: str | bytes, name: str) -> str:
    """Return the media type that is given, or else the one that the first bytes or the name of the file show."""
    said = _find(holders, _MEDIA_TYPE)
    if isinstance(data, str) and data.startswith("data:"):
        said = data[5 : data.find(",", 0, _MAX_HEADER)] or said
    said = said.partition(";")[0].strip().lower().replace("image/jpg", "image/jpeg")
    # An image type that the API refuses may be wrong, so the bytes are looked at all the same.
    if said in _IMAGE_TYPES or not (said in _NO_TYPES or said.startswith("image/")):
        return said
    if seen := seen_type(data):
        return seen
    extension = name.rpartition(".")[2] or _find(holders, ("format",)).removeprefix(".")
    return _EXTENSIONS.get(extension.lower(), said)


def seen_type(data: str | bytes) -> str:
    """Return the media type that the first bytes show; an empty text if it is unknown."""
    if isinstance(data, bytes):
        return find_media_type(data)
    start = data.find(",", 0, _MAX_HEADER) + 1
    with suppress(ValueError):
        return find_media_type(binascii.a2b_base64(data[start : start + _HEAD_CHARACTERS]))
    return ""


def _in_standard_alphabet(data: str) -> str:
    """Return base64 in the form that all servers read, even if it was written for URLs or in lines."""
    if any(character in data for character in "-_\n\r "):
        data = data.translate(_STANDARD_ALPHABET)
    return data + "=" * (-len(data) % 4)
