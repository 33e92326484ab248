"""Summing up a run that is about to be too long: which request asks for it, and what becomes of the answer."""

from collections.abc import Callable, Iterator
from typing import ClassVar

from ._compaction import Cut
from ._compaction_events import CompactedWindow, RunCompacted
from ._events import CallModel, Event
from ._inputs import ModelDelta, ModelDone, ModelFailure
from ._recovery import Recovery
from ._round_content import Round
from ._rounds import Rounds
from ._state import Trigger
from ._usage import Usage


type OfSummary = ModelDelta | ModelDone | ModelFailure | CompactedWindow
"""What comes of a call for a summary."""

OF_SUMMARY = ModelDelta | ModelDone | ModelFailure | CompactedWindow


class SummingUp:
    """The making of a run shorter, before the request of a round.

    Args:
        rounds: The rounds, of which each begins by this.
        recovery: What has another model take over.
        move: Moves the run by a trigger.
        stop: Ends the run where a run that it belongs to has no budget left; None where it may go on.
    """

    SAVED: ClassVar = ()  # A run waits for nobody while it is summed up.

    def __init__(
        self,
        rounds: Rounds,
        recovery: Recovery,
        *,
        move: Callable[[Trigger], None],
        stop: Callable[[], Iterator[Event] | None],
    ) -> None:
        self._rounds = rounds
        self._recovery = recovery
        self._move = move
        self._stop = stop
        self._requests = rounds.requests
        self._cut = Cut(index=0, replaced=())
        self._is_retry = False
        self._answer = _answer_of(0)
        self._usage = Usage()
        rounds.begin_by = self.begin

    def begin(self, wait_seconds: float = 0.0) -> Iterator[Event]:
        """Ask in a round that has begun: for a summary first, where its request would fill the window and something can be left out."""
        cut = self._requests.cut if self._requests.is_full else None
        if cut is None:
            yield from self._rounds.ask(wait_seconds)
            return
        self._cut, self._usage, self._is_retry = cut, Usage(), False
        if asked := self._ask(wait_seconds):
            self._move("compact")
            yield asked
            return
        yield self._drop("there was no room, time or budget for a summary")
        yield from self._rounds.ask(wait_seconds)

    def feed(self, received: OfSummary) -> Iterator[Event]:
        """Take what comes of the call for a summary, of which nothing is shown, and go on with the round."""
        self._move("delta" if isinstance(received, ModelDelta) else "compacted")
        match received:
            case ModelDelta(text=text, phase=phase):
                self._answer.take_text(text, is_commentary=phase == "commentary")
                self._answer.take_rest(received)
                return
            case ModelFailure():
                asked = self._fail(received)
                if isinstance(asked, CallModel):
                    self._move("compact")
                    yield asked
                    return
                yield asked
            case CompactedWindow(messages=messages, usage=usage):
                self.count(usage)
                yield self._requests.compact("api", self._cut, window=messages, usage=self._usage)
            case _:
                yield self._end()
        if stopped := self._stop():  # The summary has used what was left.
            yield from stopped
            return
        self._rounds.reconsider()
        yield from self._rounds.ask()

    def count(self, usage: Usage | None = None) -> None:
        """Count what the open call has used, which is over."""
        used = usage.counted() if usage else self._answer.usage
        self._usage += used
        self._rounds.spending.add_usage(used)

    def _ask(self, wait_seconds: float = 0.0) -> CallModel | None:
        """Return the request for a summary; None where there is no time or budget for one, or the model could not read it."""
        current = self._rounds.current
        if current.closing in {"time_limit", "budget"} or self._rounds.spending.used_up_above:
            return None
        self._answer = _answer_of(current.number)
        return self._requests.build_compaction(current.number, self._cut, wait_seconds=wait_seconds)

    def _fail(self, failure: ModelFailure) -> CallModel | RunCompacted:
        """Ask for the summary once more, or another model, or do without."""
        self.count()
        asked = None
        if self._recovery.take_over(failure):
            asked = self._ask()
        elif failure.is_transient and failure.has_time and not self._is_retry:
            self._is_retry = True
            self._rounds.spending.wait(failure.wait_seconds)
            asked = self._ask(failure.wait_seconds)
        return asked or self._drop(failure.message)

    def _end(self) -> RunCompacted:
        """Make the run shorter by the summary that has come, or without it where it is none."""
        answer = self._answer
        answer.end_answer()
        self.count()
        summary = answer.final_answer.strip()
        problem = self._requests.find_problem(summary)
        if answer.finish_reason == "length":
            problem = "the summary was cut at the model's output limit"
        if problem is not None:
            return self._drop(problem)
        return self._requests.compact("summary", self._cut, summary=summary, usage=self._usage)

    def _drop(self, error: str) -> RunCompacted:
        """Make the run shorter by leaving out what is oldest."""
        return self._requests.compact("dropped", self._cut, usage=self._usage, error=error)


def _answer_of(number: int) -> Round:
    return Round(number=number, closing=None, is_beyond_budget=False, show_thoughts=False)
