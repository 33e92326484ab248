"""Untrusted regular expressions, matched in time linear in the text."""

import re
from typing import Annotated, Final

from agent_tooling._errors import DeclarationError


MAX_CHARACTERS: Final = 1_000
"""The longest expression."""

# Bytes of the text times states of the expression: the worst expressions tried take about a second
# for this many, most take a thousandth of that.
_MAX_STEPS: Final = 200_000_000
_CLASS_STATES: Final = 4  # for a piece that matches many characters
_PIECE: Final = re.compile(
    r"""
    (?P<escape> \\ (?: [pPxuU]\{[^}]*\} | . ) )
    | (?P<class> \[ \^? \]? (?: \\. | \[:\^?\w+:\] | [^\]\\] )* \] )
    | (?P<repeat> \{ (?P<least>\d+) ,? (?P<most>\d*) \} )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)


class LinearPattern:
    """A regular expression that cannot hang.

    It is matched without backtracking, in time linear in the text, and not at all if that would still be long.

    The syntax is that of Rust's `regex`, which is Python's without look-around and backreferences.

    Args:
        pattern: The expression, at most 1,000 characters long.
        field: The name of the field that holds it, for the error.
        is_whole: Whether it has to match a text from beginning to end.
        sees_lines: Whether `.` matches line ends too, and `^` and `$` at them.

    Raises:
        DeclarationError: If it is not such an expression, or too large.

    Source: pydantic 2.12, `regex_engine="rust-regex"`, which is its default and comes with it.
    """

    def __init__(
        self,
        pattern: str,
        *,
        field: str = "pattern",
        is_whole: bool = False,
        sees_lines: bool = False,
    ) -> None:
        from pydantic import StringConstraints, TypeAdapter  # noqa: PLC0415 - slow to import

        if len(pattern) > MAX_CHARACTERS:
            expected = f"a regular expression of at most {MAX_CHARACTERS:,} characters"
            raise DeclarationError(field, expected, found=f"{len(pattern):,}")
        self.pattern = pattern
        try:
            # Compiled alone first: what is put around it must not turn an invalid one into a valid one.
            around = rf"\A(?:{pattern})\z" if is_whole else f"(?sm){pattern}"
            for text in (pattern, around)[: 1 + (is_whole or sees_lines)]:
                self._adapter = TypeAdapter(Annotated[str, StringConstraints(pattern=text)])
        except Exception as error:  # noqa: BLE001 - pydantic has no public class for it
            reason = str(error).strip().splitlines()[-1].removeprefix("error: ").strip()
            expected = "a regular expression without look-around and backreferences"
            raise DeclarationError(field, expected, found=f"one with the error: {reason}") from None
        self.states = max(count_states(pattern), 1)

    def is_in(self, text: str) -> bool | None:
        """Return whether it matches anywhere in a text, or all of it with `is_whole`.

        None if that would take too long, for most expressions with more than a million characters.
        """
        from pydantic import ValidationError  # noqa: PLC0415 - slow to import

        data = text.encode(errors="replace")
        if len(data) > _MAX_STEPS // self.states:
            return None
        try:
            self._adapter.validate_python(data.decode())
        except ValidationError:
            return False
        return True


def count_states(pattern: str) -> int:
    """Return an estimate of an expression's states with its repetitions written out, which is what each byte of a text may cost."""
    outer: list[int] = []
    states = last = 0
    for piece in _PIECE.finditer(pattern):
        text = piece[0]
        if text == "(":
            outer.append(states)
            states = last = 0
        elif text == ")" and outer:
            last = states
            states += outer.pop()
        elif piece["repeat"]:
            times = max(int(piece["most"] or piece["least"]), 1)
            states += last * (times - 1)
            last *= times
        else:
            last = 1 if piece["other"] and text != "." else _CLASS_STATES
            states += last
    return states
