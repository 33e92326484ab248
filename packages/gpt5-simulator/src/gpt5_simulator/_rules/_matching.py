"""Which of the offered tools fits a clause, by words alone."""

import re
from collections.abc import Sequence

from gpt5_simulator._json import Json, object_at
from gpt5_simulator._request import Tool
from gpt5_simulator._rules._kinds import kind_of
from gpt5_simulator._rules._schema import resolve, type_of


_ENOUGH = 2
_NAME_WEIGHT = 3
_TOLD_WEIGHT = 2
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")
_DULL = """
a about after all also an and any are as at be by can could did do does exactly for from get give given has have how i if
in into is it its me my no not of on or our please result return returns should some tell that the their them then there
these they this to tool use used using was we what when where which who will with would you your call run answer one
value text string number s
"""
_STOPWORDS = frozenset(_DULL.split())


def words_of(text: str) -> set[str]:
    """Return the words of a text that carry meaning, in lower case and without plural endings."""
    found = {word.lower() for word in _WORD.findall(text)}
    return {_singular(word) for word in found if word not in _STOPWORDS}


def find_tools(
    clause: str, tools: Sequence[Tool], *, filled: str | None = None
) -> tuple[Tool, ...]:
    """Return the tools for a clause: all that it names, or else the one that fits best, if any fits.

    The first offered wins a tie.

    Args:
        clause: The words of the clause.
        tools: The offered tools.
        filled: The clause with what it refers to put in.
    """
    named = tuple(tool for tool in tools if _is_named(tool, clause))
    if named:
        return named
    best = best_tool(clause, tools, filled=filled)
    fits = best is not None and score(clause, best, filled=filled) >= _ENOUGH
    return (best,) if best is not None and fits else ()


def best_tool(clause: str, tools: Sequence[Tool], *, filled: str | None = None) -> Tool | None:
    """Return the tool that fits a clause best, however badly."""
    return max(tools, key=lambda tool: score(clause, tool, filled=filled), default=None)


def score(clause: str, tool: Tool, *, filled: str | None = None) -> int:
    """Return how well a tool fits a clause.

    Words of its name count three times, those of its description and its parameters once; a parameter of a kind that the clause,
    filled in, clearly asks for counts twice.
    """
    words = words_of(clause)
    name = words_of(tool.name)
    parameters = object_at(tool.parameters, "properties")
    rest = words_of(" ".join([tool.description, *parameters])) - name
    told = sum(
        _tells(resolve(inner, root=tool.parameters), key, filled or clause)
        for key, inner in parameters.items()
    )
    return _NAME_WEIGHT * len(words & name) + len(words & rest) + _TOLD_WEIGHT * told


def _tells(parameter: Json, name: str, clause: str) -> bool:
    kind = kind_of(name, parameter) if type_of(parameter) == "string" else None
    return kind is not None and kind.tells is not None and kind.tells(clause)


def _is_named(tool: Tool, clause: str) -> bool:
    spoken = re.escape(tool.name).replace("_", r"[_\s-]")
    is_word = "_" not in tool.name and "-" not in tool.name
    if is_word:
        spoken = rf"`{spoken}`|(?:tool|function)\s+{spoken}|{spoken}\s+(?:tool|function)"
    return re.search(rf"(?<!\w)(?:{spoken})(?!\w)", clause, re.IGNORECASE) is not None


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word  # noqa: PLR2004  short words are not plurals
