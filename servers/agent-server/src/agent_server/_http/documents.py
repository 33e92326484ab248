"""The models of what clients send and read, used for validation, by the clients and in the OpenAPI description."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)

from agent_server.executor import Approval, InputAnswer, RunResult
from agent_server.runs import NewAnswer, Run, RunStatus, StoredEvent, WaitingFor
from stream_text import LARGE_TEXT, is_object

from .problems import dump_json


MAX_METADATA: Final = 16
MAX_REASON: Final = 1000
_MAX_NAMES: Final = 1000
_MAX_NUMBER: Final = 10**15
_NUMBER: Final = re.compile(r"-?[0-9]{1,16}", re.ASCII)

type MetadataName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
type MetadataText = Annotated[str, StringConstraints(max_length=512)]


def _validate_few(value: Any, *, most: int = _MAX_NAMES) -> Any:
    """Refuse too many names before any of them is validated: pydantic tells of each that is wrong, while no other thread can run."""
    if is_object(value) and len(value) > most:
        raise ValueError(f"expected at most {most} names")
    return value  # pyright: ignore[reportUnknownVariableType] - any JSON


_FEW: Final = BeforeValidator(_validate_few)

type Metadata = Annotated[
    dict[MetadataName, MetadataText],
    Field(max_length=MAX_METADATA),
    BeforeValidator(partial(_validate_few, most=MAX_METADATA)),
]


class RunRequest(BaseModel):
    """A request for a run. All other members belong to the agent's request.

    Attributes:
        agent: The agent's name; may be left out if the server has only one agent.
        metadata: Names and texts to find the run by: at most 16 names of up to 64 letters, digits, `_`, `.` and `-`,
            with texts of up to 512 characters.
    """

    # `extra="allow"` would copy the other members, however many, while no other thread can run.
    model_config = ConfigDict(
        extra="ignore", strict=True, json_schema_extra={"additionalProperties": True}
    )

    agent: str | None = Field(default=None, max_length=200)
    metadata: Metadata = Field(default_factory=dict)


class _ClosedModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _validate_names(cls, value: Any) -> Any:
        return _validate_few(value)


class CancelRequest(_ClosedModel):
    """A request to cancel a run.

    Attributes:
        reason: Why the run is cancelled.
    """

    reason: str | None = Field(default=None, max_length=MAX_REASON)


class ApprovalRequest(_ClosedModel):
    """A person's decision about a call.

    Attributes:
        approved: Whether it may be made.
        reason: Why it may not.
    """

    approved: bool
    reason: str | None = Field(default=None, max_length=MAX_REASON)


class AnswerRequest(_ClosedModel):
    """An answer for a run that waits. It has all that the run waits for, and nothing else.

    Attributes:
        wait_id: The `wait_id` of what is answered.
        approvals: The decision about each call that waits for approval, by its `call_id`.
        results: The result of each call that the client makes itself, by its `call_id`: any JSON.
        answer: The answer to the question: any JSON but null.
    """

    wait_id: str = Field(max_length=100)
    approvals: Annotated[dict[str, ApprovalRequest], _FEW] = Field(default_factory=dict)
    # Any JSON, which a type that says so would copy while no other thread can run.
    results: Annotated[dict[str, Any], _FEW] = Field(default_factory=dict)
    answer: Any = None

    def to_answer(self, key: str | None) -> NewAnswer:
        """Return the answer, with a digest of the key that it came with."""
        approvals = {
            call_id: Approval(approved=one.approved, reason=one.reason)
            for call_id, one in self.approvals.items()
        }
        answer = InputAnswer(approvals=approvals, results=self.results, answer=self.answer)
        return NewAnswer(wait_id=self.wait_id, answer=answer, key=key)


class SteerRequest(_ClosedModel):
    """A message for a run under way, which is no answer to what it waits for.

    Attributes:
        steer: What the run is told, as its agent takes it: a text, for one.
    """

    steer: Any


class WaitingCallDocument(BaseModel):
    """A call that a run waits for.

    Attributes:
        call_id: The call.
        name: The tool's name.
        arguments: Its arguments, as JSON text.
        server: The name of what the tool belongs to; empty for none.
    """

    call_id: str
    name: str
    arguments: str
    server: str


class QuestionDocument(BaseModel):
    """A question that a person answers.

    Attributes:
        text: The question.
        schema: The JSON schema of the answer; null for any JSON.
    """

    text: str
    schema_: dict[str, JsonValue] | None = Field(alias="schema")


class WaitDocument(BaseModel):
    """What a run waits for.

    Attributes:
        wait_id: Its id, which an answer names.
        since: Since when it waits.
        approvals: Calls that a person has to decide about.
        results: Calls that the client makes itself.
        question: A question; null for none.
    """

    wait_id: str
    since: datetime
    approvals: list[WaitingCallDocument]
    results: list[WaitingCallDocument]
    question: QuestionDocument | None


class AgentDocument(BaseModel):
    """An agent that can be run.

    Attributes:
        name: Its name.
        input_schema: The JSON schema of its input; null if it declares none.
    """

    name: str
    input_schema: dict[str, JsonValue] | None


class AgentsDocument(BaseModel):
    """The agents of a server.

    Attributes:
        agents: The agents.
    """

    agents: list[AgentDocument]


class UsageDocument(BaseModel):
    """The usage of a run's models, and its cost.

    Attributes:
        input_tokens: Tokens sent, including cached ones.
        output_tokens: Tokens received, including reasoning.
        cached_tokens: The part of the input tokens that was read from a cache; null if unknown.
        reasoning_tokens: The part of the output tokens that was reasoning; null if unknown.
        model_requests: How many requests were made to models.
        cost: The price as a decimal, such as `0.0123`; null if unknown.
        currency: The currency of the cost, in ISO 4217.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int | None
    reasoning_tokens: int | None
    model_requests: int
    cost: str | None
    currency: str | None


class ErrorDocument(BaseModel):
    """The reason why a run failed.

    Attributes:
        type: The kind of error, such as `interrupted`.
        message: The error in words.
    """

    type: str
    message: str


class RunDocument(BaseModel):
    """A run.

    Attributes:
        run_id: Its id.
        agent: Its agent.
        status: Its state.
        metadata: The metadata of its request.
        attempt: The number of attempts so far; 0 while it waits for the first.
        created_at: When it was accepted.
        started_at: When its first attempt began; null before that.
        finished_at: When it ended; null before that.
        cancel_requested: Whether it was asked to be cancelled.
        cancel_reason: The reason for cancelling it; null if none was given.
        last_event: The number of its newest event; 0 for none.
        output: The answer; null before the end, and if there is none.
        error: Why it failed; null if it did not.
        usage: The usage of its models; null before the end, and if unknown.
        details: Further facts from its executor about the end.
        waiting_for: What it waits for; null if it does not wait.
    """

    run_id: str
    agent: str
    status: RunStatus
    metadata: dict[str, str]
    attempt: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    cancel_requested: bool
    cancel_reason: str | None
    last_event: int
    output: JsonValue
    error: ErrorDocument | None
    usage: UsageDocument | None
    details: dict[str, JsonValue]
    waiting_for: WaitDocument | None = None


class RunsDocument(BaseModel):
    """A page of runs, the newest first.

    Attributes:
        runs: The runs.
        next_cursor: The `cursor` of the next page; null if this is the last.
    """

    runs: list[RunDocument]
    next_cursor: str | None


class EventDocument(BaseModel):
    """An event of a run, in a page or as the data of a stream's frame.

    Attributes:
        number: Its number in the run, from 1 without gaps.
        type: Its type; `run_started`, `run_waiting`, `run_answered`, `run_succeeded`, `run_failed` and `run_cancelled` are the server's own.
        created_at: When it was emitted.
        data: Its data.
    """

    number: int
    type: str
    created_at: datetime
    data: dict[str, JsonValue]


class EventsDocument(BaseModel):
    """A page of events.

    Attributes:
        events: The events, the oldest first.
        next_after: The `after` of the next page.
        is_complete: Whether the run has ended and there are no more events.
    """

    events: list[EventDocument]
    next_after: int
    is_complete: bool


class FieldProblemDocument(BaseModel):
    """A problem with one field of a request.

    Attributes:
        field: The path of the field, with dots.
        message: What was expected.
    """

    field: str
    message: str


class ProblemDocument(BaseModel):
    """An error, in the form of RFC 9457.

    Attributes:
        title: The status in words.
        status: The HTTP status.
        detail: What is wrong.
        errors: The same, field by field, if fields are wrong.
    """

    title: str
    status: int
    detail: str
    errors: list[FieldProblemDocument] | None = None


class StateDocument(BaseModel):
    """The state of a server.

    Attributes:
        status: `ok`, or `ready`.
    """

    status: Literal["ok", "ready"]


DESCRIBED: Final = (
    *(RunRequest, CancelRequest, AnswerRequest, SteerRequest),
    *(AgentsDocument, RunDocument, RunsDocument),
    *(EventDocument, EventsDocument, ProblemDocument, StateDocument),
)
"""The models of bodies and answers in the OpenAPI description."""


def _parse_number(value: Any) -> Any:
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError("expected a whole number")
    return value


# No `type`, whose bounds pydantic describes by names that JSON schema does not know.
QueryNumber = Annotated[int, BeforeValidator(_parse_number)]
"""A number in a query: pydantic would take `1.0` and `1_000` as well."""


class EventsQuery(BaseModel):
    """A selection of events.

    Attributes:
        after: The number of the last event that the client has; 0 for none.
        limit: The maximum number of events in a page.
    """

    model_config = ConfigDict(extra="forbid")

    after: QueryNumber = Field(default=0, ge=0, le=_MAX_NUMBER)
    limit: QueryNumber = Field(default=100, ge=1, le=1000)


def describe_run(run: Run) -> dict[str, Any]:
    """Return a run in the form of a `RunDocument`."""
    result = run.result or RunResult(status="succeeded")
    waiting_for = run.waiting_for
    return {
        "run_id": run.run_id,
        "agent": run.agent,
        "status": run.status,
        "metadata": dict(run.metadata),
        "attempt": run.attempt,
        "created_at": _format_time(run.created_at),
        "started_at": _format_time(run.started_at),
        "finished_at": _format_time(run.finished_at),
        "cancel_requested": run.cancel_requested,
        "cancel_reason": run.cancel_reason,
        "last_event": run.last_event,
        "output": result.output,
        "error": None
        if result.status == "succeeded"
        else {"type": result.error_type or "failed", "message": result.error or "The run failed."},
        "usage": None if result.usage is None else asdict(result.usage),
        "details": result.details,
        "waiting_for": None if waiting_for is None else _describe_wait(waiting_for),
    }


def _describe_wait(waiting_for: WaitingFor) -> dict[str, Any]:
    return {
        "wait_id": waiting_for.wait_id,
        "since": _format_time(waiting_for.since),
        **asdict(waiting_for.request),
    }


def dump_event(event: StoredEvent) -> bytes:
    """Return an event as JSON, which is encoded only once."""
    encoded = event.shared.get("json")
    if encoded is None:
        data = event.shared.get("data")
        # With escapes it takes more bytes, and nobody can read it; in what is large they cost less than to parse it.
        if data is None or (len(data) <= LARGE_TEXT and rb"\u" in data):
            data = dump_json(event.data)
        created_at = _format_time(event.created_at)
        head = {"number": event.number, "type": event.type, "created_at": created_at}
        encoded = b"".join((dump_json(head)[:-1], b',"data":', data, b"}"))
        if len(encoded) <= LARGE_TEXT:  # Else its frame is kept, which holds nothing else.
            event.shared["json"] = encoded
    return encoded


def dump_events(
    events: Sequence[StoredEvent], *, after: int, last_event: int, is_over: bool
) -> bytes:
    """Return an `EventsDocument` as JSON."""
    parts = [dump_event(event) for event in events]
    after = events[-1].number if events else after
    is_complete = "true" if is_over and after >= last_event else "false"
    end = f'],"next_after":{after},"is_complete":{is_complete}}}'
    # Joined as bytes, since the JSON of each event exists already.
    return b'{"events":[' + b",".join(parts) + end.encode()


def _format_time(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).isoformat().replace("+00:00", "Z")
