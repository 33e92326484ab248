"""From what an agent does to the events that a run's client hears."""

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

from dify_agent.protocol import (
    RunEvent,
    TextDeltaEvent,
    ThinkingDeltaEvent,
    ToolCallEvent,
    ToolResultEvent,
)


def to_run_event(run_id: str, event: AgentStreamEvent) -> RunEvent | None:
    """Return what a client hears of an agent's event; None if there is nothing to hear."""
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
            return _tool_call(run_id, call)
        case FunctionToolResultEvent(part=result):
            return _tool_result(run_id, result)
        case _:
            return None


def _tool_call(run_id: str, call: ToolCallPart) -> ToolCallEvent:
    return ToolCallEvent(
        run_id=run_id,
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        arguments=_arguments(call),
    )


def _arguments(call: ToolCallPart) -> dict[str, JsonValue] | str:
    try:
        return call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return str(call.args)


def _tool_result(run_id: str, result: ToolReturnPart) -> ToolResultEvent:
    return ToolResultEvent(
        run_id=run_id,
        tool_call_id=result.tool_call_id,
        tool_name=result.tool_name,
        outcome=result.outcome,
        content=result.model_response_str(wrap_if_error=False),
    )
