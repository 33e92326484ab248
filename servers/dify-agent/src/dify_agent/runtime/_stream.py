"""Conversion of an agent's events to the events for a run's client."""

from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue
from pydantic_ai import (
    AgentStreamEvent,
    BinaryContent,
    FilePart,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
)

from dify_agent.layers.dify_plugin._prepared_tool import find_failure
from dify_agent.layers.dify_plugin._secrets import ConfigSecrets
from dify_agent.protocol import (
    FileEvent,
    RunEvent,
    TextDeltaEvent,
    ThinkingDeltaEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from stream_text import KnownSecrets, SecretFilter, is_list, is_object


class RunEventReader:
    """Converter of one stream of an agent's events, which takes the secrets of the request out of them.

    Args:
        run_id: The run.
        secrets: The secrets. All are taken out of tool calls and results; out of the model's text, those that are declared as secrets and
            too long to be words.
    """

    def __init__(self, run_id: str, secrets: ConfigSecrets) -> None:
        self._run_id = run_id
        self._secrets = secrets
        self._kind: type[TextDeltaEvent | ThinkingDeltaEvent] = TextDeltaEvent
        self._filter = SecretFilter(secrets.spoken)

    def read(self, event: AgentStreamEvent) -> Iterator[RunEvent]:
        """Yield the client's events for the next one; a text that may be the beginning of a secret is held back."""
        match event:
            case (
                PartStartEvent(part=TextPart(content=text))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ):
                yield from self._read_text(TextDeltaEvent, text)
            case (
                PartStartEvent(part=ThinkingPart(content=text))
                | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text))
            ):
                yield from self._read_text(ThinkingDeltaEvent, text or "")
            case FunctionToolCallEvent(part=call):
                yield from self.end()
                yield _tool_call(self._run_id, call, self._secrets.known)
            case FunctionToolResultEvent(part=result, content=content):
                yield from self.end()
                yield _tool_result(self._run_id, result, self._secrets.known)
                for item in content if is_list(content) else ():
                    if isinstance(item, BinaryContent):
                        yield _file(self._run_id, item, tool_call_id=result.tool_call_id)
            case PartStartEvent(part=FilePart(content=file)):
                yield from self.end()
                yield _file(self._run_id, file)
            case _:
                return

    def end(self) -> Iterator[RunEvent]:
        """Yield the text that was held back, because something else follows."""
        yield from self._emit(self._filter.close())

    def _read_text(
        self, kind: type[TextDeltaEvent | ThinkingDeltaEvent], text: str
    ) -> Iterator[RunEvent]:
        if kind is not self._kind:
            yield from self.end()
            self._kind = kind
        yield from self._emit(self._filter.feed(text))

    def _emit(self, text: str) -> Iterator[RunEvent]:
        if text:
            yield self._kind(run_id=self._run_id, text=text)


def _file(run_id: str, file: BinaryContent, *, tool_call_id: str | None = None) -> FileEvent:
    name = (file.vendor_metadata or {}).get("filename")
    return FileEvent(
        run_id=run_id,
        tool_call_id=tool_call_id,
        media_type=file.media_type,
        filename=name if isinstance(name, str) else "",
        data=file.data,
    )


def _tool_call(run_id: str, call: ToolCallPart, secrets: KnownSecrets) -> ToolCallEvent:
    return ToolCallEvent(
        run_id=run_id,
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        arguments=show_arguments(call, secrets),
    )


def show_arguments(call: ToolCallPart, secrets: KnownSecrets) -> dict[str, JsonValue] | str:
    """Return a call's arguments, redacted: an object, or the text if that is not a JSON object."""
    try:
        arguments = call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return secrets.redact(str(call.args))
    return {name: redact_json(value, secrets) for name, value in arguments.items()}


def redact_json(value: Any, secrets: KnownSecrets) -> Any:
    """Return a JSON value with its texts redacted."""
    if is_object(value):
        return {secrets.redact(name): redact_json(item, secrets) for name, item in value.items()}
    if is_list(value):
        return [redact_json(item, secrets) for item in value]
    return secrets.redact(value) if isinstance(value, str) else value


def _tool_result(run_id: str, result: ToolReturnPart, secrets: KnownSecrets) -> ToolResultEvent:
    return ToolResultEvent(
        run_id=run_id,
        tool_call_id=result.tool_call_id,
        tool_name=result.tool_name,
        # Pydantic AI does not know that a plugin's tool failed: the result is a sentence for the model.
        outcome="failed" if find_failure(result.metadata) else result.outcome,
        content=secrets.redact(result.model_response_str(wrap_if_error=False)),
    )
