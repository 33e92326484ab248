"""The run itself: values in, values out, no I/O.

Theory of operation
===================

A run is three things. `RunSettings` is what it was made with: tools, functions, limits, rules; it never changes once the run has started. `RunState` is one value that
holds all that changes. And the rules (`_rules`) are functions that take both, with an input, change the state and return the events that follow. Nothing waits in here, calls
anything, or remembers anything outside the state, so a run can be fed by threads, an event loop or a test, and can be laid aside as JSON.

Which input a run takes depends on its status, and `TRANSITIONS` is the whole truth about it:

- `ready`: it has not started.
- `model`: a model call is open. It is fed with pieces of the answer and then with its end, or with a failure.
- `summary`: likewise, but the call asks for a summary, because the next request would fill the model's window. Nothing of the answer is shown; then the round goes on.
- `tools`: the results of tool calls are awaited.
- `approval`: all calls of the round that need nobody's leave have answered, and a person has to decide about the others.
- `finished`: `Finished` was the last event.

A rule looks the transition up before it changes anything, so an input that comes at the wrong time raises `LocalProtocolError` and leaves the run as it was.

Why a run closes. A run has to end with an answer, and the model does not know the limits. So when the last allowed round begins, time is short or a budget is used up, the
round is a closing one (`Round.closing` says why): same messages, same tools, but the model may call none. It is decided once, when the round begins, so a request
never contradicts what was decided about its answer. Calls that the model makes all the same are refused with a sentence, because every call has to get a result. Agents are
the exception: where the budget of a run above is used up, they end without a closing call, as the outermost run makes one for all.

How requests grow. Each request begins with the whole request before it: providers cache prompts by their beginnings, and reasoning items belong to the messages around them. Three
things break that rule, and each is told in the request: files that no longer fit (`left_out`), a summary (`is_rewritten`), and another model.

How a snapshot goes on. A run stops for a person only in `approval`, where no model call and no tool is under way; so everything in the state is plain data, and what reads a stream
(`init=False` in the state's classes) is empty. The snapshot is that data with a version, an expiry and a signature. Settings are not in it, because tools and hidden values must not
leave the process: whoever resumes a run makes one with its own settings, and digests tell whether a waiting call would mean the same in it. Then the state is put in
the place of the new run's own, and the decisions are fed as if nothing had been.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from agent_tooling import ApprovalRules

from ._rules.agents import Agents
from ._rules.dispatch import start_run, take_input
from ._rules.requests import begin_conversation
from ._rules.rounds import may_retry
from ._rules.saving import load_run, save_run
from ._rules.settings import RunSettings, takes_settings
from ._rules.spending import find_uses
from ._rules.state import Bind, RunContext, RunState
from ._rules.tool_calls import ask_approval
from ._rules.transitions import State
from ._values.budgets import Budgets, BudgetUse
from ._values.errors import LocalProtocolError
from ._values.events import AskApproval, Event
from ._values.inputs import Input
from ._values.models import Window
from ._values.own_functions import OwnFunction, name_of


class AgentRun:
    """One agent run, from the question to the answer, as a state machine with no I/O.

    Call `start()`, act on the events that it returns, `feed()` what came of them, and so on until `Finished`.

    The rounds: at most `maximum_iterations` model calls are made. With more than one allowed, the last is the closing call: same messages, same tools, tool choice
    `none`, so that the model answers with what it has. If it asks for tools all the same, they are refused and a sentence says so. With exactly one allowed, its
    tools run and their results are shown. `TimeShort` makes the next call the closing one.

    A model call that the platform broke off is made once more, as a round of its own, where nothing was shown of it and rounds and time are left. Otherwise the run
    ends with the sentence of the failure and what the tools have answered so far, or with an error where nothing was shown and none has answered. A call that was refused ends it at once.

    Each request begins with the whole request before it, but where the oldest images and files become sentences because it would pass `max_request_bytes`; those are
    sentences from then on. A forced tool choice falls back to `auto` once a round's tools have run, since the model could never answer otherwise.

    Args:
        messages: The request so far: system, history, question. They pass through as they are; what the run adds are `Message`s.
        settings: The fields of `RunSettings`, each as a keyword; only `maximum_iterations` has no default.

    Attributes:
        agents: The agents that it calls as tools.

    Raises:
        InvalidSettingError: If a setting is outside its range; `RunSettings` says which can be.
        MessageError: If the messages are no list of messages.
    """

    @takes_settings(RunSettings)
    def __init__(self, messages: Iterable[object], settings: RunSettings) -> None:
        state, depth = RunState.begin(messages, settings), settings.max_agent_depth
        self._run = RunContext(settings=settings, state=state, agent_depth=depth)
        self.agents = Agents(self._run)
        begin_conversation(self._run)

    @property
    def settings(self) -> RunSettings:
        """What the run was made with, and what was offered since."""
        return self._run.settings

    @property
    def state(self) -> State:
        """Where the run is: `ready`, `model`, `summary`, `tools`, `approval` or `finished`."""
        return self._run.state.status

    @property
    def tools(self) -> tuple[Any, ...]:
        """The tools that the run offers, its own functions last."""
        return self._run.settings.offered

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the tools that the run offers, as far as their form tells them."""
        names = map(name_of, self._run.settings.offered)
        return frozenset(name for name in names if isinstance(name, str))

    @property
    def own_functions(self) -> tuple[OwnFunction, ...]:
        """The functions that the run answers by itself."""
        return tuple(self._run.settings.own.values())

    @property
    def allowed_tools(self) -> tuple[str, ...] | None:
        """The names of the only tools that may be called; None for all."""
        return self._run.settings.allowed

    @property
    def tool_choice(self) -> str | None:
        """The tool choice of the next call that is not the closing one."""
        return self._run.state.tool_choice

    @property
    def messages(self) -> tuple[Any, ...]:
        """All messages by now: those that the run was given, and what the rounds that are over have added."""
        return self._run.state.messages

    @property
    def max_request_bytes(self) -> int | None:
        """How many bytes the messages of a request may have; None for any number."""
        return self._run.settings.max_request_bytes

    @property
    def window(self) -> Window | None:
        """How much the model reads that is asked now; None where nobody knows."""
        return self._run.state.window

    @property
    def budgets(self) -> Budgets:
        """What the run may use."""
        return self._run.settings.budgets or Budgets()

    @property
    def budget_uses(self) -> tuple[BudgetUse, ...]:
        """How much the run has used by now of each budget that it has."""
        return find_uses(self._run)

    @property
    def models(self) -> tuple[str, ...]:
        """The model of each request by now, where the run has names for its models."""
        return tuple(self._run.state.models)

    @property
    def seconds(self) -> float:
        """How long the run has lasted, as it was told."""
        return self._run.state.spending.seconds

    @property
    def approval_rules(self) -> ApprovalRules | None:
        """Which calls a person has to approve."""
        return self._run.settings.approval_rules

    @property
    def has_closing_call(self) -> bool:
        """Whether the run keeps a call for the answer, so that tools have to end in time for it."""
        return self._run.settings.maximum_iterations > 1

    @property
    def may_retry(self) -> bool:
        """Whether the open model call would be made once more if it failed now, for a passing reason and with time left."""
        return self.state == "model" and may_retry(self._run)

    def offer(
        self,
        tools: Iterable[object] | None = None,
        *,
        own_functions: Iterable[OwnFunction] = (),
    ) -> None:
        """Set the tools to offer, for a driver that knows them better than whoever made the run, and add own functions.

        Args:
            tools: The tools; None leaves those that the run has.
            own_functions: Functions that the run answers by itself, besides those that it has.

        Raises:
            LocalProtocolError: If the run has started already.
            InvalidSettingError: If an own function has the name of a tool or of another one.
        """
        if self.state != "ready":
            problem = "tools are offered before a run starts"
            raise LocalProtocolError(problem, state=self.state, received="offer")
        given = self._run.settings.tools if tools is None else tuple(tools)
        own = (*self.own_functions, *own_functions)
        self._run.settings = replace(self._run.settings, tools=given, own_functions=own)

    def bind_by(self, bind: Bind) -> None:
        """Set what tells the arguments that a call would be made with, so that approval rules see them as well as what the model has written.

        Args:
            bind: Returns the arguments of a call, refused ones for a call that is not made anyway; None for a tool that it does not know. It does no I/O.
        """
        self._run.bind = bind

    def start(self) -> tuple[Event, ...]:
        """Begin the first round.

        Raises:
            LocalProtocolError: If the run has started already.
        """
        return start_run(self._run)

    def to_snapshot(self, *, key: bytes, expires_at: float, extra: Any = None) -> str:
        """Return a run that waits for approval as a signed JSON text, from which another process can resume it any number of times until it expires.

        It holds the conversation, and what the model's client has sent along with it; what tools are set up with, such as hidden parameters, it does not.

        Args:
            key: What it is signed with, at least 16 bytes that nobody else knows.
            expires_at: Until when it is good, in seconds since 1970.
            extra: What the driver has to remember; plain JSON.

        Raises:
            LocalProtocolError: If the run does not wait for approval.
            InvalidSettingError: If the key is too short.
            SnapshotError: If a message holds what JSON cannot.
        """
        return save_run(self._run, key=key, expires_at=expires_at, extra=extra)

    def resume(self, snapshot: object, *, key: bytes, now: float) -> tuple[AskApproval, Any]:
        """Become the run of a snapshot, and return what it waits for and what the driver remembers.

        This run has not started, and has the same tools, allowed tools, approval rules, answer schema and names of models: a call means the same in it. Its messages do not matter,
        and what it may use and how much of it is shown may differ: a maximum that has been passed by then makes the next call the closing one.

        Args:
            snapshot: What `to_snapshot` has returned, or the object in that JSON.
            key: What it was signed with.
            now: The time, in seconds since 1970.

        Raises:
            LocalProtocolError: If the run has started already.
            InvalidSettingError: If the key is too short.
            SnapshotError: If it is no snapshot or not this run's, of another release's format, signed with another key, changed or expired.
        """
        extra = load_run(self._run, snapshot, key=key, now=now)
        return ask_approval(self._run), extra

    def feed(self, received: Input | object) -> tuple[Event, ...]:
        """Take one input and return what follows from it, in order.

        Args:
            received: One of this package's inputs, or anything with the fields of a `ModelDelta` or of a `ToolResult`, such as the whole answer of a model's client.

        Raises:
            LocalProtocolError: If the run cannot take this now, or the result belongs to no open call. Nothing has changed.
            MessageError: If it can be read as none of these. Nothing has changed.
        """
        return take_input(self._run, received)
