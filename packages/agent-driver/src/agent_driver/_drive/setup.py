"""The setup that `drive` and `adrive` share."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain
from threading import RLock
from typing import TYPE_CHECKING

from agent_driver._declare.drive_settings import DriveSettings
from agent_driver._declare.models import validate_models
from agent_driver._declare.tool_options import (
    find_rules,
    iter_hosted,
    validate_hosted,
    validate_tools,
)
from agent_driver._steps.steering import Steers
from agent_driver._steps.stepper import Stepper
from agent_driver._time import Clock
from agent_driver._tools.calls import Job, Sorted, ToolCalls, Tools
from agent_driver._tools.guardrails import Guards
from agent_driver._tools.search import ToolSearch
from agent_loop import (
    AgentRun,
    Decision,
    Event,
    Failure,
    MessageError,
    RunCompacted,
    RunTools,
    Steered,
    read_input,
)
from agent_tooling import ToolOutput

from .approval import add_snapshot, prepare_approval


if TYPE_CHECKING:  # Whoever writes no log need not wait for what writes it.
    from .recorder import Recorder


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A run that is being played, and what plays it.

    Attributes:
        run: The run.
        settings: What it is played with; of an agent, what its caller is played with.
        calls: What decides about its tool calls.
        guards: Its guardrails.
        clock: Its time.
        decisions: What a person has decided about the calls that it has waited for; none where it begins.
        recorder: What writes the run into a log; None where nobody asked for one.
        steps: What has its steps recorded; None where nobody asked for it.
        steers: What the run is told while it is played; None for an agent, which is told nothing.
    """

    run: AgentRun
    settings: DriveSettings
    calls: ToolCalls
    guards: Guards
    clock: Clock
    decisions: tuple[Decision, ...] = ()
    recorder: "Recorder | None" = None
    steps: Stepper | None = None
    steers: Steers | None = None

    def take_steered(self) -> Sequence[Steered]:
        """Return what the run is to be told now: where steps are recorded, what stands in the records that it has come to."""
        if self.steers is None:
            return ()
        if self.steps is None:
            self.steers.add(self.steers.read())
        return self.steers.take()

    def start(self) -> tuple[Event, ...]:
        """Start the run, or feed a resumed one with the decisions, and return the events that follow."""
        if self.decisions:
            events = tuple(chain.from_iterable(map(self.run.feed, self.decisions)))
        else:
            events = self.run.start()
        self._forget(events)
        if self.recorder is not None:
            self.recorder.take_decisions(self.decisions)
            self.recorder.take(None, events)
        return events

    def feed(self, received: object) -> tuple[Event, ...]:
        """Feed the run with an input and return the events that follow."""
        # Read here, and not by the run, since the log writes what the run was fed with.
        try:
            fitted = read_input(self.clock.fit(received))
        except MessageError:
            self._leave()
            raise
        if isinstance(fitted, Failure):
            self._leave()
        events = self.run.feed(fitted)
        self._forget(events)
        log = self.recorder and self.recorder.name
        events = add_snapshot(events, self.run, self.settings, self.calls, log=log)
        if self.recorder is not None:
            self.recorder.take(fitted, events)
        return events

    def _leave(self) -> None:
        if self.steers is not None:
            self.steers.leave()

    def _forget(self, events: Iterable[Event]) -> None:
        """Free the result budget of results that compaction has removed."""
        for event in events:
            if isinstance(event, RunCompacted):
                self.calls.forget(event.messages)

    def sort(self, request: RunTools) -> Sorted:
        """Check the calls of a round and say which are made."""
        sorted_ = self.calls.sort(request.calls, request.resumed)
        if self.recorder is not None:
            self.recorder.take_sorted(sorted_)
        return sorted_

    def logged(self) -> AbstractContextManager[None]:
        """Return what ends the log after a block, in which the run is played."""
        return nullcontext() if self.recorder is None else self.recorder.ended()

    def begin(self, job: Job) -> None:
        """Record that a tool has started; may be called from any thread."""
        if self.recorder is not None:
            self.recorder.begin(job)

    def retry(self, job: Job, number: int, output: ToolOutput) -> None:
        """Record that a try of a call came to nothing, and that another follows; may be called from any thread."""
        if self.recorder is not None:
            self.recorder.retry(job, number, output)


def prepare(settings: DriveSettings, read: Callable[[], float]) -> Setup:
    """Offer the tools of a drive where its run has none, take up what is to be resumed, and start its clock.

    Args:
        settings: The settings.
        read: Returns the time, in seconds since whenever.

    Raises:
        LocalProtocolError: If tools are to be offered and the run has started already.
        DeclarationError: If something among the tools is no tool and cannot be made one, or an approval rule names no
            tool, or a path that its tool cannot have.
        SnapshotError: If what is to be resumed cannot be.
        TypeError: If an argument is of a kind that cannot be it, or `deps` not of the type that a tool takes.
        ValueError: If two tools have one name, there is no key for a run that may ask, or not one decision for each
            call that waits; or if there is a budget of money, and the model or that of an agent among the tools says
            that it has no price; or if the model says that no agent can use it; or if a person would have to approve a
            tool that its server runs.
    """
    run = settings.run
    # The order matters from here on: the lock before an agent can be adopted, the tools before
    # approval rules are held against them, and the clock after `prepare_approval`, because a
    # run that is resumed knows only then how old it is.
    run.agents.guard(RLock())
    guards = Guards(guardrails=settings.guardrails)
    calls = offer_tools(run, settings.tools, settings, guards)
    validate_tools(calls.tools.values(), settings)
    validate_models(run.budgets, settings.model, *(tool.function for tool in calls.tools.values()))
    decisions, resumes = prepare_approval(settings, calls)
    validate_hosted(iter_hosted(settings, calls.tools.values()), settings)
    # Before a person is asked about a call; and after the run was resumed, since it is known only then which calls were approved as what.
    run.bind_by(calls.find_arguments)
    clock = Clock(settings.time_budget, settings.cancelled, earlier_seconds=run.seconds, read=read)
    log = settings.log
    recorder = None if log is None else _open_recorder(log, calls, run, resumes)
    guards.recorder = recorder
    # Of a run that was resumed, which was told something before it had to wait.
    steers = Steers(run, run.steered)
    steps = None if settings.steps is None else Stepper(settings.steps, run, clock, steers)
    return Setup(
        run=run,
        settings=settings,
        calls=calls,
        guards=guards,
        clock=clock,
        decisions=decisions,
        recorder=recorder,
        steps=steps,
        steers=steers,
    )


def offer_tools(run: AgentRun, tools: Tools, settings: DriveSettings, guards: Guards) -> ToolCalls:
    """Read the tools, and offer them where the run has none, or what finds them where they are many."""
    # Images and files are counted where the run does not bound them, by what is newest.
    counts_media = run.max_request_bytes is None
    most, tool_search = settings.result_characters, settings.tool_search
    calls = ToolCalls(tools, result_characters=most, counts_media=counts_media, guards=guards)
    # `run.tools` holds the own functions as well.
    has_none = len(run.tools) == len(run.own_functions)
    if tool_search is not None and len(calls.tools) >= tool_search:
        _offer_search(run, calls, has_none=has_none)
    elif calls.tools and has_none:
        run.offer(calls.tools.values())
    if rules := [*find_rules(calls.tools.values()), *settings.common_rules]:
        run.offer(approval_rules=rules)
    _offer_reader(run, calls)
    return calls


def _offer_search(run: AgentRun, calls: ToolCalls, *, has_none: bool) -> None:
    """Offer the functions of a tool search, and the one tool that the tool choice names."""
    taken = run.tool_names | calls.tools.keys()
    search = ToolSearch(calls.tools.values(), allowed=run.allowed_tools, taken=taken)
    chosen = [tool for name, tool in calls.tools.items() if has_none and name == run.tool_choice]
    run.offer(chosen or None, own_functions=search.functions)


def _offer_reader(run: AgentRun, calls: ToolCalls) -> None:
    """Offer the function that reads on in long results, from the first request on, so that the tools never change; not if no call could follow."""
    if run.state != "ready" or not run.has_closing_call:
        return
    if (reader := calls.build_reader(run.tool_names | calls.tools.keys())) is not None:
        run.offer(own_functions=[reader])


def _open_recorder(log: object, calls: ToolCalls, run: AgentRun, resumes: str | None) -> "Recorder":
    from run_log import RunFeed  # noqa: PLC0415 - only who writes a log waits for it

    from .recorder import Recorder  # noqa: PLC0415 - likewise

    if not isinstance(log, RunFeed):
        raise TypeError(f"log: expected a RunFeed, got {type(log).__name__}")
    return Recorder(log, run, calls.tools.values(), resumes=resumes)
