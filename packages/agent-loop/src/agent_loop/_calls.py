"""Tool calls as they go back to the model."""

import json

from agent_tooling import parse_tool_arguments

from ._messages import ToolCall


def to_replayed(call: ToolCall) -> ToolCall:
    """Return `call` as it goes back to the model: with arguments that are a JSON object.

    Model clients parse replayed arguments and fail on broken ones; the model still sees what it wrote.
    """
    if not call.arguments:
        return ToolCall(call_id=call.call_id, name=call.name, arguments="{}")
    if parse_tool_arguments(call.arguments).ok:
        return call
    wrapped = json.dumps({"invalid_arguments": call.arguments}, ensure_ascii=False)
    return ToolCall(call_id=call.call_id, name=call.name, arguments=wrapped)
