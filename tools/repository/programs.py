"""Write the Python programs of all pages into a folder, where type checkers read them: `python tools/repository/programs.py FOLDER`.

A program is a block, or all blocks of a page together, that uses no name which it does not define.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


ROOT = Path(__file__).parents[2]
_PAGES = (
    "README.md",
    "packages/*/README.md",
    "plugins/*/README.md",
    "docs/**/*.md",
    "examples/**/*.md",
)
_BLOCK = re.compile(r"^```py(?:thon)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Undefined names, and what is not Python: an ellipsis for what a reader has to fill in, say.
_RULES = "F821,E999"


def iter_programs() -> Iterator[tuple[str, str]]:
    """Yield a name for each candidate, and its text: the page as a whole first, then its blocks."""
    for page in sorted({path for pattern in _PAGES for path in ROOT.glob(pattern)}):
        blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
        name = re.sub(r"\W+", "_", str(page.relative_to(ROOT).with_suffix("")))
        if len(blocks) > 1:
            yield f"{name}_page", "\n".join(blocks)
        for number, block in enumerate(blocks, start=1):
            yield f"{name}_{number}", block


def write_programs(folder: Path) -> list[Path]:
    """Write what is a program into a folder, which is emptied first, and return the files. Where a page is one program, its blocks are none."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in iter_programs():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    wrong = subprocess.run(
        [
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--isolated",
            "--output-format=concise",
            f"--select={_RULES}",
            str(folder),
        ],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    broken = {Path(line.partition(":")[0]).name for line in wrong.splitlines() if ":" in line}
    for path in sorted(folder.glob("*.py")):
        page = path.stem.rpartition("_")[0]
        is_part = (
            not path.stem.endswith("_page")
            and (folder / f"{page}_page.py").exists()
            and f"{page}_page.py" not in broken
        )
        if path.name in broken or is_part:
            path.unlink()
    return sorted(folder.glob("*.py"))


if __name__ == "__main__":
    print(*write_programs(Path(sys.argv[1])), sep="\n")  # noqa: T201 - what it is for
