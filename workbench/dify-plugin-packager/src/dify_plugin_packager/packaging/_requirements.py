"""Parser of a requirements.txt, in the way of pip and uv."""

import re
from dataclasses import dataclass


_CONTINUED = re.compile(r"\\\r?\n")
_COMMENT = re.compile(r"(^|\s)#.*")
_OPTION = re.compile(r"\s--?[a-z]")
_FIND_LINKS = re.compile(r"(?:--find-links|-f)[=\s]\s*(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """The lines of a requirements.txt.

    Attributes:
        named: The requirements as they are written, without hashes and other options.
        options: Lines that are options of the installer.
    """

    named: tuple[str, ...]
    options: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Requirements":
        """Parse a file's text; any text is valid."""
        lines = (_COMMENT.sub("", line).strip() for line in _CONTINUED.sub(" ", text).splitlines())
        lines = [line for line in lines if line]
        options = [line for line in lines if line.startswith("-")]
        named = (_OPTION.split(line)[0].strip() for line in lines if not line.startswith("-"))
        return cls(named=tuple(named), options=tuple(options))

    @property
    def find_links(self) -> tuple[str, ...]:
        """The places besides an index where its packages are looked for."""
        return tuple(found[1] for line in self.options if (found := _FIND_LINKS.fullmatch(line)))

    @property
    def uses_index(self) -> bool:
        """Whether an index is used."""
        return "--no-index" not in self.options
