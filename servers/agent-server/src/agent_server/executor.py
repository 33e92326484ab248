"""The interface between a server and an executor, which runs agents."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, Literal, Protocol, Self, runtime_checkable


__all__ = [
    "AgentDescription",
    "Approval",
    "ChecksAnswers",
    "Conversational",
    "EventLimitError",
    "Execution",
    "Executor",
    "InputAnswer",
    "InputRequest",
    "JsonObject",
    "MakesSteps",
    "Problem",
    "Question",
    "RequestRefusedError",
    "Resumption",
    "RunFailedError",
    "RunResult",
    "Steerable",
    "StepExecution",
    "StepWork",
    "StoredEvent",
    "TransientError",
    "Turn",
    "UnknownAgentError",
    "Usage",
    "Waiting",
    "WaitingCall",
]

_MOST_CHARACTERS = 1000

type JsonObject = dict[str, Any]
"""A JSON object."""

type StepWork = Callable[[], Awaitable[bytes]]
"""A function that does a step, and returns the result to record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem with one field of a request.

    Attributes:
        field: Its path with dots from the request's root, such as `input.question`.
        message: What was expected; never the value.
    """

    field: str
    message: str


class RequestRefusedError(Exception):
    """A request that cannot be run.

    Attributes:
        problems: What is wrong, field by field; never empty, and at most 100, each of at most 1,000 characters: a small
            body can be wrong in a million places, and names be long.
        status: The HTTP status of the answer: 422, or 400 for a field that the client may not set.
        code: The code of the Responses API, for who asks there; None for that of the status.
    """

    def __init__(self, *problems: Problem, status: int = 422, code: str | None = None) -> None:
        self.problems = tuple(
            Problem(field=_cut(one.field), message=_cut(one.message)) for one in problems[:100]
        )
        super().__init__(_cut("; ".join(f"{one.field}: {one.message}" for one in self.problems)))
        self.status = status
        self.code = code


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


class TransientError(Exception):
    """A failure of a step that a retry may not have, such as a daemon that restarts or an overloaded model.

    The step is tried again as the server's settings say, unless it has emitted events and its policy forbids that.

    Attributes:
        retry_after_seconds: How long the peer asked to wait; None if it did not say.
    """

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class RunFailedError(Exception):
    """A failure that ends its run, with a sentence without secrets as its text.

    Attributes:
        error_type: The `RunResult.error_type`.
    """

    def __init__(self, message: str, *, error_type: str) -> None:
        super().__init__(message)
        self.error_type = error_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The usage of a run's models and its cost, as far as they are known.

    Attributes:
        input_tokens: Tokens sent, including cached ones.
        output_tokens: Tokens received, including reasoning.
        cached_tokens: The part of the input tokens that was read from a cache; None if unknown.
        reasoning_tokens: The part of the output tokens that was reasoning; None if unknown.
        model_requests: How many requests were made to models.
        cost: The price as a decimal, such as `0.0123`; None if unknown.
        currency: The currency of the cost, in ISO 4217.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    model_requests: int = 0
    cost: str | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The end of a run.

    Attributes:
        status: Whether the run succeeded.
        output: The answer, any JSON; None if it failed.
        error: What went wrong, in a sentence without secrets; None if it succeeded.
        error_type: A short name for the kind of error, such as `interrupted` or `model_error`; None if it succeeded.
        usage: The usage of the models; None if unknown.
        details: Further facts about the end, as JSON, such as an exit code; clients can read them.
        state: What a next run of the conversation continues from, such as its messages; kept as long as the run, and
            never shown. It is not part of the JSON.
        steered: How many messages to the run its executor has taken (`Execution.read_steered`); the server adds
            later ones to the `unread` of `details`. It is not part of the JSON either.
    """

    status: Literal["succeeded", "failed"]
    output: Any = None
    error: str | None = None
    error_type: str | None = None
    usage: Usage | None = None
    details: JsonObject = field(default_factory=dict)
    state: bytes | None = field(default=None, repr=False)
    steered: int = field(default=0, compare=False, repr=False)

    def to_json(self) -> bytes:
        """Return the result, without what is not part of it, as ASCII JSON, which `from_json` reads.

        Raises:
            ValueError: If JSON cannot express a part of it, such as NaN.
            TypeError: If a part of it is of a type that JSON does not know.
        """
        return json.dumps(self.to_dict(), allow_nan=False, separators=(",", ":")).encode()

    def to_dict(self) -> JsonObject:
        """Return the result, without what is not part of it, as a JSON object."""
        # Not by `asdict`, which would copy what may be large.
        names = (one.name for one in fields(self) if one.name not in {"state", "steered"})
        shown = {name: getattr(self, name) for name in names}
        return shown | {"usage": None if self.usage is None else asdict(self.usage)}

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Return the result in JSON that `to_json` has written."""
        fields = json.loads(text)
        usage = fields.pop("usage")
        return cls(**fields, usage=None if usage is None else Usage(**usage))


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCall:
    """A call of a tool that a run waits for.

    Attributes:
        call_id: The call's id, which no other call of the request has.
        name: The tool's name.
        arguments: Its arguments, as JSON text.
        server: The name of what the tool belongs to, for a person to read, such as an agent that was called as a tool; empty for none.
    """

    call_id: str
    name: str
    arguments: str
    server: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that a person answers.

    Attributes:
        text: The question.
        schema: The JSON schema of the answer; None for any JSON.
    """

    text: str
    schema: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRequest:
    """What a run waits for: all of it is answered together.

    Attributes:
        approvals: Calls that a person has to approve or to refuse.
        results: Calls of tools that the client has, which it makes itself.
        question: A question; None for none.
    """

    approvals: Sequence[WaitingCall] = ()
    results: Sequence[WaitingCall] = ()
    question: Question | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person's decision about a call.

    Attributes:
        approved: Whether it may be made.
        reason: Why it may not; None if the person did not say.
    """

    approved: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputAnswer:
    """The answer to an `InputRequest`, which has everything that was asked for and nothing else.

    Attributes:
        approvals: The decision about each call that waits for approval, by its id.
        results: The result of each call that the client makes, by its id: any JSON.
        answer: The answer to the question, any JSON but null; None if there is no question.
    """

    approvals: Mapping[str, Approval] = field(default_factory=dict[str, Approval])
    results: Mapping[str, Any] = field(default_factory=dict[str, Any])
    answer: Any = None

    def to_dict(self) -> JsonObject:
        """Return the answer as a JSON object, which shares its results: they may be large."""
        approvals = {call_id: asdict(one) for call_id, one in self.approvals.items()}
        return {"approvals": approvals, "results": dict(self.results), "answer": self.answer}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The end of an attempt whose run waits for a person, or for its client.

    Attributes:
        request: What it waits for; at least one thing.
        state: What the run continues from once it is answered. The steps that were recorded so far are forgotten.
    """

    request: InputRequest
    state: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What a run continues from that has waited.

    Attributes:
        state: The state of its last `Waiting`.
        answer: The answer.
    """

    state: bytes = field(repr=False)
    answer: InputAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDescription:
    """An agent that an executor can run.

    Attributes:
        name: The name by which clients ask for it.
        input_schema: The JSON schema of the request's input; None if the executor declares none.
        version: The version of the state of its runs, if it has one of its own beside the executor's: a run that was
            begun under another version is not continued.
    """

    name: str
    input_schema: JsonObject | None = None
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An event of a run.

    The server's own are `run_started` (`{"attempt": n}`); `run_waiting` with what the run waits for, `run_answered`
    with the answer; and, as the last of a run, `run_succeeded`, `run_failed` with the result as data, or
    `run_cancelled` with `{"reason": …}`, and with the `usage` and `details` of the result if the executor has ended
    with one. The others are the executor's.

    Attributes:
        number: Its number in the run, from 1 without gaps.
        type: Its type.
        created_at: When it was emitted, in UTC.
        data: Its data, which must not be changed: all watchers of a run share it.
        size: About how many characters its data has as JSON, measured once for all watchers; 0 for an event that was not stored.
        shared: A cache for what is built from the event once and sent to many, such as the bytes of a stream's frame;
            also the JSON of `data`, under that name, where it is known.
        shown: What `Conversational.show` has returned for it, kept for all who watch; empty before that.
    """

    number: int
    type: str
    created_at: datetime
    data: JsonObject
    size: int = field(default=0, compare=False, repr=False)
    shared: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    shown: list[tuple[str, JsonObject]] = field(default_factory=list, compare=False, repr=False)

    def __getattr__(self, name: Literal["data"]) -> JsonObject:
        """Return the data of an event of which only the JSON is known so far; most who watch need no more."""
        if name != "data":
            raise AttributeError(name)
        object.__setattr__(self, name, json.loads(self.shared[name]))
        return self.data


class Execution(Protocol):
    """One attempt to execute a run, as its executor sees it."""

    @property
    def run_id(self) -> str:
        """The run's id, a UUID."""
        ...

    @property
    def tenant(self) -> str:
        """The tenant who owns the run."""
        ...

    @property
    def agent(self) -> str:
        """The name of the agent, as the client asked for it."""
        ...

    @property
    def request(self) -> JsonObject:
        """What `Executor.check` returned for the client's request.

        It is this attempt's own: who has read it may empty it, since a large one takes many times its size.
        """
        ...

    @property
    def metadata(self) -> Mapping[str, str]:
        """The client's metadata, by which it finds the run."""
        ...

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1. An event `run_started` with it came before the attempt began."""
        ...

    @property
    def cancel_reason(self) -> str | None:
        """The reason why the run is being cancelled; None while it is not. An executor gets an `asyncio.CancelledError` when it is."""
        ...

    @property
    def part(self) -> int:
        """How often the run has waited and was answered."""
        ...

    @property
    def resumption(self) -> Resumption | None:
        """What the run continues from; None until it has waited and was answered."""
        ...

    @property
    def is_apart(self) -> bool:
        """Whether its steps are made in other processes, by `MakesSteps.make_step`.

        Nothing here may then depend on clocks, random numbers or the network.
        """
        ...

    async def read_events(self) -> Sequence[StoredEvent]:
        """Return the events of this part of the run that earlier attempts have left, the oldest first; none in a first attempt."""
        ...

    async def read_steered(self, after: int) -> Sequence[Any]:
        """Return the messages to the run after the first `after`, as `Steerable` returned them, always in the same order.

        A run reads this as a step ends, and keeps it in the step's result, so that a replay gives the same. When it
        waits, messages stay, and their numbers continue.
        """
        ...

    async def tell(self, type_: str, data: JsonObject) -> None:
        """Emit an event; it is stored and shown within 100 ms, together with others.

        It waits only if the database is far behind.

        Raises:
            EventLimitError: If the run has reached its limit of events or bytes; the run fails.
            ValueError: If the type is one of the server's own, or JSON cannot express the data.
        """
        ...

    async def step(
        self,
        key: str,
        work: StepWork,
        *,
        retries: bool = True,
        after_events: bool = False,
        request: bytes = b"",
    ) -> bytes:
        """Do a step once in the life of the run, and return its result.

        If an earlier attempt recorded the step, the recorded result is returned and nothing is done. Otherwise `work`
        is awaited, and its result and the events that it has emitted are on disk before this returns. Steps may run
        concurrently.

        Args:
            key: Identifies the step within the run, and is the same in every attempt, such as `model:3` or `tool:call_abc`.
                An attribute `tool` of it is the name of the tool that is called, which lines of the log show.
            work: Does the step. After a `TransientError` it is tried again by the server's policy, as long as this try has emitted no event;
                any other error is raised to the caller, and nothing is recorded.
            retries: Whether it may be tried again at all.
            after_events: Whether it may be tried again even if the try has emitted events, which stay.
            request: What `MakesSteps.make_step` makes the step from, in place of `work`, where the run `is_apart`.
        """
        ...


class StepExecution(Protocol):
    """A step that is made apart from its run, as its executor sees it."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        ...

    @property
    def tenant(self) -> str:
        """The tenant who owns the run."""
        ...

    @property
    def agent(self) -> str:
        """The name of the agent."""
        ...

    @property
    def request(self) -> JsonObject:
        """What `Executor.check` returned for the client's request."""
        ...

    @property
    def resumption(self) -> Resumption | None:
        """What the run continues from; None until it has waited and was answered."""
        ...

    @property
    def key(self) -> str:
        """The key of the step."""
        ...

    @property
    def is_again(self) -> bool:
        """Whether an earlier try has emitted events, and died before its result was recorded."""
        ...

    async def tell(self, type_: str, data: JsonObject) -> None:
        """Emit an event of the run, as `Execution.tell` does."""
        ...

    async def read_steered(self, after: int) -> Sequence[Any]:
        """Return the messages to the run after the first `after`, as `Execution.read_steered` does."""
        ...

    async def keep(self, name: str, content: bytes) -> None:
        """Keep something for later steps of the run, until it waits or ends; what a name has already, it keeps."""
        ...

    async def find(self, names: Collection[str]) -> Mapping[str, bytes]:
        """Return what was kept under some names; unknown ones are left out."""
        ...


class Executor(Protocol):
    """An executor: it runs agents, and knows nothing of servers."""

    @property
    def name(self) -> str:
        """The name of the system, which is stored with each run: a server executes only runs of its own system."""
        ...

    @property
    def version(self) -> str:
        """The version of its recorded steps: a run that was begun under another version is not continued, but ended with an error."""
        ...

    def agents(self) -> Sequence[AgentDescription]:
        """Return the agents that can be run now.

        A server executes runs of the agents that this returns at the start, and of those that `check` accepts later; it
        leaves others to other servers.
        """
        ...

    def check(self, agent: str, request: JsonObject) -> JsonObject:
        """Return the request in the form that `Execution.request` will have. Called in another thread if the request is large.

        Raises:
            UnknownAgentError: If there is no such agent.
            RequestRefusedError: If it cannot be run.
        """
        ...

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Return a context for what all runs share, such as an HTTP client. It is entered on the running loop before the first run."""
        ...

    async def execute(self, run: Execution) -> RunResult | Waiting:
        """Run an agent to its end, or until it waits for a person.

        If this raises a `RunFailedError`, the run fails as it says; with any other error it fails with
        `internal_error`, and only the server's log has the error's text. Where a run is cancelled and this returns a
        failure all the same, the run is cancelled, and its last event has the failure's `usage` and `details`.
        """
        ...

    def interrupted(self, run_id: str, attempts: int) -> RunResult | None:
        """Decide what happens to a run whose server died or was stopped.

        Args:
            run_id: The run.
            attempts: The number of attempts so far, since the run began or was answered.

        Returns:
            The result that ends it; None to make another attempt.
        """
        ...


@runtime_checkable
class MakesSteps(Protocol):
    """An executor whose runs do nothing but decide, so that each step can be made by another process that has the same agents."""

    async def make_step(self, run: StepExecution, request: bytes) -> bytes:
        """Make a step from its request, and return its result.

        If this raises an error, `Execution.step` raises one: the same if it is a `RunFailedError`.
        """
        ...


@runtime_checkable
class ChecksAnswers(Protocol):
    """An executor that checks answers before its runs continue with them."""

    def check_answer(self, agent: str, asked: InputRequest, given: InputAnswer) -> None:
        """Check an answer, such as that to a question by its schema; whether it is complete is checked by the server.

        Raises:
            RequestRefusedError: If it does not fit.
        """
        ...


@runtime_checkable
class Steerable(Protocol):
    """An executor whose runs take messages while they are under way."""

    def check_steer(self, agent: str, message: Any) -> Any:
        """Return a message to a run in the form that `Execution.read_steered` will have.

        Args:
            agent: The agent.
            message: The `steer` of a client's request: any JSON.

        Raises:
            RequestRefusedError: If the agent does not take it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a client says to an agent: a new run of a conversation, or its first.

    Attributes:
        input: Items in the form of the Responses API; each has a `type`, and files are data URLs.
        instructions: Instructions of the client, which follow the agent's own; None for none.
        tools: The client's own functions, whose calls it makes itself: each has `name`, `description` and `parameters`.
        text_format: The form of answer that the client asks for, as `text.format` of the Responses API; None for text.
        state: The `RunResult.state` of the conversation's run before; None for a first.
    """

    input: Sequence[JsonObject]
    instructions: str | None = None
    tools: Sequence[JsonObject] = ()
    text_format: JsonObject | None = None
    state: bytes | None = field(default=None, repr=False)


@runtime_checkable
class Conversational(Protocol):
    """An executor whose agents can be talked to, over `/v1/responses` and other faces of a server.

    Source: docs/contracts/agent-events.md, V1 to V7.
    """

    def begin_turn(self, agent: str, turn: Turn) -> JsonObject:
        """Return a request for a run, in the form that `Execution.request` will have. Called in another thread if the request is large.

        Raises:
            UnknownAgentError: If there is no such agent.
            RequestRefusedError: If it cannot be run; a problem's field is that of the Responses API, such as `text.format` or `tools[0].name`.
        """
        ...

    def show(self, event: "StoredEvent") -> Sequence[tuple[str, JsonObject]]:
        """Return an event of a run as types and data of contract V; nothing if it is not shown. The same event is always shown in the same way."""
        ...


class UnknownAgentError(Exception):
    """An agent's name that the executor does not know."""


class EventLimitError(Exception):
    """An event over the limit of its run."""
