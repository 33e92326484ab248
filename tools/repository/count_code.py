"""Count the lines of code of each member, at a revision or as they lie here: `python tools/repository/count_code.py [REVISION]`.

Tests, generated files, blank lines, comments and docstrings, those of attributes included, do not count.
"""

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import PurePath


SHELVES = ("packages", "plugins", "servers", "workbench")
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def count_lines(source: str) -> int:
    """Return how many lines of a Python file hold code; 0 for a generated one."""
    if source.startswith("# Generated"):
        return 0
    described = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    spans = [range(t.start[0], t.end[0] + 1) for t in tokens if t.type not in _NO_CODE]
    return len({line for span in spans for line in span} - described)


def count_members(revision: str | None) -> Counter[str]:
    """Count each package and plugin at a revision, or with what is staged where there is none."""
    listed = ["ls-tree", "-r", "--name-only", revision] if revision else ["ls-files"]
    counted: Counter[str] = Counter()
    for name in _git(*listed).splitlines():
        path = PurePath(name)
        if path.parts[0] in SHELVES and path.suffix == ".py" and "tests" not in path.parts:
            source = _git("show", f"{revision or ''}:{name}")
            counted["/".join(path.parts[:2])] += count_lines(source)
    return counted


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout


if __name__ == "__main__":
    members = count_members(sys.argv[1] if len(sys.argv) > 1 else None)
    for member, lines in sorted(members.items()):
        print(f"{lines:7,} {member}")  # noqa: T201 - what it is for
    print(f"{members.total():7,} in all")  # noqa: T201
