"""Findings of rules, with their consequences."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal


type Kind = Literal["refused", "broken", "rejected", "advice"]
"""The consequence: the platform refuses the package; it would break when used; the marketplace refuses it; we advise something else."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a check.

    Attributes:
        kind: The consequence.
        text: A sentence that names the file and the field.
    """

    kind: Kind
    text: str


def findings(kind: Kind, texts: Iterable[str]) -> Iterator[Finding]:
    """Iterate over findings of one kind."""
    return (Finding(kind, text) for text in texts)
