"""What is wrong with the reference: what nobody described, and what leads nowhere."""

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

from pdoc.doc import Class, Doc, Module, Variable


def find_undocumented(modules: Iterable[Module]) -> Iterator[str]:
    """Iterate over the public names, and the public members of public classes, that no docstring describes."""
    for module in modules:
        for member in module.own_members:
            yield from _undocumented(member)


def find_unknown_names(texts: Mapping[str, str], packages: Iterable[str]) -> Iterator[str]:
    """Iterate over the names in backticks that begin with one of the packages and do not exist."""
    named = re.compile(rf"`((?:{'|'.join(packages)})(?:\.\w+)+)(?:\([^`]*\))?`")
    for place, text in texts.items():
        for name in set(named.findall(text)):
            if not _exists(name):
                yield f"{place}: {name} does not exist"


def find_broken_links(folder: Path) -> Iterator[str]:
    """Iterate over what leads nowhere in a folder of pages, and what needs a network to be shown."""
    pages = {
        path: _PageReader(path.read_text(encoding="utf-8"))
        for path in folder.resolve().rglob("*.html")
    }
    for path, page in pages.items():
        for url in page.loaded:
            if re.match(r"(https?:)?//", url):
                yield f"{path.relative_to(folder.resolve())}: loads {url}"
        for url in page.links:
            target, anchor = urldefrag(url)
            if re.match(r"\w+:", target):
                continue
            found = (path.parent / unquote(target)).resolve() if target else path
            if not found.is_file():
                yield f"{path.relative_to(folder.resolve())}: no page {target}"
            elif anchor and unquote(anchor) not in pages[found].ids:
                yield f"{path.relative_to(folder.resolve())}: no place #{anchor} on {found.relative_to(folder.resolve())}"


def _undocumented(member: Doc) -> Iterator[str]:
    if not member.name.startswith("_") and not member.docstring.strip():
        yield f"{member.fullname}: no docstring"
    if isinstance(member, Class):
        for child in member.own_members:  # its attributes stand in its own docstring
            if not isinstance(child, Variable):
                yield from _undocumented(child)


def _exists(name: str) -> bool:
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            fields = getattr(found, "__dataclass_fields__", None) or getattr(
                found, "__annotations__", {}
            )
            if part in fields:
                return True
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


class _PageReader(HTMLParser):
    """A reader of one page: the places in it, what it links to, and what it loads to be shown."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag says."""
        for name, value in attrs:
            if not value:
                continue
            if name == "id":
                self.ids.add(value)
            elif name == "href":
                self.links.add(value)
            if name == "src" or (name == "href" and tag == "link"):
                self.loaded.add(value)
                self.links.add(value)
