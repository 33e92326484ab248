"""Untrusted Markdown as it streams in, escaped so that it cannot hide what follows it on the same page.

Pages read Markdown in different ways, and some change the text before and after. So only a few things are certain, line
by line: fences at the beginning of a line, formulas on lines of their own, code within a plain paragraph, and thoughts.
Anything else that may open something is doubtful.
"""

import re
from typing import Final, Literal


_PIECE: Final = re.compile(r"\n|</?think>|[<|]|[^\n<|]+")
# Characters that some readers of Markdown take for line breaks, and others do not.
_NO_BREAKS: Final = {ord("\r"): None, 0x2028: " ", 0x2029: " "}
# Texts that a page replaces before it reads the Markdown, wherever they stand.
_MARK: Final = re.compile(r"(?<=CODE_BLOCK_PLACEHOLDE)R|(?<=_TMP_REPLACE_DOLLAR)_|(?<=</details)>")
_MARK_CHARACTERS: Final = 30

_OPENING: Final = re.compile(r"(`{3,5})(?!`)[^`!\[\\$]*|(~{3,})[^`!\[\\$]*|(\$\$|\\\[) *")
_CLOSING: Final = {
    "`": re.compile(r" {0,3}(`{3,}) *"),
    "~": re.compile(r" {0,3}(~{3,}) *"),
    "$": re.compile(r" {0,3}(\$\$) *"),
    "\\": re.compile(r"(\\\]) *"),
}
_DOUBTFUL: Final = {
    "": re.compile(r"```|~~~|\$\$|\\[\[(]|!\[|\]:"),
    "`": re.compile("```"),
    "~": re.compile(r"```|~~~|\\[\[(]|!\["),
    "$": re.compile(r"```|~~~|\$\$|\\[\[(]|!\["),
    "\\": re.compile(r"```|~~~|\$\$|\\[\[\](]|!\["),
}
_WHOLE: Final = re.compile(  # What begins and ends in one line: formulas, the name of a picture.
    r"\\\((?!\\\))[^$`~]*?\\\)|\\\[(?!\\\])[^$`~]*?\\\]|\$\$[^$`~]+\$\$|!\[[^\[\]`~]*\](?!:)"
)
_RUN: Final = re.compile(r"`{3,}|~{3,}|\${2,}")
_MORE_DOLLARS: Final = 20  # Some are made of the other marks of formulas.

# A paragraph in which nothing can take the quotes of its code for something else.
_PLAIN: Final = re.compile(r"(?:[^\\`$\[\]|@]|`[^`]+`)*")
_IN_CODE: Final = re.compile(rf"{_PLAIN.pattern}`[^`]*")
_QUOTE: Final = re.compile("(?<!`)`(?!`)")
_LINKED: Final = re.compile(r"https?:|www\.", re.IGNORECASE)
_MAX_PLAIN: Final = 500


class MarkdownGuard:
    r"""Markdown that streams in, with each `<` escaped that neither begins the tag of a thought nor stands in code.

    A thought begins at the beginning of a line, outside code; tags elsewhere are text, and broken where they stand in code.

    How the text is cut makes no difference to the whole, and nothing is held back. Where in doubt, a text that looks
    like code does not count as code.

    Example:
        >>> guard = MarkdownGuard()
        >>> guard.feed("<!-- Use `<b>`:\n```html\n<p>")
        '&lt;!-- Use `<b>`:\n```html\n<p>'
        >>> guard.close()
        '\n```\n\n'
    """

    def __init__(self) -> None:
        # How many line breaks the text ends with, as if it began behind a blank line.
        self._breaks = 2
        self._longest = 3
        self._brackets = 0
        self._is_doubtful = False
        self._has_said = False  # whether anything has come since all was closed in doubt
        self._in_thought = False
        self._is_apart = False  # whether the next word begins another text
        self._begin()

    def _begin(self) -> None:
        """Begin a line where nothing is open."""
        self._line = ""  # as it was shown by now
        self._open = ""  # the fence, or the mark of the formula
        self._is_plain = True  # whether the paragraph is, in the lines before
        self._has_tag = False  # whether a `<` stands in the line's code
        # A page shows a thought as HTML, which lasts up to its first blank line.
        self._html: Literal["", "empty", "begun"] = ""
        self._owed = 0  # how many line breaks end the HTML of a thought that is over

    def feed(self, text: str) -> str:
        """Take the next piece, in which no tag of a thought is cut in two, and return it as it can be shown."""
        return self._count("".join(map(self._take, _PIECE.findall(text.translate(_NO_BREAKS)))))

    def set_apart(self) -> None:
        """Note that another text follows: a thought that it begins with counts, even if the text before has left code open."""
        self._is_apart = True

    def close(self) -> str:
        """Return a text that closes everything that is open, with a blank line behind it. The next piece begins a new text."""
        shown = self._count(self._take("</think>") if self._in_thought else self._shut())
        missing = "\n" * (2 - self._breaks)
        self._begin()
        self._count(missing)
        return shown + missing

    def _count(self, shown: str) -> str:
        ending = len(shown) - len(shown.rstrip("\n"))
        self._breaks = min(2, ending + (self._breaks if ending == len(shown) else 0))
        return shown

    def _take(self, piece: str) -> str:
        if piece == "\n":
            return self._break_line()
        if piece in {"<think>", "</think>"}:
            is_opening = piece == "<think>"
            if self._is_mark(is_opening=is_opening):
                return self._take_tag(is_opening=is_opening) + piece
            # Pages replace tags in code too.
            begin = self._take("<")
            return begin + self._take(piece[1:] if begin.endswith(";") else f" {piece[1:]}")
        owed = ""
        if self._owed and (words := piece.lstrip(" \t")):
            owed = piece[: -len(words)] + "\n" * self._owed
            piece = words
            self._begin()
        shown = self._show(piece)
        self._is_apart = self._is_apart and shown.isspace()
        self._line += shown
        self._has_said = True
        return owed + shown

    def _is_mark(self, *, is_opening: bool) -> bool:
        """Return whether a tag begins a thought or ends it; elsewhere it is text."""
        if is_opening:
            is_code = self._is_code() and not self._is_apart
            return not (self._in_thought or self._line.strip() or is_code)
        return self._in_thought

    def _take_tag(self, *, is_opening: bool) -> str:
        """Return the text to put before a tag of a thought, so that the tag begins a line and nothing else is open."""
        owed = "\n" * self._owed
        shut = self._shut()
        if is_opening and self._line and not shut.endswith("\n"):
            shut += "\n"
        self._begin()
        self._html, self._in_thought = "empty", is_opening
        self._owed = 0 if is_opening else 2
        return owed + shut

    def _break_line(self) -> str:
        if self._owed:
            self._owed -= 1
            self._html = self._html if self._owed else ""
            return "\n"
        ended = self._end_line()
        self._line = ""
        return f"{ended}\n"

    def _show(self, piece: str) -> str:
        if piece == "<":
            return "<" if self._is_code() else "&lt;"
        if piece == "|" and self._has_tag and _IN_CODE.fullmatch(self._line):
            return "\\|"  # In a table it would end the code.
        before = self._line[-_MARK_CHARACTERS:]
        for mark in reversed([*_MARK.finditer(before + piece, len(before))]):
            at = mark.start() - len(before)
            piece = f"{piece[:at]} {piece[at:]}"
        return piece

    def _is_code(self) -> bool:
        if self._is_doubtful or self._html:
            return False
        if self._open:
            return self._open[0] in "`~"
        is_code = self._is_plain and _is_plain(self._line, _IN_CODE)
        self._has_tag = self._has_tag or is_code
        return is_code

    def _end_line(self) -> str:
        """Take note of a whole line, and return the text that ends the code in it if a tag stands there."""
        line = self._line
        is_blank = not line.strip(" \t")
        self._note_blocks(line)
        self._brackets += line.count("[")
        self._longest = max([self._longest, *map(len, _RUN.findall(line))])
        if self._html:
            self._html = "" if is_blank and self._html == "begun" else self._html
            self._html = "begun" if self._html and not is_blank else self._html
        has_open_code = self._has_tag and len(_QUOTE.findall(line)) % 2
        self._has_tag = False
        self._is_plain = is_blank or (self._is_plain and _is_plain(line, _PLAIN))
        return " `" if has_open_code else ""

    def _note_blocks(self, line: str) -> None:
        """Take note of the block that a line opens or closes."""
        mode = self._open[:1]
        closing = _CLOSING[mode].fullmatch(line) if mode else None
        if closing and len(closing[1]) >= len(self._open):
            self._open = ""
        elif not (mode or self._html) and (opening := _OPENING.fullmatch(line)):
            self._open = next(filter(None, opening.groups()))
        else:
            rest = _WHOLE.sub("", line) if mode in {"", "~"} else line
            self._is_doubtful = self._is_doubtful or bool(_DOUBTFUL[mode].search(rest))

    def _shut(self) -> str:
        """Return a text that ends the line, if it has to end, and closes everything that is open."""
        ended = self._end_line()
        if self._is_doubtful or self._open == r"\[":
            closing = self._build_closing() if self._has_said else ""
        else:
            closing = f"{self._open}\n" if self._open else ""
        return f"{ended}\n{closing}" if closing and self._line else ended + closing

    def _build_closing(self) -> str:
        """Return a text that closes whatever may be open; where nothing is, it is a comment, which no page shows."""
        self._is_doubtful, self._has_said = True, False
        runs = ("`" * self._longest, "~" * self._longest, "$" * (self._longest + _MORE_DOLLARS))
        comments = [f"<!--\n{run}\n-->" for run in runs]
        brackets = "]" * self._brackets
        return "\n{}\n\n<!-- {})-->\n\n".format("\n\n".join(comments), brackets)


def _is_plain(line: str, pattern: re.Pattern[str]) -> bool:
    return len(line) <= _MAX_PLAIN and not _LINKED.search(line) and bool(pattern.fullmatch(line))
