"""A question taken apart into clauses, and which of them wait for the result of the one before."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass


_SENTENCE = re.compile(r"(?<=[.?!;\u3002\uff1f\uff01])\s+|(?<=[\u3002\uff1f\uff01])|\n+")
_THEN = re.compile(
    r"(?:^|[,;]?\s+)(?:and\s+)?(?:then|after that|afterwards|finally)\b[,:]?\s+", re.IGNORECASE
)
_AND = re.compile(r"(?:,\s*(?:and\s+|also\s+)?|\s+and\s+(?:also\s+)?)", re.IGNORECASE)
_REFERENCE = re.compile(
    r"\b(?:the|that|this|its)\s+(?:(?:previous|last|first|same)\s+)?"
    r"(?:result|answer|output|outcome|value|number|sum|product|total|reply|response)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"(?<!\bis )\b(?:it|that|this)\b(?!\s+is\b)", re.IGNORECASE)
_OPENINGS = """
what who when where how which why whose is are was were does do did can could will would please tell give find get look
search compute calculate show check translate convert list use call run add multiply divide subtract double halve square
roll send write read open create delete explain name say count fetch ask remind
"""
_STARTERS = frozenset(_OPENINGS.split())
_WORD = re.compile(r"[\w']+")
_EDGES = " \t,;:.?!\u3002\uff1f\uff01"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """Be one thing that is asked.

    Attributes:
        text: Its words.
        stage: 0 for what can be done at once; higher where an earlier stage has to be done first.
        refers: Whether it speaks of the result of the stage before.
    """

    text: str
    stage: int
    refers: bool


def split_clauses(question: str, *, starters: Collection[str] = ()) -> tuple[Clause, ...]:
    """Take a question apart.

    Args:
        question: What the user wants.
        starters: Further words that begin a clause after a comma or an "and", such as the words of tool names.
    """
    clauses: list[Clause] = []
    known = _STARTERS | {word.lower() for word in starters}
    for sentence in _SENTENCE.split(question):
        for position, part in enumerate(_THEN.split(sentence)):
            for text in _coordinated(part, known):
                clauses.append(_clause(text, clauses, is_next=position > 0))
    return tuple(clauses)


def with_reference(clause: Clause, value: str) -> str:
    """Return a clause's text with what it refers to put in."""
    pattern = _REFERENCE if _REFERENCE.search(clause.text) else _PRONOUN
    return pattern.sub(lambda _: value, clause.text, count=1)


def _clause(text: str, earlier: list[Clause], *, is_next: bool) -> Clause:
    stage = earlier[-1].stage if earlier else 0
    names_result = bool(earlier) and _REFERENCE.search(text) is not None
    waits = bool(earlier) and (is_next or names_result)
    refers = names_result or (waits and _PRONOUN.search(text) is not None)
    return Clause(text=text, stage=stage + waits, refers=refers)


def _coordinated(part: str, starters: Collection[str]) -> Iterator[str]:
    """Yield the clauses of a sentence; a comma or an "and" within a clause, as in a list, divides nothing."""
    start = 0
    for match in _AND.finditer(part):
        word = _WORD.match(part, match.end())
        if word and word.group().lower().removesuffix("'s") in starters:
            yield from _stripped(part[start : match.start()])
            start = match.end()
    yield from _stripped(part[start:])


def _stripped(text: str) -> Iterator[str]:
    shorter = text.strip(_EDGES)
    if shorter:
        yield shorter
