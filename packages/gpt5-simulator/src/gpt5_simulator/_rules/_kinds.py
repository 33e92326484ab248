"""Kinds of text that a string parameter can ask for, and where a clause has them."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from gpt5_simulator._json import Json
from gpt5_simulator._rules._extract import find_dates, find_emails, find_expressions, find_urls
from gpt5_simulator._rules._places import find_cities, find_zones


_CAPITALISED = re.compile(r"\b(?:in|at|for|near|from|of|to)\s+((?:[A-Z][\w.'-]*\s*)+)")
_AFTER_PREPOSITION = re.compile(r"\b(?:in|at|for|near|from)\s+(.+)$", re.IGNORECASE)
_LANGUAGE = re.compile(r"\b(?:in|into|to)\s+([A-Z]\w+)")
_ASKS_TIME = re.compile(
    r"\bwhat(?:'s|\s+is)?\s+(?:the\s+)?(?:current\s+|local\s+|exact\s+)?(?:time|date|day)\b"
    r"|\btime\s+(?:is\s+it|in)\b|\b(?:current|local)\s+(?:time|date)\b|\bo'clock\b|何時|時刻",
    re.IGNORECASE,
)


def _nothing(text: str) -> list[str]:
    del text
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueKind:
    """Be a kind of text.

    Attributes:
        label: Matches the names of parameters of this kind.
        find: Returns the values of this kind in a text.
        guess: Returns what may pass for a value where there is none.
        fallback: What to say where there is not even that; None takes the text itself.
        is_described: Whether the parameter's description may say so, too.
        tells: Says whether a clause by itself is reason enough to use a tool with such a parameter; None where it never is.
    """

    label: re.Pattern[str]
    find: Callable[[str], list[str]]
    guess: Callable[[str], list[str]] = _nothing
    fallback: str | None = None
    is_described: bool = False
    tells: Callable[[str], bool] | None = None


def find_places(text: str) -> list[str]:
    """Return the places in a text: known cities, or else capitalised words after a preposition."""
    found: list[str] = find_cities(text) or _CAPITALISED.findall(text)
    return [place.strip() for place in found]


def kind_of(name: str, parameter: Json) -> ValueKind | None:
    """Return the kind of text that a string parameter asks for; None when any text will do."""
    spoken = f"{name} {name.replace('_', ' ')}"
    description = str(parameter.get("description") or "")
    by_name = [kind for kind in _KINDS if kind.label.search(spoken)]
    described = [kind for kind in _KINDS if kind.is_described and kind.label.search(description)]
    return next(iter(by_name + described), None)


def _labelled(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})", re.IGNORECASE)


def _asks_time(text: str) -> bool:
    return _ASKS_TIME.search(text) is not None


def _has_expression(text: str) -> bool:
    return bool(find_expressions(text))


def _has_url(text: str) -> bool:
    return bool(find_urls(text))


_KINDS = (
    ValueKind(
        label=_labelled("time[ _-]?zone", r"tz\b", r"iana\b"),
        find=find_zones,
        fallback="UTC",
        is_described=True,
        tells=_asks_time,
    ),
    ValueKind(
        label=_labelled(
            r"expr\b", "expression", "formula", "equation", "calculation", "arithmetic"
        ),
        find=find_expressions,
        fallback="0",
        is_described=True,
        tells=_has_expression,
    ),
    ValueKind(
        label=_labelled(r"url\b", r"uri\b", r"link\b", r"href\b"),
        find=find_urls,
        fallback="https://example.com/",
        tells=_has_url,
    ),
    ValueKind(
        label=_labelled("e-?mail"),
        find=find_emails,
        fallback="nobody@example.com",
        is_described=True,
    ),
    ValueKind(label=_labelled(r"date\b"), find=find_dates, fallback="2026-01-01"),
    ValueKind(
        label=_labelled("city", "location", "place", "town", "destination", "origin", "country"),
        find=find_places,
        guess=_AFTER_PREPOSITION.findall,
    ),
    ValueKind(
        label=_labelled("language", r"lang\b", "locale"),
        find=_LANGUAGE.findall,
        fallback="English",
    ),
)
