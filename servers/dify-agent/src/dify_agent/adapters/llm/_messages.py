"""Conversion of Pydantic AI's message history to the daemon's prompt messages.

Source: dify-plugin 0.10.2, `entities/model/message.py`; langgenius/dify-plugin-daemon at bdb5642a,
`pkg/entities/model_entities/llm.go`.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    CompactionPart,
    FilePart,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from ._carried import Carried, read_carried
from ._content import ContentPart, build_content, build_file, text_part


type PromptMessage = dict[str, object]


def build_prompt_messages(
    messages: Sequence[ModelMessage],
    *,
    instructions: Sequence[InstructionPart],
    provider_name: str,
    model_provider: str,
) -> list[PromptMessage]:
    """Build the prompt messages of a request.

    Instructions follow the system messages at the beginning. A response goes back with its text as the plugin gave it, including
    thoughts, and with its `opaque_body` on the message.

    Args:
        messages: The history, as `Model.prepare_messages` leaves it.
        instructions: The parts of the agent's instructions.
        provider_name: Name of the Pydantic AI provider that the request goes to.
        model_provider: The provider inside the plugin.

    Raises:
        UserError: If some content is of a kind that the daemon does not know.
        UnexpectedModelBehavior: If a part of a message cannot be converted.
    """
    prompts: list[PromptMessage] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            prompts += _request_messages(message)
        else:
            carried = read_carried(
                message, provider_name=provider_name, model_provider=model_provider
            )
            prompts += _assistant_messages(message, carried)
    leading = len(list(takewhile(lambda prompt: prompt["role"] == "system", prompts)))
    system = [_message("system", part.content) for part in instructions]
    return [*prompts[:leading], *system, *prompts[leading:]]


def _message(role: str, content: str | list[ContentPart], **rest: object) -> PromptMessage:
    return {"role": role, "content": content, **rest}


def _request_messages(request: ModelRequest) -> Iterator[PromptMessage]:
    """Yield a request's messages; files that tools returned follow in a user message, because a tool message holds only text."""
    files: list[UserContent] = []
    returns = 0
    for part in request.parts:
        if isinstance(part, ToolReturnPart):
            text, returned = part.model_response_str_and_user_content()
            files += returned
            call_id = part.tool_call_id or _replacement_id(part.tool_name, returns)
            yield _message("tool", text, tool_call_id=call_id, name=part.tool_name)
            returns += 1
        else:
            yield _request_message(part)
    if files:
        yield _message("user", build_content(files))


def _request_message(part: ModelRequestPart) -> PromptMessage:
    match part:
        case SystemPromptPart():
            return _message("system", part.content)
        case UserPromptPart(content=str(text)):
            return _message("user", text)
        case UserPromptPart():
            return _message("user", build_content(part.content))
        case RetryFeedbackPart():
            return _message("user", part.model_response())
        case CompactionPart(content=str(summary)):
            return _message("user", f"Summary of the conversation so far:\n\n{summary}")
        case _:
            return _legacy_retry(part)


def _legacy_retry(part: ModelRequestPart) -> PromptMessage:
    """Return the message of a retry prompt in an old history; its class is deprecated and therefore not imported."""
    if part.part_kind != "retry-prompt":
        raise _unknown(part.part_kind)
    if part.tool_name is None:
        return _message("user", part.model_response())
    call = {"tool_call_id": part.tool_call_id, "name": part.tool_name}
    return _message("tool", part.model_response(), **call)


def _replacement_id(tool_name: str, index: int) -> str:
    """Return an id for a call that has none; the result at the same index gets the same one."""
    return f"tool-call-{index}-{tool_name}"


def _assistant_messages(response: ModelResponse, carried: Carried) -> Iterator[PromptMessage]:
    """Yield the message of a response, unless it is empty.

    Content is never null, which the daemon refuses, and comes in parts only if there is a file: some plugins can read
    nothing but a text.
    """
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    files = _assistant_files(response)
    content = [text_part(carried.text), *files] if files else carried.text
    body = {} if carried.opaque_body is None else {"opaque_body": carried.opaque_body}
    if content or calls or body:
        tool_calls = [_tool_call(call, index) for index, call in enumerate(calls)]
        yield _message("assistant", content, tool_calls=tool_calls, **body)


def _assistant_files(response: ModelResponse) -> list[ContentPart]:
    files: list[ContentPart] = []
    for part in response.parts:
        match part:
            case FilePart():
                files.append(build_file(part.content))
            case TextPart() | ThinkingPart() | ToolCallPart():
                pass  # these have fields of their own
            case NativeToolCallPart() | NativeToolReturnPart() | CompactionPart():
                pass  # these mean something only to the provider that made them
            case _:
                raise _unknown(part.part_kind)
    return files


def _tool_call(call: ToolCallPart, index: int) -> dict[str, object]:
    return {
        "id": call.tool_call_id or _replacement_id(call.tool_name, index),
        "type": "function",
        "function": {"name": call.tool_name, "arguments": call.args_as_json_str()},
    }


def _unknown(part_kind: str) -> UnexpectedModelBehavior:
    return UnexpectedModelBehavior(
        f"A {part_kind!r} part cannot be sent through Dify's plugin daemon. "
        "Messages that are not sent by an agent go through Model.prepare_messages() first."
    )
