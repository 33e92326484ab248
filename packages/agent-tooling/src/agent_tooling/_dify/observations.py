"""The text of a tool's messages for a model.

Neither bytes nor the repr of an object ever become part of a prompt: a model can do nothing with them, and a file of
30 MB would end the run. Merge blob chunks first (`merge_blob_chunks`); chunks that are left are skipped.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from agent_tooling._json_text import plain_value, to_json
from agent_tooling._results.output import ContentPart, ToolContent, without_surrogates
from stream_text import is_list, parse_json, read_member


_MAX_SHOWN_BYTES: Final = 4096
_MAX_SHOWN_CHARACTERS: Final = 4096
_MAX_TYPE_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationPolicy:
    """The wording in which an agent system reports a tool's messages to its model.

    Attributes:
        image: Sentence that replaces an image.
        file: Sentence that replaces a file. None shows text files of up to 4,096 bytes and describes others by type
            and size.
        json: Template for JSON, with one `{}`.
        holds_json_back: Whether JSON comes after everything else, and only if the tool did not suppress it.
        shows_variables: Whether variables are shown, as one JSON object, when there is nothing else to show.
        shows_unknown: Whether the content of a message of an unknown type is shown, as JSON of up to 4,096 characters.
    """

    image: str
    file: str | None
    json: str
    holds_json_back: bool
    shows_variables: bool
    shows_unknown: bool = False


STRATEGY_OBSERVATIONS: Final = ObservationPolicy(
    image="image generated and sent to user. Tell user to review it now.",
    file="Generated file ... ",
    json="tool response: {}.",
    holds_json_back=False,
    shows_variables=True,
)
"""The wording of Dify's agent strategies."""

TOOL_LAYER_OBSERVATIONS: Final = ObservationPolicy(
    image=(
        "image has been created and sent to user already, you do not need to create it, "
        "just tell the user to check it now."
    ),
    file=None,
    json="{}",
    holds_json_back=True,
    shows_variables=False,
    shows_unknown=True,
)
"""The wording of Dify's own agent runner and of dify-agent's plugin tools layer."""


def observation_text(messages: object, *, policy: ObservationPolicy = STRATEGY_OBSERVATIONS) -> str:
    """Return the text of a tool's messages for the conversation, in any shape; never raise.

    The messages' texts follow each other without a separator. Links and images become sentences, log messages are
    left out, and retrieved resources become their text. JSON that a text repeats is left out.

    Args:
        messages: Mappings or objects with Dify's `type`, `message` and `meta`. A single one, or plain text, is taken too.
        policy: The wording.

    Source: docs/contracts/gpt5-agent-strategies.md, B31 and B32; docs/contracts/dify-agent.md, C32 and C33.
    """
    collected = _collect(messages)
    held = [_held_json(message, policy) for message in collected if policy.holds_json_back]
    text = "".join([*(_message_text(message, policy) for message in collected), *held])
    if not text and policy.shows_variables:
        text = _variables_text(collected, policy)
    return without_surrogates(text)


def observation_content(
    messages: object,
    *,
    find_part: Callable[[Any], ContentPart | None],
    policy: ObservationPolicy = STRATEGY_OBSERVATIONS,
) -> ToolContent:
    """Return the same as `observation_text`, with images and files as parts after the texts that stand for them.

    Args:
        messages: As for `observation_text`.
        find_part: Returns the part that a model sees of a message besides its text; None for none.
        policy: The wording. Variables are not shown together with parts.
    """
    parts: list[ContentPart] = []
    collected, said = _collect(messages), list[object]()
    for message in collected:
        said.append(message)
        part = find_part(message)
        if part is not None:
            # The text so far comes first, so that parts stay in the order of their messages.
            parts += (*_text_parts(said, policy), part)
            said.clear()
    if not parts:
        return observation_text(collected, policy=policy)
    return (*parts, *_text_parts(said, policy))


def _text_parts(messages: Iterable[object], policy: ObservationPolicy) -> list[ContentPart]:
    text = observation_text(messages, policy=replace(policy, shows_variables=False))
    return [{"type": "text", "text": text}] if text else []


def _to_list(messages: object) -> list[object]:
    if isinstance(messages, Iterable) and not isinstance(messages, str | bytes | Mapping):
        several = cast("Iterable[object]", messages)
        return [message for message in several if message is not None]
    return [] if messages is None else [messages]


def _collect(messages: object) -> list[object]:
    """Return the messages without JSON that a text repeats: Dify's workflow and API tools return their result as both."""
    collected = _to_list(messages)
    if not any(map(_is_json, collected)):
        return collected
    texts = (one for one in collected if plain_value(read_member(one, "type")) == "text")
    said = [_parse(_text(read_member(message, "message"))) for message in texts]
    # By value: on its way through the daemon an object's keys are sorted.
    known = [value for value in said if value is not None]
    return [one for one in collected if not (_is_json(one) and _json_value(one) in known)]


def _is_json(message: object) -> bool:
    return plain_value(read_member(message, "type")) == "json"


def _json_value(message: object) -> object:
    return read_member(read_member(message, "message"), "json_object")


def _parse(text: str) -> object:
    """Return the value of a text that is JSON; None for any other text."""
    try:
        return parse_json(text)
    except ValueError:
        return None


def _message_text(message: object, policy: ObservationPolicy) -> str:  # noqa: PLR0911  # One line per message type.
    """Return the text that a message adds to the observation."""
    if isinstance(message, str):
        return message
    kind, payload = plain_value(read_member(message, "type")), read_member(message, "message")
    match kind:
        case "text":
            return _text(payload)
        case "link" | "binary_link":
            return _link_text(payload)
        case "image" | "image_link":
            return policy.image
        case "json":
            return "" if policy.holds_json_back else _json_text(message, policy)
        case "blob" | "file":
            return (
                _file_text(payload, read_member(message, "meta"))
                if policy.file is None
                else policy.file
            )
        case "retriever_resources":
            return _retrieved_text(payload)
        case "variable" | "log" | "blob_chunk":
            return ""
        case _:
            return _text(payload) or _unknown_text(kind, payload, policy)


def _held_json(message: object, policy: ObservationPolicy) -> str:
    """Return a message's JSON; "" if it has none or asks not to show it."""
    is_suppressed = read_member(read_member(message, "message"), "suppress_output")
    return _json_text(message, policy) if _is_json(message) and not is_suppressed else ""


def _text(payload: object) -> str:
    text = read_member(payload, "text")
    return text if isinstance(text, str) else ""


def _link_text(payload: object) -> str:
    link = _text(payload)
    return f"result link: {link}. please tell user to check it." if link else ""


def _json_text(message: object, policy: ObservationPolicy) -> str:
    value = _json_value(message)
    return "" if value is None else policy.json.format(_to_json(value))


def _to_json(value: object) -> str:
    text = to_json(value)
    return "a value that JSON cannot carry" if text is None else text


def _file_text(payload: object, meta: object) -> str:
    """Return a small text file's content, or a description of any other file."""
    data = read_member(payload, "blob")
    content = _shown_content(data)
    if content is not None:
        return content
    facts = [read_member(meta, "filename"), read_member(meta, "mime_type")]
    facts += [f"{len(data)} bytes"] if isinstance(data, bytes) else []
    known = ", ".join(fact for fact in facts if isinstance(fact, str) and fact)
    return f"file created: {known or 'no details'}."


def _shown_content(data: object) -> str | None:
    if not isinstance(data, bytes) or len(data) > _MAX_SHOWN_BYTES:
        return None
    try:
        content = data.decode()
    except UnicodeDecodeError:
        return None
    # Control characters mean that the bytes are not text after all, though they decode.
    return content if all(char.isprintable() or char in "\n\r\t" for char in content) else None


def _unknown_text(kind: object, payload: object, policy: ObservationPolicy) -> str:
    """Return the content of a message of an unknown type if it is short, or else name its type."""
    content = _to_json(payload) if policy.shows_unknown and payload is not None else ""
    if 0 < len(content) <= _MAX_SHOWN_CHARACTERS:
        return content
    name = kind[:_MAX_TYPE_CHARACTERS] if isinstance(kind, str) else "unknown"
    return f"tool response of type {name} is not shown."


def _retrieved_text(payload: object) -> str:
    """Return the context of retrieved resources, or else their joined contents."""
    context = read_member(payload, "context")
    if isinstance(context, str) and context.strip():
        return context
    resources = read_member(payload, "retriever_resources")
    if not is_list(resources):
        return ""
    contents = [read_member(item, "content") for item in resources]
    return "\n\n".join(content for content in contents if isinstance(content, str) and content)


def _variables_text(messages: Iterable[object], policy: ObservationPolicy) -> str:
    """Return all variables as one JSON object, with the pieces of streamed ones joined."""
    values: dict[str, list[object]] = {}
    for message in messages:
        if plain_value(read_member(message, "type")) == "variable":
            payload = read_member(message, "message")
            name = read_member(payload, "variable_name")
            value = read_member(payload, "variable_value")
            pieces = values.setdefault(name if isinstance(name, str) else "", [])
            # A piece is text that follows text; any other value starts over.
            is_piece = bool(read_member(payload, "stream")) and isinstance(value, str)
            if not (is_piece and pieces and isinstance(pieces[0], str)):
                pieces.clear()
            pieces.append(value)
    joined = {
        name: "".join(map(str, pieces)) if len(pieces) > 1 else pieces[0]
        for name, pieces in values.items()
    }
    return policy.json.format(_to_json(joined)) if joined else ""
