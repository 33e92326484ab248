"""Which of the offered tools fits a clause, by words alone."""

import re
from collections.abc import Sequence

from gpt5_simulator._arguments import find_values
from gpt5_simulator._json import Json, object_at
from gpt5_simulator._request import Tool
from gpt5_simulator._schema import resolve, type_of


_ENOUGH = 2
_NAME_WEIGHT = 3
_FOUND_WEIGHT = 2
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")
_TIME = re.compile(r"\b(?:time|clock|hour|date|day|today|now)\b|何時|時刻", re.IGNORECASE)
_STOPWORDS = frozenset(
    "a about after all also an and any are as at be by can could did do does exactly for from get give given has have "
    "how i if in into is it its me my no not of on or our please result return returns should some tell that the their "
    "them then there these they this to tool use used using was we what when where which who will with would you your "
    "call run answer one value text string number s".split()
)


def words_of(text: str) -> set[str]:
    """Return the words of a text that carry meaning, in lower case and without plural endings."""
    found = {word.lower() for word in _WORD.findall(text)}
    return {_singular(word) for word in found if word not in _STOPWORDS}


def find_tools(clause: str, tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """Return the tools for a clause: all that it names, or else the one that fits best, if any fits.

    The first offered wins a tie.
    """
    named = tuple(tool for tool in tools if _is_named(tool, clause))
    if named:
        return named
    best = best_tool(clause, tools)
    return (best,) if best is not None and score(clause, best) >= _ENOUGH else ()


def best_tool(clause: str, tools: Sequence[Tool]) -> Tool | None:
    """Return the tool that fits a clause best, however badly."""
    return max(tools, key=lambda tool: score(clause, tool), default=None)


def score(clause: str, tool: Tool) -> int:
    """Return how well a tool fits a clause.

    Words of its name count three times, those of its description and its parameters once; a parameter for which the clause has a
    value of the right kind counts twice, once there is anything else or the value can mean nothing else.
    """
    words = words_of(clause)
    name = words_of(tool.name)
    parameters = object_at(tool.parameters, "properties")
    rest = words_of(" ".join([tool.description, *parameters])) - name
    shared = _NAME_WEIGHT * len(words & name) + len(words & rest)
    found = sum(
        _finds(resolve(inner, root=tool.parameters), key, clause)
        for key, inner in parameters.items()
    )
    return shared + _FOUND_WEIGHT * found


def _finds(parameter: Json, name: str, clause: str) -> bool:
    """Return whether the clause has an evident value: a sum for an expression, a place for a time zone when it asks for the time."""
    if type_of(parameter) != "string":
        return False
    label = f"{name} {parameter.get('description') or ''}"
    if re.search(r"time[ _-]?zone|\btz\b", label, re.IGNORECASE):
        return _TIME.search(clause) is not None
    if re.search(r"expr|formula|equation|calculation|url", label, re.IGNORECASE):
        return bool(find_values(parameter, name, clause))
    return False


def _is_named(tool: Tool, clause: str) -> bool:
    spoken = re.escape(tool.name).replace("_", r"[_\s-]")
    is_word = "_" not in tool.name and "-" not in tool.name
    if is_word:
        spoken = rf"`{spoken}`|(?:tool|function)\s+{spoken}|{spoken}\s+(?:tool|function)"
    return re.search(rf"(?<!\w)(?:{spoken})(?!\w)", clause, re.IGNORECASE) is not None


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word  # noqa: PLR2004  short words are not plurals
