"""One rule for private modules: CONTRIBUTING.md, "Modules and rooms"."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tracked import ROOT, list_files


def find_misnamed(root: Path, modules: Iterable[Path]) -> Iterator[str]:
    """Iterate over the modules of packages whose names say something else about who may import them than the rule."""
    for module in modules:
        folders = module.parts[module.parts.index("src") + 1 : -1]
        if module.name.startswith("__"):
            continue
        is_private = any(folder.startswith("_") for folder in folders)
        has_mark = module.name.startswith("_")
        if is_private and has_mark:
            yield f"{module}: expected no underscore, for its folder is private already"
        elif not is_private and not has_mark and "\n__all__ =" not in _read(root / module):
            yield f"{module}: expected an underscore, or an `__all__` that says what is public"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_every_module_says_by_its_name_who_may_import_it() -> None:
    modules = [path for path in list_files(".py") if path.parts[2:3] == ("src",)]

    assert len(modules) > 150
    assert list(find_misnamed(ROOT, modules)) == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("own/_stream.py", ""),
        ("own/__init__.py", ""),
        ("own/room/_stream.py", ""),
        ("own/_room/stream.py", ""),
        ("own/signals.py", "X = 1\n\n__all__ = ['X']\n"),
    ],
)
def test_a_module_that_follows_the_rule_is_no_fault(tmp_path: Path, name: str, code: str) -> None:
    assert list(find_misnamed(tmp_path, [write(tmp_path, name, code)])) == []


@pytest.mark.parametrize("name", ["own/stream.py", "own/room/stream.py", "own/_room/_stream.py"])
def test_a_module_that_breaks_the_rule_is_found(tmp_path: Path, name: str) -> None:
    [fault] = find_misnamed(tmp_path, [write(tmp_path, name, "X = 1\n")])

    assert fault.startswith(f"packages/own/src/{name}: expected ")


def write(root: Path, name: str, code: str) -> Path:
    module = Path("packages/own/src") / name
    (root / module).parent.mkdir(parents=True)
    (root / module).write_text(code, encoding="utf-8")
    return module
