"""How a run ends: with an answer, with tools that are refused, or because it has failed."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from ._agents import Agents
from ._events import ClosingReason, Event, Finished, StopReason
from ._inputs import ToolResult
from ._rounds import Rounds
from ._sentences import (
    CUT_BEFORE_ANSWER,
    MAX_CALLS,
    NO_ANSWER,
    TOOLS_OVER,
    build_refusal,
    build_unknown,
)
from ._state import Trigger
from ._structured import Accepted, Repair, StructuredAnswer


_OF_THE_MODEL: Final = ("error", "time_limit")  # while a call is open


class Ending:
    """The end of a run, told in events of which the last is `Finished`.

    Args:
        rounds: The rounds by now.
        agents: The agents that the run has called.
        fails_with_model: Whether a model call that fails for good is never answered by what is known so far.
        redact: Takes out of a tool's name what nobody may read.
    """

    def __init__(
        self,
        rounds: Rounds,
        *,
        agents: Agents,
        fails_with_model: bool,
        redact: Callable[[str], str],
    ) -> None:
        self._rounds = rounds
        self._agents = agents
        self._fails_with_model = fails_with_model
        self._redact = redact

    @property
    def rounds(self) -> Rounds:
        """The rounds of the run."""
        return self._rounds

    def answer(self) -> Iterator[Event]:
        """End with the answer of the current round, or with the sentence that there is none."""
        current, display = self._rounds.current, self._rounds.display
        if not display.has_words:  # Then the commentary is the answer.
            yield from display.show("".join(current.commentary))
        yield from self._rounds.end_answer()
        ending = current.ending
        if not current.has_answer:
            is_cut = ending == "output_limit"
            yield from display.show(CUT_BEFORE_ANSWER if is_cut else NO_ANSWER)
        yield from self.finish(ending)

    def judge(
        self, structured: StructuredAnswer, *, move: Callable[[Trigger], None]
    ) -> Iterator[Event]:
        """End a round whose answer is the last one if it fulfils the schema, or have the model answer once more.

        Args:
            structured: The schema.
            move: Moves the run by a trigger.
        """
        current = self._rounds.current
        yield from self._rounds.end_answer()
        for call in current.calls:
            yield from self._rounds.refuse_call(call, TOOLS_OVER)
        spending = self._rounds.spending
        unknown = spending.find_unknown(current.usage)
        match structured.judge(current, may_ask=not spending.used_up_above):
            case Accepted(text=text, value=value):
                move("answer")
                yield from self._rounds.display.show(text)
                yield from self.finish(current.ending, value=value)
            case Repair() if unknown:  # No call more where nobody knows what it would use.
                move("refusal")
                error = build_unknown(unknown)
                yield from self.finish("error", error=error, is_answered=False)
            case Repair(request=request):
                move("repair")
                self._rounds.requests.add(*current.to_messages())
                self._rounds.requests.add_user_text(request)
                yield self._rounds.end()
                yield from self._rounds.begin()
            case invalid:
                move("refusal")
                yield from self.finish("invalid_answer", error=invalid.error, is_answered=False)

    def refuse_tools(self, reason: ClosingReason) -> Iterator[Event]:
        """End a closing call in which the model has asked for tools all the same."""
        display = self._rounds.display
        yield from self._rounds.end_answer()
        display.open_round()
        for number, call in enumerate(self._rounds.current.calls):
            name = self._redact(call.name)
            text = build_refusal(name, reason=reason, maximum_iterations=self._rounds.maximum)
            yield from self._rounds.refuse_call(call, text)
            if number < MAX_CALLS:
                yield from display.show(text)
                display.open_round()
        yield from self.finish(reason)

    def fail(
        self, error: str, reason: StopReason, *, is_call_open: bool, is_answered: bool
    ) -> Iterator[Event]:
        """End without an answer.

        Args:
            error: The sentence of the failure.
            reason: Why the run stops.
            is_call_open: Whether a model call has failed with it.
            is_answered: Whether the sentence, and what is known so far, are shown in the place of an answer; never where that has to fulfil a schema, or where a model call has failed and
                nothing is known.
        """
        if is_call_open and reason in _OF_THE_MODEL:
            has_outcome = self._rounds.display.has_outcome
            is_answered = is_answered and has_outcome and not self._fails_with_model
        if is_call_open:
            has_shown = self._rounds.display.has_shown
            yield from self._rounds.break_answer(error, shows_rest=has_shown)
        for call in self._rounds.current.open_calls:
            result = ToolResult(call_id=call.call_id, error=error, is_unfinished=is_answered)
            yield self._rounds.end_call(result)
        if is_answered := is_answered and self._rounds.structured is None:
            yield from self._rounds.display.show_outcome(error, is_late=reason == "time_limit")
        yield from self.finish(reason, error=error, is_answered=is_answered)

    def finish(
        self,
        reason: StopReason,
        *,
        error: str | None = None,
        is_answered: bool = True,
        value: Any = None,
    ) -> Iterator[Event]:
        """End the current round, if one has begun, and the run; the attributes of `Finished` say what is what."""
        current, requests = self._rounds.current, self._rounds.requests
        if current.number:
            requests.add(*current.to_messages())
            yield self._rounds.end(error)
        spending = self._rounds.spending
        yield Finished(
            reason=reason,
            rounds=current.number,
            usage=spending.usage,
            answer=current.answer,
            messages=requests.messages,
            error=error,
            is_answered=is_answered,
            budget=spending.used_up,
            budgets=spending.uses,
            models=tuple(requests.models),
            value=value,
            agents=self._agents.uses,
        )
