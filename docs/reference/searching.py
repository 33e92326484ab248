"""The index of the reference's search: pdoc's own, with the pages in it, and with what is called as asked for first."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

import pdoc.render
from pdoc.doc import Module

from pages import ROOT, Page, Pages


_EXACT_FIRST = (Path(__file__).parent / "exact_first.js").read_text(encoding="utf-8")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def build_search(modules: Mapping[str, Module], pages: Pages, written: Iterable[Page]) -> str:
    """Build the script that searches names, docstrings and pages; a package's README is found as the package.

    Args:
        modules: The modules by their names. Their docstrings become those of the index, so that they have to be rendered before.
        pages: Where the pages lie.
        written: The pages.
    """
    found = dict(modules)
    for page in written:
        # Links of a page lead from where it lies, and the search shows it elsewhere.
        text = _LINK.sub(r"\1", (ROOT / page.source).read_text(encoding="utf-8"))
        name = pages.place(page.source).with_suffix("").as_posix()
        module = found.setdefault(name, Module(ModuleType(name)))
        # Its name as well, which its text need not say.
        module.docstring = f"{text}\n\n{page.source.stem}\n\n{module.docstring}"
    return f"{pdoc.render.search_index(found)}\n{_EXACT_FIRST}"
