"""How a round goes: its request, the model's answer piece by piece, and the ends of its calls. What follows, the run decides."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from ._budgets import Spending
from ._display import Display, should_emit_text
from ._events import (
    ClosingReason,
    Event,
    RoundEnded,
    RoundStarted,
    ShowFile,
    ToolCallEnded,
    ToolCallStarted,
)
from ._inputs import ModelDelta, ModelFailure, ToolResult
from ._messages import ToolCall
from ._requests import Requests
from ._round_content import Round
from ._structured import StructuredAnswer


class Rounds:
    """The rounds of a run, of which the last one is current.

    Args:
        requests: What the model is asked with.
        spending: What the run has used.
        display: What is shown.
        structured: What holds back an answer that has to fulfil a schema; None where none has to.
        maximum: How many rounds there may be.
        show_thoughts: Whether thoughts are shown, and what is said around tool calls.

    Attributes:
        requests: As given, and so are `spending`, `display`, `structured`, `maximum` and `show_thoughts`.
        current: The round that has begun last; number 0 before the first.
        is_time_short: Whether the next round has to be the last.
        is_retry: Whether the model call of the current one was made before, and failed.
        begin_by: What asks in a round that has begun, after so many seconds.
    """

    SAVED: ClassVar = ("is_time_short", "is_retry")

    def __init__(  # noqa: PLR0913 - the parts of one run
        self,
        *,
        requests: Requests,
        spending: Spending,
        display: Display,
        structured: StructuredAnswer | None,
        maximum: int,
        show_thoughts: bool,
    ) -> None:
        self.requests = requests
        self.spending = spending
        self.display = display
        self.structured = structured
        self.maximum = maximum
        self.show_thoughts = show_thoughts
        self.is_time_short = False
        self.is_retry = False
        self.begin_by: Callable[[float], Iterator[Event]] = self.ask
        self.current = self._build(0)

    @property
    def has_to_answer(self) -> bool:
        """Whether the model may call no tool in this round."""
        is_repair = self.structured is not None and self.structured.is_repair
        return self.current.closing is not None or is_repair

    @property
    def can_repeat_call(self) -> bool:
        """Whether the current round, while its model call is open, could be followed by one with the same request."""
        is_last = self.current.is_beyond_budget or self.current.number >= self.maximum
        return not (is_last or self.display.has_words or self.spending.used_up_above)

    def begin(self, failure: ModelFailure | None = None) -> Iterator[Event]:
        """Begin a round, after a failure with the request that failed; the run may have to be made shorter first."""
        self.is_retry = failure is not None
        self.current = self._build(self.current.number + 1)
        self.display.open_round()
        if self.structured:
            self.structured.let_go()
        yield RoundStarted(round=self.current.number, model=self.requests.model)
        yield from self.begin_by(failure.wait_seconds if failure else 0.0)

    def ask(self, wait_seconds: float = 0.0) -> Iterator[Event]:
        """Ask for the answer of the current round."""
        number = self.current.number
        yield self.requests.build(number, is_closing=self.has_to_answer, wait_seconds=wait_seconds)

    def reconsider(self) -> None:
        """Begin the current round anew, which has not asked yet, because meanwhile time has passed and budgets were used."""
        self.current = self._build(self.current.number)

    def take_delta(self, delta: ModelDelta) -> tuple[Event, ...]:
        """Take a piece of the model's answer and return what is shown of it."""
        is_commentary = delta.phase == "commentary"
        text = self.current.take_text(delta.text, is_commentary=is_commentary) if delta.text else ""
        # The calls first: text that comes in one piece with them is hidden where text around calls is.
        self.current.take_rest(delta)
        shown = self._show_answer(text, is_commentary=is_commentary) if text else ()
        self.display.has_shown = self.display.has_shown or bool(delta.files)
        return (*shown, *(ShowFile(file=file) for file in delta.files)) if delta.files else shown

    def end_answer(self) -> Iterator[Event]:
        """End a model call that has succeeded."""
        self.spending.add_usage(self.current.usage)
        self.spending.find_unknown(self.current.usage)
        self.requests.take_usage(self.current.usage)
        yield from self._show_answer(self.current.end_answer())
        yield self.current.to_call_ended()

    def break_answer(self, error: str, *, shows_rest: bool) -> Iterator[Event]:
        """End a model call that has failed, and show what was held back of its answer, or let it go."""
        rest = self.current.break_answer()
        if shows_rest:
            yield from self._show_answer(rest)
        self.spending.add_usage(self.current.usage)
        yield self.current.to_call_ended(error)

    def refuse_call(self, call: ToolCall, text: str) -> Iterator[Event]:
        """Begin and end a tool call that is not made."""
        yield ToolCallStarted(call=call)
        yield self.end_call(ToolResult(call_id=call.call_id, error=text))

    def answer_call(self, call: ToolCall, result: ToolResult) -> Iterator[Event]:
        """Begin and end a tool call that the run has answered by itself."""
        yield ToolCallStarted(call=call)
        yield self.end_call(result, is_own=True)

    def end_call(self, result: ToolResult, *, is_own: bool = False) -> ToolCallEnded:
        """Take the result of an open tool call and return its end."""
        call = self.current.take_result(result)
        if not is_own:  # What the run says to the model by itself is nothing that a tool has found.
            self.display.note_result(self.current.name_of(call), result)
        return ToolCallEnded(call=call, result=result, is_own=is_own)

    def end_calls(self, results: Iterable[ToolResult]) -> tuple[ToolCallEnded, ...]:
        """Take the results of those calls that are open still."""
        due = (result for result in results if self.current.is_open(result.call_id))
        return tuple(self.end_call(result) for result in due)

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Make the round that was saved the current one; its model call has ended."""
        self.current = self._build(saved["number"])
        self.current.restore(saved)

    def end(self, error: str | None = None) -> RoundEnded:
        """Return the end of the current round."""
        return self.current.to_ended(error, budgets=self.spending.uses)

    def _build(self, number: int) -> Round:
        is_beyond_budget = self.spending.used_up is not None
        closing: ClosingReason | None = "budget" if is_beyond_budget else None
        if self.is_time_short:
            closing = "time_limit"
        is_last = number >= self.maximum > 1
        if is_last or (self.structured and number >= self.structured.closing_round):
            closing = "maximum_iterations"
        return Round(
            number=number,
            closing=closing,
            is_beyond_budget=is_beyond_budget,
            show_thoughts=self.show_thoughts,
        )

    def _show_answer(self, text: str, *, is_commentary: bool = False) -> tuple[Event, ...]:
        if self.structured:
            self.structured.hold(text)
        elif should_emit_text(
            has_tool_calls=is_commentary or self.current.has_tool_calls,
            iteration=self.current.number,
            maximum_iterations=self.maximum,
            emit_intermediate_thoughts=self.show_thoughts,
        ):
            return self.display.show(text)
        elif is_commentary:
            self.current.commentary.append(text)
        return ()
