"""Every link between pages of the repository leads somewhere, and so does every path that a page of docs/ names."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from tracked import ROOT, list_files

from sessions.members import MEMBERS


_LINK = re.compile(
    r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\s*\[[^\]]+\]:\s*<?([^\s>]+)>?", re.MULTILINE
)
_FENCE = re.compile(r"^(\s*)(```+|~~~+).*?^\s*\2[`~]*\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`+[^`]*`+")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def find_dead_links(root: Path, pages: Iterable[Path]) -> Iterator[str]:
    """Iterate over the links that lead nowhere: page, line and target of each."""
    for page in pages:
        text = _without_code((root / page).read_text(encoding="utf-8"))
        for match in _LINK.finditer(text):
            target = match[1] or match[2]
            if _ADDRESS.match(target) or _leads_somewhere(root, page, unquote(target)):
                continue
            yield f"{page}:{text.count('\n', 0, match.start()) + 1}: {target}"


def find_missing_paths(root: Path, pages: Iterable[Path]) -> Iterator[str]:
    """Iterate over the paths in code type that do not exist.

    A path is what begins with a folder of the root, unless a part of it is left open, as in `dist/<name>`. On the page of the
    architecture a module is one too; it may be shortened where it is the text of a link to itself.
    """
    # What `build` holds is made by another session, which may be under way.
    folders = {entry.name for entry in root.iterdir() if entry.is_dir()} - {"build"}
    for page in pages:
        text = _FENCE.sub(_blank, (root / page).read_text(encoding="utf-8"))
        targets = dict(re.findall(r"^\[`([^`\s]+)`\]: (\S+)$", text, re.MULTILINE))
        for match in re.finditer(r"`([^`\s]+)`(?:\]\(([^)\s]+)\))?", text):
            path, target = match[1], match[2] or targets.get(match[1], "")
            is_ours = "/" in path and "<" not in path and path.split("/")[0] in folders
            is_module = page.stem == "architecture" and path.endswith(".py")
            is_there = (root / path).exists() or target.endswith(f"/{path}")
            if (is_ours or is_module) and not is_there:
                yield f"{page}:{text.count('\n', 0, match.start()) + 1}: {path}"


def _leads_somewhere(root: Path, page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    base = root if path.startswith("/") else (root / page).parent
    found = (base / path.lstrip("/")).resolve() if path else root / page
    if not found.is_relative_to(root.resolve()) or not found.exists():
        return False
    return not anchor or (found.is_file() and anchor in set(_anchors(found)))


def _anchors(page: Path) -> Iterator[str]:
    """Iterate over the anchors that GitHub makes of a page's headings."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    seen: dict[str, int] = {}
    for heading in _HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = seen[anchor] = seen.get(anchor, -1) + 1
        yield f"{anchor}-{count}" if count else anchor


def _without_code(text: str) -> str:
    return _CODE.sub(_blank, _FENCE.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    """Stand in for code by as many lines without anything."""
    return "\n" * match[0].count("\n")


def test_the_readme_leads_to_every_member() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    members = MEMBERS.values()

    assert members
    assert [str(member) for member in members if f"({member}/README.md)" not in readme] == []


def test_every_link_leads_somewhere() -> None:
    pages = list_files(".md")

    assert len(pages) > 40
    assert list(find_dead_links(ROOT, pages)) == []


def test_every_path_that_a_page_of_docs_names_exists() -> None:
    pages = [page for page in list_files(".md") if page.parts[0] == "docs"]

    assert len(pages) > 7
    assert list(find_missing_paths(ROOT, pages)) == []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small repository: two pages, of which one has headings."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/one.md").write_text(
        "# The `first` page\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n", encoding="utf-8"
    )
    return tmp_path


def write(root: Path, text: str) -> list[Path]:
    (root / "README.md").write_text(text, encoding="utf-8")
    return [Path("README.md")]


@pytest.mark.parametrize(
    "target",
    [
        "docs/one.md",
        "docs",
        "/docs/one.md",
        "docs/one.md#the-first-page",
        "docs/one.md#twice-1",
        "#here",
        "https://example.org/gone",
        "mailto:a@example.org",
    ],
)
def test_a_link_that_leads_somewhere_is_no_fault(root: Path, target: str) -> None:
    pages = write(root, f"# Here\n\n[a]({target})\n")

    assert list(find_dead_links(root, pages)) == []


@pytest.mark.parametrize(
    "target",
    [
        "docs/two.md",
        "docs/one.md#no-heading",
        "docs/one.md#twice-2",
        "docs#twice",
        "#there",
        "../outside.md",
    ],
)
def test_a_dead_link_is_found_with_its_line(root: Path, target: str) -> None:
    (root.parent / "outside.md").touch()
    pages = write(root, f"# Here\n\n[a]({target}) and\n[b]: {target}\n")

    assert list(find_dead_links(root, pages)) == [
        f"README.md:3: {target}",
        f"README.md:4: {target}",
    ]


def test_code_holds_no_links(root: Path) -> None:
    pages = write(root, "`[a](gone.md)`\n\n```text\n[b](gone.md)\n```\n[c](gone.md)\n")

    assert list(find_dead_links(root, pages)) == ["README.md:6: gone.md"]


def test_a_path_that_does_not_exist_is_found(root: Path) -> None:
    pages = write(
        root, "`docs/one.md`, `docs/<name>`, `pkg/gone.go`, `docs/gone`\nand `gone.py`, `x / y`\n"
    )

    assert list(find_missing_paths(root, pages)) == ["README.md:1: docs/gone"]


def test_a_module_that_the_architecture_names_without_its_path_is_found(root: Path) -> None:
    page = Path("docs/architecture.md")
    text = "`docs/one.md`, [`a/b.py`](../x/a/b.py),\n`one.py` and [`b.py`](../x/c.py)\n"
    (root / page).write_text(text, encoding="utf-8")

    assert list(find_missing_paths(root, [page])) == [
        "docs/architecture.md:2: one.py",
        "docs/architecture.md:2: b.py",
    ]
