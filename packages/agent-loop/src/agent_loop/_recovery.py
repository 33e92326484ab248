"""What becomes of a run whose model call has failed."""

from collections.abc import Iterator
from typing import ClassVar

from ._events import Event
from ._inputs import ModelFailure
from ._model_failures import says_too_long
from ._models import FILTERED, FallbackModel
from ._rounds import Rounds


class Recovery:
    """What makes a failed model call once more, or has another model take over.

    Args:
        rounds: The rounds of the run.
        fallback: The model that takes over, once; None for none.
    """

    SAVED: ClassVar = ("_fallback",)

    def __init__(self, rounds: Rounds, fallback: FallbackModel | None) -> None:
        self._rounds = rounds
        self._fallback = fallback

    @property
    def may_retry(self) -> bool:
        """Whether the open call would be made once more if it failed now, for a passing reason and with time left."""
        return self._rounds.can_repeat_call and not self._rounds.is_retry

    @property
    def is_passed_on(self) -> bool:
        """Whether a content filter has left nothing of the open answer, and another model is asked."""
        return self._rounds.current.is_filtered and self._find_fallback(FILTERED) is not None

    def begin_again(self, failure: ModelFailure, error: str) -> Iterator[Event] | None:
        """Return what follows where the open call is made again, by this model or another; None where it is not."""
        fallback = self._find_fallback(failure)
        if fallback is None and not (self._is_passing(failure) or self._can_shorten(failure)):
            return None
        return self._begin_again(failure, error, fallback)

    def take_over(self, failure: ModelFailure) -> bool:
        """Return whether another model takes over after a failure of a call that is no round's own."""
        fallback = self._fallback if failure.may_pass_elsewhere and failure.has_time else None
        if fallback is None:
            return False
        self._fallback = None
        self._rounds.requests.take_over(fallback)
        return True

    def _is_passing(self, failure: ModelFailure) -> bool:
        return failure.is_transient and failure.has_time and self.may_retry

    def _can_shorten(self, failure: ModelFailure) -> bool:
        """Return whether a call has failed by the length of its request, and the run can be made shorter for that."""
        can_repeat = failure.has_time and self.may_retry and says_too_long(failure.message)
        return can_repeat and self._rounds.requests.cut is not None

    def _find_fallback(self, failure: ModelFailure) -> FallbackModel | None:
        """Return the model that takes over after a failure of the open call, if one does."""
        is_for_another = failure.may_pass_elsewhere or (failure.is_transient and not self.may_retry)
        may_call = self._rounds.can_repeat_call and failure.has_time and is_for_another
        return self._fallback if may_call else None

    def _begin_again(
        self, failure: ModelFailure, error: str, fallback: FallbackModel | None
    ) -> Iterator[Event]:
        rounds = self._rounds
        if fallback is None and not self._is_passing(failure):
            rounds.requests.shrink_window()
        yield from rounds.break_answer(error, shows_rest=False)
        yield rounds.end(error)
        if fallback:
            self._fallback = None
            rounds.requests.take_over(fallback)
            yield from rounds.begin()
            return
        rounds.spending.wait(failure.wait_seconds)  # Passed when the call is made.
        yield from rounds.begin(failure)
