"""Turning what a tool's function returned, yielded or raised into what a model reads."""

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agent_tooling._errors import ToolError
from agent_tooling._json_text import plain_value, to_json
from agent_tooling._sentences import TOOL_FAILED
from stream_text import is_list, is_object


type ContentPart = Mapping[str, Any]
"""One part of a tool result, as `ToolContent` describes it."""

type ToolContent = str | tuple[ContentPart, ...]
"""A tool result as a model reads it: a text, or parts.

A part is a mapping with a `type` and its fields: `text` has `text`; `image` one of `url`, `image_url`, `data`,
`base64_data`, `file_id`; `file` one of `url`, `file_url`, `data`, `base64_data`, `file_data`, `file_id`. The APIs' own
types (`input_image`, `image_url`) are read but not written. Bytes in a part become base64; everything else in it is
passed on.
"""

# For each type, including the APIs' own ones: the type that it becomes, and the fields of which a
# part must have one. A tool may list files as `{"type": "file", "name": ...}` and mean data.
_TEXT: Final = ("text", frozenset({"text"}))
_IMAGE: Final = ("image", frozenset({"url", "image_url", "data", "base64_data", "file_id"}))
_FILE: Final = (
    "file",
    frozenset({"url", "file_url", "data", "base64_data", "file_data", "file_id"}),
)
_PARTS: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "text": _TEXT,
    "input_text": _TEXT,
    "image": _IMAGE,
    "image_url": _IMAGE,
    "input_image": _IMAGE,
    "file": _FILE,
    "input_file": _FILE,
}


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """The outcome of a tool call.

    Attributes:
        content: What the model reads, also after a failure.
        error: Why the call failed, in a sentence that the model may read; None if it succeeded.
        cause: The exception behind a failure, only for the caller's log.
        artifact: What the tool made for others than the model, such as files for a person; passed on unchanged.
    """

    content: ToolContent
    error: str | None = None
    cause: BaseException | None = field(default=None, repr=False)
    artifact: Any = field(default=None, repr=False)


type OutputReader = Callable[[Sequence[object]], ToolContent | ToolOutput]
"""A function that turns what a tool returned (one piece) or yielded into what the model reads, perhaps with an artifact."""


def read_output(
    pieces: Sequence[object], reader: OutputReader, cause: Exception | None = None
) -> ToolOutput:
    """Return the output of a function from what it returned (one piece) or yielded, and from what it raised in the end.

    Args:
        pieces: The values that it returned or yielded.
        reader: Makes the output of the pieces.
        cause: The exception that it raised; pieces before it are kept.
    """
    output = ToolOutput(content="")
    try:
        read = reader(pieces)
        output = read if isinstance(read, ToolOutput) else ToolOutput(content=read)
    except Exception as error:  # noqa: BLE001 - whatever a tool has returned, the run goes on
        # The tool's own exception comes first: it explains why the pieces cannot be read.
        cause = cause or error
    if cause is None:
        return output
    error = (without_surrogates(str(cause)) if isinstance(cause, ToolError) else "") or TOOL_FAILED
    return replace(output, content=_add_text(output.content, error), error=error, cause=cause)


def to_content(pieces: Sequence[object]) -> ToolContent:
    """Return the values that a function returned or yielded as content for a model.

    Texts stay unchanged, None adds nothing, content parts are passed on, and everything else becomes JSON.

    Raises:
        ToolError: If a model cannot read one of them: bytes, or a value that JSON cannot carry.
    """
    parts = [part for piece in pieces for part in _to_parts(piece)]
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) == len(parts):
        return "".join(texts)
    return tuple(
        {"type": "text", "text": part} if isinstance(part, str) else part for part in parts if part
    )


def _to_parts(value: object) -> Iterable[str | ContentPart]:
    if value is None:
        return []
    items = value if is_list(value) else (value,)
    kinds = [_find_type(item) for item in items]
    if not any(kinds) or not all(
        kind or isinstance(item, str) for kind, item in zip(kinds, items, strict=True)
    ):
        return [_to_text(plain_value(value))]
    return [
        _to_part(item, kind) if kind else _to_text(item)
        for kind, item in zip(kinds, items, strict=True)
    ]


def _find_type(value: object) -> str | None:
    """Return the type of a content part; None for anything else."""
    if not is_object(value):
        return None
    kind = plain_value(value.get("type"))
    found = _PARTS.get(kind) if isinstance(kind, str) else None
    is_whole = found and any(
        isinstance(value.get(name), str | bytes | Mapping) for name in found[1]
    )
    return found[0] if found and is_whole else None


def _to_part(value: ContentPart, kind: str) -> ContentPart:
    part = {name: _to_member(item) for name, item in value.items()}
    # Chat APIs nest the address: `{"image_url": {"url": ...}}`.
    url = part.get("image_url")
    if is_object(url):
        part["image_url"] = url.get("url")
    return {**part, "type": kind}


def _to_member(value: object) -> object:
    value = plain_value(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return without_surrogates(value) if isinstance(value, str) else value


def _to_text(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        raise ToolError("the tool returned bytes, which cannot be read as text")
    text = value if isinstance(value, str) else to_json(value)
    if text is None:
        raise ToolError("the tool returned a value that cannot be read as JSON")
    return without_surrogates(text)


def find_text(part: ContentPart) -> str | None:
    """Return the text of a content part; None if it is not a text."""
    text = part.get("text")
    return text if isinstance(text, str) and part.get("type") == "text" else None


def without_surrogates(text: str) -> str:
    """Return `text` with unpaired surrogates replaced, since no message can carry them."""
    return text if _SURROGATE.search(text) is None else text.encode(errors="replace").decode()


def _add_text(content: ToolContent, text: str) -> ToolContent:
    if isinstance(content, str):
        return f"{content}\n{text}" if content else text
    return (*content, {"type": "text", "text": text})
