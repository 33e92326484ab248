"""The line with which a script asks for input, and what it continues from once it is answered.

Source: docs/contracts/agent-runner.md, E29 to E36.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agent_runner._agent.schema import read_schema, validate_value
from agent_runner._errors import ConfigurationError, InputError, InputProblem
from agent_runner._output.outputs import ErrorOutput, JsonOutput, Output
from agent_runner._run.result import RunResult as ScriptResult
from agent_server.executor import (
    InputAnswer,
    InputRequest,
    JsonObject,
    Problem,
    Question,
    RequestRefusedError,
    Resumption,
    RunResult,
    Waiting,
    WaitingCall,
)
from stream_text import TRUSTED_DEPTH, dump_json, parse_json


_TYPE = "input_required"
_REQUEST = f"{_TYPE}.request"
_TEXT: JsonObject = {"type": "string", "minLength": 1}


def _object(required: Sequence[str], properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_CALLS: JsonObject = {
    "type": "array",
    "items": _object(
        ("call_id", "name", "arguments"),
        {
            "call_id": _TEXT,
            "name": _TEXT,
            "arguments": {"type": ["string", "object"]},
            "server": {"type": "string"},
        },
    ),
}
_QUESTION = {
    **_object(("text",), {"text": _TEXT, "schema": {"type": ["object", "null"]}}),
    "type": ["object", "null"],
}
_LINE = _object(
    ("request",),
    {
        "type": {},
        "state": {},
        "request": _object(
            (),
            {"approvals": _CALLS, "results": _CALLS, "question": _QUESTION},
        ),
    },
)


class LastLine:
    """The outputs of a script as they can be shown: a line that asks for input is held back until it is known whether it is the last.

    Attributes:
        asked: The line that asks for input, without its metadata; after the result of the run that with which it waits. None if there is none.
    """

    def __init__(self) -> None:
        self.asked: JsonOutput | None = None

    def take(self, output: Output | ScriptResult) -> Iterator[Output]:
        """Take the next output, or finally the result, and yield the outputs that can be shown now."""
        if isinstance(output, ErrorOutput) and output.source == "stderr":
            yield output  # It says nothing about what comes last on stdout.
            return
        if isinstance(output, ScriptResult) and output.status == "succeeded":
            return
        if self.asked is not None:
            yield self.asked
            self.asked = None
        match output:
            case JsonOutput(value={"type": "input_required"}):
                self.asked = output
            case ScriptResult():
                pass
            case _:
                yield output


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What a script continues from.

    Attributes:
        resume: The script's field `resume`; None if it begins.
        llm_usage: All `_llm_usage` that it printed before.
    """

    resume: JsonObject | None
    llm_usage: Sequence[Any]


def read_resumption(resumption: Resumption | None) -> Resumed:
    """Return what a script continues from, by what its run continues from."""
    if resumption is None:
        return Resumed(resume=None, llm_usage=())
    kept = parse_json(resumption.state.decode(), max_depth=TRUSTED_DEPTH, yields=True)
    resume = {"state": kept["state"], "answer": resumption.answer.to_dict()}
    return Resumed(resume=resume, llm_usage=kept["llm_usage"])


def read_waiting(line: Mapping[str, Any], *, llm_usage: Sequence[Any]) -> Waiting:
    """Return how an attempt ends whose script asks for input.

    Args:
        line: The line's members.
        llm_usage: All `_llm_usage` of the run so far.

    Raises:
        InputError: If the line has another form.
        ConfigurationError: If the question's schema is not a JSON Schema.
    """
    validate_value(line, _LINE, name=_TYPE, at=_TYPE)
    request = _build_request(line["request"])
    ids = Counter(call.call_id for call in (*request.approvals, *request.results))
    if twice := [call_id for call_id, count in ids.items() if count > 1]:
        message = f"expected each call_id once, got {twice[0]!r} more often"
        raise InputError(InputProblem(field=_REQUEST, message=message))
    if not (ids or request.question):
        message = "expected approvals, results or a question"
        raise InputError(InputProblem(field=_REQUEST, message=message))
    if request.question is not None and request.question.schema is not None:
        read_schema(request.question.schema, name=f"{_REQUEST}.question.schema")
    kept = {"state": line.get("state"), "llm_usage": llm_usage}
    return Waiting(request=request, state=dump_json(kept).encode())


def check_answer(asked: InputRequest, given: InputAnswer) -> None:
    """Check the answer to a question.

    Raises:
        RequestRefusedError: If it is missing, does not fit the question's schema, or this cannot be applied.
    """
    if asked.question is None:
        return
    if given.answer is None:
        raise RequestRefusedError(Problem(field="answer", message="expected to be present"))
    schema = asked.question.schema or {}
    try:
        validate_value(given.answer, schema, name="the question's schema", at="answer")
    except InputError as error:
        problems = [Problem(field=one.field, message=one.message) for one in error.problems]
        raise RequestRefusedError(*problems) from None
    except ConfigurationError as error:
        raise RequestRefusedError(
            Problem(field="answer", message=f"cannot be checked: {error}")
        ) from None


def dump_ending(ending: RunResult | Waiting) -> bytes:
    """Return how an attempt ends as JSON, which `load_ending` reads."""
    if isinstance(ending, RunResult):
        return ending.to_json()
    recorded = {"request": asdict(ending.request), "state": ending.state.decode()}
    return dump_json(recorded).encode()


def load_ending(recorded: bytes) -> RunResult | Waiting:
    """Return how an attempt ends by the JSON that `dump_ending` has written."""
    fields = json.loads(recorded)
    if "request" not in fields:
        return RunResult.from_json(recorded)
    return Waiting(request=_build_request(fields["request"]), state=fields["state"].encode())


def _build_request(fields: Mapping[str, Any]) -> InputRequest:
    question = fields.get("question")
    return InputRequest(
        approvals=[_build_call(one) for one in fields.get("approvals", ())],
        results=[_build_call(one) for one in fields.get("results", ())],
        question=None if question is None else Question(**question),
    )


def _build_call(fields: Mapping[str, Any]) -> WaitingCall:
    arguments = fields["arguments"]
    text = arguments if isinstance(arguments, str) else dump_json(arguments)
    return WaitingCall(**{**fields, "arguments": text})
