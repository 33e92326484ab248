"""Write the Python programs of all pages into a folder, where type checkers read them.

`python tools/repository/programs.py FOLDER` prints their paths.

A program is a block that uses no name which it does not define. Where the blocks of a page build on one another, the
page is one. What imports something that is not installed, such as another framework, is none.
"""

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from subprocess import run


ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from sessions.members import MEMBERS  # noqa: E402 - from another folder


_PAGES = ("README.md", *(f"{folder}/README.md" for folder in MEMBERS.values()), "docs/**/*.md")
_BLOCK = re.compile(r"^```py(?:thon)?\n(.*?)^```", re.DOTALL | re.MULTILINE)


def write_programs(folder: Path) -> list[Path]:
    """Write the programs into a folder, which is emptied first, and return the files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for page in sorted({path for pattern in _PAGES for path in ROOT.glob(pattern)}):
        name = re.sub(r"\W+", "_", str(page.relative_to(ROOT).with_suffix("")))
        blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
        for number, block in enumerate(blocks, start=1):
            (folder / f"{name}_{number}.py").write_text(block, encoding="utf-8")
        (folder / f"{name}.py").write_text("\n".join(blocks), encoding="utf-8")
    fragments = _find_fragments(folder)
    kept: set[Path] = set()
    parts: set[Path] = set()
    for path in sorted(folder.glob("*.py")):
        is_page = not re.search(r"_\d+$", path.stem)
        blocks = set(folder.glob(f"{path.stem}_[0-9]*.py")) if is_page else set[Path]()
        # A page is one where all blocks build on the first.
        is_one = not is_page or len(blocks - fragments) == 1 < len(blocks)
        if path in fragments or not is_one or not _is_installed(path):
            continue
        kept.add(path)
        parts |= blocks
    for path in set(folder.glob("*.py")) - (kept - parts):
        path.unlink()
    return sorted(kept - parts)


def _find_fragments(folder: Path) -> set[Path]:
    """Return the files that use a name that they do not define, or that are no Python."""
    # The folder may be one that ruff leaves out by itself.
    options = ("--isolated", "--config=exclude=[]", "--no-cache", "--quiet")
    options += ("--no-respect-gitignore", "--output-format=concise", "--select=F821")
    found = run(
        [sys.executable, "-m", "ruff", "check", *options, str(folder)],
        capture_output=True,
        check=False,
        text=True,
    )
    return {folder / Path(line.partition(":")[0]).name for line in found.stdout.splitlines()}


def _is_installed(path: Path) -> bool:
    return all(find_spec(name) for name in _iter_imports(path))


def _iter_imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


if __name__ == "__main__":
    print(*write_programs(Path(sys.argv[1])), sep="\n")  # noqa: T201 - what it is for
