"""The parts of a message's content, in the shape that the daemon reads.

Source: dify-plugin 0.10.2, `entities/model/message.py`; langgenius/dify-plugin-daemon at bdb5642a,
`pkg/entities/model_entities/llm.go`.
"""

from collections.abc import Iterable
from typing import Any, Literal

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CachePoint,
    DocumentUrl,
    ImageUrl,
    TextContent,
    UserContent,
    VideoUrl,
)


type FileKind = Literal["image", "audio", "video", "document"]
type FileLink = ImageUrl | AudioUrl | VideoUrl | DocumentUrl
type ContentPart = dict[str, object]


def text_part(text: str) -> ContentPart:
    """Build a text part."""
    return {"type": "text", "data": text}


def build_content(content: Iterable[UserContent]) -> list[ContentPart]:
    """Build the parts of a message that holds more than a text.

    Cache points are left out: the daemon has no field for them.

    Raises:
        UserError: If a part is of a kind that the daemon does not know.
    """
    return [_build_part(item) for item in content if not isinstance(item, CachePoint)]


def build_file(content: BinaryContent) -> ContentPart:
    """Build the part of a file that comes with its bytes.

    Raises:
        UserError: If its media type is unknown.
    """
    return _file_part(_binary_kind(content), content, base64_data=content.base64)


def _build_part(item: object) -> ContentPart:
    match item:
        case str():
            return text_part(item)
        case TextContent():
            return text_part(item.content)
        case ImageUrl() | AudioUrl() | VideoUrl() | DocumentUrl():
            return _url_part(item)
        case BinaryContent():
            return build_file(item)
        case _:
            raise UserError(
                f"content: a {type(item).__name__} cannot be sent through Dify's plugin daemon, "
                "expected text, a file URL or BinaryContent"
            )


def _url_part(item: FileLink) -> ContentPart:
    if item.force_download:
        raise UserError(
            f"content: {type(item).__name__} with force_download={item.force_download!r} is not downloaded here, "
            "expected BinaryContent with the file"
        )
    return _file_part(item.kind.removesuffix("-url"), item, url=item.url)


def _file_part(
    kind: str, item: FileLink | BinaryContent, *, url: str = "", base64_data: str = ""
) -> ContentPart:
    try:
        file_format, media_type = item.format, item.media_type
    except ValueError:
        raise UserError(
            f"content: the format of a {type(item).__name__} is unknown, expected a known media_type"
        ) from None
    part: ContentPart = {
        "type": kind,
        "format": file_format,
        "mime_type": media_type,
        "url": url,
        "base64_data": base64_data,
        "filename": _filename(item, file_format),
    }
    return {**part, "detail": _detail(item.vendor_metadata)} if kind == "image" else part


def _binary_kind(content: BinaryContent) -> str:
    kind = content.media_type.partition("/")[0]
    return kind if kind in {"image", "audio", "video"} else "document"


def _filename(item: FileLink | BinaryContent, file_format: str) -> str:
    """Return the file's own name; a document's bytes always get one, because OpenAI takes no document without."""
    name = (item.vendor_metadata or {}).get("filename")
    if isinstance(name, str) and name:
        return name
    is_bytes = isinstance(item, BinaryContent) and item.is_document
    return f"{item.identifier}.{file_format}" if is_bytes else ""


def _detail(metadata: dict[str, Any] | None) -> Literal["low", "high"]:
    # The SDK refuses any other detail of an image, and the daemon would send a missing one as "".
    return "high" if (metadata or {}).get("detail") == "high" else "low"
