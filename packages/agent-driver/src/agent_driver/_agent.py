"""An agent, declared once and run any number of times."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, Unpack, overload

from agent_loop import AgentAnswer, Event
from agent_tooling import AnswerSchema, ApprovalOption, Tool, ToolError

from ._declare.agent_settings import AgentSettings, RunOptions, read_declaration
from ._declare.declaration import AgentFunction, Declaration
from ._declare.models import Model
from ._drive.agents import TASK, find_fingerprint, to_question
from ._drive.async_stream import AsyncRunStream
from ._drive.drive import drive
from ._drive.make_step import make_step
from ._drive.play import Play, Prompt
from ._drive.result import Result
from ._drive.side import end_sessions
from ._drive.stream import RunStream
from ._steps.requests import StepRequest
from ._tools.calls import one_text


if TYPE_CHECKING:
    # A type variable with a default, which the standard library has from Python 3.13 on.
    from typing_extensions import TypeVar as _TypeVar

    from run_log import RunFeed

    Answer_co = _TypeVar("Answer_co", covariant=True, default=str)
    Deps_contra = _TypeVar("Deps_contra", contravariant=True, default=None)
else:
    Answer_co = TypeVar("Answer_co", covariant=True)
    Deps_contra = TypeVar("Deps_contra", contravariant=True)


_PARAMETERS: Final = one_text(
    TASK, "What to do, in full: nothing else of this conversation is seen."
)
_NOBODY: Final = "the agent has to ask a person about a call, and nobody can be asked here"


class Function(Protocol):
    """Function that becomes a tool. A `Tool` is none, although it can be called: a type checker holds what it wants of `deps` against the agent's."""

    __qualname__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Do what the model wants."""
        ...


class Agent(Generic[Answer_co, Deps_contra]):  # noqa: UP046 - type parameters have no default in Python 3.12
    """Agent: a model with tools and an instruction, declared once.

    It never changes and holds nothing of a run, so any number of runs may use it at the same time. The type parameters
    are the type of its answers, and of the dependencies that its tools take by a `Context`.

    Args:
        model: What calls the model: a client such as `ResponsesClient`, or a function that takes a `CallModel` and
            returns the answer, whole or in pieces. `arun` and `astream` take async ones as well.
        tools: What the model may call: typed functions, or `Tool`s of agent_tooling.
        answer: What the answer has to be: a pydantic model, a dataclass, a `TypedDict` or another type that pydantic
            can check, or a JSON schema (which needs the extra `schema`); None for a text. An answer that is not valid
            is asked for once more.
        deps: The type of the dependencies that tools take by a `Context`, where there are any.
        settings: The keys of `AgentSettings`, each as a keyword.

    Raises:
        TypeError: If there is no such setting, or a setting is of a kind that it cannot be.
        DeclarationError: If something among the tools is no tool and cannot be made one, or answer or rules cannot be read.
        InvalidSettingError: If a setting is outside its range.
        ValueError: If two tools have one name, a number is under 1, or there is a budget of money and a model says that it has no price.
    """

    _given: dict[str, Any]
    _declared: Declaration

    @overload
    def __new__(
        cls,
        model: Model,
        tools: Iterable[Tool[Deps_contra] | Function] = ...,
        *,
        answer: type[Answer_co],
        deps: type[Deps_contra] = ...,
        **settings: Unpack[AgentSettings],
    ) -> "Agent[Answer_co, Deps_contra]": ...
    @overload
    def __new__(
        cls,
        model: Model,
        tools: Iterable[Tool[Deps_contra] | Function] = ...,
        *,
        answer: AnswerSchema | Mapping[str, Any] | str,
        deps: type[Deps_contra] = ...,
        **settings: Unpack[AgentSettings],
    ) -> "Agent[Any, Deps_contra]": ...
    @overload
    def __new__(
        cls,
        model: Model,
        tools: Iterable[Tool[Deps_contra] | Function] = ...,
        *,
        answer: None = None,
        deps: type[Deps_contra] = ...,
        **settings: Unpack[AgentSettings],
    ) -> "Agent[str, Deps_contra]": ...
    def __new__(
        cls, model: Any, tools: Any = (), *, answer: Any = None, deps: Any = None, **settings: Any
    ) -> Any:
        agent = super().__new__(cls)
        declared = agent._declared = read_declaration(model, tools, answer, deps, settings)
        # Not the tools as given: those may be an iterator, or a list that changes.
        own = tuple(declared.tools.values())
        agent._given = {"model": model, "tools": own, "answer": answer, "deps": deps, **settings}
        return agent

    @property
    def tools(self) -> tuple[Tool[Deps_contra], ...]:
        """Its tools: `agent.with_(tools=[*agent.tools, another])` is an agent with one more."""
        return tuple(self._declared.tools.values())

    @property
    def log(self) -> "RunFeed | None":
        """Where its runs are written, as it was declared."""
        return self._declared.drive.get("log")

    @property
    def instruction(self) -> str:
        """Its system message; empty for none."""
        return self._declared.instruction

    @property
    def answer_schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of its answer; None where that is a text."""
        schema = self._declared.run["answer_schema"]
        return None if schema is None else schema.schema

    @property
    def fingerprint(self) -> str:
        """A digest of what a waiting run depends on: agents with the same fingerprint can resume each other's runs, in every process.

        It changes with the names, descriptions and parameters of tools, with which of them may be called and what a
        person approves, with the answer's schema, the models' names and all that of the agents among its tools; not
        with its instruction, limits, or what the functions of tools do. It is computed anew each time.
        """
        return find_fingerprint(self._declared)

    @overload
    def with_[A, D](
        self: "Agent[A, D]",
        *,
        model: Model = ...,
        tools: Iterable[Tool[D] | Function] = ...,
        **changes: Unpack[AgentSettings],
    ) -> "Agent[A, D]": ...
    @overload
    def with_[A, D](
        self: "Agent[Any, D]",
        *,
        answer: type[A],
        model: Model = ...,
        tools: Iterable[Tool[D] | Function] = ...,
        **changes: Unpack[AgentSettings],
    ) -> "Agent[A, D]": ...
    def with_(self, **changes: Any) -> "Agent[Any, Any]":
        """Return the same agent with other settings, tools, model or answer type; errors are the constructor's."""
        return Agent(**{**self._given, **changes})

    def run(
        self, prompt: Prompt = None, **options: Unpack[RunOptions[Deps_contra]]
    ) -> Result[Answer_co]:
        """Run the agent and return the result. What its model or a tool raises is in the result; `KeyboardInterrupt` leaves it.

        Args:
            prompt: What is asked: a text, or messages; None where a run is resumed.
            options: The keys of `RunOptions`, each as a keyword.

        Raises:
            TypeError: If there is no such option, an option is of a kind that it cannot be, or the model is async.
            MessageError: If prompt or history are no messages.
            SnapshotError: If what is to be resumed cannot be.
            ValueError: If there is nothing to run or to resume, or not one decision for each call that waits.
            SessionConflictError: If another run has taken up the calls that wait in the session.
        """
        with self.stream(prompt, **options) as events:
            for _ in events:
                pass
            return events.result

    async def arun(
        self, prompt: Prompt = None, **options: Unpack[RunOptions[Deps_contra]]
    ) -> Result[Answer_co]:
        """Run the agent as `run` does, in the running event loop; `CancelledError` leaves it, too."""
        async with self.astream(prompt, **options) as events:
            async for _ in events:
                pass
            return events.result

    def stream(
        self, prompt: Prompt = None, **options: Unpack[RunOptions[Deps_contra]]
    ) -> RunStream[Answer_co]:
        """Return a run as an iterator of its events, which begins when it is read; its `result` is there at the end.

        The arguments are those of `run`.
        """
        return RunStream(Play(self._declared, prompt, options))

    def astream(
        self, prompt: Prompt = None, **options: Unpack[RunOptions[Deps_contra]]
    ) -> AsyncRunStream[Answer_co]:
        """Return a run as `stream` does, for `async for`."""
        return AsyncRunStream(Play(self._declared, prompt, options))

    async def make_step(
        self,
        request: StepRequest,
        *,
        deps: Deps_contra | None = None,
        on_event: Callable[[Event], Awaitable[None]] | None = None,
        read_steered: Callable[[int], Awaitable[Sequence[object]]] | None = None,
    ) -> bytes:
        """Make a step of a run that is played elsewhere, and return the record that its `work` would have returned.

        An agent that is declared like this one plays the run.

        All is as where the run is played: tries, time limits, by the run's clock as it was when the run asked for the
        step, and the texts of failures. Nothing of it stands in a run log. Cancelled, it lets go of everything.

        Args:
            request: The step: `request` of its `StepKey`, which may have come through `dump` and `load`.
            deps: What tools get by their `Context`.
            on_event: Awaited with each `ShowText`, `ShowReasoning` and `ShowFile` of a model call, as the run would
                yield it while the answer comes. The run yields them once more from the record, text in fewer pieces and
                with line breaks between rounds.
            read_steered: The run's `TellsRun.read_steered`; None if it gets no messages.

        Raises:
            TypeError: If `deps` are not of the type that a tool takes.
            ValueError: If this agent has no such tool, agent or guardrail.
            MessageError: If what the model's client gives cannot be read.
            CancelledError: If the model's client says that the run is cancelled, of which there is no record.
        """
        return await make_step(
            self._declared, request, deps=deps, on_event=on_event, read_steered=read_steered
        )


def agent_tool[Deps](
    name: str,
    description: str,
    agent: Agent[Any, Deps],
    *,
    timeout: float | None = None,
    approval: ApprovalOption | None = None,
) -> Tool[Deps]:
    """Make a tool of an agent, which is given a task and answers with text.

    What runs the calling agent plays it as part of that run. It reads its task and nothing else of the run. What it
    uses counts in the caller's budgets at once, and its own `budgets` apply as well. It ends when the caller is
    cancelled or has no more time for tools; the caller then reads what it has so far. Agents may call agents, as deep
    as the outermost run allows (`max_agent_depth`). Its events are yielded as `AgentEvent`s, it has a run log of its
    own beside the caller's, and its tools get the caller's dependencies. What a person has to approve of its calls, by
    its own rules or its callers', is asked of the person by the calling run.

    Args:
        name: The name that the caller's model calls it by.
        description: Its description for that model.
        agent: The agent. How many of its tools run at once, where it is logged and such its caller decides.
        timeout: Seconds that it may take; then it ends as it does when its caller has no more time for tools. It is never tried again.
        approval: When a person has to approve that it is called, as `agent_tooling.ToolOptions` says.

    Raises:
        DeclarationError: If the name is none that every API takes, or an option is out of its range.
    """
    declared = agent._declared  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - of this module
    function = AgentFunction(declared=declared, play=_play_alone)
    return Tool.from_schema(
        name, description, _PARAMETERS, function, timeout=timeout, approval=approval
    )


def _play_alone(declared: Declaration, task: str) -> str:
    played = AgentAnswer(name="agent", call_id="")
    run, models = declared.build_run([to_question(task)]), declared.models.begin()
    try:
        for event in drive(run, models.call, declared.tools, **declared.drive):
            played.take(event)
    finally:
        end_sessions(models)
    if played.asked is not None:
        raise ToolError(_NOBODY)
    result = played.read()
    if result.error is not None:
        raise ToolError(result.error)
    return result.text
