"""The Markdown pages of the repository as pages of the reference: which belong to it, where they lie, where their links lead."""

import html
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urldefrag

from pdoc.render_helpers import to_html


ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from sessions.members import IMPORT_NAMES, PACKAGES  # noqa: E402 - from another folder


START = Path("docs/README.md")
_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
_PICTURE = re.compile(r'<img src="([^":]*)"')
_SOURCES = (".md", ".py", ".yml")
_TEXTS = Path("examples")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as it is shown.

    Attributes:
        title: What it is called.
        html: Its text.
        toc: Its headings, as a list of links.
        source: The file that it was written from, below the root.
    """

    title: str
    html: str
    toc: str
    source: Path


def read_packages() -> Mapping[Path, str]:
    """Return the import names of the packages by their folders."""
    return {folder: IMPORT_NAMES[name] for name, folder in PACKAGES.items()}


class Pages:
    """The pages that can be reached from the READMEs of all packages and from the page of `docs/`, read one after the other.

    Attributes:
        pictures: What the pages read so far show.

    Args:
        packages: The import names of the packages by their folders.
    """

    def __init__(self, packages: Mapping[Path, str]) -> None:
        self._packages = packages
        self._waiting = [START, *(folder / "README.md" for folder in packages)]
        self._known = set(self._waiting)
        self.pictures: set[Path] = set()

    def __iter__(self) -> Iterator[Page]:
        while self._waiting:
            yield self._read(self._waiting.pop())

    def place(self, source: Path) -> Path:
        """Return where a page lies: a package's README on the page of its names."""
        if source == START:
            return Path("index.html")
        if source.name == "README.md" and source.parent in self._packages:
            return Path(f"{self._packages[source.parent]}.html")
        # Without a dot of its own: the search makes a page's address of its name, as of a module's, whose dots are folders.
        return Path("pages") / f"{source.as_posix().replace('.', '-')}.html"

    def _read(self, source: Path) -> Page:
        text = (ROOT / source).read_text(encoding="utf-8")
        if source.suffix != ".md":
            text = f"# {source.name}\n\n```{source.suffix[1:]}\n{text}```\n"
        made = to_html(text)
        shown = _LINK.sub(lambda link: self._link(source, link), made)
        shown = _PICTURE.sub(lambda picture: self._picture(source, picture), shown)
        heading = re.search(r"^# (.+)", text, re.MULTILINE)
        return Page(
            title=heading[1] if heading else source.stem,
            html=shown,
            toc=made.toc_html or "",
            source=source,
        )

    def _link(self, page: Path, link: re.Match[str]) -> str:
        """Return a link of a page as it has to be in the reference; its text alone where it leads to what is no part of that."""
        target, anchor = urldefrag(html.unescape(link[1]))
        if not target or ":" in target:
            return link[0]
        path = Path(os.path.normpath(page.parent / target))
        if (ROOT / path).is_dir():
            path /= "README.md"
        if not self._belongs(path):
            return link[2]
        if path not in self._known:
            self._known.add(path)
            self._waiting.append(path)
        url = os.path.relpath(self.place(path), self.place(page).parent)
        return f'<a href="{url}{anchor and "#" + anchor}">{link[2]}</a>'

    def _picture(self, page: Path, picture: re.Match[str]) -> str:
        path = Path(os.path.normpath(page.parent / picture[1]))
        self.pictures.add(path)
        return f'<img src="{os.path.relpath(path, self.place(page).parent)}"'

    def _belongs(self, path: Path) -> bool:
        is_page = path.suffix == ".md" or path.is_relative_to(_TEXTS)
        return is_page and path.suffix in _SOURCES and (ROOT / path).is_file()
