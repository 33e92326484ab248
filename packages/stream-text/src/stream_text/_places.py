"""Where a streamed text has got to, as Markdown sees it: at the beginning of a line, in code."""

import re
from typing import Final


# A quote or a list may stand before the fence on its line.
_FENCE: Final = re.compile(
    r"(?:[ \t]*(?:>|(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t])))*[ \t]*(?:(`{3,})[^`]*|(~{3,}).*)"
)
# What a line with a fence begins with, if it has begun.
_BEFORE_FENCES: Final = "`~>-*+0123456789"
_FENCE_END: Final = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_RUN: Final = re.compile("`+|[^`]+")
# Four spaces or a tab begin code.
_MOST_INDENTED: Final = 3
_TAB: Final = 4


class Place:
    """The place that a streamed text has reached, wherever its pieces are cut.

    Code is what stands between fences, and between equal runs of backticks in one line. As long as the second run has not come, whatever follows the
    first counts as code.
    """

    def __init__(self) -> None:
        self._line: list[str] = []  # the line so far, if it may be a fence
        self._first = ""  # the first character of the line that is not blank
        self._indent = 0
        self._fence = ""
        self.has_words = False  # whether anything but blank space has come
        self._is_quoted = False  # whether the fence stands in a quote, with which it ends
        self._opened = 0  # how many backticks have opened code in this line
        self._run = 0  # how many the line ends with

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        for number, part in enumerate(text.split("\n")):
            if number:
                self._end_line()
            self._take(part)

    @property
    def begins_line(self) -> bool:
        """Whether nothing but up to three spaces stands before this place in its line."""
        return not self._first and self._indent <= _MOST_INDENTED

    def can_begin_thought(self) -> bool:
        """Return whether a tag that comes now may begin a thought: at the beginning of the text or of a line, outside code."""
        return (not self.has_words or self.begins_line) and not self.is_code()

    def is_code(self) -> bool:
        """Return whether what follows is code, if it begins with another character than a backtick."""
        self._settle()
        is_left = self._is_quoted and self._first != ">"
        return self._opened > 0 or (bool(self._fence) and not is_left)

    def _take(self, part: str) -> None:
        if not self._first and part:
            words = part.lstrip()
            blank = part[: len(part) - len(words)]
            self._indent += len(blank) + blank.count("\t") * (_TAB - 1)
            self._first = words[:1]
            self.has_words = self.has_words or bool(words)
        if self._first in _BEFORE_FENCES:
            self._line.append(part)
        if self._run or "`" in part:
            for run in _RUN.findall(part):
                if run[0] == "`":
                    self._run += len(run)
                else:
                    self._settle()

    def _settle(self) -> None:
        """Count the run of backticks that is over."""
        if self._run and self._opened in {0, self._run}:
            self._opened = 0 if self._opened else self._run
        self._run = 0

    def _end_line(self) -> None:
        if self._fence and self._is_quoted and self._first != ">":
            self._fence = ""
        if self._line:
            self._take_fence("".join(self._line).rstrip())
            self._line.clear()
        self._first = ""
        self._indent = self._opened = self._run = 0

    def _take_fence(self, line: str) -> None:
        """Note the fence that a line opens or closes, if it does."""
        if not self._fence:
            if opening := _FENCE.fullmatch(line):
                self._fence = opening[1] or opening[2]
                self._is_quoted = self._first == ">"
        elif (closing := _FENCE_END.fullmatch(line)) and closing[1].startswith(self._fence):
            self._fence = ""
