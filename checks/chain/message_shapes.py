"""Thirty conversations as Dify sends them, and what the server should receive: six kinds of content at five places.

The content is images, documents and sound.
"""

import base64
import struct
import zlib
from dataclasses import dataclass
from itertools import product
from typing import Any


type Part = dict[str, Any]


def make_png(width: int, height: int) -> bytes:
    """Return a grey picture of that size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * ((width + 1) * height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def _in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


PNG = make_png(64, 48)
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
CSV = "name,café\n1,2\n".encode()
IMAGE_LINK = "https://dify.example/files/a.png?timestamp=1&nonce=2&sign=a%2Bb%3D"
FILE_LINK = "https://dify.example/files/b.pdf?sign=c"


def text(said: str) -> Part:
    """Return a text as Dify sends it."""
    return {"type": "text", "data": said}


def image(data: bytes = b"", *, kind: str = "png", url: str = "", detail: str = "high") -> Part:
    """Return an image as Dify sends it."""
    named = {"format": kind, "mime_type": f"image/{kind}", "filename": f"a.{kind}"}
    return {"type": "image", **named, "base64_data": _in_base64(data), "url": url, "detail": detail}


def document(data: bytes = b"", *, name: str, mime_type: str, url: str = "") -> Part:
    """Return a document as Dify sends it."""
    named = {"format": name.rpartition(".")[2], "mime_type": mime_type, "filename": name}
    return {"type": "document", **named, "base64_data": _in_base64(data), "url": url}


def sent_image(
    data: bytes = b"", *, kind: str = "png", url: str = "", detail: str = "high"
) -> Part:
    """Return an image as it is to arrive."""
    source = url or f"data:image/{kind};base64,{_in_base64(data)}"
    return {"type": "input_image", "image_url": source, "detail": detail}


def sent_file(data: bytes, *, name: str, mime_type: str) -> Part:
    """Return a document as it is to arrive."""
    source = f"data:{mime_type};base64,{_in_base64(data)}"
    return {"type": "input_file", "filename": name, "file_data": source}


_SOUND = {
    "type": "audio",
    "format": "mp3",
    "mime_type": "audio/mpeg",
    "filename": "talk.mp3",
    "base64_data": "SUQz",
    "url": "",
}
NOT_HEARD = '[audio "talk.mp3" omitted: models read text, images and documents, and no audio]'
_PDF_TYPE, _CSV_TYPE = "application/pdf", "text/csv"

# What stands in a message, and what is to arrive of its images and documents, in order.
CONTENTS: dict[str, tuple[list[Part], list[Part]]] = {
    "image by data": ([image(PNG), text("What?")], [sent_image(PNG)]),
    "image by link": (
        [text("What?"), image(url=IMAGE_LINK, detail="low")],
        [sent_image(url=IMAGE_LINK, detail="low")],
    ),
    "document by data": (
        [document(PDF, name="b.pdf", mime_type=_PDF_TYPE), text("What?")],
        [sent_file(PDF, name="b.pdf", mime_type=_PDF_TYPE)],
    ),
    "document by link": (
        [document(name="b.pdf", mime_type=_PDF_TYPE, url=FILE_LINK)],
        [{"type": "input_file", "file_url": FILE_LINK}],
    ),
    "mixture": (
        [
            *(text("One."), image(PNG), text("Two."), image(GIF, kind="gif", detail="low")),
            document(CSV, name="c.csv", mime_type=_CSV_TYPE),
            *(image(PNG), text("Three.")),
        ],
        [
            *(sent_image(PNG), sent_image(GIF, kind="gif", detail="low")),
            sent_file(CSV, name="c.csv", mime_type=_CSV_TYPE),
            sent_image(PNG),
        ],
    ),
    "sound": ([_SOUND, text("What?")], []),
}
PLACES = ("user", "history", "system", "assistant", "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageShape:
    """A conversation with something in it that is no text.

    Attributes:
        name: What it is and where.
        place: Whose message holds it.
        parts: The content of that message, as Dify sends it.
        messages: The conversation, as Dify sends it.
        media: The images and documents that are to arrive, in order.
        told: Texts that are to arrive.
    """

    name: str
    place: str
    parts: list[Part]
    messages: list[dict[str, Any]]
    media: list[Part]
    told: list[str]


CALL_ID = "call_shape"
_CALL = {"id": CALL_ID, "type": "function", "function": {"name": "look", "arguments": "{}"}}


def _conversation(place: str, parts: list[Part]) -> list[dict[str, Any]]:
    asked, further = {"role": "user", "content": "Begin."}, {"role": "user", "content": "And now?"}
    held = {"role": "user" if place == "history" else place, "content": parts}
    match place:
        case "user":
            return [held]
        case "history":
            return [held, {"role": "assistant", "content": "Seen."}, further]
        case "system":
            return [held, asked]
        case "assistant":
            return [asked, held, further]
        case _:
            called = {"role": "assistant", "content": "", "tool_calls": [_CALL]}
            return [asked, called, held | {"tool_call_id": CALL_ID}]


def _shape(name: str, place: str) -> MessageShape:
    parts, media = CONTENTS[name]
    told = [part["data"] for part in parts if part["type"] == "text"]
    return MessageShape(
        name=f"{name}, {place}",
        place=place,
        parts=parts,
        messages=_conversation(place, parts),
        media=media,
        told=told + [NOT_HEARD] * (name == "sound"),
    )


SHAPES = [_shape(name, place) for place, name in product(PLACES, CONTENTS)]


def media_of(items: list[dict[str, Any]]) -> list[Part]:
    """Return the images and documents of a request's input, in order."""
    return [
        part
        for item in items
        for name in ("content", "output")
        if isinstance(item.get(name), list)
        for part in item[name]
        if part["type"] in ("input_image", "input_file")
    ]


def differences(shape: MessageShape, items: list[dict[str, Any]]) -> list[str]:
    """Return what of a conversation did not arrive at a server as it should have."""
    found = []
    if media_of(items) != shape.media:
        found.append(f"expected {len(shape.media)} images and files, got {media_of(items)}")
    said = str(items)
    found += [f"missing: {told}" for told in shape.told if told not in said]
    return found
