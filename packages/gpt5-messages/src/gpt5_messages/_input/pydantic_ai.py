"""The messages of pydantic-ai, which are lists of parts.

Source: `pydantic_ai.messages` of pydantic-ai-slim 2.68.
"""

from collections.abc import Iterator
from typing import Any

from gpt5_messages._completion.values import OPAQUE_KEY
from gpt5_messages._media import is_media
from gpt5_messages._members import has_member, wrong_kind
from stream_text import MessageError, is_list, read_member

from .parts import written_data


# Thoughts, calls of the provider's own tools, and notes that pydantic-ai keeps for itself.
_NOT_SENT = frozenset(
    {
        "builtin-tool-call",
        "builtin-tool-return",
        "capability-load-delta",
        "instruction-baseline",
        "model-settings-delta",
        "thinking",
        "tool-availability-delta",
    }
)


def iter_part_messages(parts: object, field: str) -> Iterator[dict[str, Any]]:
    """Yield the messages in the parts of one message: a request holds several, a response is one.

    Raises:
        MessageError: If they are not a list, or one cannot be read.
    """
    if not is_list(parts):
        raise wrong_kind(f"{field}.parts", "a list", parts)
    said: list[object] = []
    answer: dict[str, Any] = {"role": "assistant", "content": said, "tool_calls": []}
    for index, part in enumerate(parts):
        place = f"{field}.parts[{index}]"
        kind = read_member(part, "part_kind")
        if not isinstance(kind, str):
            raise MessageError(f"{place}: expected a part with part_kind", field=place)
        is_spoken = kind == "speech" and read_member(part, "speaker") == "assistant"
        if kind in ("text", "file") or is_spoken:
            _add(said, _content(part, kind, place))
        elif kind == "tool-call":
            answer["tool_calls"].append(part)
        elif kind == "compaction":
            # It replaces what came before it, in the same response, too.
            if said or answer["tool_calls"]:
                yield {**answer, "content": [*said], "tool_calls": [*answer["tool_calls"]]}
            said.clear()
            answer["tool_calls"].clear()
            yield from _iter_compaction(part)
        else:
            yield from _iter_request_part(kind, part, place)
    if said or answer["tool_calls"]:
        yield answer


def _add(said: list[object], content: object) -> None:
    """Add a part of an answer; its texts are joined, however many parts they came in."""
    if isinstance(content, str) and said and isinstance(said[-1], str):
        content = f"{said.pop()}{content}"
    said.append(content)


def _content(part: object, kind: str, place: str) -> object:
    """Return the content of a part; of speech the transcript, the sound, or a part that stands for it."""
    if kind == "speech":
        spoken: object = read_member(part, "transcript", "audio")
        return {"type": "audio"} if spoken is None else spoken
    if not has_member(part, "content"):
        raise wrong_kind(f"{place}.content", "what the part says", None)
    content: object = read_member(part, "content")
    return "" if content is None else content


def _iter_request_part(kind: str, part: object, place: str) -> Iterator[dict[str, Any]]:
    """Yield the message in a part of a request; none if no model reads it."""
    if kind in _NOT_SENT:
        return
    content = _content(part, kind, place)
    match kind:
        case "system-prompt" | "instruction-delta":
            yield {"role": "system", "content": content}
        case "user-prompt" | "speech":
            yield {"role": "user", "content": content}
        case "tool-return" | "retry-prompt" if read_member(part, "tool_name"):
            call_id = read_member(part, "tool_call_id")
            yield {"role": "tool", "content": _returned(content), "tool_call_id": call_id}
        case "retry-prompt" | "retry-feedback":
            yield {"role": "user", "content": written_data(content)}
        case _:
            raise MessageError(f"{place}: expected a part of a known kind, got {kind}", field=place)


def _iter_compaction(part: object) -> Iterator[dict[str, Any]]:
    """Yield what stands for a conversation that was compacted: OpenAI's item, or the summary of another provider or of the application.

    The application has taken away itself what its summary replaces.
    """
    details: object = read_member(part, "provider_details")
    if read_member(details, "type") == "compaction":
        item = {key: read_member(details, key) for key in ("id", "type", "encrypted_content")}
        yield {"role": "assistant", "content": "", "opaque_body": {OPAQUE_KEY: [item]}}
    elif summary := read_member(part, "content"):
        is_whole = read_member(part, "provider_name") is not None
        yield {"role": "user", "content": summary, "replaces_earlier": is_whole}


def _returned(content: object) -> str | list[object]:
    """Return the result of a tool: images and files as they are, those inside other data right after it, and everything else as text."""
    parts: list[object] = []
    for value in content if is_list(content) else [content]:
        held: list[object] = []
        rest = _without_media(value, held)
        parts += held if value in held else [written_data(rest), *held]
    return parts if any(map(is_media, parts)) else written_data(content)


def _without_media(value: Any, held: list[object]) -> object:
    """Return data with a few words in place of each image or file in it; these are added to `held`."""
    if is_media(value):
        held.append(value)
        return f"(part {len(held)} after this)"
    match value:
        case [*parts]:
            return [_without_media(inner, held) for inner in parts]
        case {**members}:
            return {name: _without_media(inner, held) for name, inner in members.items()}
        case _:
            return value
