"""From what an agent does to the events that a run's client hears."""

from typing import Any, cast

from pydantic import JsonValue
from pydantic_ai import (
    AgentStreamEvent,
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

from dify_agent.layers.dify_plugin._secrets import ConfigSecrets
from dify_agent.protocol import (
    RunEvent,
    TextDeltaEvent,
    ThinkingDeltaEvent,
    ToolCallEvent,
    ToolResultEvent,
)


def to_run_event(
    run_id: str, event: AgentStreamEvent, *, secrets: ConfigSecrets
) -> RunEvent | None:
    """Return what a client hears of an agent's event; None if there is nothing to hear.

    Args:
        run_id: The run.
        event: The agent's event.
        secrets: Texts that no call of a tool and no result shows.
    """
    match event:
        case (
            PartStartEvent(part=TextPart(content=text))
            | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
        ):
            return TextDeltaEvent(run_id=run_id, text=text) if text else None
        case (
            PartStartEvent(part=ThinkingPart(content=text))
            | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text))
        ):
            return ThinkingDeltaEvent(run_id=run_id, text=text) if text else None
        case FunctionToolCallEvent(part=call):
            return _tool_call(run_id, call, secrets)
        case FunctionToolResultEvent(part=result):
            return _tool_result(run_id, result, secrets)
        case _:
            return None


def _tool_call(run_id: str, call: ToolCallPart, secrets: ConfigSecrets) -> ToolCallEvent:
    return ToolCallEvent(
        run_id=run_id,
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        arguments=_arguments(call, secrets),
    )


def _arguments(call: ToolCallPart, secrets: ConfigSecrets) -> dict[str, JsonValue] | str:
    try:
        arguments = call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return secrets.redact(str(call.args))
    return {name: _redact(value, secrets) for name, value in arguments.items()}


def _redact(value: Any, secrets: ConfigSecrets) -> Any:
    """Return a JSON value with its texts redacted."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {secrets.redact(name): _redact(item, secrets) for name, item in items}
    if isinstance(value, list):
        return [_redact(item, secrets) for item in cast("list[Any]", value)]
    return secrets.redact(value) if isinstance(value, str) else value


def _tool_result(run_id: str, result: ToolReturnPart, secrets: ConfigSecrets) -> ToolResultEvent:
    return ToolResultEvent(
        run_id=run_id,
        tool_call_id=result.tool_call_id,
        tool_name=result.tool_name,
        outcome=result.outcome,
        content=secrets.redact(result.model_response_str(wrap_if_error=False)),
    )
