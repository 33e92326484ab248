"""Draw the pictures of runs in the root README, from what `dify-host chat` really prints: `uv run nox -s pictures`.

The built-in simulator answers, so it takes no key.
"""

import inspect
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.text import Text


FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
COLUMNS = 104
RUNS: Mapping[str, tuple[str, ...]] = {
    "run": ("What time is it in Tokyo, and what is 17 * 23?",),
    "failing-tool": ("--hide-thoughts", "What is 6 * 7? Calculate it, and fail on demand."),
}
# A picture in a README may not fetch a font from elsewhere.
_FORMAT = re.sub(
    r"@font-face \{\{.*?\}\}\s*",
    "",
    inspect.signature(Console.export_svg).parameters["code_format"].default,
    flags=re.DOTALL,
).replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")


def print_run(arguments: tuple[str, ...]) -> str:
    """Return what a run prints on a terminal, colours included."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")
    }
    finished = subprocess.run(
        [Path(sys.executable).with_name("dify-host"), "chat", *arguments],
        cwd=ROOT,
        env={**environment, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return finished.stdout


def draw(arguments: tuple[str, ...], printed: str, *, name: str) -> str:
    """Return an SVG of a terminal in which a run has been made."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text(f"$ uv run dify-host chat {shlex.join(arguments)}", style="bold"))
    console.print(Text.from_ansi(printed.rstrip()))
    return console.export_svg(title="dify-host chat", code_format=_FORMAT, unique_id=name)


if __name__ == "__main__":
    for run_name, run_arguments in RUNS.items():
        picture = draw(run_arguments, print_run(run_arguments), name=run_name)
        (FOLDER / f"{run_name}.svg").write_text(picture, encoding="utf-8")
