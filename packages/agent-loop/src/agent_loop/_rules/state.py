"""Everything that changes in a run, as one value whose JSON is the run's snapshot.

The names of classes and fields are part of the snapshot format: raise `snapshots.VERSION` when you change one. Fields
with `init=False` are not in snapshots, because they are empty, or can be computed again, whenever a run waits for a
person. What a run is made with (tools, keys, functions) is in `RunSettings` and never in the state.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, cast

from agent_loop._values.budgets import Unknown
from agent_loop._values.events import CheckAnswer
from agent_loop._values.inputs import AgentWaiting, Decision, Steered
from agent_loop._values.messages import ToolCall
from agent_loop._values.models import FallbackModel, Window
from agent_loop._values.reading import read_messages
from agent_loop._values.usage import AgentUse, Usage
from agent_tooling import ToolArguments
from stream_text import RequestSize

from .cuts import Cut, Marks
from .round_messages import ModelAnswer, Round
from .settings import RunSettings
from .transitions import State, Trigger, next_state
from .window_use import WindowUse


type MadeCall = tuple[ToolCall, ToolCall]
"""A tool call as the model wrote it, and as it is made."""

type Bind = Callable[[ToolCall], ToolArguments | None]
"""A function that returns the arguments that a call would be made with; None if it does not know the tool."""


def present[T](value: T | None) -> T:
    """Return a part of the state that the order of events has made sure is there."""
    return cast("T", value)


@dataclass(slots=True, kw_only=True)
class Spending:
    """The use of models and tools by a run so far, including the agents that it has called.

    Attributes:
        usage: The usage of the model calls.
        model_calls: How many model calls the run has made itself.
        seconds: How long the run has lasted.
        tool_calls: How many tool calls were made.
        unknown: What the usage of an agent leaves unknown.
        has_warned: Whether the model was told that a budget is nearly used up.
    """

    usage: Usage = field(default_factory=Usage)
    model_calls: int = 0
    seconds: float = 0.0
    tool_calls: int = 0
    unknown: Unknown | None = None
    has_warned: bool = False


@dataclass(slots=True, kw_only=True)
class Display:
    """The state of a run's output: what the reader has seen, and which tool results could still be shown.

    Attributes:
        has_words: Whether the open round has shown more than blank space.
        has_shown: Whether any round has, or a file was shown.
        owes_break: Whether a line break has to come before the next text.
        ends_line: Whether what was shown last ends a line.
        known: The latest results of tools, each with its tool's name.
        known_count: How many there were in all.
        unfinished: The names of tools that were given up while they still ran.
    """

    # About the open round alone: `open_display` sets it back. `has_shown` stays for the whole run.
    has_words: bool = False
    has_shown: bool = False
    owes_break: bool = False
    ends_line: bool = True
    # What a run that ends without an answer shows instead; bounded by `note_result`.
    known: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    known_count: int = 0
    unfinished: list[str] = field(default_factory=list[str])


@dataclass(slots=True, kw_only=True)
class Compaction:
    """A compaction that is under way.

    Attributes:
        cut: Where the messages are cut.
        answer: The answer to the open call for a summary, as far as it has come.
        usage: The usage of the calls for a summary that have ended.
        is_retry: Whether the open call repeats one that failed.
    """

    cut: Cut
    answer: ModelAnswer = field(default_factory=ModelAnswer)
    usage: Usage = field(default_factory=Usage)
    is_retry: bool = False


@dataclass(slots=True, kw_only=True)
class RunState:
    """Everything that changes in a run.

    Attributes:
        messages: All messages so far: those that the run was given, and those that its finished rounds have added.
        marks: Which of them stay when the run is compacted.
        model: The name of the model that is called now, if it has one.
        models: The model of each request so far, if they have names.
        tool_choice: The choice of the next call that is not the closing one.
        has_tool_choice: Whether the model supports a tool choice.
        window: The model's context window.
        fallback: The model that may still take over.
        round: The latest round.
        spending: What the run has used.
        display: What the reader has seen.
        is_time_short: Whether the next round has to be the last.
        is_retry: Whether the model call of the round repeats one that failed.
        is_repair: Whether the model has been asked once more for an answer that fulfils the schema.
        held_text: Text that is held back until the round has ended, because the answer has to fulfil a schema or is checked.
        held_files: The files of an answer that may still have to be checked.
        grants: What a person has approved for the rest of the run.
        waiting_calls: The calls that a person is asked about.
        waiting_agents: The agents that wait for a person as well, by the ids of the calls that they answer.
        decisions: What was decided about all these calls so far, by their keys.
        agent_uses: The usage of agents that were called in another process.
        steered: What was said to the run that no request has yet, in order.
        heard: The number of the last of it that one has.
        status: The state in which the run is.
        to_check: The answer that the driver checks, in the status `check`.
        cause: The exception behind the failed model call that ends the run.
        compaction: The compaction under way, in the status `summary`.
        is_rewritten: Whether the next request does not begin with the previous one.
        request_size: Keeps requests within their bound; None if there is none.
        window_use: Estimates how full the window is; None before that is asked.
    """

    # The conversation. Marks are indices into `messages`: code that removes a message rebuilds both
    # (`cuts.rebuild`); code that only replaces one in its position need not.
    messages: tuple[Any, ...]
    marks: Marks
    # Which model is asked and how. `take_over` writes these when the fallback model takes over.
    model: str | None
    models: list[str] = field(default_factory=list[str])
    tool_choice: str | None
    has_tool_choice: bool
    window: Window | None
    fallback: FallbackModel | None
    # A round is a new value each time; the other two go on through the whole run.
    round: Round = field(default_factory=Round)
    spending: Spending = field(default_factory=Spending)
    display: Display = field(default_factory=Display)
    # Noted as it happens, and looked at when the open call ends or the next round begins.
    is_time_short: bool = False
    is_retry: bool = False
    is_repair: bool = False
    held_text: list[str] = field(default_factory=list[str])
    # What a person decides about. `waiting_calls` and `decisions` are emptied together.
    grants: tuple[str, ...] = ()
    waiting_calls: tuple[MadeCall, ...] = ()
    waiting_agents: dict[str, AgentWaiting] = field(default_factory=dict[str, AgentWaiting])
    decisions: dict[str, Decision] = field(default_factory=dict[str, Decision])
    # Agents of this process are in `RunContext.called`, which is in no snapshot.
    agent_uses: tuple[AgentUse, ...] = ()
    steered: tuple[Steered, ...] = ()
    heard: int = 0
    status: State = field(init=False, default="ready")
    cause: BaseException | None = field(init=False, default=None)
    compaction: Compaction | None = field(init=False, default=None)
    to_check: CheckAnswer | None = field(init=False, default=None)
    held_files: list[Any] = field(init=False, default_factory=list[Any])
    is_rewritten: bool = field(init=False, default=False)
    request_size: RequestSize | None = field(init=False, default=None)
    window_use: WindowUse | None = field(init=False, default=None)

    @classmethod
    def begin(cls, messages: Iterable[object], settings: RunSettings) -> "RunState":
        """Return the state of a run that has not started.

        Raises:
            MessageError: If the messages are not a list of messages.
        """
        read = read_messages(messages)
        return cls(
            messages=read,
            marks=Marks.of(read),
            model=settings.model,
            tool_choice=settings.tool_choice,
            has_tool_choice=settings.has_tool_choice,
            window=settings.window,
            fallback=settings.fallback,
        )


@dataclass(slots=True, kw_only=True, eq=False)
class RunContext:
    """The context of every rule: a run's settings, its state, and the runs around it.

    Attributes:
        settings: The settings.
        state: The state.
        bind: Returns the arguments that a call would be made with, for approval rules.
        caller: The run that has called this one as an agent; None for the outermost run.
        joined_at: The caller's age in seconds at that time.
        lock: One for all runs of a tree, which may be fed in different threads.
        agent_depth: How deeply agents may be nested below this run; 0 if it may not call any.
        called: The agents that this run has called: the name, the id of the call, and the run of each.
        kept: What its model's client keeps.
    """

    settings: RunSettings
    state: RunState
    # The driver's: a run has tools in any form, and only the driver knows how they read arguments.
    bind: Bind | None = None
    # Written by `Agents.adopt` before the run starts, and never again: so a thread may walk up to
    # the outermost run without the lock. The lock guards the `Spending` of every run on the way.
    caller: "RunContext | None" = None
    joined_at: float = 0.0
    lock: AbstractContextManager[Any] = field(default_factory=nullcontext)
    agent_depth: int
    called: list[tuple[str, str, "RunContext"]] = field(
        default_factory=list[tuple[str, str, "RunContext"]]
    )
    kept: dict[str, Any] = field(default_factory=dict[str, Any])

    def move(self, trigger: Trigger) -> None:
        """Move the run by a trigger.

        Raises:
            LocalProtocolError: If the run's status has no transition by this trigger.
        """
        # Looked up before it is assigned: an input that comes at the wrong time changes nothing.
        self.state.status = next_state(self.state.status, trigger)
