"""Write the reference of all packages to a folder, as pages that need neither server nor network: `python docs/reference/build.py FOLDER`.

Each package is one page: its README, then its public names from their docstrings. Beside them lie the pages of `docs/`
and the examples. It ends with an error, and says what, where a public name has no docstring, a name of ours in
backticks does not exist, or a link leads nowhere.
"""

import ast
import gc
import importlib
import importlib.util
import pkgutil
import re
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pdoc.render
from pdoc import doc_ast
from pdoc.doc import Module, Variable

from faults import find_broken_links, find_undocumented, find_unknown_names
from pages import ROOT, START, Page, Pages, read_packages
from searching import build_search


def main(folder: Path) -> int:
    """Write the reference, print what is wrong with it, and return whether anything is."""
    gc.disable()  # Nearly all that is made stays to the end.
    # A type variable of a class, which pdoc does not find in the annotations of its class methods.
    warnings.filterwarnings("ignore", message="Error parsing type annotation", module="pdoc")
    shutil.rmtree(folder, ignore_errors=True)
    packages = read_packages()
    modules = {name: _read_module(name) for name in sorted(_iter_public(packages.values()))}
    pages = Pages(packages)
    written = list(pages)
    _configure(
        {packages[page.source.parent]: page for page in written if page.source.parent in packages}
    )
    for name, module in modules.items():
        shown = _unlink_inherited(pdoc.render.html_module(module, modules))
        _write(folder / f"{name.replace('.', '/')}.html", shown)
    for page in written:
        if page.source.parent not in packages:
            _write_page(folder, pages.place(page.source), page)
    for picture in pages.pictures:
        (folder / picture).parent.mkdir(parents=True, exist_ok=True)
        (folder / picture).write_bytes((ROOT / picture).read_bytes())
    _write(folder / "search.js", build_search(modules, pages, written))
    texts = {str(page.source): (ROOT / page.source).read_text(encoding="utf-8") for page in written}
    faults = [
        *find_undocumented(modules.values()),
        *find_unknown_names(texts, packages.values()),
        *find_broken_links(folder),
    ]
    print(*faults, f"{len(modules)} modules, {len(written)} pages: {folder}", sep="\n")  # noqa: T201 - the result
    return bool(faults)


def _iter_public(packages: Iterable[str]) -> Iterator[str]:
    """Iterate over the packages and those of their modules that are public: named without an underscore, with an `__all__`."""
    for package in packages:
        yield package
        spec = importlib.util.find_spec(package)
        places = spec.submodule_search_locations if spec else None
        for found in pkgutil.walk_packages(places, f"{package}."):
            if "._" not in found.name and _has_all(found.name):
                yield found.name


def _has_all(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    source = Path(spec.origin or "").read_text(encoding="utf-8") if spec else ""
    return any(
        isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        for node in ast.parse(source).body
    )


def _read_module(name: str) -> Module:
    """Read a module; what describes an imported constant or alias stands where it was made, and pdoc does not look there."""
    module = Module.from_name(name)
    for member in module.own_members:
        if isinstance(member, Variable) and not member.docstring:
            member.docstring = _find_docstring(module.obj, member.name)
    return module


def _find_docstring(module: ModuleType, name: str) -> str:
    found = doc_ast.walk_tree(module).var_docstrings.get(name)
    if found is not None:
        return found
    for node in ast.walk(ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            source = f"{'.' * node.level}{node.module or ''}"
            return _find_docstring(importlib.import_module(source, module.__package__), name)
    return ""


def _configure(readmes: Mapping[str, Page]) -> None:
    pdoc.render.configure(
        docformat="google",
        include_undocumented=False,
        show_source=False,
        template_directory=Path(__file__).parent / "templates",
    )
    pdoc.render.env.globals["readmes"] = dict(sorted(readmes.items()))


def _unlink_inherited(html: str) -> str:
    """Drop the links to members that a class only inherits, which have no place on its page."""
    places = set(re.findall(r'id="([^"]+)"', html))
    link = re.compile(r'<a href="#(\w+\.[\w.]+)">(.*?)</a>', re.DOTALL)
    return link.sub(lambda found: found[0] if found[1] in places else found[2], html)


def _write_page(folder: Path, place: Path, page: Page) -> None:
    shown = pdoc.render.env.get_template("index.html.jinja2").render(
        all_modules={},
        html=page.html,
        is_start=page.source == START,
        root="../" * (len(place.parts) - 1),
        title=page.title,
        toc=page.toc,
    )
    _write(folder / place, shown)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
