"""Runs and their events in the shape that Dify's API reads: closed models, in which one extra key is an error.

An agent's work is reported in events of Pydantic AI, and only in those that its versions 1.102 and 2.x both know.

Source: docs/contracts/dify-agent.md, C59 and C75; the client and the models of dify-agent 1.16.0, and what can be read of later ones.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from agent_server.executor import JsonObject
from agent_server.runs import Run, StoredEvent
from dify_agent.dify_versions import DifyVersion
from dify_agent.runtime._failure import MODEL_REQUEST_LIMIT, RUN_TIME_LIMIT

from . import protocol_1, protocol_2
from .requests import CancelRequest


FIRST_CURSOR: Final = "0-0"
"""The cursor before the first event."""

_MOST_DIGITS: Final = 15  # More events than any run has; unbounded numbers are slow to parse.
# Of Dify's closed models; any other outcome, such as `retried`, counts as failed.
_KNOWN_OUTCOMES: Final = frozenset({"success", "failed", "denied"})
# Dify's words for failures of models, by which it knows what to show; and a bad composition has none.
_REASONS: Final[Mapping[str, str | None]] = {
    "ModelAuthenticationError": "InvokeAuthorizationError",
    "ModelConnectionError": "InvokeConnectionError",
    "ModelRateLimitError": "InvokeRateLimitError",
    "ModelRequestRejectedError": "InvokeBadRequestError",
    "ModelUnavailableError": "InvokeServerUnavailableError",
    "AgentRunValidationError": None,
}
# The only type of a failed run that Dify has a word for.
_LIMIT_EXCEEDED: Final = "agent_run_limit_exceeded"


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


def project_run(run: Run, version: DifyVersion) -> JsonObject:
    """Return the status of a run. Dify knows no queue and no waiting for answers, so such a run is running."""
    error = None if run.result is None else run.result.error
    if run.status == "cancelled":
        asked = CancelRequest.parse(run.cancel_reason or "")
        error = asked.message or asked.reason
    shown: JsonObject = {
        "run_id": run.run_id,
        "status": "running" if run.status in {"queued", "waiting"} else run.status,
        "created_at": run.created_at.isoformat(),
        "updated_at": (run.finished_at or run.started_at or run.created_at).isoformat(),
        "error": error,
    }
    if version.has_error_type:
        shown["error_type"] = _error_type(None if run.result is None else run.result.error_type)
    return shown


def project_event(run_id: str, event: StoredEvent, version: DifyVersion) -> JsonObject | None:
    """Return an event for Dify; None for one that Dify does not know, such as a file or a request that is repeated."""
    projected = _project(event, version)
    if projected is None:
        return None
    envelope = {
        "id": format_cursor(event.number),
        "run_id": run_id,
        "created_at": event.created_at.isoformat(),
    }
    return envelope | projected


def _project(event: StoredEvent, version: DifyVersion) -> JsonObject | None:
    data = event.data
    if event.type == "run_started" and data["attempt"] > 1:
        return None  # reported once; a later attempt goes on with the same run
    if (end := _OF_RUNS.get(event.type)) is not None:
        return {"type": event.type, "data": end(data, version)}
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


def _started(_data: Mapping[str, Any], _version: DifyVersion) -> JsonObject:
    return {}


def _succeeded(data: Mapping[str, Any], version: DifyVersion) -> JsonObject:
    details = data["details"]
    # Exactly one of the two may be there.
    if (call := details.get("deferred_tool_call")) is not None:
        result: JsonObject = {"deferred_tool_call": call}
    else:
        result = {"output": data["output"]}
    return result | _left_behind(data, version)


def _failed(data: Mapping[str, Any], version: DifyVersion) -> JsonObject:
    reason, error_type = data["error_type"], _error_type(data["error_type"])
    failed: JsonObject = {
        "error": data["error"],
        "reason": None if error_type else _REASONS.get(reason, reason),
    }
    if version.has_error_type:
        failed["error_type"] = error_type
    return failed | _left_unfinished(data, version)


def _cancelled(data: Mapping[str, Any], version: DifyVersion) -> JsonObject:
    cancelled = CancelRequest.parse(data["reason"] or "").model_dump()
    return cancelled | _left_unfinished(data, version)


def _left_unfinished(data: Mapping[str, Any], version: DifyVersion) -> JsonObject:
    return _left_behind(data, version) if version.keeps_unfinished else {}


def _left_behind(data: Mapping[str, Any], version: DifyVersion) -> JsonObject:
    """Return the snapshot and the usage of a run that has ended, as far as there are any."""
    left: JsonObject = {}
    details: JsonObject = data.get("details") or {}
    if (snapshot := details.get("session_snapshot")) is not None:
        build = (protocol_1 if version.protocol == 1 else protocol_2).build_snapshot
        left["session_snapshot"] = build(snapshot)
    if (usage := data.get("usage")) is not None and usage["model_requests"]:
        left["usage"] = _usage(usage, details.get("prices") or {}, version)
    return left


def _usage(usage: Mapping[str, Any], prices: Mapping[str, Any], version: DifyVersion) -> JsonObject:
    prompt, completion = usage["input_tokens"], usage["output_tokens"]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        **(prices if version.has_prices else {}),
    }


def _error_type(error_type: str | None) -> str | None:
    return _LIMIT_EXCEEDED if error_type in {MODEL_REQUEST_LIMIT, RUN_TIME_LIMIT} else None


type _Projection = Callable[[Mapping[str, Any], DifyVersion], JsonObject]

_OF_RUNS: Final[Mapping[str, _Projection]] = {
    "run_started": _started,
    "run_succeeded": _succeeded,
    "run_failed": _failed,
    "run_cancelled": _cancelled,
}
_OF_AGENTS: Final[Mapping[str, Callable[[Mapping[str, Any]], JsonObject]]] = {
    "text_delta": lambda data: _part_delta("text", data["text"]),
    "thinking_delta": lambda data: _part_delta("thinking", data["text"]),
    "tool_call": _tool_call,
    "tool_result": _tool_result,
}
