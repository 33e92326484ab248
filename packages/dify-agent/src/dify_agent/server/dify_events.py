"""Runs and their events in the shape that Dify's API reads: closed models, in which one extra key is an error.

An agent's work is reported in events of Pydantic AI, and only in those that its versions 1.102 and 2.x both know.

Source: docs/contracts/dify-agent.md, C59; the client and the models of dify-agent 1.16.0.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from agent_server.executor import JsonObject
from agent_server.runs import Run, StoredEvent

from .dify_requests import without_type_ids


__all__ = [
    "FIRST_CURSOR",
    "format_cursor",
    "parse_cursor",
    "project_event",
    "project_run",
]


FIRST_CURSOR: Final = "0-0"
"""The cursor before the first event."""

_MOST_DIGITS: Final = 15  # More events than any run has; unbounded numbers are slow to parse.
# Of Dify's closed models; any other outcome, such as `retried`, counts as failed.
_KNOWN_OUTCOMES: Final = frozenset({"success", "failed", "denied"})


def format_cursor(number: int) -> str:
    """Return the id of an event by its number."""
    return str(number)


def parse_cursor(text: str) -> int:
    """Return the number of the event that a cursor names, or 0 for the first cursor.

    Raises:
        ValueError: If it is not a cursor.
    """
    if text == FIRST_CURSOR:
        return 0
    if not (text.isascii() and text.isdecimal()) or len(text) > _MOST_DIGITS:
        raise ValueError("expected the id of an event, or 0-0")
    return int(text)


def project_run(run: Run) -> JsonObject:
    """Return the status of a run. Dify knows no queue and no waiting for answers, so such a run is running."""
    return {
        "run_id": run.run_id,
        "status": "running" if run.status in {"queued", "waiting"} else run.status,
        "created_at": run.created_at.isoformat(),
        "updated_at": (run.finished_at or run.started_at or run.created_at).isoformat(),
        "error": None if run.result is None else run.result.error,
    }


def project_event(run_id: str, event: StoredEvent) -> JsonObject | None:
    """Return an event for Dify; None for one that Dify does not know, such as a file or a request that is repeated."""
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
    if event.type == "run_started" and data["attempt"] > 1:
        return None  # reported once; a later attempt goes on with the same run
    if (end := _OF_RUNS.get(event.type)) is not None:
        return {"type": event.type, "data": end(data)}
    if (agent := _OF_AGENTS.get(event.type)) is None:
        return None
    projected: JsonObject = {"type": "pydantic_ai_event", "data": agent(data)}
    return projected | ({"agent_message_delta": data["text"]} if event.type == "text_delta" else {})


def _part_delta(kind: str, text: str) -> JsonObject:
    delta = {"part_delta_kind": kind, "content_delta": text}
    return {"event_kind": "part_delta", "index": 0, "delta": delta}


def _tool_call(data: Mapping[str, Any]) -> JsonObject:
    part = {
        "part_kind": "tool-call",
        "tool_call_id": data["tool_call_id"],
        "tool_name": data["tool_name"],
        "args": data["arguments"],
    }
    return {"event_kind": "function_tool_call", "part": part}


def _tool_result(data: Mapping[str, Any]) -> JsonObject:
    outcome = data["outcome"] if data["outcome"] in _KNOWN_OUTCOMES else "failed"
    part = {
        "part_kind": "tool-return",
        "tool_call_id": data["tool_call_id"],
        "tool_name": data["tool_name"],
        "content": data["content"],
        "outcome": outcome,
    }
    return {"event_kind": "function_tool_result", "part": part}


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


type _Projection = Callable[[Mapping[str, Any]], JsonObject]

_OF_RUNS: Final[Mapping[str, _Projection]] = {
    "run_started": lambda _data: {},
    "run_succeeded": _succeeded,
    "run_failed": lambda data: {"error": data["error"], "reason": data["error_type"]},
    "run_cancelled": lambda data: {"reason": data.get("reason")},
}
_OF_AGENTS: Final[Mapping[str, _Projection]] = {
    "text_delta": lambda data: _part_delta("text", data["text"]),
    "thinking_delta": lambda data: _part_delta("thinking", data["text"]),
    "tool_call": _tool_call,
    "tool_result": _tool_result,
}
