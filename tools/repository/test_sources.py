"""Every `Source:` in a docstring or a comment names something that a reader can open."""

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tracked import ROOT, list_files


_SOURCE = re.compile(
    r"^[ \t]*Source:(.*?)(?=^[ \t]*$|^[ \t]*[A-Z]\w+:[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_IN_COMMENT = re.compile(r"#.*Source:")  # as in few modules, and to take one apart takes long
_PAGE = re.compile(r"docs/[\w./-]+\.md")
_NUMBERS = re.compile(r"(?:(?:,? and|,| to)?\s+[A-Z]\d+)+")
_RANGE = re.compile(r"([A-Z])(\d+)(?:\s+to\s+[A-Z](\d+))?")
# ... or a row of a table, whose first cell is the number.
_PARAGRAPH = re.compile(r"^(?:\*\*|\| )([A-Z]\d+)(?:\.\*\*| \|)", re.MULTILINE)
# What a reader can go to without asking anybody.
_CHECKABLE = re.compile(
    r"https?://\S"
    r"|\bour (?:choice|addition|decision)\b"
    r"|\brecorded\b"  # what stands in a test's fixtures
    r"|[\w.-]+/[\w.-]+ at [0-9a-f]{7,40}\b"  # a public repository at a commit
    r"|[\w.-]+/[\w.-]+, (?:`[\w./-]+`|issues? \d+)"  # ... or a file or an issue of it
    r"|\bRFC \d+"
    r"|\b[\w-]+ \d+\.\d+"  # a published package with its version
)


type Found = tuple[Path, int, str]
"""A source: its file, the line that it begins in, and what it says."""


def find_bad_sources(root: Path, found: Iterable[Found]) -> Iterator[str]:
    """Iterate over what is wrong with the sources that cannot be followed."""
    for file, line, source in found:
        for fault in check_source(root, source):
            yield f"{file}:{line}: {fault}"


def find_all_sources(root: Path, files: Iterable[Path]) -> Iterator[Found]:
    """Iterate over the sources in the files."""
    for file in files:
        code = (root / file).read_text(encoding="utf-8")
        if "Source:" in code:
            yield from ((file, line, source) for line, source in find_sources(code))


def check_source(root: Path, source: str) -> Iterator[str]:
    """Iterate over what is wrong with one source."""
    pages = list(_PAGE.finditer(source))
    for page in pages:
        numbers = _NUMBERS.match(source, page.end())
        yield from _check_page(root, page[0], numbers[0] if numbers else "")
    if not pages and not _CHECKABLE.search(source):
        yield f"expected a URL, a page of docs/ or a public file with its version, got {source!r}"


def _check_page(root: Path, name: str, numbers: str) -> Iterator[str]:
    page = root / name
    if not page.is_file():
        yield f"there is no {name}"
        return
    known = set(_PARAGRAPH.findall(page.read_text(encoding="utf-8")))
    named = list(_iter_numbers(numbers))
    if known and not named:
        yield f"{name}: expected the number of a paragraph"
    yield from (f"{name} has no {number}" for number in named if number not in known)


def _iter_numbers(text: str) -> Iterator[str]:
    """Iterate over the numbers that a text such as `, C1 to C3 and C7` names."""
    for letter, first, last in _RANGE.findall(text):
        yield from (f"{letter}{number}" for number in range(int(first), int(last or first) + 1))


def find_sources(code: str) -> Iterator[tuple[int, str]]:
    """Iterate over the sources in the docstrings and comments of a module, each with the line that it begins in."""
    comments = _iter_comments(code) if _IN_COMMENT.search(code) else ()
    for line, text in [*_iter_strings(code), *comments]:
        for match in _SOURCE.finditer(text):
            # The match may begin with the line breaks before it.
            before = text.count("\n", 0, match.start(1))
            yield line + before, " ".join(match[1].split())


def _iter_strings(code: str) -> Iterator[tuple[int, str]]:
    """Iterate over the strings that are statements of their own: docstrings, also those of attributes."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text
            case _:
                pass


def _iter_comments(code: str) -> Iterator[tuple[int, str]]:
    """Iterate over the comments, those on neighbouring lines as one."""
    lines = iter(code.splitlines(keepends=True))
    last = begin = 0
    block: list[str] = []
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1:
            yield begin, "\n".join(block)
            begin, block = token.start[0], []
        last = token.start[0]
        block.append(token.string.lstrip("#").strip())
    yield begin, "\n".join(block)


def test_every_source_can_be_followed() -> None:
    found = list(find_all_sources(ROOT, list_files(".py")))

    assert len(found) > 60
    assert list(find_bad_sources(ROOT, found)) == []


def test_paragraphs_are_numbered_without_a_gap_and_none_twice() -> None:
    pages = [page for page in list_files(".md") if page.parent.name in ("contracts", "evidence")]

    assert len(pages) >= 7
    for page in pages:
        numbers = _PARAGRAPH.findall((ROOT / page).read_text(encoding="utf-8"))
        for letter, count in Counter(number[0] for number in numbers).items():
            # A paragraph that was added later stands where it belongs, under the next number.
            ours = [number for number in numbers if number[0] == letter]
            assert sorted(ours) == sorted(f"{letter}{n}" for n in range(1, count + 1)), page


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one page of numbered paragraphs and one without."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/rules.md").write_text(
        "**C1.** One.\n\n| | |\n|---|---|\n| C2 | Two. |\n", encoding="utf-8"
    )
    (tmp_path / "docs/why.md").write_text("# Why\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "source",
    [
        "docs/rules.md, C2.",
        "docs/rules.md, C1 and C2; docs/why.md.",
        "docs/rules.md, C1 to C2.",
        "https://example.org/spec section 3",
        "`pkg/exception` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.",
        "langgenius/dify, `api/core/tools.py`.",
        "dify-plugin 0.10.2, `entities/tool.py`.",
        "the keys of recorded responses.",
        "our choice.",
    ],
)
def test_a_source_that_can_be_followed_is_no_fault(root: Path, source: str) -> None:
    assert list(check_source(root, source)) == []


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("docs/gone.md, C1.", "there is no docs/gone.md"),
        ("docs/rules.md, C3.", "docs/rules.md has no C3"),
        ("docs/rules.md, C1 to C3.", "docs/rules.md has no C3"),
        ("docs/rules.md, C1 and C4; our choice.", "docs/rules.md has no C4"),
        ("docs/rules.md.", "docs/rules.md: expected the number of a paragraph"),
    ],
)
def test_a_source_that_leads_nowhere_is_found(root: Path, source: str, fault: str) -> None:
    assert list(check_source(root, source)) == [fault]


@pytest.mark.parametrize(
    "source", ["document 002 section 7", "Dify, `Tool.invoke`.", "error texts in public threads."]
)
def test_a_source_that_names_nothing_to_open_is_found(root: Path, source: str) -> None:
    [fault] = check_source(root, source)

    assert fault.startswith("expected a URL, a page of docs/")


def test_sources_are_found_where_they_stand_and_nowhere_else(root: Path) -> None:
    module = root / "module.py"
    module.write_text(
        '"""A module.\n\nSource: docs/gone.md,\nC1.\n\nMore.\n"""\n\n\n'
        "def f():\n"
        '    """Return it.\n\n    Source: nothing.\n\n    Raises:\n        E: If.\n    """\n'
        '    return "Source: no source"\n\n\n'
        "# A comment.\n# Source: a letter\n# to somebody.\nX = 1\n"
        '"""An attribute.\n\nSource: hearsay.\n"""\n',
        encoding="utf-8",
    )

    found = list(find_all_sources(root, [Path("module.py")]))

    assert [(line, source) for _, line, source in found] == [
        (3, "docs/gone.md, C1."),
        (27, "hearsay."),
        (13, "nothing."),
        (22, "a letter to somebody."),
    ]
    faults = [fault.split(":")[:2] for fault in find_bad_sources(root, found)]
    assert faults == [["module.py", line] for line in ("3", "27", "13", "22")]
