"""The interface between a server and an executor, which runs agents."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol, Self


__all__ = [
    "AgentDescription",
    "EventLimitError",
    "Execution",
    "Executor",
    "JsonObject",
    "Problem",
    "RequestRefusedError",
    "RunResult",
    "StepWork",
    "TransientError",
    "UnknownAgentError",
    "Usage",
]

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
        problems: What is wrong, field by field; never empty.
        status: The HTTP status of the answer: 422, or 400 for a field that the client may not set.
    """

    def __init__(self, *problems: Problem, status: int = 422) -> None:
        super().__init__("; ".join(f"{one.field}: {one.message}" for one in problems))
        self.problems = problems
        self.status = status


class TransientError(Exception):
    """A failure of a step that a retry may not have, such as a daemon that restarts or an overloaded model.

    The step is tried again as the server's settings say, unless it has emitted events and its policy forbids that.

    Attributes:
        retry_after_seconds: How long the peer asked to wait; None if it did not say.
    """

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


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
    """

    status: Literal["succeeded", "failed"]
    output: Any = None
    error: str | None = None
    error_type: str | None = None
    usage: Usage | None = None
    details: JsonObject = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return the result as ASCII JSON, which `from_json` reads.

        Raises:
            ValueError: If JSON cannot express a part of it, such as NaN.
            TypeError: If a part of it is of a type that JSON does not know.
        """
        return json.dumps(asdict(self), allow_nan=False, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Return the result in JSON that `to_json` has written."""
        fields = json.loads(text)
        usage = fields.pop("usage")
        return cls(**fields, usage=None if usage is None else Usage(**usage))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDescription:
    """An agent that an executor can run.

    Attributes:
        name: The name by which clients ask for it.
        input_schema: The JSON schema of the request's input; None if the executor declares none.
    """

    name: str
    input_schema: JsonObject | None = None


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
        """What `Executor.check` returned for the client's request."""
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

    async def tell(self, type_: str, data: JsonObject) -> int:
        """Emit an event, and return its number; it is stored and shown within 100 ms, together with others.

        It waits only if the database is far behind.

        Raises:
            EventLimitError: If the run has reached its limit of events or bytes; the run fails.
            ValueError: If the type is one of the server's own, or JSON cannot express the data.
        """
        ...

    async def step(
        self, key: str, work: StepWork, *, retries: bool = True, after_events: bool = False
    ) -> bytes:
        """Do a step once in the life of the run, and return its result.

        If an earlier attempt recorded the step, the recorded result is returned and nothing is done. Otherwise `work` is awaited, and its result and the
        events that it has emitted are on disk before this returns. Steps may run concurrently.

        Args:
            key: Identifies the step within the run, and is the same in every attempt, such as `model:3` or `tool:call_abc`.
            work: Does the step. After a `TransientError` it is tried again by the server's policy, as long as this try has emitted no event;
                any other error is raised to the caller, and nothing is recorded.
            retries: Whether it may be tried again at all.
            after_events: Whether it may be tried again even if the try has emitted events, which stay.
        """
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

        A server executes runs of the agents that this returns at the start, and of those that `check` accepts later; it leaves others to other servers.
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

    async def execute(self, run: Execution) -> RunResult:
        """Run an agent to its end.

        If this raises an error, the run fails with `internal_error`, and only the server's log has the error's text.
        """
        ...

    def interrupted(self, run_id: str, attempts: int) -> RunResult | None:
        """Decide what happens to a run whose server died or was stopped.

        Args:
            run_id: The run.
            attempts: The number of attempts so far.

        Returns:
            The result that ends it; None to make another attempt.
        """
        ...


class UnknownAgentError(Exception):
    """An agent's name that the executor does not know."""


class EventLimitError(Exception):
    """An event over the limit of its run."""
