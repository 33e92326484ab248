"""The content of a message: a text, or parts of many kinds."""

import json
from collections.abc import Collection, Iterator

from gpt5_messages._media import CACHE_MARK, Part, kind_of, media_part
from gpt5_messages._members import has_member, wrong_kind
from stream_text import MessageError, is_list, read_member


CALL_KINDS = frozenset({"custom_tool_call", "function_call", "tool-call", "tool_call", "tool_use"})
"""Parts that are tool calls; many libraries repeat there the calls in `tool_calls`."""

RESULT_KINDS = frozenset({"tool-result", "tool_result"})
"""Parts that are results of tool calls."""

# Parts of the AI SDK that say whether a call may be made; what came of it is in its result.
_APPROVALS = frozenset({"tool-approval-request", "tool-approval-response"})
_READ_ELSEWHERE = RESULT_KINDS | _APPROVALS | {"cache-point"}
# Further acts and thoughts of a model; thoughts go back only in the API's own shape.
_OF_MODELS = CALL_KINDS | {
    "reasoning",
    "redacted_thinking",
    "server_tool_call",
    "server_tool_result",
    "server_tool_use",
    "thinking",
    "web_search_tool_result",
}
# Parts of the AI SDK's pages, which its own models do not read either.
_OF_PAGES = ("data-", "dynamic-tool", "source-", "step-start", "tool-")
_TEXT_NAMES = ("text", "data", "refusal", "content")
_TEXTS = frozenset({"input_text", "output_text", "refusal", "text", "text-content"})


def read_text(content: object, *, field: str = "message") -> str:
    """Return the texts of content, a line break apart, without all other parts.

    Raises:
        MessageError: If a part of it can't be read.
    """
    texts = (part for part in _iter_content(content, field) if isinstance(part, str))
    return "\n".join(text for text in texts if text)


def read_media(content: object, *, field: str = "message") -> list[Part]:
    """Return, in order, the parts that are not texts: images, files, and sentences in place of anything else.

    Raises:
        MessageError: If a part of the content can't be read.
    """
    return [media_part(part) for part in _iter_content(content, field) if not isinstance(part, str)]


def read_parts(content: object, *, field: str = "message") -> list[Part]:
    """Return content as parts, in order; if all are plain texts, they become one, a line break apart.

    Raises:
        MessageError: If a part of it can't be read.
    """
    parts = [
        {"type": "input_text", "text": part} if isinstance(part, str) else media_part(part)
        for part in _iter_content(content, field, ignored=_READ_ELSEWHERE, marked=True)
        if part != ""
    ]
    if len(parts) > 1 and all(map(is_plain_text, parts)):
        return [{"type": "input_text", "text": "\n".join(part["text"] for part in parts)}]
    return parts


def is_plain_text(part: Part) -> bool:
    """Return whether a part is a text and says nothing else."""
    return part.keys() == {"type", "text"}


def are_approvals(content: object) -> bool:
    """Return whether content is parts that only say whether calls may be made."""
    return is_list(content) and bool(content) and all(kind_of(it) in _APPROVALS for it in content)


def _iter_content(
    content: object,
    field: str,
    *,
    ignored: Collection[str] = _READ_ELSEWHERE | _OF_MODELS,
    marked: bool = False,
) -> Iterator[object]:
    """Yield the parts of content: texts as plain texts, unless they are `marked`; anything else as it is."""
    if is_list(content):
        for index, part in enumerate(content):
            text = _text_or_part(part, f"{field}.content[{index}]", ignored)
            is_marked = marked and isinstance(text, str) and text and read_member(part, CACHE_MARK)
            yield part if is_marked else text
    elif isinstance(content, (str, int, float)):
        yield str(content)
    elif kind_of(content) is not None:
        yield _text_or_part(content, f"{field}.content", ignored)
    elif content is not None:
        raise wrong_kind(f"{field}.content", "a text or a list of parts", content)


def _text_or_part(part: object, field: str, ignored: Collection[str]) -> object:
    if isinstance(part, str):
        return part
    kind = kind_of(part)
    if kind in ignored:
        return ""
    if kind is not None and kind.startswith(_OF_PAGES):
        raise MessageError(f"{field}: expected a part for a model, got {kind}", field=field)
    if kind is not None and kind not in _TEXTS:
        return part
    text = read_member(part, *_TEXT_NAMES)
    is_empty = text is None and kind is not None and has_member(part, *_TEXT_NAMES)
    if isinstance(text, str) or is_empty:
        return text or ""
    raise wrong_kind(field, "a part with type and text", part)


def written_data(content: object) -> str:
    """Return content as text; anything but a text becomes JSON."""
    if isinstance(content, str):
        return content
    return "" if content is None else json.dumps(content, ensure_ascii=False, default=str)
