"""Whose the plugins are stands in the root pyproject.toml, and everything that names them by their author agrees.

`nox -s author` writes it everywhere, after the table was changed.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tracked import ROOT, list_files


SUFFIXES = (".json", ".md", ".py", ".toml", ".yaml", ".yml")
_OWN_FOLDERS = {"dist", "plugins", "provider"}  # whose names may stand before a plugin's as well


def read_author(root: Path = ROOT) -> str:
    """Return the author that the table names."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return pyproject["tool"]["dify-plugins"]["author"]


def find_others(root: Path, pages: Iterable[Path]) -> Iterator[str]:
    """Iterate over the places that name another author: page, line and name of each."""
    author, plugins = read_author(root), _list_plugins(root)
    for page in pages:
        text = (root / page).read_text(encoding="utf-8")
        for named in _iter_named(plugins, page, text):
            if named[1] != author:
                yield f"{page}:{text.count('\n', 0, named.start()) + 1}: {named[1]}"


def write_author(root: Path, pages: Iterable[Path]) -> None:
    """Name the table's author wherever another one is named."""
    author, plugins = read_author(root), _list_plugins(root)
    for page in pages:
        text = (root / page).read_text(encoding="utf-8")
        written = text
        for named in reversed(list(_iter_named(plugins, page, text))):
            written = written[: named.start(1)] + author + written[named.end(1) :]
        if written != text:
            (root / page).write_text(written, encoding="utf-8")


def _list_plugins(root: Path) -> list[str]:
    return [path.parent.name for path in sorted(root.glob("plugins/*/manifest.yaml"))]


def _iter_named(plugins: list[str], page: Path, text: str) -> Iterator[re.Match[str]]:
    """Iterate over where a page names an author of ours: in a plugin's id, a declaration, a project."""
    name = r"([a-z0-9_-]+)"
    if any(f"/{plugin}" in text for plugin in plugins):  # few do, and the pattern is slow
        pattern = rf"(?<![\w./-]){name}/(?:{'|'.join(plugins)})\b"
        yield from _found(pattern, text, lambda one: one not in _OWN_FOLDERS)
    if page.parts[0] == "plugins" and "tests" not in page.parts and page.suffix == ".yaml":
        yield from _found(rf"^\s*author: {name}$", text)
    if page.name == "pyproject.toml":
        yield from _found(rf'^authors = \[{{ name = "{name}" }}\]$', text)


def _found(
    pattern: str, text: str, is_author: Callable[[str], bool] = lambda _: True
) -> Iterator[re.Match[str]]:
    return (one for one in re.finditer(pattern, text, re.MULTILINE) if is_author(one[1]))


if __name__ == "__main__":
    write_author(ROOT, list_files(*SUFFIXES))
