"""How much of a tool's result a model gets to read."""

from dataclasses import dataclass, field
from typing import Final


_LEAST_CHARACTERS: Final = 1_000
_SHARE_OF_BEGINNING: Final = 0.75


@dataclass(slots=True, kw_only=True)
class ResultBudget:
    """The size that the tool results of one run may have: what a model can read and a platform can carry.

    A result that is over its share keeps its beginning and its end, with a notice of how much is missing between them.
    Every result keeps at least 1,000 characters, also when the run has used up its budget.

    Use one budget per run, from one thread at a time.

    Attributes:
        per_result: Most characters of one result, the notice not counted.
        per_run: Most characters of all results together.

    Source: our choice. The default `per_run` about fills the context of a GPT-5 model with ordinary text, and stays under
    the 5 MiB that Dify's plugin daemon takes in one line in any script.
    """

    per_result: int = 200_000
    per_run: int = 1_000_000
    _used: int = field(default=0, init=False, repr=False)

    def fit(self, text: str) -> str:
        """Return `text` within the budget, and take what it needs from it."""
        limit = max(min(self.per_result, self.per_run - self._used), _LEAST_CHARACTERS)
        self._used += min(len(text), limit)
        return text if len(text) <= limit else _cut_out_middle(text, limit)


def _cut_out_middle(text: str, limit: int) -> str:
    beginning = int(limit * _SHARE_OF_BEGINNING)
    end = limit - beginning
    notice = f"\n[... {len(text) - limit:,} characters left out here ...]\n"
    return f"{text[:beginning]}{notice}{text[-end:]}"
