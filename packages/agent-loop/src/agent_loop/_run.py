"""The run itself: values in, values out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from agent_tooling import AnswerSchema

from ._budgets import Budgets, Spending
from ._display import Display, should_emit_text
from ._errors import InvalidSettingError, LocalProtocolError
from ._events import (
    CallModel,
    ClosingReason,
    Event,
    Failure,
    Finished,
    Input,
    ModelCallEnded,
    ModelDelta,
    ModelDone,
    ModelFailure,
    RoundStarted,
    RunTools,
    ShowFile,
    StopReason,
    TimePassed,
    TimeShort,
    ToolCallEnded,
    ToolCallStarted,
    ToolResult,
)
from ._gate import Gate
from ._messages import Message, ToolCall
from ._models import FallbackModel, without_reasoning
from ._reading import read_input, read_messages
from ._request_size import bound_requests
from ._round import Round
from ._sentences import (
    CUT_BEFORE_ANSWER,
    MAX_CALLS,
    NO_ANSWER,
    TOOLS_OVER,
    build_budget_notice,
    build_model_failure,
    build_refusal,
    build_schema_request,
    build_unknown_budget,
)
from ._state import State, Trigger, next_state
from ._structured import Accepted, Repair, StructuredAnswer


_FILTERED = ModelFailure(
    message="a content filter stopped the answer", is_transient=False, may_pass_elsewhere=True
)


class AgentRun:
    """One agent run, from the question to the answer, as a state machine with no I/O.

    Call `start()`, act on the events that it returns, `feed()` what came of them, and so on until `Finished`.

    The rounds: at most `maximum_iterations` model calls are made. With more than one allowed, the last is the closing call: same messages, same
    tools, tool choice `none`, so that the model answers with what it has. If it asks for tools all the same, they are refused and a sentence
    says so. With exactly one allowed, its tools run and their results are shown. `TimeShort` makes the next call the closing one.

    A model call that the platform broke off is made once more, as a round of its own, where nothing was shown of it and rounds and time are left.
    Otherwise the run ends with the sentence of the failure and what the tools have answered so far. A call that was refused ends it at once.

    Each request begins with the whole request before it, but where the oldest images and files become sentences because it would pass
    `max_request_bytes`; those are sentences from then on. A forced tool choice falls back to `auto` once a round's tools have run, since the
    model could never answer otherwise.

    Args:
        messages: The request so far: system, history, question. They pass through as they are; what the run adds are `Message`s.
        tools: The tools to offer, in whatever form the driver wants them back in `CallModel`.
        maximum_iterations: The hard cap of model calls, at least 1.
        emit_intermediate_thoughts: Show `<think>` blocks, and what the model says around tool calls.
        tool_choice: The choice of the first call: `auto`, `none`, `required`, a tool's name, or None to leave it unset.
        has_tool_choice: Whether the model knows a tool choice at all; if not, the closing call offers no tools.
        budgets: What the run may use.
        allowed_tools: The names of the only tools that may be called; None for all. Calls of others are refused, and all tools are offered.
        answer_schema: What the last answer has to be. Text of a round is held back until it has ended, and of the last one only the valid answer is shown. An answer that is
            not valid is asked for once more; then the run ends with an error, and so does one that ends without an answer.
        has_answer_format: Whether the model takes the schema as its format; if not, the request asks for it in words.
        model: What the events call the model.
        fallback: The model that takes over, once and for the rest of the run, after an error that another may not have, or one that has broken off a call twice.
        max_request_bytes: How many bytes the messages of a request may have, as JSON writes them.
        redact: Takes what nobody may read out of what tools are called by a model and have answered, before that is shown.

    Raises:
        InvalidSettingError: If `maximum_iterations` or `max_request_bytes` is under 1, or there is a fallback and no `model`.
        MessageError: If the messages are no list of messages.
    """

    def __init__(  # noqa: PLR0913 - the keyword-only settings of one run
        self,
        messages: Iterable[object],
        *,
        tools: Sequence[Any] = (),
        maximum_iterations: int,
        emit_intermediate_thoughts: bool = True,
        tool_choice: str | None = None,
        has_tool_choice: bool = True,
        budgets: Budgets | None = None,
        allowed_tools: Iterable[str] | None = None,
        answer_schema: AnswerSchema | None = None,
        has_answer_format: bool = False,
        model: str | None = None,
        fallback: FallbackModel | None = None,
        max_request_bytes: int | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        if maximum_iterations < 1:
            raise InvalidSettingError("maximum_iterations", "at least 1", maximum_iterations)
        if fallback is not None and model is None:
            raise InvalidSettingError("model", "named where there is a fallback", model)
        self._messages = read_messages(messages)
        self._tools = tuple(tools)
        self._maximum = maximum_iterations
        self._emit_thoughts = emit_intermediate_thoughts
        self._tool_choice = tool_choice
        self._has_tool_choice = has_tool_choice
        self._state: State = "ready"
        self._spending = Spending(budgets or Budgets())
        self._gate = Gate(allowed_tools, spending=self._spending, redact=redact)
        self._max_request_bytes = max_request_bytes
        self._size = None if max_request_bytes is None else bound_requests(max_request_bytes)
        self._redact = redact
        self._is_time_short = False
        self._is_retry = False
        self._model = model
        self._models: list[str] = []
        self._fallback = fallback
        self._has_answer_format = has_answer_format
        self._structured: StructuredAnswer | None = None
        if answer_schema is not None:
            maximum = maximum_iterations
            self._structured = StructuredAnswer(answer_schema, maximum=maximum, redact=redact)
            if not has_answer_format:
                self._messages += (_user_says(build_schema_request(answer_schema.schema)),)
        self._display = Display(show_thoughts=emit_intermediate_thoughts, redact=redact)
        self._round = self._build_round(0)

    @property
    def state(self) -> State:
        """Where the run is: `ready`, `model`, `tools` or `finished`."""
        return self._state

    @property
    def tools(self) -> tuple[Any, ...]:
        """The tools that the run offers."""
        return self._tools

    def offer(self, tools: Iterable[object]) -> None:
        """Set the tools to offer, for a driver that knows them better than whoever made the run.

        Raises:
            LocalProtocolError: If the run has started already.
        """
        if self._state != "ready":
            raise LocalProtocolError(
                "tools are offered before a run starts", state=self._state, received="offer"
            )
        self._tools = tuple(tools)

    @property
    def messages(self) -> tuple[Any, ...]:
        """All messages by now: those that the run was given, and what the rounds that are over have added."""
        return self._messages

    @property
    def max_request_bytes(self) -> int | None:
        """How many bytes the messages of a request may have; None for any number."""
        return self._max_request_bytes

    @property
    def budgets(self) -> Budgets:
        """What the run may use."""
        return self._spending.budgets

    @property
    def has_closing_call(self) -> bool:
        """Whether the run keeps a call for the answer, so that tools have to end in time for it."""
        return self._maximum > 1

    @property
    def may_retry(self) -> bool:
        """Whether the open model call would be made once more if it failed now, for a passing reason and with time left."""
        return self._can_repeat and not self._is_retry

    @property
    def _can_repeat(self) -> bool:
        """Whether the open model call could be followed by one with the same request."""
        is_open = self._state == "model" and not self._round.is_beyond_budget
        return is_open and self._round.number < self._maximum and not self._display.has_words

    @property
    def _has_to_answer(self) -> bool:
        """Whether the model may call no tool in this round."""
        is_repair = self._structured is not None and self._structured.is_repair
        return self._round.closing is not None or is_repair

    def start(self) -> tuple[Event, ...]:
        """Begin the first round.

        Raises:
            LocalProtocolError: If the run has started already.
        """
        self._move("start")
        return tuple(self._call_model())

    def feed(self, received: Input | object) -> tuple[Event, ...]:
        """Take one input and return what follows from it, in order.

        Args:
            received: One of this package's inputs, or anything with the fields of a `ModelDelta` or of a `ToolResult` as attributes or keys,
                such as the whole answer of a model's client.

        Raises:
            LocalProtocolError: If the run cannot take this now, or the result belongs to no open call. Nothing has changed.
            MessageError: If it can be read as none of these. Nothing has changed.
        """
        match received:
            case ModelDelta():
                events = self._take_delta(received)
            case ModelDone() if self._round.is_filtered and self._find_fallback(_FILTERED):
                events = self._take_model_failure(_FILTERED)
            case ModelDone():
                events = self._end_answer()
            case ToolResult():
                events = self._take_result(received)
            case ModelFailure():
                events = self._take_model_failure(received)
            case TimeShort():
                events = self._take_time_short()
            case TimePassed():
                events = self._take_time_passed(received)
            case Failure():
                events = self._fail(received)
            case _:
                return self.feed(read_input(received))
        return tuple(events)

    def _move(self, trigger: Trigger) -> None:
        self._state = next_state(self._state, trigger)

    def _build_round(self, number: int) -> Round:
        is_beyond_budget = self._spending.used_up is not None
        closing: ClosingReason | None = "budget" if is_beyond_budget else None
        if self._is_time_short:
            closing = "time_limit"
        is_last = number == self._maximum > 1
        if is_last or (self._structured and number >= self._structured.closing_round):
            closing = "maximum_iterations"
        return Round(
            number=number,
            closing=closing,
            is_beyond_budget=is_beyond_budget,
            show_thoughts=self._emit_thoughts,
        )

    def _fit_request(self) -> int:
        """Keep the messages within their bound; return how many images and files have become a sentence by this."""
        if self._size is None:
            return 0
        fitted, left_out = self._size.fit(self._messages)
        self._messages = tuple(fitted)
        return left_out

    def _call_model(self, failure: ModelFailure | None = None) -> Iterator[Event]:
        """Begin a round, after a failure with the request that failed."""
        self._is_retry = failure is not None
        self._round = self._build_round(self._round.number + 1)
        self._display.open_round()
        if self._structured:
            self._structured.let_go()
        is_closing = self._has_to_answer
        left_out = self._fit_request()
        tools = self._tools if self._has_tool_choice or not is_closing else ()
        choice = "none" if is_closing else self._tool_choice
        if self._model is not None:
            self._models.append(self._model)
        yield RoundStarted(round=self._round.number, model=self._model)
        yield CallModel(
            round=self._round.number,
            messages=self._messages,
            tools=tools,
            tool_choice=choice if tools and self._has_tool_choice else None,
            is_closing=is_closing,
            wait_seconds=failure.wait_seconds if failure else 0.0,
            allowed_tools=self._gate.allowed,
            answer_schema=self._structured and self._structured.schema.schema,
            model=self._model,
            left_out=left_out,
        )

    def _take_delta(self, delta: ModelDelta) -> Iterator[Event]:
        self._move("delta")
        is_commentary = delta.phase == "commentary"
        text = self._round.take_text(delta.text, is_commentary=is_commentary) if delta.text else ""
        # The calls first: text that comes in one piece with them is hidden where text around calls is.
        self._round.take_rest(delta)
        yield from self._show_answer(text, is_commentary=is_commentary)
        yield from (ShowFile(file=file) for file in delta.files)

    def _show_answer(self, text: str, *, is_commentary: bool = False) -> Iterator[Event]:
        if self._structured:
            self._structured.hold(text)
        elif should_emit_text(
            has_tool_calls=self._round.has_tool_calls or is_commentary,
            iteration=self._round.number,
            maximum_iterations=self._maximum,
            emit_intermediate_thoughts=self._emit_thoughts,
        ):
            yield from self._display.show(text)
        elif is_commentary:
            self._round.commentary.append(text)

    def _end_answer(self) -> Iterator[Event]:
        if fault := self._round.fault:
            error = build_model_failure(self._round.number, fault)
            return self._end_failed(error, "error", is_answered=True)
        if self._structured and (self._has_to_answer or not self._round.has_tool_calls):
            return self._judge_answer(self._structured)
        if not self._round.has_tool_calls:
            self._move("answer")
            return self._answer()
        if self._round.closing is not None:
            self._move("refusal")
            return self._refuse_tools(self._round.closing)
        if unknown := self._spending.find_unknown(self._round.usage):
            return self._fail(Failure(message=build_unknown_budget(unknown)))
        self._move("tool_calls")
        return self._request_tools()

    def _end_model_call(self) -> Iterator[Event]:
        self._spending.usage += self._round.usage
        yield from self._show_answer(self._round.end_answer())
        yield self._round.to_call_ended()

    def _answer(self) -> Iterator[Event]:
        if not self._display.has_words:  # Then the commentary is the answer.
            yield from self._display.show("".join(self._round.commentary))
        yield from self._end_model_call()
        ending = self._round.ending
        if not self._round.has_answer:
            is_cut = ending == "output_limit"
            yield from self._display.show(CUT_BEFORE_ANSWER if is_cut else NO_ANSWER)
        yield from self._finish(ending)

    def _judge_answer(self, structured: StructuredAnswer) -> Iterator[Event]:
        """End a round whose answer is the last one if it fulfils the schema."""
        yield from self._end_model_call()
        for call in self._round.calls:
            yield from self._refuse(call, TOOLS_OVER)
        match structured.judge(self._round):
            case Accepted(text=text, value=value):
                self._move("answer")
                yield from self._display.show(text)
                yield from self._finish(self._round.ending, value=value)
            case Repair(request=request):
                self._move("repair")
                self._messages += (*self._round.to_messages(), _user_says(request))
                yield self._round.to_ended(budgets=self._spending.uses)
                yield from self._call_model()
            case invalid:
                self._move("refusal")
                yield from self._finish("invalid_answer", error=invalid.error, is_answered=False)

    def _request_tools(self) -> Iterator[Event]:
        yield from self._end_model_call()
        if self._structured and self._emit_thoughts:
            yield from self._display.show(self._structured.let_go())
        calls, refused = self._gate.sort(self._round.calls)
        if calls and self._emit_thoughts and not self._display.has_words:
            yield from self._display.show_status([call.name for call in self._round.calls])
        for call, text in refused:
            yield from self._refuse(call, text)
        for call in calls:
            yield ToolCallStarted(call=call)
        if calls:
            yield RunTools(calls=calls)
        else:
            yield from self._end_tools()

    def _refuse_tools(self, reason: ClosingReason) -> Iterator[Event]:
        yield from self._end_model_call()
        self._display.open_round()
        for number, call in enumerate(self._round.calls):
            name = self._redact(call.name)
            text = build_refusal(name, reason=reason, maximum_iterations=self._maximum)
            yield from self._refuse(call, text)
            if number < MAX_CALLS:
                yield from self._display.show(text)
                self._display.open_round()
        yield from self._finish(reason)

    def _take_result(self, result: ToolResult) -> Iterator[Event]:
        state = next_state(self._state, "tool_result")
        if not self._round.is_open(result.call_id):
            raise LocalProtocolError(
                f"no open call has the id {result.call_id!r}",
                state=self._state,
                received="tool_result",
            )
        self._state = state
        yield from self._close_call(result)
        if not self._round.open_calls:
            yield from self._end_tools()

    def _refuse(self, call: ToolCall, text: str) -> Iterator[Event]:
        yield ToolCallStarted(call=call)
        yield from self._close_call(ToolResult(call_id=call.call_id, error=text))

    def _close_call(self, result: ToolResult) -> Iterator[Event]:
        call = self._round.take_result(result)
        self._display.note_result(call.name, result)
        yield ToolCallEnded(call=call, result=result)

    def _end_tools(self) -> Iterator[Event]:
        yield from self._display.show_unfinished()
        if self._maximum == 1:
            self._move("results_shown")
            yield from self._display.show_results(self._round.results[: MAX_CALLS + 1])
            yield from self._finish("maximum_iterations")
            return
        self._move("results")
        self._messages += self._round.to_messages()
        yield self._round.to_ended(budgets=self._spending.uses)
        near = None if self._spending.used_up else self._spending.take_near()
        if near:
            self._messages += (_user_says(build_budget_notice(near)),)
        if self._tool_choice not in {None, "auto", "none"}:
            self._tool_choice = "auto"
        yield from self._call_model()

    def _take_time_short(self) -> tuple[Event, ...]:
        self._move("time_short")
        self._is_time_short = True
        return ()

    def _take_model_failure(self, failure: ModelFailure) -> Iterator[Event]:
        error = build_model_failure(self._round.number, failure.message)
        fallback = self._find_fallback(failure)
        is_retried = failure.is_transient and failure.has_time and self.may_retry
        if not (fallback or is_retried):
            next_state(self._state, "retry")  # Taken where a model call is open, and nowhere else.
            yield from self._end_failed(error, "error", is_answered=failure.is_transient)
            return
        self._move("retry")
        self._round.break_answer()  # What was held back of it is not shown any more.
        yield self._build_broken_call(error)
        yield self._round.to_ended(error, budgets=self._spending.uses)
        if fallback:
            self._take_over(fallback)
            yield from self._call_model()
            return
        self._spending.seconds += failure.wait_seconds  # Passed when the call is made.
        yield from self._call_model(failure)

    def _find_fallback(self, failure: ModelFailure) -> FallbackModel | None:
        """Return the model that takes over after a failure, if one does."""
        is_for_another = failure.may_pass_elsewhere or (failure.is_transient and not self.may_retry)
        may_call = self._can_repeat and failure.has_time and is_for_another
        return self._fallback if may_call else None

    def _take_over(self, fallback: FallbackModel) -> None:
        self._fallback = None
        self._model = fallback.name
        self._has_tool_choice = fallback.has_tool_choice
        self._messages = tuple(map(without_reasoning, self._messages))
        if self._structured and self._has_answer_format and not fallback.has_answer_format:
            self._messages += (_user_says(build_schema_request(self._structured.schema.schema)),)

    def _take_time_passed(self, passed: TimePassed) -> tuple[Event, ...]:
        self._move("time_passed")
        self._spending.seconds = max(self._spending.seconds, passed.seconds)
        return ()

    def _fail(self, failure: Failure) -> Iterator[Event]:
        is_answered = failure.reason != "error"
        return self._end_failed(failure.message, failure.reason, is_answered=is_answered)

    def _end_failed(self, error: str, reason: StopReason, *, is_answered: bool) -> Iterator[Event]:
        state, self._state = self._state, next_state(self._state, "failure")
        if state == "model":
            yield from self._show_answer(self._round.break_answer())
            yield self._build_broken_call(error)
        for call in self._round.open_calls:
            result = ToolResult(call_id=call.call_id, error=error, is_unfinished=is_answered)
            yield from self._close_call(result)
        if is_answered := is_answered and self._structured is None:
            yield from self._display.show_outcome(error, is_late=reason == "time_limit")
        yield from self._finish(reason, error=error, is_answered=is_answered)

    def _build_broken_call(self, error: str) -> ModelCallEnded:
        self._spending.usage += self._round.usage
        return self._round.to_call_ended(error)

    def _finish(
        self,
        reason: StopReason,
        *,
        error: str | None = None,
        is_answered: bool = True,
        value: Any = None,
    ) -> Iterator[Event]:
        if self._round.number:
            self._messages += self._round.to_messages()
            yield self._round.to_ended(error, budgets=self._spending.uses)
        yield Finished(
            reason=reason,
            rounds=self._round.number,
            usage=self._spending.usage,
            answer=self._round.answer,
            messages=self._messages,
            error=error,
            is_answered=is_answered,
            budget=self._spending.used_up,
            budgets=self._spending.uses,
            models=tuple(self._models),
            value=value,
        )


def _user_says(text: str) -> Message:
    return Message(role="user", content=text)
