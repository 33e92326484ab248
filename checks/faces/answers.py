"""What a client answers to what agents ask of it, and the tools that it brings."""

from typing import Any


def _function(name: str, argument: str) -> dict[str, Any]:
    properties = {argument: {"type": "string"}}
    return {
        "type": "function",
        "name": name,
        "description": "Look it up.",
        "parameters": {"type": "object", "properties": properties, "required": [argument]},
        "strict": False,
    }


WEATHER: Any = [_function("get_weather", "city"), _function("get_time", "zone")]


def outputs_for(calls: Any) -> Any:
    return [
        {"type": "function_call_output", "call_id": one.call_id, "output": f"{one.name}: fine"}
        for one in calls
    ]


def approvals_in(output: Any, *, approve: bool, reason: str) -> Any:
    return [
        {
            "type": "mcp_approval_response",
            "approval_request_id": one.id,
            "approve": approve,
            "reason": reason,
        }
        for one in output
        if one.type == "mcp_approval_request"
    ]
