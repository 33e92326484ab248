"""Translating Dify's prompt messages and the messages of a run both ways."""

from dataclasses import replace
from typing import Any

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

from agent_loop import Message, ToolCall, with_files_moved
from agent_policy import build_system_instruction

from ._errors import ParameterError
from ._files import GivenFiles
from ._files_at_hand import FilesAtHand
from ._model import Model
from ._parameters import Parameters
from ._parts import (
    Part,
    hold_files,
    join_texts,
    name_files,
    names_files,
    read_part,
    text_part,
    to_sdk_part,
)
from ._remembered_turns import RememberedTurns


def build_messages(
    parameters: Parameters, at_hand: FilesAtHand, memory: RememberedTurns | None
) -> tuple[list[Message], GivenFiles]:
    """Return the first messages of a run (system instruction, history, files and query), and the files.

    The history stays unchanged, thoughts included, with three exceptions: results that name no call are left out, files that the model
    cannot read are replaced by sentences, and files where most providers take none move into the user message after them.
    If a tool takes files, the name of each comes before it. Remembered turns stand as they were sent.

    Args:
        parameters: The strategy's parameters.
        at_hand: Gets the files.
        memory: The turns that the node remembers; None if it remembers none.

    Raises:
        ParameterError: If something in the history is not a prompt message.
    """
    model = parameters.model
    instruction = build_system_instruction(
        parameters.instruction, parameters.prompt_policy_overrides, model=model.name
    )
    prompts = [
        _read_prompt(raw, index)
        for index, raw in enumerate(model.history)
        if not _is_stray_result(raw)
    ]
    recalled = memory.recall(prompts) if memory else prompts
    history = [
        hold_files(one, at_hand) if isinstance(one, Message) else _to_message(one, model, at_hand)
        for one in recalled
    ]
    files = GivenFiles.fetch(parameters.files, at_hand)
    query = Message(role="user", content=_build_query(parameters, files))
    moved = with_files_moved([Message(role="system", content=instruction), *history, query])
    return [_with_names(message) if at_hand.are_offered else message for message in moved], files


def _build_query(parameters: Parameters, files: GivenFiles) -> str | tuple[Part, ...]:
    if not files.files:
        return parameters.query
    question = [text_part(parameters.query)] if parameters.query else []
    return join_texts((*files.to_parts(parameters.model), *question))


def _with_names(message: Message) -> Message:
    if isinstance(message.content, str) or (
        message.role == "tool" and names_files(message.content)
    ):
        return message
    return replace(message, content=tuple(name_files(message.content)))


def _to_message(prompt: PromptMessage, model: Model, at_hand: FilesAtHand) -> Message:
    # Dify's core has no developer role, and treats such a message as a system message.
    role = "system" if prompt.role is PromptMessageRole.DEVELOPER else prompt.role.value
    calls = prompt.tool_calls if isinstance(prompt, AssistantPromptMessage) else []
    return Message(
        role=role,
        content=_to_content(prompt, model, at_hand),
        tool_calls=tuple(
            ToolCall(call_id=call.id, name=call.function.name, arguments=call.function.arguments)
            for call in calls
        ),
        tool_call_id=prompt.tool_call_id if isinstance(prompt, ToolPromptMessage) else None,
        name=prompt.name,
        opaque_body=prompt.opaque_body if isinstance(prompt, AssistantPromptMessage) else None,
    )


def _is_stray_result(raw: Any) -> bool:
    """Return whether this is a tool result without its call, which models refuse."""
    match raw:
        case {"role": "tool", **rest}:
            return not rest.get("tool_call_id")
        case _:
            return False


def _read_prompt(raw: Any, index: int) -> PromptMessage:
    try:
        return ensure_prompt_message(raw)
    except (TypeError, ValueError) as error:
        field = f"model.history_prompt_messages[{index}]"
        raise ParameterError(field, "a prompt message with role and content", raw) from error


def _to_content(
    prompt: PromptMessage, model: Model, at_hand: FilesAtHand
) -> str | tuple[Part, ...]:
    content = prompt.content or ""
    if isinstance(content, str):
        return content
    parts = tuple(read_part(part, model, at_hand) for part in content)
    # Joined only if a sentence replaces a file: a history that fits stays as it came.
    is_changed = [part["type"] for part in parts] != [_kind(part) for part in content]
    return join_texts(parts) if is_changed else parts


def _kind(part: PromptMessageContent) -> str:
    return str(getattr(part, "type", "text"))


def to_prompt(message: Message) -> PromptMessage:
    """Translate a message of a request.

    A model's payload goes into a part of the content if the model's plugin asks for that, because the daemon refuses it
    on the message itself, and some providers' plugins cannot read content in parts. Content is never null, which the
    daemon refuses, too.

    Source: docs/contracts/gpt5-agent-strategies.md, B17.
    """
    content: Any = message.content
    if not isinstance(content, str):
        content = [to_sdk_part(part) for part in content]
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
    parts = [to_sdk_part(part) for part in message.content]
    return [*parts, TextPromptMessageContent(data="", opaque_body=message.opaque_body)]


def _to_call(call: ToolCall) -> AssistantPromptMessage.ToolCall:
    return AssistantPromptMessage.ToolCall(
        id=call.call_id,
        type="function",
        function=AssistantPromptMessage.ToolCall.ToolCallFunction(
            name=call.name, arguments=call.arguments
        ),
    )
