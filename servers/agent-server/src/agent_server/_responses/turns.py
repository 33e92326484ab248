"""What a request for a response does: begin a run, or answer what one waits for."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from agent_server._http.problems import refuse
from agent_server.executor import (
    Approval,
    Conversational,
    InputAnswer,
    JsonObject,
    Turn,
    UnknownAgentError,
)
from agent_server.runs import NewRun
from stream_text import InvalidJsonError, parse_json

from .creation import Creation
from .ids import ResponseId


def build_run(
    executor: Conversational, asked: Creation, *, tenant: str, state: bytes | None
) -> NewRun:
    """Return the run that a request begins.

    Args:
        executor: The executor.
        asked: The request.
        tenant: Whose it is.
        state: The state of the conversation's run before; None for a first.

    Raises:
        RequestRefusedError: If there is no such agent, something is answered that nobody waits for, or the agent cannot run it.
    """
    turn = Turn(
        input=_read_history(asked.input),
        instructions=asked.instructions,
        tools=asked.tools,
        text_format=asked.text_format,
        state=state,
    )
    try:
        request = executor.begin_turn(asked.model, turn)
    except UnknownAgentError:
        message = "expected the name of one of this server's agents"
        raise refuse("model", message, code="model_not_found") from None
    return NewRun(
        tenant=tenant,
        agent=asked.model,
        request=request,
        shown=_show(asked),
        metadata=asked.metadata,
    )


def _show(asked: Creation) -> JsonObject:
    """Return what the run's responses say of the request."""
    return {
        "background": asked.is_background,
        "input": list(asked.input),
        "instructions": asked.instructions,
        "max_output_tokens": asked.max_output_tokens,
        "previous_response_id": asked.previous,
        "store": asked.is_stored,
        "text_format": asked.text_format,
        "tools": list(asked.tools),
    }


def _read_history(items: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """Return what an agent gets of an input.

    What a person has decided about calls is not among it: what came of that are the calls, and nothing that a client claims may count as a decision.

    Raises:
        RequestRefusedError: If something is answered that nobody waits for.
    """
    calls = {item["call_id"] for item in items if item["type"] == "function_call"}
    message = "expected the answer to something that a response waits for"
    for n, item in enumerate(items):
        if item["type"] == "function_call_output" and item["call_id"] not in calls:
            raise refuse(f"input[{n}].call_id", message)
    if items[-1]["type"] in _DECISIONS:
        raise refuse(f"input[{len(items) - 1}]", message)
    return [item for item in items if item["type"] not in _DECISIONS]


_DECISIONS: Final = frozenset({"mcp_approval_request", "mcp_approval_response"})


def find_answered(items: Sequence[JsonObject]) -> tuple[ResponseId | None, Sequence[JsonObject]]:
    """Return which response the end of a whole history answers, and the items that do so; None for none.

    Clients that keep the history themselves send all of it: what they answer is recognised by its ids.
    """
    found = ResponseId.of_answer(items[-1])
    return found, [one for one in items if found is not None and ResponseId.of_answer(one) == found]


def check_unchanged(asked: Creation, shown: JsonObject, metadata: Mapping[str, str]) -> None:
    """Check that a request which answers changes nothing of the run that it answers.

    Args:
        asked: The request.
        shown: What the run shows of the request that has begun it.
        metadata: The run's metadata.

    Raises:
        RequestRefusedError: If it has a field with another value than that.
    """
    now: dict[str, tuple[Any, Any]] = {
        "instructions": (asked.instructions, shown["instructions"]),
        "metadata": (asked.metadata, metadata),
        "store": (asked.is_stored, shown["store"]),
        "text": (asked.text_format, shown["text_format"]),
        "tools": (list(asked.tools), shown["tools"]),
    }
    for name, (given, before) in now.items():
        if name in asked.given and given not in (before, None, {}, []):
            raise refuse(name, "expected what the run was begun with, or nothing")


def build_answer(
    previous: ResponseId, waiting: JsonObject, items: Sequence[JsonObject]
) -> InputAnswer:
    """Return the answer in a request's input.

    Args:
        previous: The response that waits.
        waiting: What it waits for, as the data of `run_waiting`.
        items: The input.

    Raises:
        RequestRefusedError: If it lacks something that is waited for, or has something else.
    """
    question: JsonObject | None = waiting["question"]
    open_: dict[str, str] = {} if question is None else {_QUESTION: "answer"}
    calls: dict[str, str] = {}
    for kind in ("results", "approvals"):
        for call, item_id in previous.calls(waiting, kind):
            calls[item_id] = call["call_id"]
            open_[item_id] = kind
    approvals: dict[str, Approval] = {}
    results: dict[str, Any] = {}
    answer: Any = None
    for n, item in enumerate(items):
        item_id, kind = _find_asked(item)
        if open_.pop(item_id, None) != kind:
            message = "expected an answer to something that the response waits for, once"
            raise refuse(f"input[{n}]", message)
        if kind == "results":
            results[calls[item_id]] = item["output"]
        elif kind == "approvals":
            approved, reason = item["approve"], item.get("reason")
            approvals[calls[item_id]] = Approval(approved=approved, reason=reason)
        else:
            answer = _read_answer(item, (question or {}).get("schema"))
            if answer is None:
                raise refuse(f"input[{n}]", "expected an answer, which null is not")
    if open_:
        names = ", ".join(sorted(open_))
        raise refuse("input", f"expected an answer to {names} as well", code="missing_answers")
    return InputAnswer(approvals=approvals, results=results, answer=answer)


_QUESTION: Final = "the question"


def _find_asked(item: JsonObject) -> tuple[str, str]:
    """Return the id of what an item answers, and the kind of answer."""
    match item["type"]:
        case "function_call_output":
            return item["call_id"], "results"
        case "mcp_approval_response":
            return item["approval_request_id"], "approvals"
        case "message" if item["role"] == "user":
            return _QUESTION, "answer"
        case _:
            return "", ""


def _read_answer(item: JsonObject, schema: JsonObject | None) -> Any:
    """Return the answer in a message: its text, or the JSON in it where the question wants another type."""
    content = item["content"]
    text = content if isinstance(content, str) else "".join(one.get("text", "") for one in content)
    if schema is None or schema.get("type") == "string":
        return text
    with suppress(InvalidJsonError):
        return parse_json(text)
    return text
