"""Calls as a person reads them before they approve them: whole, and with nothing in them that a page shows otherwise or not at all."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping

from agent_loop import ToolCall


_FENCE = "~~~"  # Dify's page looks for code between ``` by itself, and pairs the one of a model with ours.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""What has no width, or nothing in it, and is no control character: joiners, fillers, variants, blanks."""
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"})
_SEEN_SPACES = frozenset(" \u3000")
# Of plain characters those that a page changes even within code: tags, formulas, images that are not whole, and the marks that Dify's page replaces.
_CHANGED = re.compile(
    r"<|(?<=``)`|(?<=!)\[|(?<=\\)[\[\]()]|(?<=CODE)_(?=BLOCK_PLACEHOLDER)|_(?=TMP_REPLACE_DOLLAR_)"
)


def render_calls(calls: Iterable[ToolCall], names: Mapping[str, str]) -> str:
    """Return calls as code in Markdown, a line for each.

    Args:
        calls: The calls, whose arguments are JSON in one line.
        names: What Dify shows of the tools, by the names that the model calls them by.
    """
    lines = [
        f"- {show_text(names.get(call.name, call.name))}: {show_text(call.arguments)}"
        for call in calls
    ]
    return "\n".join([_FENCE, *lines, _FENCE])


def show_text(text: str) -> str:
    r"""Return a line of text with what could not be seen or would be read as something else as `\uXXXX`, so that JSON still says the same."""
    return _CHANGED.sub(_escape, "".join(map(_show_character, text)))


def _show_character(character: str) -> str:
    is_seen = character in _SEEN_SPACES or not (
        unicodedata.category(character) in _HIDDEN_CATEGORIES or _BLANK.match(character)
    )
    return character if is_seen else _escape(character)


def _escape(found: str | re.Match[str]) -> str:
    character = found if isinstance(found, str) else found[0]
    escaped = json.dumps(character)[1:-1]
    return escaped if escaped.startswith("\\u") else f"\\u{ord(character):04x}"
