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
"""Does a step, and returns what is to be recorded of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with one field of a request.

    Attributes:
        field: Where it stands, as a path with dots from the request's root, such as `input.question`.
        message: What was expected; never the value.
    """

    field: str
    message: str


class RequestRefusedError(Exception):
    """A request cannot be run.

    Attributes:
        problems: What is wrong, field by field; never empty.
        status: What HTTP answers: 422, or 400 for a field that the client may not set.
    """

    def __init__(self, *problems: Problem, status: int = 422) -> None:
        super().__init__("; ".join(f"{one.field}: {one.message}" for one in problems))
        self.problems = problems
        self.status = status


class TransientError(Exception):
    """A fault of a step's work that a retry may not have: a daemon that restarts, an overloaded model.

    The step is tried again as the server's settings say, unless it has emitted events and its policy forbids that.

    Attributes:
        retry_after_seconds: How long the other side asked to wait; None if it did not say.
    """

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the models of a run used, and what it cost, as far as it is known.

    Attributes:
        input_tokens: Tokens sent, cached ones included.
        output_tokens: Tokens received, those of reasoning included.
        cached_tokens: Of the tokens sent, those read from a cache; None if unknown.
        reasoning_tokens: Of the tokens received, those of reasoning; None if unknown.
        model_requests: How often a model was asked.
        cost: The price as a decimal, such as `0.0123`; None if unknown.
        currency: Of the cost, in ISO 4217.
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
        status: Whether it reached its answer.
        output: The answer, any JSON; None where it failed.
        error: What went wrong, in a sentence without secrets; None where it succeeded.
        error_type: A short name for the kind of error, such as `interrupted` or `model_error`; None where it succeeded.
        usage: What the models used; None if unknown.
        details: What else the executor says of the end, as JSON, such as an exit code; part of what clients read.
    """

    status: Literal["succeeded", "failed"]
    output: Any = None
    error: str | None = None
    error_type: str | None = None
    usage: Usage | None = None
    details: JsonObject = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return the result as JSON in ASCII, of which `from_json` makes it again.

        Raises:
            ValueError: If JSON has no form for a part of it, as for NaN.
            TypeError: If a part of it is of a type that JSON does not know.
        """
        return json.dumps(asdict(self), allow_nan=False, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Return the result that `to_json` wrote."""
        fields = json.loads(text)
        usage = fields.pop("usage")
        return cls(**fields, usage=None if usage is None else Usage(**usage))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDescription:
    """An agent that an executor can run.

    Attributes:
        name: How clients ask for it.
        input_schema: The JSON schema of the request's input; None where the executor has none to show.
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
        """Whose run it is."""
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
        """What the client wants to find again with the run."""
        ...

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1; an event `run_started` with it came before this attempt began."""
        ...

    @property
    def cancel_reason(self) -> str | None:
        """Why the run is being cancelled; None while it is not. Cancelling reaches an executor as `asyncio.CancelledError`."""
        ...

    async def tell(self, type_: str, data: JsonObject) -> int:
        """Emit an event, and return its number; it is stored and shown within 100 ms, together with others.

        Waits only where the database is far behind.

        Raises:
            EventLimitError: If the run has emitted as many events or bytes as it may; the run fails.
            ValueError: If the type is one of the server's own, or the data has no form in JSON.
        """
        ...

    async def step(
        self, key: str, work: StepWork, *, retries: bool = True, after_events: bool = False
    ) -> bytes:
        """Do a step once in the life of the run, and return its result.

        Where an earlier attempt recorded the step, its result is returned, and nothing is done. Otherwise `work` is awaited, and its result and the
        events that it emitted are on disk before this returns. Steps may run concurrently.

        Args:
            key: Tells the step from the run's others, and is the same for it in every attempt, such as `model:3` or `tool:call_abc`.
            work: Does it. A `TransientError` is tried again by the server's policy, as long as this try has emitted no event;
                any other error is the caller's and records nothing.
            retries: Whether it may be tried again at all.
            after_events: Whether it may be tried again even after the try has emitted events, which stay.
        """
        ...


class Executor(Protocol):
    """An executor: it runs agents, and knows nothing of servers."""

    @property
    def name(self) -> str:
        """The name of the system, kept with each run: a server takes up only runs of its own kind."""
        ...

    @property
    def version(self) -> str:
        """The version of its recorded steps: a run begun under another one is ended with a reason and not gone on with."""
        ...

    def agents(self) -> Sequence[AgentDescription]:
        """Return the agents that can be run now.

        A server takes up runs of those that this names when it starts, and of those that `check` takes later; others it leaves to other servers.
        """
        ...

    def check(self, agent: str, request: JsonObject) -> JsonObject:
        """Return the request as `Execution.request` will hold it; called in another thread if the request is large.

        Raises:
            UnknownAgentError: If there is no such agent.
            RequestRefusedError: If it cannot be run.
        """
        ...

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Return a context that holds what all runs share, such as an HTTP client; entered before the first run on the running loop."""
        ...

    async def execute(self, run: Execution) -> RunResult:
        """Run an agent to its end.

        An error that this raises ends the run failed with `internal_error`, its text in the server's log only.
        """
        ...

    def interrupted(self, run_id: str, attempts: int) -> RunResult | None:
        """Decide what becomes of a run whose server died or was stopped.

        Args:
            run_id: The run.
            attempts: How often it has been begun.

        Returns:
            How it ends; None to make another attempt.
        """
        ...


class UnknownAgentError(Exception):
    """There is no agent of this name."""


class EventLimitError(Exception):
    """A run has emitted more events than it may."""
