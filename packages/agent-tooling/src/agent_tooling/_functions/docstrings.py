"""Reading the descriptions of a function and its parameters from a docstring in the styles of Google, NumPy and reST.

Unknown sections stay part of the description.

Source: docs/decisions/0025-tools-from-functions.md.
"""

import inspect
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal


_PARAMETERS: Final = frozenset(
    {
        "args",
        "arguments",
        "keyword args",
        "keyword arguments",
        "parameters",
        "params",
        "other parameters",
    }
)
_REST_PARAMETERS: Final = frozenset({"arg", "argument", "key", "keyword", "param", "parameter"})
# A model has no use for these: it calls a tool and reads the result.
_LEFT_OUT: Final = frozenset(
    {
        "except",
        "exception",
        "raise",
        "raises",
        "return",
        "returns",
        "rtype",
        "type",
        "yield",
        "yields",
    }
)
# The line below a header in NumPy's style.
_UNDERLINE: Final = re.compile(r"-{3,}\s*")
_GOOGLE_HEADER: Final = re.compile(r"([A-Za-z][A-Za-z ]*):\s*")
# `limit (int, optional): How many.`
_GOOGLE_ENTRY: Final = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(?:\s+(.*)|)")
# `:param int limit: How many.`
_REST_FIELD: Final = re.compile(r":(\w+)(?:\s+([^:]*))?:\s*(.*)")

type _Style = Literal["google", "numpy", "rest"]


@dataclass(frozen=True, slots=True)
class Docstring:
    """The content of a docstring.

    Attributes:
        description: Everything but parameters, results and errors.
        parameters: The description of each parameter that it describes.
    """

    description: str
    parameters: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Section:
    """A section of a docstring that is not part of the description."""

    style: _Style
    name: str
    lines: list[str] = field(default_factory=list[str])


def parse_docstring(text: str | None, names: Collection[str]) -> Docstring:
    """Parse the docstring of a function with parameters of these names."""
    said, sections = _split(inspect.cleandoc(text or "").splitlines())
    described: dict[str, list[str]] = {}
    for section in sections:
        if section.name not in _LEFT_OUT:
            for name, line in _iter_described(section):
                described.setdefault(name, []).append(line.strip())
    return Docstring(
        description="\n".join(said).strip(),
        parameters={
            name: " ".join(" ".join(lines).split())
            for name, lines in described.items()
            if name in names
        },
    )


def _split(lines: Sequence[str]) -> tuple[list[str], list[_Section]]:
    """Split a docstring into its description and its known sections."""
    said: list[str] = []
    sections: list[_Section] = []
    current: _Section | None = None
    for line, following in pairwise([*lines, ""]):
        opened = _open_section(line, following)
        if opened is not None:
            sections.append(opened)
            current = opened
        elif current is not None and not _ends(current, line, following):
            current.lines.append(line)
        else:
            current = None
            said.append(line)
    return said, sections


def _open_section(line: str, following: str) -> _Section | None:
    if _UNDERLINE.fullmatch(following):
        name = line.strip().lower()
        return _Section("numpy", name) if name in _PARAMETERS | _LEFT_OUT else None
    if header := _GOOGLE_HEADER.fullmatch(line):
        name = header[1].lower()
        return _Section("google", name) if name in _PARAMETERS | _LEFT_OUT else None
    if rest_field := _REST_FIELD.fullmatch(line):
        kind, name, text = rest_field.groups()
        if kind in _LEFT_OUT:
            return _Section("rest", kind)
        if kind in _REST_PARAMETERS and name:
            return _Section("rest", name.split()[-1].lstrip("*\\"), [text])
    return None


def _ends(section: _Section, line: str, following: str) -> bool:
    if section.style == "numpy":
        return _UNDERLINE.fullmatch(following) is not None
    return bool(line) and not line[0].isspace()


def _iter_described(section: _Section) -> Iterator[tuple[str, str]]:
    """Yield each line of a section with the name of the parameter that it describes."""
    if section.style == "rest":
        yield from ((section.name, line) for line in section.lines)
        return
    names: list[str] = []
    base = min((_indent(line) for line in section.lines if line.strip()), default=0)
    for line in section.lines:
        text = line.strip()
        if not text or _UNDERLINE.fullmatch(line):
            continue
        if _indent(line) > base:
            yield from ((name, text) for name in names)
        elif section.style == "numpy":
            names = [name.strip(" *") for name in text.partition(":")[0].split(",")]
        elif entry := _GOOGLE_ENTRY.fullmatch(text):
            names = [entry[1]]
            yield entry[1], entry[2] or ""
        else:
            yield from ((name, text) for name in names)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
