"""The tags of a streamed text that begin and end thoughts, distinguished from those that it only mentions."""

import re
from enum import Enum
from typing import Final

from ._places import Place
from ._tags import TagSplitter, break_tags


# With a line break behind it, unless the text ends there.
_RENDERED: Final = re.compile(r"(<think>(?=\r?\n|\Z)|</think>)")


class Mark(Enum):
    """A tag that begins a thought or ends it."""

    BEGINS = "begins"
    ENDS = "ends"


class EveryMark(TagSplitter):
    """The marks of a text in which every tag is one."""

    def feed(self, text: str) -> list[str | Mark]:
        """Take the next piece of the text and return the texts and marks that are certain by now, in order."""
        parts = self.split(text)
        found: list[str | Mark] = [*parts]
        found[1::2] = [Mark.ENDS if tag[1] == "/" else Mark.BEGINS for tag in parts[1::2]]
        return found

    def end(self) -> list[str | Mark]:
        """Return what is held back."""
        return [self.release()]


class LineMarks:
    """The marks of a text in which a thought begins at the beginning of a line, outside code; tags elsewhere are text.

    A thought ends where its tags are balanced, those in its code not counted, or else with its first closing tag. Which
    of the two is certain only at the end, so whatever follows such a tag is held back. Tags inside a thought are
    broken. A thought that stays open is one only if the text began with it, and a second closing tag right behind a
    thought vanishes.

    Args:
        eager: Whether a thought inside a text is given out as it comes, although it may turn out to stay open.
        rendered: Whether only thoughts count that a program has rendered, whose tags have lines of their own. The text must come in one piece then.
    """

    def __init__(self, *, eager: bool = False, rendered: bool = False) -> None:
        self._eager = eager
        self._tags = TagSplitter(_RENDERED) if rendered else TagSplitter()
        self._rendered = rendered
        self._said = Place()
        self._has_just_thought = False  # whether nothing but blank space has come since a thought
        self._thought = Place()
        self._depth = 0
        self._kept: list[str] | None = None  # what is held back, beginning with the tag in doubt
        self._is_over = False  # whether the tag in doubt is a closing one
        self._is_doubting = True

    @property
    def is_inside_text(self) -> bool:
        """Whether a thought is open before which something was said."""
        return self._depth > 0 and self._said.has_words

    def feed(self, text: str) -> list[str | Mark]:
        """Take the next piece of the text and return the texts and marks that are certain by now, in order."""
        found: list[str | Mark] = []
        for number, part in enumerate(self._tags.split(text)):
            if number % 2 == 0:
                self._take_text(part, found)
            elif self._depth:
                self._take_inner_tag(part, found)
            else:
                self._take_tag(part, found)
        return found

    def end(self) -> list[str | Mark]:
        """Return what is held back, as it turns out now that no more comes. A thought that has been given out stays open."""
        found: list[str | Mark] = []
        self._take_text(self._tags.release(), found)
        if self._kept is None:
            return found
        kept, self._kept, self._depth = self._kept, None, 0
        if not self._is_over:
            self._take_text("".join(kept), found)
            return found
        self._is_over = self._is_doubting = False
        self._has_just_thought = True
        return [*found, Mark.ENDS, *self.feed("".join(kept[1:])), *self.end()]

    def _take_text(self, text: str, found: list[str | Mark]) -> None:
        if not text:
            return
        if self._depth:
            self._thought.feed(text)
        else:
            self._said.feed(text)
            if not text.isspace():
                self._has_just_thought = False
        (found if self._kept is None else self._kept).append(text)

    def _take_tag(self, tag: str, found: list[str | Mark]) -> None:
        """Take a tag outside of thoughts."""
        if tag[1] == "/" and self._has_just_thought:
            return  # Some programs close a thought twice.
        if tag[1] == "/" or not self._said.can_begin_thought():
            self._take_text(tag, found)
            return
        self._depth = 1
        self._thought = Place()
        if self._said.has_words and not self._eager:
            self._kept = [tag]
        else:
            found.append(Mark.BEGINS)

    def _take_inner_tag(self, tag: str, found: list[str | Mark]) -> None:
        """Take a tag inside a thought."""
        ends = tag[1] == "/"
        # A program that renders thoughts breaks all tags inside, those in code, too, which may be left open.
        place = self._thought
        is_doubtful = not place.begins_line if self._rendered else place.is_code()
        if not is_doubtful:
            self._depth += -1 if ends else 1
        if ends and not (self._depth and self._is_doubting):
            self._release(found)
            self._depth, self._has_just_thought = 0, True
            found.append(Mark.ENDS)
            return
        if ends and not self._is_over:
            self._release(found)
            self._kept, self._is_over = [], True
        self._take_text(tag if self._kept is not None else break_tags(tag), found)

    def _release(self, found: list[str | Mark]) -> None:
        """Give out what is held back, which is certain to belong to a thought by now."""
        if self._kept is None:
            return
        if not self._is_over:
            found.append(Mark.BEGINS)
            del self._kept[0]
        found.append(break_tags("".join(self._kept)))
        self._kept, self._is_over = None, False
