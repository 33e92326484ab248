"""Images and files in a request: their type, size and tokens."""

import base64
import hashlib
import io
import math
from dataclasses import dataclass

import imagesize  # pyright: ignore[reportMissingTypeStubs]

from gpt5_simulator._json import Json, is_array, is_object, objects_in


MEDIA = ("input_image", "input_file")

_PATCH = 32
_UNKNOWN_TOKENS = 1024  # of what only a real server could fetch: as an image of 1024 by 1024 pixels
_MAX_TOKENS = 100_000  # of one image or file, or a text in its place would fill the memory
_CHARS_PER_TOKEN = 4
_DIGITS = 12  # of a digest, which is enough to compare by eye
_MAX_LINK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DataUrl:
    """The parts of a data URL.

    Attributes:
        media_type: The MIME type that it names, in lower case.
        data: Its bytes; None if they are not base64.
    """

    media_type: str
    data: bytes | None

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height in pixels, if this is an image that can be read."""
        # An image that it cannot read has a size of -1 by -1.
        width, height = imagesize.get(io.BytesIO(self.data or b""))  # pyright: ignore[reportUnknownMemberType]  a type parameter is missing
        return (int(width), int(height)) if width > 0 and height > 0 else None


def parse_data_url(text: str) -> DataUrl | None:
    """Parse a data URL; None for any other text."""
    head, comma, data = text.partition(",")
    if not comma or not head.startswith("data:"):
        return None
    media_type, *marks = head.removeprefix("data:").lower().split(";")
    try:
        decoded = base64.b64decode(data, validate=True) if "base64" in marks else None
    except ValueError:
        decoded = None
    return DataUrl(media_type=media_type, data=decoded)


def media_in(item: Json) -> list[Json]:
    """Return the images and files of a message or of a call's output, in order."""
    parts = objects_in(item.get("output", item.get("content")))
    return [part for part in parts if part.get("type") in MEDIA]


def describe(part: Json) -> str:
    """Return one line about an image or a file: its type, size, dimensions and digest."""
    kind = "image" if part["type"] == "input_image" else "file"
    source = _source(part)
    found = parse_data_url(source)
    name = f" {part['filename']!r}" if part.get("filename") else ""
    if found is None:
        place = f"at {source[:_MAX_LINK]}" if source else f"with the id {part.get('file_id')}"
        return f"{kind}{name} {place}"
    data = found.data or b""
    size = found.size if kind == "image" else None
    facts = [
        f"{kind}{name}",
        found.media_type,
        *([f"{size[0]} x {size[1]} pixels"] if size else ()),
    ]
    return ", ".join([*facts, f"{len(data):,} bytes", f"SHA-256 {_digest(data)}"])


def without_data(item: Json) -> Json:
    """Return an item as the cache sees it: without marks of the cache, and with a text in place of each image and file.

    Such a text has as many tokens as the image or file, and is the same for the same bytes.
    """
    seen = dict(item)
    for name in ("content", "output"):
        parts: object = item.get(name)
        if is_array(parts):
            seen[name] = [_stand_in(part) for part in parts]
    return seen


def _stand_in(part: object) -> object:
    if not is_object(part):
        return part
    if part.get("type") not in MEDIA:
        return {key: value for key, value in part.items() if key != "prompt_cache_breakpoint"}
    source = _source(part)
    found = parse_data_url(source)
    tokens = _UNKNOWN_TOKENS
    if found and (size := found.size):
        tokens = math.ceil(size[0] / _PATCH) * math.ceil(size[1] / _PATCH)
    elif found:
        tokens = len(found.data or b"") // _CHARS_PER_TOKEN
    length = min(tokens, _MAX_TOKENS) * _CHARS_PER_TOKEN
    digest = _digest(source.encode(errors="surrogatepass"))
    return (digest * (length // _DIGITS + 1))[:length]


def _source(part: Json) -> str:
    found = (part.get(name) for name in ("image_url", "file_data", "file_url"))
    return next((source for source in found if isinstance(source, str)), "")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGITS]
