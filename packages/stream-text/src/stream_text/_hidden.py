"""Characters that a person who reads a text cannot see for what they are."""

import re
import unicodedata
from typing import Final


_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Characters without width or content that are not control characters: joiners, fillers, variants, blanks."""
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_SEEN_SPACES: Final = frozenset(" \u3000")


def is_hidden(character: str) -> bool:
    """Return whether a person cannot recognize a character by sight.

    Those are control, zero-width and bidirectional characters, fillers, and spaces other than the usual ones.

    Line breaks and tabs are among them; whoever shows text of several lines lets those through. The pages that show
    text of models ask the same by a regular expression (`view/shared/elements.js` of run-log).

    Args:
        character: One character.

    Source: docs/contracts/gpt5-agent-strategies.md, B80.
    """
    if character in _SEEN_SPACES:
        return False
    is_blank = _BLANK.match(character) is not None
    return is_blank or unicodedata.category(character) in _HIDDEN_CATEGORIES
