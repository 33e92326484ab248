"""Dify's prompt messages and the messages of a run, translated both ways."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from dify_plugin.entities.model.message import (
    AssistantPromptMessage,
    PromptMessage,
    PromptMessageContent,
    PromptMessageRole,
    SystemPromptMessage,
    TextPromptMessageContent,
    ToolPromptMessage,
    UserPromptMessage,
    ensure_prompt_message,
)

from agent_loop import Message, Role, ToolCall
from agent_policy import build_system_instruction

from ._errors import ParameterError
from ._model import Model
from ._parameters import Parameters


type PartFeature = Literal["vision", "document", "audio", "video"]

# Dify's core has no developer role: to it such a message is a system message.
_ROLES: Mapping[PromptMessageRole, Role] = {
    PromptMessageRole.SYSTEM: "system",
    PromptMessageRole.DEVELOPER: "system",
    PromptMessageRole.USER: "user",
    PromptMessageRole.ASSISTANT: "assistant",
    PromptMessageRole.TOOL: "tool",
}
_FEATURES: Mapping[str, PartFeature] = {
    "image": "vision",
    "document": "document",
    "audio": "audio",
    "video": "video",
}


def build_messages(parameters: Parameters) -> list[Message]:
    """Return what a run begins with: the system instruction, the history, the query.

    The history stays as it is, thoughts included, but for results that name no call, which are left out, and files that the model
    cannot read, which are named in their place.

    Raises:
        ParameterError: If something in the history is no prompt message.
    """
    model = parameters.model
    instruction = build_system_instruction(
        parameters.instruction, parameters.prompt_policy_overrides, model=model.name
    )
    return [
        Message(role="system", content=instruction),
        *(
            _to_message(_read_prompt(raw, index), model)
            for index, raw in enumerate(model.history)
            if not _is_stray_result(raw)
        ),
        Message(role="user", content=parameters.query),
    ]


def _to_message(prompt: PromptMessage, model: Model) -> Message:
    calls = prompt.tool_calls if isinstance(prompt, AssistantPromptMessage) else []
    return Message(
        role=_ROLES[prompt.role],
        content=_to_content(prompt, model),
        tool_calls=tuple(
            ToolCall(call_id=call.id, name=call.function.name, arguments=call.function.arguments)
            for call in calls
        ),
        tool_call_id=prompt.tool_call_id if isinstance(prompt, ToolPromptMessage) else None,
        name=prompt.name,
        opaque_body=prompt.opaque_body if isinstance(prompt, AssistantPromptMessage) else None,
    )


def _is_stray_result(raw: object) -> bool:
    """Return whether this is the result of a call that nobody can find, which no model takes."""
    match raw:
        case {"role": "tool"}:
            return not cast("Mapping[str, Any]", raw).get("tool_call_id")
        case _:
            return False


def _read_prompt(raw: object, index: int) -> PromptMessage:
    try:
        return ensure_prompt_message(cast("PromptMessage", raw))
    except (TypeError, ValueError) as error:
        field = f"model.history_prompt_messages[{index}]"
        raise ParameterError(field, "a prompt message with role and content", raw) from error


def _to_content(prompt: PromptMessage, model: Model) -> str | tuple[Any, ...]:
    content = prompt.content or ""
    return content if isinstance(content, str) else _to_readable(tuple(content), model)


def _to_readable(
    parts: tuple[PromptMessageContent, ...], model: Model
) -> str | tuple[PromptMessageContent, ...]:
    """Return the parts as they are, or as text where the model cannot read all of them."""
    if all(_is_readable(part, model) for part in parts):
        return parts
    return "\n".join(_to_text(part) for part in parts)


def _is_readable(part: PromptMessageContent, model: Model) -> bool:
    feature = _FEATURES.get(_kind(part))
    return feature is None or model.has_feature(feature)


def _to_text(part: PromptMessageContent) -> str:
    if isinstance(part, TextPromptMessageContent):
        return part.data
    return "[image]" if _kind(part) == "image" else "[file]"


def _kind(part: PromptMessageContent) -> str:
    return str(getattr(part, "type", "text"))


def to_prompt(message: Message) -> PromptMessage:
    """Translate a message of a request.

    What a model wants back goes into a part of the content where it asks for that: the daemon refuses it on the message itself, and some
    providers' plugins cannot read content in parts. Content is never null, which the daemon refuses too.

    Source: docs/contracts/gpt5-agent-strategies.md, B17.
    """
    content: Any = message.content if isinstance(message.content, str) else [*message.content]
    match message.role:
        case "system":
            return SystemPromptMessage(content=content)
        case "user":
            return UserPromptMessage(content=content, name=message.name)
        case "tool":
            return ToolPromptMessage(
                content=content, name=message.name, tool_call_id=message.tool_call_id or ""
            )
        case "assistant":
            return AssistantPromptMessage(
                content=_with_opaque(message) if _asks_for_part(message.opaque_body) else content,
                name=message.name,
                tool_calls=[_to_call(call) for call in message.tool_calls],
            )


def _asks_for_part(body: object) -> bool:
    return isinstance(body, dict) and body.get("carry") == "content_part"


def _with_opaque(message: Message) -> list[Any]:
    if isinstance(message.content, str):
        return [TextPromptMessageContent(data=message.content, opaque_body=message.opaque_body)]
    return [*message.content, TextPromptMessageContent(data="", opaque_body=message.opaque_body)]


def _to_call(call: ToolCall) -> AssistantPromptMessage.ToolCall:
    return AssistantPromptMessage.ToolCall(
        id=call.call_id,
        type="function",
        function=AssistantPromptMessage.ToolCall.ToolCallFunction(
            name=call.name, arguments=call.arguments
        ),
    )
