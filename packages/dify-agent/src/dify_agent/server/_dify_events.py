"""Runs and their events as Dify's API reads them: closed models, in which one key too many is an error.

What an agent does is told in events of Pydantic AI, and of those only what its versions 1.102 and 2.x both know.

Source: docs/contracts/dify-agent.md, C59; the client and the models of dify-agent 1.16.0.
"""

from collections.abc import Mapping
from typing import Any, Final

from agent_server.executor import JsonObject
from agent_server.runs import Run, StoredEvent

from ._dify_requests import without_type_ids


FIRST_CURSOR: Final = "0-0"
"""The cursor before the first event."""

_MOST_DIGITS: Final = 15  # More than any run has events; unbounded numbers are slow to read.
_KNOWN_OUTCOMES: Final = frozenset({"success", "failed", "denied"})


def format_cursor(number: int) -> str:
    """Return the id of the event of a number."""
    return f"{number}-0"


def parse_cursor(text: str) -> int:
    """Return the number of the event that a cursor names, 0 for none.

    Raises:
        ValueError: If it is no cursor.
    """
    number = text.removesuffix("-0")
    if not (number.isascii() and number.isdecimal()) or len(number) > _MOST_DIGITS:
        raise ValueError("expected the id of an event, or 0-0")
    return int(number)


def project_run(run: Run) -> JsonObject:
    """Return where a run stands. Dify knows no queue: what waits is running."""
    return {
        "run_id": run.run_id,
        "status": "running" if run.status == "queued" else run.status,
        "created_at": run.created_at.isoformat(),
        "updated_at": (run.finished_at or run.started_at or run.created_at).isoformat(),
        "error": None if run.result is None else run.result.error,
    }


def project_event(run_id: str, event: StoredEvent) -> JsonObject | None:
    """Return an event for Dify; None for one that it has no word for, such as a file or a request that is made again."""
    projected = _project(event)
    if projected is None:
        return None
    envelope = {
        "id": format_cursor(event.number),
        "run_id": run_id,
        "created_at": event.created_at.isoformat(),
    }
    return envelope | projected


def _project(event: StoredEvent) -> JsonObject | None:
    data = event.data
    match event.type:
        case "run_started":
            return {"type": "run_started", "data": {}} if data["attempt"] == 1 else None
        case "run_succeeded":
            return {"type": event.type, "data": _succeeded(data)}
        case "run_failed":
            return {
                "type": event.type,
                "data": {"error": data["error"], "reason": data["error_type"]},
            }
        case "run_cancelled":
            return {"type": event.type, "data": {"reason": data.get("reason")}}
        case "text_delta":
            return _agent_event(_part_delta("text", data["text"])) | {
                "agent_message_delta": data["text"]
            }
        case "thinking_delta":
            return _agent_event(_part_delta("thinking", data["text"]))
        case "tool_call":
            return _agent_event({"event_kind": "function_tool_call", "part": _tool_call(data)})
        case "tool_result":
            return _agent_event({"event_kind": "function_tool_result", "part": _tool_result(data)})
        case _:
            return None


def _agent_event(data: JsonObject) -> JsonObject:
    return {"type": "pydantic_ai_event", "data": data}


def _part_delta(kind: str, text: str) -> JsonObject:
    delta = {"part_delta_kind": kind, "content_delta": text}
    return {"event_kind": "part_delta", "index": 0, "delta": delta}


def _tool_call(data: Mapping[str, Any]) -> JsonObject:
    return {
        "part_kind": "tool-call",
        "tool_call_id": data["tool_call_id"],
        "tool_name": data["tool_name"],
        "args": data["arguments"],
    }


def _tool_result(data: Mapping[str, Any]) -> JsonObject:
    outcome = data["outcome"] if data["outcome"] in _KNOWN_OUTCOMES else "failed"
    return {
        "part_kind": "tool-return",
        "tool_call_id": data["tool_call_id"],
        "tool_name": data["tool_name"],
        "content": data["content"],
        "outcome": outcome,
    }


def _succeeded(data: Mapping[str, Any]) -> JsonObject:
    snapshot = without_type_ids(data["details"]["session_snapshot"])
    succeeded: JsonObject = {"output": data["output"], "session_snapshot": snapshot}
    if usage := data.get("usage"):
        prompt, completion = usage["input_tokens"], usage["output_tokens"]
        succeeded["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
    return succeeded
