"""Parser of Google-style docstrings: the description and the `Args:`, which are all that tools need."""

import re
from dataclasses import dataclass


_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Attributes|Example|Examples|Note|Notes|Raises|Returns|Source|Yields):$"
)
_ARGUMENT = re.compile(r"^\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Docstring:
    """The parts of a docstring.

    Attributes:
        description: Everything before the first section, one paragraph a line.
        arguments: The description of each argument that `Args:` names.
    """

    description: str
    arguments: dict[str, str]


def parse_docstring(text: str) -> Docstring:
    """Parse a docstring that `inspect` has cleaned."""
    section = ""
    described: list[str] = []
    arguments: list[str] = []
    for line in text.splitlines():
        if match := _SECTION.match(line):
            section = match[1]
        elif not section:
            described.append(line)
        elif section in {"Args", "Arguments", "Parameters"}:
            arguments.append(line)
    return Docstring(description=_paragraphs(described), arguments=_read_arguments(arguments))


def _paragraphs(lines: list[str]) -> str:
    paragraphs = "\n".join(lines).strip().split("\n\n")
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _read_arguments(lines: list[str]) -> dict[str, str]:
    """Read `name: text` entries; lines that are indented deeper than the names continue the entry before."""
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    base = min(indents, default=0)
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        entry = _ARGUMENT.match(line[base:])
        if entry:
            name = entry["name"]
            found[name] = entry["text"]
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
