"""What workflows, activities and clients say to each other.

It stands in histories, so that fields are added and never changed; what is added has a default.

Bytes are in base64, since what is JSON is read by people.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from agent_server.executor import (
    Approval,
    InputAnswer,
    InputRequest,
    Question,
    Resumption,
    RunResult,
    Usage,
    Waiting,
    WaitingCall,
)
from agent_server.runs import NewAnswer
from agent_server.store import Event, Hold, RunFacts, Telling
from stream_text import dump_json


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRun:
    """A right to write for a run; see `agent_server.store.Hold`."""

    seq: int
    owner: str
    attempt: int

    @classmethod
    def of(cls, hold: Hold) -> Self:
        """Return a right in the form in which it travels."""
        return cls(seq=hold.seq, owner=hold.server, attempt=hold.attempt)

    def to_hold(self) -> Hold:
        """Return the right."""
        return Hold(seq=self.seq, server=self.owner, attempt=self.attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Events that a run tells itself: each a type, a time in microseconds since 1970, and data."""

    first: int = 0
    events: Sequence[tuple[str, int, dict[str, Any]]] = ()

    def to_telling(self) -> Telling:
        """Return them in the form in which they are stored."""
        events = [
            Event(number=0, type=type_, created_at=created_at, text=dump_json(data).encode())
            for type_, created_at, data in self.events
        ]
        return Telling(first=self.first, events=events)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run waits for."""

    wait_id: str
    approvals: Sequence[WaitingCall] = ()
    results: Sequence[WaitingCall] = ()
    question: dict[str, Any] | None = None

    @classmethod
    def of(cls, wait_id: str, request: InputRequest) -> Self:
        """Return what a run waits for in the form in which it travels."""
        return cls(
            wait_id=wait_id,
            approvals=list(request.approvals),
            results=list(request.results),
            question=None if request.question is None else asdict(request.question),
        )

    def to_request(self) -> InputRequest:
        """Return what the run waits for."""
        question = None if self.question is None else Question(**self.question)
        return InputRequest(approvals=self.approvals, results=self.results, question=question)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The answer to what a run waits for."""

    approvals: Mapping[str, Approval] = field(default_factory=dict[str, Approval])
    results: Mapping[str, Any] = field(default_factory=dict[str, Any])
    answer: Any = None

    @classmethod
    def of(cls, answer: InputAnswer) -> Self:
        """Return an answer in the form in which it travels."""
        return cls(
            approvals=dict(answer.approvals), results=dict(answer.results), answer=answer.answer
        )

    def to_answer(self) -> InputAnswer:
        """Return the answer."""
        return InputAnswer(approvals=self.approvals, results=self.results, answer=self.answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Request to begin, or to continue with, a run whose steps are made apart."""

    run_id: str
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A run that is held, or `asked` if it waits. With neither it has ended."""

    held: HeldRun | None = None
    asked: Asked | None = None
    tenant: str = ""
    agent: str = ""
    request: dict[str, Any] = field(default_factory=dict[str, Any])
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    part: int = 0
    state: str | None = None
    given: Given | None = None
    steps: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, hold: Hold, facts: RunFacts, steps: Mapping[str, bytes]) -> Self:
        """Return a run that is held, with what it is executed with and its recorded steps."""
        resumption = facts.resumption
        return cls(
            held=HeldRun.of(hold),
            tenant=facts.tenant,
            agent=facts.agent,
            request=facts.request,
            metadata=dict(facts.metadata),
            part=facts.part,
            state=None if resumption is None else encode(resumption.state),
            given=None if resumption is None else Given.of(resumption.answer),
            steps={key: encode(result) for key, result in steps.items()},
        )

    @property
    def resumption(self) -> Resumption | None:
        """What the run continues from."""
        if self.state is None or self.given is None:
            return None
        return Resumption(state=decode(self.state), answer=self.given.to_answer())


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeStep:
    """Request for a step of a run."""

    held: HeldRun
    key: str
    told: Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """News that a run tells itself."""

    held: HeldRun
    told: Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """News that a run waits."""

    held: HeldRun
    asked: Asked
    state: str
    told: Told

    def to_waiting(self) -> Waiting:
        """Return what the run waits for, and what it continues from."""
        return Waiting(request=self.asked.to_request(), state=decode(self.state))


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """End of a run, to be stored: of one that is held, or of one that nobody executes."""

    run_id: str
    result: "Ended"
    held: HeldRun | None = None
    told: Told = field(default_factory=Told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of a run, which is also the result of its workflow: what is private of it stands in the server's database."""

    status: Literal["succeeded", "failed", "cancelled"]
    output: Any = None
    error: str | None = None
    error_type: str | None = None
    usage: Usage | None = None
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    state: str | None = None
    steered: int = 0

    @classmethod
    def of(cls, result: RunResult) -> Self:
        """Return a result in the form in which it travels."""
        return cls(
            status=result.status,
            output=result.output,
            error=result.error,
            error_type=result.error_type,
            usage=result.usage,
            details=result.details,
            state=None if result.state is None else encode(result.state),
            steered=result.steered,
        )

    def to_result(self) -> RunResult | None:
        """Return the result; None for a cancelled run."""
        if self.status == "cancelled":
            return None
        return RunResult(
            status=self.status,
            output=self.output,
            error=self.error,
            error_type=self.error_type,
            usage=self.usage,
            details=self.details,
            state=None if self.state is None else decode(self.state),
            steered=self.steered,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to what a run waits for."""

    run_id: str
    tenant: str
    wait_id: str
    given: Given
    key: str | None = None

    @classmethod
    def of(cls, run_id: str, tenant: str, new: NewAnswer) -> Self:
        """Return an answer to a run of a tenant."""
        return cls(
            run_id=run_id,
            tenant=tenant,
            wait_id=new.wait_id,
            given=Given.of(new.answer),
            key=new.key,
        )

    def to_new(self) -> NewAnswer:
        """Return the answer."""
        return NewAnswer(wait_id=self.wait_id, answer=self.given.to_answer(), key=self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execute:
    """Request to execute a run as a whole."""

    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """State that a run has come to: `asked` if it waits, else it has ended."""

    asked: Asked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The result of a workflow, for people who look at it: how the run has ended, and the keys of the steps that were abandoned."""

    status: str
    abandoned: Sequence[str] = ()


def encode(content: bytes) -> str:
    """Return bytes as text."""
    return base64.b64encode(content).decode()


def decode(text: str) -> bytes:
    """Return the bytes of a text."""
    return base64.b64decode(text)
