"""The run itself: values in, values out, no I/O.

Theory of operation
===================

A run is three things. `RunSettings` is what it was made with: tools, functions, limits, rules; it never changes once
the run has started. `RunState` is one value that holds all that changes. And the rules (`_rules`) are functions that
take both, with an input, change the state and return the events that follow. Nothing waits in here, calls anything, or
remembers anything outside the state, so a run can be fed by threads, an event loop or a test, and can be stored as
JSON.

Which input a run takes depends on its status, and `TRANSITIONS` is the only place that says so:

- `ready`: it has not started.
- `model`: a model call is open. It is fed with pieces of the answer and then with its end, or with a failure.
- `summary`: likewise, but the call asks for a summary, because the next request would fill the model's window. Nothing
  of the answer is shown; then the round continues.
- `tools`: the results of tool calls are awaited.
- `approval`: all calls of the round that need no approval have answered, and a person has to decide about the others.
- `check`: the last answer is there, and the driver checks it before any of it is shown (`checks_answer`).
- `finished`: `Finished` was the last event.

A rule looks the transition up before it changes anything, so an input that comes at the wrong time raises
`LocalProtocolError` and leaves the run as it was.

Why a run closes. A run has to end with an answer, and the model does not know the limits. So when the last allowed
round begins, time is short or a budget is used up, the round is a closing one (`Round.closing` says why): same
messages, same tools, but the model may call none. It is decided once, when the round begins, so a request never
contradicts what was decided about its answer. Calls that the model makes all the same are refused with a sentence,
because every call has to get a result. Agents are the exception: where the budget of a run above is used up, they end
without a closing call, as the outermost run makes one for all.

How requests grow. Each request begins with the whole request before it: providers cache prompts by their beginnings,
and reasoning items belong to the messages around them. Three things break that rule, and the request says so each time:
files that no longer fit (`left_out`), a summary (`is_rewritten`), and another model (`model`).

How a snapshot continues. A run stops for a person only in `approval`, where no model call and no tool is under way; so
everything in the state is plain data, and the fields that read a stream (`init=False` in the state's classes) is empty.
The snapshot is that data with a version, an expiry and a signature. Settings are not in it, because tools and hidden
values must not leave the process: a process that resumes a run makes one with its own settings, and digests tell
whether a waiting call would mean the same in it. Then the state is put in place of the new run's own, and the
decisions are fed as if nothing had happened.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from threading import RLock
from typing import Any

from agent_tooling import ApprovalRules

from ._rules.agents import Agents
from ._rules.dispatch import start_run, take_input
from ._rules.requests import begin_conversation, find_lacking, iter_unread
from ._rules.rounds import may_retry
from ._rules.saving import digest_run, load_run, save_run
from ._rules.settings import RunSettings, takes_settings
from ._rules.spending import find_uses
from ._rules.state import Bind, RunContext, RunState
from ._rules.tool_calls import ask_approval
from ._rules.transitions import State
from ._values.budgets import Budgets, BudgetUse
from ._values.errors import LocalProtocolError
from ._values.events import AskApproval, Event, Finished
from ._values.inputs import Input, Steered, ToolResult
from ._values.messages import Message, ToolCall
from ._values.models import Window
from ._values.own_functions import OwnFunction, name_of
from ._values.reading import read_user_message
from ._values.usage import Usage


_UNLIMITED = Budgets()


class AgentRun:
    """One agent run, from the question to the answer, as a state machine with no I/O.

    Call `start()`, act on the events that it returns, `feed()` the outcome, and so on until `Finished`.

    At most `maximum_iterations` model calls are made. With more than one allowed, the last is the closing call: same
    messages, same tools, tool choice `none`, so that the model answers with what it has. If it asks for tools all the
    same, they are refused and a sentence says so. With exactly one allowed, its tools run and their results are shown.
    `TimeShort` makes the next call the closing one.

    A model call that the platform broke off is made once more, as a round of its own, if nothing of it was shown and
    rounds and time are left. Otherwise the run ends with the sentence of the failure and the tool results so far, or
    with an error if nothing was shown and no tool has answered. A refused call ends the run at once.

    Each request begins with the whole request before it, except that its oldest images and files become sentences, for
    good, when it would exceed `max_request_bytes`. A forced tool choice falls back to `auto` once a round's tools have
    run, since the model could never answer otherwise.

    Args:
        messages: The request so far: system, history, question. They pass through unchanged; the run adds `Message`s.
        settings: The fields of `RunSettings`, each as a keyword; only `maximum_iterations` has no default.

    Attributes:
        agents: The agents that the run calls as tools.

    Raises:
        InvalidSettingError: If a setting is invalid, as `RunSettings` explains.
        MessageError: If the messages are not a list of messages.
    """

    @takes_settings(RunSettings)
    def __init__(self, messages: Iterable[object], settings: RunSettings) -> None:
        state, depth = RunState.begin(messages, settings), settings.max_agent_depth
        self._run = RunContext(settings=settings, state=state, agent_depth=depth)
        self.agents = Agents(self._run)
        # What `steer` was given and the run has not been fed with. Any thread adds to it, but not while the run decides.
        self._said = deque[Message]()
        self._saying = RLock()
        self._is_read_by_driver = False
        begin_conversation(self._run)

    @property
    def settings(self) -> RunSettings:
        """The settings that the run was made with, and the tools that were offered since."""
        return self._run.settings

    @property
    def state(self) -> State:
        """The state of the run: `ready`, `model`, `summary`, `tools`, `approval`, `check` or `finished`."""
        return self._run.state.status

    @property
    def round(self) -> int:
        """The number of the round, from 1; 0 before the first."""
        return self._run.state.round.number

    @property
    def tools(self) -> tuple[Any, ...]:
        """The tools that the run offers, its own functions last."""
        return self._run.settings.offered

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the tools that the run offers, as far as their form allows to read them."""
        names = map(name_of, self._run.settings.offered)
        return frozenset(name for name in names if isinstance(name, str))

    @property
    def own_functions(self) -> tuple[OwnFunction, ...]:
        """The functions that the run answers itself."""
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
        """All messages so far: those that the run was given, and those that its finished rounds have added."""
        return self._run.state.messages

    @property
    def max_request_bytes(self) -> int | None:
        """How many bytes the messages of a request may have; None for any number."""
        return self._run.settings.max_request_bytes

    @property
    def window(self) -> Window | None:
        """The context window of the model that is called now; None if unknown."""
        return self._run.state.window

    @property
    def budgets(self) -> Budgets:
        """The budgets of the run, all without a limit if it was made with none."""
        return self._run.settings.budgets or _UNLIMITED

    @property
    def budget_uses(self) -> tuple[BudgetUse, ...]:
        """How much the run has used so far of each of its budgets."""
        return find_uses(self._run)

    @property
    def usage(self) -> Usage:
        """The usage of all model calls so far, including those of agents that the run has called."""
        return self._run.state.spending.usage

    @property
    def models(self) -> tuple[str, ...]:
        """The model of each request so far, if the run has names for its models."""
        return tuple(self._run.state.models)

    @property
    def left_out_tools(self) -> tuple[str, ...]:
        """The names of the `hosted_tools` that are no longer offered, because the fallback model has taken over and lacks them."""
        return find_lacking(self._run)

    @property
    def seconds(self) -> float:
        """How long the run has lasted, as its driver has reported."""
        return self._run.state.spending.seconds

    @property
    def approval_rules(self) -> ApprovalRules | None:
        """Which calls a person has to approve."""
        return self._run.settings.approval_rules

    @property
    def fingerprint(self) -> str:
        """A digest of what a snapshot has in common with the run that resumes it: two runs take up each other's snapshots if it is the same.

        It covers the tools' names, descriptions and parameters, the allowed tools, the approval rules, the answer's
        schema, the models' names, the own functions that remember something, and the format of snapshots. It is the
        same in every process.
        """
        return digest_run(self._run)

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
        approval_rules: Iterable[ApprovalRules] = (),
    ) -> None:
        """Set the tools to offer, for a driver that learns of them only after the run is created, and add own functions and approval rules.

        Args:
            tools: The tools; None keeps those that the run has.
            own_functions: Functions that the run answers itself, besides those that it has.
            approval_rules: Rules in addition to the run's own, such as those of its tools; the strictest counts.

        Raises:
            LocalProtocolError: If the run has started already.
            InvalidSettingError: If an own function has the name of a tool or of another own function.
        """
        if self.state != "ready":
            problem = "tools are offered before a run starts"
            raise LocalProtocolError(problem, state=self.state, received="offer")
        given = self._run.settings.tools if tools is None else tuple(tools)
        own = (*self.own_functions, *own_functions)
        rules, beside = self.approval_rules, tuple(approval_rules)
        if beside:
            rules = (rules or ApprovalRules()).beside(beside)
        self._run.settings = replace(
            self._run.settings, tools=given, own_functions=own, approval_rules=rules
        )

    def rewrite(self, messages: Iterable[object]) -> None:
        """Put other messages in place of those that the run was given, for a driver that checks them before the run starts.

        Raises:
            LocalProtocolError: If the run has started already.
            MessageError: If they are not a list of messages.
        """
        if self.state != "ready":
            raise LocalProtocolError("it has started", state=self.state, received="rewrite")
        self._run.state = RunState.begin(messages, self._run.settings)
        begin_conversation(self._run)

    def messages_if(self, answer: Callable[[ToolCall], ToolResult]) -> tuple[Any, ...]:
        """Return all messages, those of the open round too, as if its open calls had been answered; the run stays as it is.

        For a driver that has to keep what was begun before it can know what comes of it.

        Args:
            answer: Returns the result of an open call.
        """
        current = self._run.state.round
        answered = {call.call_id: answer(call) for call in current.open_calls.values()}
        as_if = replace(current, results=current.results | answered)
        return (*self.messages, *as_if.to_messages())

    def bind_by(self, bind: Bind) -> None:
        """Set the function that returns the arguments a call would be made with, so that approval rules see them as well as the model's own text.

        Args:
            bind: Returns the arguments of a call; refused arguments for a call that will not be made anyway, None for
                an unknown tool. It does no I/O.
        """
        self._run.bind = bind

    def start(self) -> tuple[Event, ...]:
        """Begin the first round.

        Raises:
            LocalProtocolError: If the run has started already.
        """
        with self._saying:
            self._hear()
            return start_run(self._run)

    def steer(self, message: object) -> None:
        """Send a message to a run under way; may be called from any thread.

        The next round reads it, with every model. A run whose model has answered in the meantime continues for one more
        round, if its limits leave one; messages that no round has read are in `Finished.unread`. A message decides
        nothing that a person has to, and counts towards the token budget only.

        Args:
            message: A text, or a user message.

        Raises:
            MessageError: If it is neither, or says nothing.
            LocalProtocolError: If the run waits for a person's decision, or has ended.
        """
        read = read_user_message(message)
        with self._saying:
            if self.state in {"approval", "finished"}:
                told = (
                    "the run waits for a person's decision, which a message is not"
                    if self.state == "approval"
                    else "the run has ended"
                )
                raise LocalProtocolError(f"steer: {told}", state=self.state, received="steer")
            self._said.append(read)

    def read_steered(self) -> tuple[Message, ...]:
        """Return what `steer` was given since; from then on the caller has to feed it as `Steered`.

        For a driver that checks it, or records what a run is fed with.
        """
        self._is_read_by_driver = True
        return tuple(self._said.popleft() for _ in range(len(self._said)))

    @property
    def steered(self) -> int:
        """The number of the last `Steered` that the run has, 0 for none."""
        state = self._run.state
        return max([state.heard, *(one.number for one in state.steered)])

    @property
    def unread(self) -> tuple[Message, ...]:
        """The messages to the run (`steer`) that no round has read yet: user messages."""
        return (*iter_unread(self._run), *self._said)

    def _hear(self) -> None:
        while self._said and not self._is_read_by_driver:
            steered = Steered(number=self.steered + 1, messages=(self._said.popleft(),))
            take_input(self._run, steered)

    def to_snapshot(self, *, key: bytes, expires_at: float, extra: Any = None) -> str:
        """Return a run that waits for approval as a signed JSON text, from which another process can resume it any number of times until it expires.

        It holds the conversation and what the model's client has sent along with it, but not what tools are set up with, such as hidden parameters.

        Args:
            key: The key to sign it with, at least 16 bytes that nobody else knows.
            expires_at: The time until which it is valid, in seconds since 1970.
            extra: Plain JSON that the driver wants back from `resume()`.

        Raises:
            LocalProtocolError: If the run does not wait for approval.
            InvalidSettingError: If the key is too short.
            SnapshotError: If a message cannot be written as JSON.
        """
        return save_run(self._run, key=key, expires_at=expires_at, extra=extra)

    def resume(self, snapshot: object, *, key: bytes, now: float) -> tuple[AskApproval, Any]:
        """Continue the run of a snapshot, and return the calls that it waits for and the driver's `extra`.

        This run must not have started, and has to have the same tools, allowed tools, approval rules, answer schema and
        names of models, so that a call means the same in it. Its own messages are not used. Its limits and what it
        shows may differ: if the run has passed a maximum by then, the next call is the closing one.

        Args:
            snapshot: The text that `to_snapshot()` has returned, or the JSON object in it.
            key: The key that it was signed with.
            now: The time, in seconds since 1970.

        Raises:
            LocalProtocolError: If the run has started already.
            InvalidSettingError: If the key is too short.
            SnapshotError: If it is not a snapshot, does not fit this run, has another release's format, was signed with
                another key, was changed, or has expired.
        """
        extra = load_run(self._run, snapshot, key=key, now=now)
        return ask_approval(self._run), extra

    def feed(self, received: Input | object) -> tuple[Event, ...]:
        """Take one input and return what follows from it, in order.

        Args:
            received: One of this package's inputs, or anything with the fields of a `ModelDelta` or of a `ToolResult`,
                such as the whole answer of a model's client.

        Raises:
            LocalProtocolError: If the run cannot take this now, or the result belongs to no open call. Nothing has changed.
            MessageError: If it is none of these. Nothing has changed.
        """
        with self._saying:
            if self._said:
                self._hear()
            events = take_input(self._run, received)
            last = events[-1] if events else None
            if self._said and isinstance(last, Finished):
                events = (*events[:-1], replace(last, unread=self.unread))
            return events
