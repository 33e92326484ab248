"""The run itself: values in, values out. Here stands what follows from each input; how a round goes and how a run ends stand in modules of their own."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from agent_tooling import AnswerSchema, ApprovalRules, ToolArguments

from ._agents import Agents
from ._approval import AskApproval, Decision
from ._budgets import Budgets, Spending
from ._compaction_events import CompactedWindow
from ._display import Display
from ._ending import Ending
from ._errors import InvalidSettingError, LocalProtocolError
from ._events import Event, StopReason
from ._gate import Gate
from ._inputs import (
    Failure,
    Input,
    ModelDelta,
    ModelDone,
    ModelFailure,
    TimePassed,
    TimeShort,
    ToolResult,
)
from ._messages import ToolCall
from ._models import FILTERED, FallbackModel
from ._own_functions import OwnFunction, read_functions
from ._reading import read_input
from ._recovery import Recovery
from ._requests import Requests
from ._rounds import Rounds
from ._run_facts import RunFacts
from ._run_settings import validate_settings
from ._saved_run import SavedRun
from ._sentences import build_model_failure, build_unknown
from ._snapshots import seal, unseal
from ._state import State, Trigger, next_state
from ._structured import StructuredAnswer
from ._summing_up import OF_SUMMARY, SummingUp
from ._tool_phase import ToolPhase
from ._window import Window


class AgentRun(RunFacts):
    """One agent run, from the question to the answer, as a state machine with no I/O.

    Call `start()`, act on the events that it returns, `feed()` what came of them, and so on until `Finished`.

    The rounds: at most `maximum_iterations` model calls are made. With more than one allowed, the last is the closing call: same messages, same tools, tool choice
    `none`, so that the model answers with what it has. If it asks for tools all the same, they are refused and a sentence says so. With exactly one allowed, its
    tools run and their results are shown. `TimeShort` makes the next call the closing one.

    A model call that the platform broke off is made once more, as a round of its own, where nothing was shown of it and rounds and time are left. Otherwise the run
    ends with the sentence of the failure and what the tools have answered so far, or with an error where nothing was shown and none has answered. A call that was refused ends it at once.

    Each request begins with the whole request before it, but where the oldest images and files become sentences because it would pass `max_request_bytes`; those are
    sentences from then on. A forced tool choice falls back to `auto` once a round's tools have run, since the model could never answer otherwise. `agents` knows those that it calls as tools.

    Args:
        messages: The request so far: system, history, question. They pass through as they are; what the run adds are `Message`s.
        tools: The tools to offer, in whatever form the driver wants them back in `CallModel`.
        own_functions: Functions that the run answers by itself; they are offered behind the tools, as `agent_tooling.Tool`s.
        maximum_iterations: The hard cap of model calls, at least 1.
        emit_intermediate_thoughts: Show `<think>` blocks, and what the model says around tool calls.
        fail_on_model_failure: End with an error in any case where a model call fails for good, or is open when the time is up.
        tool_choice: The choice of the first call: `auto`, `none`, `required`, a tool's name, or None to leave it unset.
        has_tool_choice: Whether the model knows a tool choice at all; if not, the closing call offers no tools.
        budgets: What the run may use.
        allowed_tools: The names of the only tools that may be called; None for all. Calls of others are refused, and all tools are offered.
        approval_rules: Which tool calls a person has to approve: for those the run stops with `AskApproval`, once the other calls of the round have answered.
        answer_schema: What the last answer has to be. Text of a round is held back until it has ended, and of the last one only the valid answer is shown. An answer that is
            not valid is asked for once more; then the run ends with an error, and so does one that ends without an answer.
        has_answer_format: Whether the model takes the schema as its format; if not, the request asks for it in words.
        model: What the events call the model.
        fallback: The model that takes over, once and for the rest of the run, after an error that another may not have, or one that has broken off a call twice.
        max_request_bytes: How many bytes the messages of a request may have, as JSON writes them.
        window: How much the model reads. Where a request would fill it, the model is asked for a summary first, which takes the place of all but what a system says, the
            task, pinned results and the last rounds (`RunCompacted`). None where nobody knows.
        redact: Takes what nobody may read out of what tools are called by a model and have answered, before that is shown.
        max_agent_depth: How deep agents may call agents: with 1 those that this run calls may call none.

    Raises:
        InvalidSettingError: If a setting is of another kind, `maximum_iterations` or `max_request_bytes` is under 1, `max_agent_depth` under 0, there is a fallback and no `model`, or
            an own function has the name of a tool or of another one.
        MessageError: If the messages are no list of messages.
    """

    def __init__(  # noqa: PLR0913 - the keyword-only settings of one run
        self,
        messages: Iterable[object],
        *,
        tools: Sequence[Any] = (),
        own_functions: Iterable[OwnFunction] = (),
        maximum_iterations: int,
        emit_intermediate_thoughts: bool = True,
        fail_on_model_failure: bool = False,
        tool_choice: str | None = None,
        has_tool_choice: bool = True,
        budgets: Budgets | None = None,
        allowed_tools: Iterable[str] | None = None,
        approval_rules: ApprovalRules | None = None,
        answer_schema: AnswerSchema | None = None,
        has_answer_format: bool = False,
        model: str | None = None,
        fallback: FallbackModel | None = None,
        max_request_bytes: int | None = None,
        window: Window | None = None,
        redact: Callable[[str], str] = str,
        max_agent_depth: int = 2,
    ) -> None:
        validate_settings(
            maximum_iterations=maximum_iterations,
            budgets=budgets,
            allowed_tools=allowed_tools,
            approval_rules=approval_rules,
            answer_schema=answer_schema,
            fallback=fallback,
            max_request_bytes=max_request_bytes,
            window=window,
            max_agent_depth=max_agent_depth,
        )
        if fallback is not None and model is None:
            raise InvalidSettingError("model", "named where there is a fallback", model)
        self._state: State = "ready"
        self._spending = Spending(budgets or Budgets())
        self._gate = Gate(
            allowed_tools, rules=approval_rules, spending=self._spending, redact=redact
        )
        self._structured: StructuredAnswer | None = None
        if answer_schema is not None:
            maximum = maximum_iterations
            self._structured = StructuredAnswer(answer_schema, maximum=maximum, redact=redact)
        self._requests = Requests(
            messages,
            tools=tools,
            tool_choice=tool_choice,
            has_tool_choice=has_tool_choice,
            answer_schema=answer_schema,
            has_answer_format=has_answer_format,
            model=model,
            max_bytes=max_request_bytes,
            window=window,
        )
        self._display = Display(show_thoughts=emit_intermediate_thoughts, redact=redact)
        self._rounds = Rounds(
            requests=self._requests,
            spending=self._spending,
            display=self._display,
            structured=self._structured,
            maximum=maximum_iterations,
            show_thoughts=emit_intermediate_thoughts,
        )
        self.agents = Agents(self._rounds, self._gate, max_depth=max_agent_depth)
        self._ending = Ending(
            self._rounds,
            agents=self.agents,
            fails_with_model=fail_on_model_failure,
            redact=redact,
        )
        self._recovery = Recovery(self._rounds, fallback)
        self._summing_up = SummingUp(self._rounds, self._recovery, move=self._move, stop=self._stop)
        self._phase = ToolPhase(
            self._gate, self._ending, self.agents, move=self._move, fail=self._fail
        )
        parts = (self._phase, self._gate, self._spending, self._requests, self._display)
        self._saved = SavedRun(
            self._rounds,
            (*parts, self._recovery, self._structured, self.agents),
            {
                "allowed_tools": self._gate.allowed,
                "approval_rules": approval_rules and approval_rules.text,
                "answer_schema": answer_schema and answer_schema.schema,
                "model": model,
                "fallback": fallback and fallback.name,
            },
        )
        self.offer(own_functions=own_functions)

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
        if self._state != "ready":
            problem = "tools are offered before a run starts"
            raise LocalProtocolError(problem, state=self._state, received="offer")
        given = self._requests.tools[: len(self._requests.tools) - len(self.own_functions)]
        given = given if tools is None else tuple(tools)
        own = read_functions((*self.own_functions, *own_functions), given)
        self._gate.own_functions = own
        self._requests.tools = (*given, *(function.tool for function in own.values()))
        self._requests.allowed_tools = self._gate.allowed

    def start(self) -> tuple[Event, ...]:
        """Begin the first round.

        Raises:
            LocalProtocolError: If the run has started already.
        """
        if self._state == "ready" and (stopped := self._stop()):
            return tuple(stopped)
        self._move("start")
        return tuple(self._rounds.begin())

    def bind_by(self, bind: Callable[[ToolCall], ToolArguments | None]) -> None:
        """Set what tells the arguments that a call would be made with, so that approval rules see them as well as what the model has written.

        Args:
            bind: Returns the arguments of a call, refused ones for a call that is not made anyway; None for a tool that it does not know. It does no I/O.
        """
        self._gate.bind = bind

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
        next_state(self._state, "decision")
        state = self._saved.save(self._requests.tools, self._gate.own_functions)
        state["extra"] = extra
        return seal(state, key=key, expires_at=expires_at)

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
            SnapshotError: If it is no snapshot or not this run's, of a later release, signed with another key, changed or expired.
        """
        next_state(self._state, "start")
        state = unseal(snapshot, key=key, now=now)
        self._saved.check(state, self._requests.tools, self._gate.own_functions)
        self._saved.load(state, self._gate.own_functions)
        self._state = "approval"
        return self._phase.ask(), state["extra"]

    def feed(self, received: Input | object) -> tuple[Event, ...]:
        """Take one input and return what follows from it, in order.

        Args:
            received: One of this package's inputs, or anything with the fields of a `ModelDelta` or of a `ToolResult`, such as the whole answer of a model's client.

        Raises:
            LocalProtocolError: If the run cannot take this now, or the result belongs to no open call. Nothing has changed.
            MessageError: If it can be read as none of these. Nothing has changed.
        """
        is_summed_up = self._state == "summary"
        if isinstance(received, CompactedWindow) or (
            is_summed_up and isinstance(received, OF_SUMMARY)
        ):
            return tuple(self._summing_up.feed(received))
        match received:
            case ModelDelta():
                self._move("delta")
                return self._rounds.take_delta(received)
            case ModelDone() if self._state == "model" and self._recovery.is_passed_on:
                events = self._take_model_failure(FILTERED)
            case ModelDone():
                events = self._end_answer()
            case ToolResult():
                events = self._take_result(received)
            case Decision():
                next_state(self._state, "decision")
                events = self._phase.take_decision(received)
            case ModelFailure():
                events = self._take_model_failure(received)
            case TimeShort() | TimePassed():
                events = self._take_time(received)
            case Failure():
                events = self._fail(received)
            case _:
                return self.feed(read_input(received))
        return tuple(events)

    def _move(self, trigger: Trigger) -> None:
        self._state = next_state(self._state, trigger)

    def _end_answer(self) -> Iterator[Event]:
        current = self._rounds.current
        if fault := current.fault:
            error = build_model_failure(current.number, fault)
            return self._end_failed(error, "error", is_answered=True)
        if self._structured and (self._rounds.has_to_answer or not current.has_tool_calls):
            return self._ending.judge(self._structured, move=self._move)
        if not current.has_tool_calls:
            self._move("answer")
            return self._ending.answer()
        if current.closing is not None:
            self._move("refusal")
            return self._ending.refuse_tools(current.closing)
        if unknown := self._spending.find_unknown(current.usage):
            return self._fail(Failure(message=build_unknown(unknown)))
        self._move("tool_calls")
        return self._phase.begin()

    def _take_result(self, result: ToolResult) -> Iterator[Event]:
        state = next_state(self._state, "tool_result")
        if not self._phase.is_open(result.call_id):
            problem = f"no open call has the id {result.call_id!r}"
            raise LocalProtocolError(problem, state=self._state, received="tool_result")
        self._state = state
        yield from self._phase.take_result(result)

    def _take_time(self, told: TimeShort | TimePassed) -> tuple[Event, ...]:
        if isinstance(told, TimeShort):
            self._move("time_short")
            self._rounds.is_time_short = True
        else:
            self._move("time_passed")
            self._spending.pass_seconds(told.seconds)
        return ()

    def _take_model_failure(self, failure: ModelFailure) -> Iterator[Event]:
        next_state(self._state, "retry")  # Taken where a model call is open, and nowhere else.
        error = build_model_failure(self._rounds.current.number, failure.message)
        again = self._recovery.begin_again(failure, error)
        if again is None:
            yield from self._end_failed(error, "error", is_answered=failure.is_transient)
        else:
            self._move("retry")
            yield from again

    def _stop(self) -> Iterator[Event] | None:
        stop = self.agents.find_stop()
        return self._fail(stop) if stop else None

    def _fail(self, failure: Failure) -> Iterator[Event]:
        is_answered = failure.reason != "error"
        ended = self._rounds.end_calls(failure.results)
        failed = self._end_failed(failure.message, failure.reason, is_answered=is_answered)
        return chain(ended, failed)

    def _end_failed(self, error: str, reason: StopReason, *, is_answered: bool) -> Iterator[Event]:
        is_call_open = self._state in {"model", "summary"}
        if self._state == "summary":
            self._summing_up.count()
        self._move("failure")
        yield from self._phase.give_up(error)
        yield from self._ending.fail(
            error, reason, is_call_open=is_call_open, is_answered=is_answered
        )
