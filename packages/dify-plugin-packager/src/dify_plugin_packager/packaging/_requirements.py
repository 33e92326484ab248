"""A requirements.txt, read as pip and uv read one."""

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
        named: What is to be installed, each as it is written but for hashes and other options.
        options: Lines that are options of the installer.
    """

    named: tuple[str, ...]
    options: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Requirements":
        """Parse a file's text, of which any is one."""
        lines = (_COMMENT.sub("", line).strip() for line in _CONTINUED.sub(" ", text).splitlines())
        lines = [line for line in lines if line]
        options = [line for line in lines if line.startswith("-")]
        named = (_OPTION.split(line)[0].strip() for line in lines if not line.startswith("-"))
        return cls(named=tuple(named), options=tuple(options))

    @property
    def find_links(self) -> tuple[str, ...]:
        """Where else than on an index its packages are looked for."""
        return tuple(found[1] for line in self.options if (found := _FIND_LINKS.fullmatch(line)))

    @property
    def uses_index(self) -> bool:
        """Whether an index is asked."""
        return "--no-index" not in self.options
