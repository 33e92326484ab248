"""A file and its forms in Dify: its type, its MIME type, and its entry in a message or among parameters.

Source: `api/factories/file_factory` of langgenius/dify at 02b5705b, and `file/constants.py` and `file/file_manager.py` of
langgenius/graphon at 3d14fc9, read 2026-11.
"""

import base64
import binascii
import mimetypes
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, Self

from dify_plugin_host._errors import FileInputError
from dify_plugin_packager.json_access import JsonObject, object_at
from stream_text import find_media_type


type FileType = Literal["image", "document", "audio", "video", "custom"]

_MB = 1024 * 1024
_EXTENSIONS: dict[FileType, frozenset[str]] = {
    "image": frozenset(["jpg", "jpeg", "png", "webp", "gif", "svg"]),
    "video": frozenset(["mp4", "mov", "mpeg", "webm"]),
    "audio": frozenset(["mp3", "m4a", "wav", "amr", "mpga"]),
    "document": frozenset(
        {"txt", "markdown", "md", "mdx", "pdf", "html", "htm", "xlsx", "xls", "doc", "docx"}
        | {"csv", "eml", "msg", "ppt", "pptx", "xml", "epub", "odt", "vtt", "properties"}
    ),
}
_MOST_MB: dict[FileType, int] = {
    "image": 10,
    "video": 100,
    "audio": 50,
    "document": 15,
    "custom": 15,
}
_OFFICE = "application/vnd.openxmlformats-officedocument"
_UNKNOWN = "application/octet-stream"
# Browsers' MIME types of files that Dify takes, if Python does not know them.
_MIME_TYPES = {
    ".amr": "audio/amr",
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".epub": "application/epub+zip",
    ".m4a": "audio/mp4",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".mdx": "text/mdx",
    ".mpga": "audio/mpeg",
    ".msg": "application/vnd.ms-outlook",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".wav": "audio/wav",
    ".webp": "image/webp",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
}
# Python's own table, because that of the machine would make the result depend on it.
_TYPES = mimetypes.MimeTypes()


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """A file in the way of Dify.

    Attributes:
        name: Its name, without a folder.
        content: Its bytes.
        mime_type: Its MIME type.
    """

    name: str
    content: bytes = field(repr=False)
    mime_type: str = _UNKNOWN

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read a file as a user of Dify would upload it.

        Raises:
            FileInputError: If it cannot be read, is empty, has no extension, or is larger than Dify allows.
        """
        where = Path(path)
        if not where.suffix[1:]:
            problem = "expected a name with an extension such as .png, which tells Dify what it is"
            raise FileInputError(str(path), problem)
        try:
            size = where.stat().st_size
            # Nothing over the largest limit is read; that of the file's own type is checked below.
            content = where.read_bytes() if size <= _MOST_MB["video"] * _MB else b""
        except OSError as error:
            problem = f"expected a file that can be read: {error.strerror}"
            raise FileInputError(str(path), problem) from None
        except ValueError:  # a null character in it
            raise FileInputError(repr(str(path)), "expected a path") from None
        found = cls(name=where.name, content=content, mime_type=_mime_type(where.suffix))
        if size > (most := _MOST_MB[found.type]) * _MB:
            problem = (
                f"{size / _MB:.1f} MB; Dify takes a file of type {found.type} of up to {most} MB"
            )
            raise FileInputError(str(path), problem)
        if not content:
            raise FileInputError(str(path), "expected a file that is not empty")
        return found

    @property
    def extension(self) -> str:
        """Its extension with the dot, in lower case; that of its MIME type if its name has none."""
        own = PurePosixPath(self.name).suffix.lower()
        return own or _TYPES.guess_extension(self.mime_type) or ".bin"

    @property
    def type(self) -> FileType:
        """Its type in Dify: by its extension, else by its MIME type."""
        extension = self.extension.removeprefix(".")
        for kind, extensions in _EXTENSIONS.items():
            if extension in extensions:
                return kind
        whole = self.mime_type.lower()
        for kind in ("image", "video", "audio"):
            if kind in whole:
                return kind
        return "document" if "text" in whole or "pdf" in whole else "custom"

    def to_dict(self, url: str) -> JsonObject:
        """Return the object that a strategy or a tool gets for it."""
        return {
            "dify_model_identity": "__dify__file__",
            "mime_type": self.mime_type,
            "filename": self.name,
            "extension": self.extension,
            "size": len(self.content),
            "type": self.type,
            "url": url,
        }

    def to_part(self, url: str | None = None) -> JsonObject:
        """Return the part of a message that a model gets for it: with its URL if there is one, else with its bytes."""
        if self.type == "custom":
            return {"type": "text", "data": f"[Unsupported file type: {self.type}]"}
        given = {"url": url} if url else {"base64_data": base64.b64encode(self.content).decode()}
        part: JsonObject = {
            "type": self.type,
            "format": self.extension.removeprefix("."),
            "mime_type": self.mime_type,
            "filename": self.name,
            "base64_data": "",
            "url": "",
            **given,
        }
        return {**part, "detail": "high"} if self.type == "image" else part


def _mime_type(suffix: str) -> str:
    known = _MIME_TYPES.get(suffix.lower())
    return known or _TYPES.guess_type(f"a{suffix}", strict=False)[0] or _UNKNOWN


def mime_type_of(content: bytes) -> str:
    """Return the MIME type by the first bytes, or that of unknown bytes."""
    return find_media_type(content) or _UNKNOWN


def blob_file(message: JsonObject) -> LocalFile | None:
    """Return the file of a message of type `blob`; None for any other, and for one whose bytes cannot be read."""
    if message.get("type") != "blob":
        return None
    try:
        data = base64.b64decode(str(object_at(message, "message").get("blob") or ""), validate=True)
    except binascii.Error:
        return None
    meta = object_at(message, "meta")
    name, mime_type = str(meta.get("filename") or ""), str(meta.get("mime_type") or "")
    return LocalFile(name=name or "file", content=data, mime_type=mime_type or mime_type_of(data))
