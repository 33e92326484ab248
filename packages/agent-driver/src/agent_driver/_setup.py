"""What both drivers set up alike."""

from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from threading import RLock
from typing import TYPE_CHECKING

from agent_loop import AgentRun, Event, RunCompacted, TimeBudget, ToolCall, read_input

from ._approval import Approval, Decisions, prepare_approval
from ._time import Cancelled, Clock, can_say_so
from ._tool_calls import Job, Sorted, ToolCalls, Tools
from ._tool_search import ToolSearch


if TYPE_CHECKING:  # Whoever writes no log need not wait for what writes it.
    from run_log import RunFeed

    from ._recorder import Recorder


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A run and what it is played with, but for the model.

    Attributes:
        run: The run.
        calls: What decides about its tool calls.
        clock: Its time.
        max_parallel_tools: How many tools run at the same time.
        result_characters: How much of one result the model reads.
        tool_search: From how many tools on the model searches them.
        approval: What it needs for calls that a person has to approve.
        recorder: What writes the run into a log; None where nobody asked for one.
    """

    run: AgentRun
    calls: ToolCalls
    clock: Clock
    max_parallel_tools: int
    result_characters: int
    tool_search: int | None = None
    approval: Approval = field(default_factory=Approval)
    recorder: "Recorder | None" = None

    def start(self) -> tuple[Event, ...]:
        """Start the run, or tell one that was resumed what was decided, and return what follows."""
        decisions = self.approval.decisions
        if decisions:
            events = tuple(chain.from_iterable(map(self.run.feed, decisions)))
        else:
            events = self.run.start()
        self._forget(events)
        if self.recorder is not None:
            self.recorder.take_decisions(decisions)
            self.recorder.take(None, events)
        return events

    def feed(self, received: object) -> tuple[Event, ...]:
        """Feed the run with what has come and return what follows."""
        fitted = self.clock.fit(received)
        if self.recorder is None:
            events = self.run.feed(fitted)
            self._forget(events)
            return self.approval.seal(self.run, self.calls, events, log=None)
        fitted = read_input(fitted)
        events = self.run.feed(fitted)
        self._forget(events)
        events = self.approval.seal(self.run, self.calls, events, log=self.recorder.name)
        self.recorder.take(fitted, events)
        return events

    def _forget(self, events: Iterable[Event]) -> None:
        """Let results that the model is sent no more take nothing of their budget."""
        for event in events:
            if isinstance(event, RunCompacted):
                self.calls.forget(event.messages)

    def sort(self, calls: Sequence[ToolCall]) -> Sorted:
        """Check the calls of a round and say which are made."""
        sorted_ = self.calls.sort(calls)
        if self.recorder is not None:
            self.recorder.take_sorted(sorted_)
        return sorted_

    def follow(self, events: Generator[Event]) -> Generator[Event]:
        """Return the events of a drive, whose end is the log's."""
        return events if self.recorder is None else self.recorder.follow(events)

    def afollow(self, events: AsyncGenerator[Event]) -> AsyncGenerator[Event]:
        """Do the same with those of an asynchronous drive."""
        return events if self.recorder is None else self.recorder.afollow(events)

    def begin(self, job: Job) -> None:
        """Take note that a tool begins to run; from any thread."""
        if self.recorder is not None:
            self.recorder.begin(job)


def prepare(  # noqa: PLR0913 - the keyword-only settings of one drive
    run: AgentRun,
    model: object,
    tools: Tools,
    *,
    cancelled: Cancelled,
    time_budget: TimeBudget | None,
    max_parallel_tools: int,
    result_characters: int,
    tool_search: int | None,
    log: "RunFeed | None",
    snapshot_key: bytes | None,
    snapshot_seconds: float,
    resume: object,
    decisions: Decisions | None,
) -> Setup:
    """Check the settings of a drive, offer its tools where the run has none, and start its clock.

    Raises:
        LocalProtocolError: If tools are to be offered and the run has started already.
        DeclarationError: If something among the tools is no tool and cannot be made one, or an approval rule names no tool, or a path that its tool cannot have.
        SnapshotError: If what is to be resumed cannot be.
        TypeError: If an argument is of a kind that cannot be it.
        ValueError: If two tools have one name, a number is under 1, there is no key for a run that may ask, or not one decision for each call that waits.
    """
    _validate_kinds(
        run,
        model,
        max_parallel_tools=max_parallel_tools,
        tool_search=tool_search,
        time_budget=time_budget,
        cancelled=cancelled,
    )
    for name, number in (("max_parallel_tools", max_parallel_tools), ("tool_search", tool_search)):
        if number is not None and number < 1:
            raise ValueError(f"{name} must be at least 1, not {number!r}")
    run.agents.guard(RLock())
    calls = offer_tools(run, tools, result_characters, tool_search)
    approval = prepare_approval(
        run,
        calls,
        key=snapshot_key,
        seconds=snapshot_seconds,
        snapshot=resume,
        decisions=decisions,
    )
    clock = Clock(time_budget, cancelled, earlier_seconds=run.seconds)
    recorder = None if log is None else _open_recorder(log, calls, run, approval)
    return Setup(
        run=run,
        calls=calls,
        clock=clock,
        max_parallel_tools=max_parallel_tools,
        result_characters=result_characters,
        tool_search=tool_search,
        approval=approval,
        recorder=recorder,
    )


def offer_tools(
    run: AgentRun, tools: Tools, result_characters: int, tool_search: int | None
) -> ToolCalls:
    """Read the tools, and offer them where the run has none, or what finds them where they are many."""
    # Images and files are counted where the run does not bound them, by what is newest.
    counts_media = run.max_request_bytes is None
    calls = ToolCalls(tools, result_characters=result_characters, counts_media=counts_media)
    has_none = len(run.tools) == len(run.own_functions)
    if tool_search is not None and len(calls.tools) >= tool_search:
        _offer_search(run, calls, has_none=has_none)
    elif calls.tools and has_none:
        run.offer(calls.tools.values())
    _offer_reader(run, calls)
    return calls


def _offer_search(run: AgentRun, calls: ToolCalls, *, has_none: bool) -> None:
    """Offer what finds the tools of a run and calls them; a tool that the tool choice names has to be among the tools."""
    taken = run.tool_names | calls.tools.keys()
    search = ToolSearch(calls.tools.values(), allowed=run.allowed_tools, taken=taken)
    chosen = [tool for name, tool in calls.tools.items() if has_none and name == run.tool_choice]
    run.offer(chosen or None, own_functions=search.functions)


def _offer_reader(run: AgentRun, calls: ToolCalls) -> None:
    """Offer what reads on in long results, from the first request on, so that the tools of the run never change; not where no call would follow."""
    if run.state != "ready" or not run.has_closing_call:
        return
    if (reader := calls.build_reader(run.tool_names | calls.tools.keys())) is not None:
        run.offer(own_functions=[reader])


def _validate_kinds(  # noqa: PLR0913 - the settings that have kinds
    run: object,
    model: object,
    *,
    max_parallel_tools: object,
    tool_search: object,
    time_budget: object,
    cancelled: object,
) -> None:
    can_say = cancelled is None or can_say_so(cancelled)
    kinds = (
        ("run", run, "an AgentRun", isinstance(run, AgentRun)),
        ("model", model, "a function that is called with a CallModel", callable(model)),
        (
            "max_parallel_tools",
            max_parallel_tools,
            "a whole number",
            isinstance(max_parallel_tools, int),
        ),
        (
            "tool_search",
            tool_search,
            "a whole number or None",
            isinstance(tool_search, int | None),
        ),
        (
            "time_budget",
            time_budget,
            "a TimeBudget",
            isinstance(time_budget, TimeBudget | None),
        ),
        ("cancelled", cancelled, "an event, or a function without async", can_say),
    )
    for name, value, expected, fits in kinds:
        if not fits:
            raise TypeError(f"{name}: expected {expected}, got {type(value).__name__}")


def _open_recorder(log: object, calls: ToolCalls, run: AgentRun, approval: Approval) -> "Recorder":
    from run_log import RunFeed  # noqa: PLC0415 - only who writes a log waits for it

    from ._recorder import Recorder  # noqa: PLC0415 - likewise

    if not isinstance(log, RunFeed):
        raise TypeError(f"log: expected a RunFeed, got {type(log).__name__}")
    return Recorder(
        log,
        calls.tools.values(),
        max_request_bytes=run.max_request_bytes,
        resumes=approval.resumes,
    )
