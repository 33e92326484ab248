"""Images and files in messages: translating Dify's parts and those of a run both ways, and replacing parts that a model cannot read."""

import base64
import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from dify_plugin.entities.model.message import (
    AudioPromptMessageContent,
    DocumentPromptMessageContent,
    ImagePromptMessageContent,
    MultiModalPromptMessageContent,
    PromptMessageContent,
    TextPromptMessageContent,
    VideoPromptMessageContent,
)

from agent_loop import Message
from agent_tooling import FILE_FEATURES
from stream_text import read_member, render_omission

from ._files_at_hand import FilesAtHand
from ._model import Model


type Part = dict[str, Any]
"""A content part of a run: `type` and, for a text, `text`, or else the members of Dify's part of that type."""

_CLASSES: Mapping[str, type[MultiModalPromptMessageContent]] = {
    "image": ImagePromptMessageContent,
    "document": DocumentPromptMessageContent,
    "audio": AudioPromptMessageContent,
    "video": VideoPromptMessageContent,
}
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
"""The types that models read as images, all recognisable by their first bytes."""
_FILES = "Files, in this order"
_UNREAD = "this model does not read it"


def text_part(text: str) -> Part:
    """Return a text as a part."""
    return {"type": "text", "text": text}


def file_part(kind: str, data: bytes, *, mime_type: str, name: str) -> Part:
    """Return the bytes of an image or a file as a part."""
    part = {
        "type": kind,
        "format": _extension(name, mime_type),
        "mime_type": mime_type,
        "filename": name,
        "base64_data": base64.b64encode(data).decode(),
    }
    # The SDK's default is `low`, which shows a model only a reduced image.
    return {**part, "detail": "high"} if kind == "image" else part


def kind_of(mime_type: str) -> str:
    """Return Dify's kind of file for a MIME type."""
    kind = mime_type.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"


def join_texts(parts: Sequence[Part]) -> str | tuple[Part, ...]:
    """Return parts as one text if all are texts: some providers' plugins cannot read parts."""
    if any(part["type"] != "text" or "opaque_body" in part for part in parts):
        return tuple(parts)
    return "\n".join(part["text"] for part in parts)


def name_files(content: Sequence[Part]) -> list[Part]:
    """Return parts with a line before the files that names them; parts that have it stay as they are."""
    named: list[Part] = []
    for is_text, group in groupby(content, key=lambda part: part["type"] == "text"):
        parts = list(group)
        names = [part["filename"] for part in parts if part.get("filename")]
        line = text_part(list_files(names))
        if names and not is_text and named[-1:] != [line]:
            named.append(line)
        named += parts
    return named


def names_files(content: Sequence[Part]) -> bool:
    """Return whether parts begin with the names of their files, as a tool's result does."""
    return bool(content) and str(content[0].get("text")).startswith(f"{_FILES}: ")


def list_files(names: Iterable[str]) -> str:
    """Return a line with the names of files."""
    return f"{_FILES}: {', '.join(names)}"


def is_readable(kind: str, model: Model) -> bool:
    """Return whether a model reads parts of a kind."""
    # Dify has no feature for texts: every model reads them.
    return kind not in FILE_FEATURES or model.has_feature(FILE_FEATURES[kind])


def unread(kind: str, name: str) -> Part:
    """Return a sentence in place of a part that the model cannot read."""
    return text_part(render_omission(kind, reason=_UNREAD, name=name))


def read_part(part: PromptMessageContent, model: Model, at_hand: FilesAtHand) -> Part:
    """Return a part of Dify's in the form of a run; a file in it is put at hand if a tool takes files, and gets the name that it has there."""
    if isinstance(part, TextPromptMessageContent):
        body = {} if part.opaque_body is None else {"opaque_body": part.opaque_body}
        return {**text_part(part.data), **body}
    kind = str(read_member(part, "type"))
    members = {**part.model_dump(mode="json", exclude_none=True), "type": kind}
    if at_hand.are_offered and (members.get("base64_data") or members.get("url")):
        members["filename"] = _put_at_hand(members, at_hand)
    return members if is_readable(kind, model) else unread(kind, members.get("filename", ""))


def hold_files(message: Message, at_hand: FilesAtHand) -> Message:
    """Put the files of a message that was sent in an earlier turn at hand, by the names that they had, and return it."""
    for part in () if isinstance(message.content, str) else message.content:
        if at_hand.are_offered and part.get("filename"):
            _put_at_hand(part, at_hand)
    return message


def _put_at_hand(members: Part, at_hand: FilesAtHand) -> str:
    url, data = members.get("url") or "", members.get("base64_data") or ""
    if url.startswith("data:"):
        url, data = "", url.partition(",")[2]
    described = {"mime_type": members.get("mime_type"), "type": members["type"]}
    if url:
        described["url"] = url
    if members.get("format"):
        described["extension"] = f".{members['format']}"
    return at_hand.add(described, data or None, name=members.get("filename", ""))


def fit_parts(content: str | tuple[Part, ...], model: Model) -> str | tuple[Part, ...]:
    """Return content with a sentence in place of each part that a model cannot read."""
    if isinstance(content, str):
        return content
    fitted = tuple(
        part if is_readable(part["type"], model) else unread(part["type"], part.get("filename", ""))
        for part in content
    )
    # Content that fits stays as it was, so that the request still begins with the previous one.
    return content if fitted == content else join_texts(fitted)


def to_sdk_part(part: Mapping[str, Any]) -> PromptMessageContent:
    """Return a part of a run in Dify's form."""
    kind = _CLASSES.get(str(part["type"]))
    if kind is not None:
        return kind.model_validate(part)
    return TextPromptMessageContent(data=part["text"], opaque_body=part.get("opaque_body"))


def _extension(name: str, mime_type: str) -> str:
    """Return Dify's `format` of a file: an extension without its dot."""
    extension = name.rpartition(".")[2] if "." in name else ""
    return extension.lower() or (mimetypes.guess_extension(mime_type) or ".bin").removeprefix(".")
