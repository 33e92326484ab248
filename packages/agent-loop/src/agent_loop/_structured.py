"""The last answer of a run that has a JSON schema for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from agent_tooling import AnswerSchema

from ._round_content import Round
from ._sentences import build_invalid_answer, build_repair_request


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """An answer that fulfils the schema.

    Attributes:
        text: Its JSON.
        value: What that is.
    """

    text: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A message to a model that has to answer once more."""

    request: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalid:
    """A sentence for the person who gets no answer."""

    error: str


class StructuredAnswer:
    """What is kept of a run whose answer has to fulfil a schema.

    Args:
        schema: The schema.
        maximum: How many model calls the run may make.
        redact: Takes what nobody may read out of what is wrong with an answer.

    Attributes:
        schema: The schema.
        is_repair: Whether the model has been asked for its answer once more.
    """

    SAVED: ClassVar = ("is_repair", "_held")

    def __init__(self, schema: AnswerSchema, *, maximum: int, redact: Callable[[str], str]) -> None:
        self.schema = schema
        self.is_repair = False
        self._maximum = maximum
        self._redact = redact
        self._held: list[str] = []

    @property
    def closing_round(self) -> int:
        """The round that closes the run for the sake of its maximum: a call is kept for a repair, where there is more than one beside that for tools."""
        return max(self._maximum - 1, min(self._maximum, 2))

    def hold(self, text: str) -> None:
        """Hold back a text until the round has ended."""
        self._held.append(text)

    def let_go(self) -> str:
        """Return what is held back."""
        held, self._held = self._held, []
        return "".join(held)

    def judge(self, ended: Round, *, may_ask: bool = True) -> Accepted | Repair | Invalid:
        """Return what becomes of the answer of a round, and remember if it is to be repaired, for which the model may have to be asked."""
        checked = self.schema.check(ended.final_answer)
        if checked.problem is None:
            return Accepted(text=checked.text, value=checked.value)
        problem = self._redact(checked.problem)
        is_last = ended.is_beyond_budget or ended.number >= self._maximum
        if self.is_repair or is_last or not may_ask:
            return Invalid(error=build_invalid_answer(problem, is_repaired=self.is_repair))
        self.is_repair = True
        return Repair(request=build_repair_request(problem))
