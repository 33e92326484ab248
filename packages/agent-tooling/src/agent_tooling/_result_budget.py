"""How much of a tool's result a model gets to read."""

import json
from dataclasses import dataclass, field
from typing import Final


_LEAST_CHARACTERS: Final = 1_000
_LEAST_BYTES: Final = (
    100  # Room for a short sentence, or for the notice that stands for a longer one.
)
_SHARE_OF_BEGINNING: Final = 0.75


@dataclass(slots=True, kw_only=True)
class ResultBudget:
    """The size that the tool results of one run may have: what a model can read and a platform can carry.

    A result that is over its share keeps its beginning and its end, with a notice of how much is missing between them.
    A result keeps at least 1,000 characters when the run has used up its characters, and nothing but the notice when it has
    used up its bytes as well.

    Use one budget per run, from one thread at a time.

    Attributes:
        per_result: Most characters of one result, the notice not counted.
        per_run: Most characters of all results together.
        per_run_bytes: Most bytes of all results together, as JSON writes them.

    Source: our choice. The default `per_run` about fills the context of a GPT-5 model with ordinary text. All results go into
    one request, and `per_run_bytes` leaves room for what else is in it: Dify's plugin daemon takes 5 MiB in one line.
    """

    per_result: int = 200_000
    per_run: int = 1_000_000
    per_run_bytes: int = 3_000_000
    _used: int = field(default=0, init=False, repr=False)
    _used_bytes: int = field(default=0, init=False, repr=False)

    def shorten(self, text: str) -> str:
        """Return `text` as long as one result may be, and take nothing from the budget."""
        return _cut_out_middle(text, self.per_result)

    def fit(self, text: str) -> str:
        """Return `text` within the budget, and take what it needs from it."""
        limit = max(min(self.per_result, self.per_run - self._used), _LEAST_CHARACTERS)
        limit = min(limit, len(text))
        room = max(self.per_run_bytes - self._used_bytes, _LEAST_BYTES)
        fitted = _cut_out_middle(text, limit)
        while (size := _json_bytes(fitted)) > room:
            limit //= 2
            fitted = _cut_out_middle(text, limit)
        self._used += limit
        self._used_bytes += size
        return fitted


def _json_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode(errors="replace"))


def _cut_out_middle(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    beginning = int(limit * _SHARE_OF_BEGINNING)
    end = len(text) - (limit - beginning)
    notice = f"\n[... {len(text) - limit:,} characters left out here ...]\n"
    return f"{text[:beginning]}{notice}{text[end:]}"
