"""What a run is fed with and what it tells when it is made shorter."""

from dataclasses import dataclass, field
from typing import Any, Literal

from ._usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedWindow:
    """A conversation that the model's API has made shorter, in the place of a summary.

    Attributes:
        messages: What stands in the place of all messages of the request but its last, which asks for a summary, and but those of the system; the task stands in it.
        usage: What that has cost.
    """

    messages: tuple[Any, ...]
    usage: Usage | None = None


type CompactionKind = Literal["summary", "api", "dropped"]
"""By what a run was made shorter: a summary by its model, the model's API, or by leaving out what is oldest, because neither could be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompacted:
    """The news that a run was made shorter: its next request does not begin with the one before.

    Attributes:
        kind: By what.
        replaced: How many messages are gone. What a system says, the task, pinned results with their calls and the last rounds are not.
        reasoning_dropped: How many of them had reasoning with them, or what else their model's client wants back.
        tokens_before: About how many tokens the next request would have had.
        tokens_after: About how many it has.
        usage: What the summary has cost; it counts in no round.
        error: Why there is no summary, of `dropped`; else None.
        messages: All messages from now on.
    """

    kind: CompactionKind
    replaced: int
    reasoning_dropped: int
    tokens_before: int
    tokens_after: int
    usage: Usage
    error: str | None = None
    messages: tuple[Any, ...] = field(default=(), repr=False)
