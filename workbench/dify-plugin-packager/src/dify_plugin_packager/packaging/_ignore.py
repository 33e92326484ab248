"""The rules of `.difyignore` and `.gitignore`, as Dify's own packager reads them.

Source: `pkg/plugin_packager/decoder/fs.go` of langgenius/dify-plugin-daemon at bdb5642a; https://git-scm.com/docs/gitignore.
"""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path


def read_rules(folder: Path, *names: str) -> list[str]:
    """Return the rules of the first of these files that a folder has; none if it has none.

    A rule that begins with `!` is ignored, because Dify's packager does not know it.
    """
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    text = "" if path is None else path.read_text(encoding="utf-8", errors="replace")
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and line[0] not in "#!"]


def walk(folder: Path, rules: Sequence[str] = (), parents: Sequence[str] = ()) -> Iterator[str]:
    """Yield the paths of the files below a folder that the rules do not exclude, each behind `parents`."""
    for path in sorted(folder.iterdir()):
        parts = [*parents, path.name]
        is_folder = path.is_dir() and not path.is_symlink()
        if any(_matches(rule, parts, is_folder=is_folder) for rule in rules):
            continue
        if is_folder:
            yield from walk(path, rules, parts)
        else:
            yield "/".join(parts)


def _matches(rule: str, parts: Sequence[str], *, is_folder: bool) -> bool:
    """Tell whether a rule matches exactly this path; it then covers everything below."""
    # `fnmatch` has no escapes: a character in brackets stands for itself. It negates with `!`.
    pattern = re.sub(r"\\(.)", r"[\1]", rule.removesuffix("/").replace("[^", "[!"))
    if rule.endswith("/") and not is_folder:
        return False
    if "/" not in pattern:
        return fnmatchcase(parts[-1], pattern)
    return _match_parts(pattern.removeprefix("/").split("/"), parts)


def _match_parts(patterns: Sequence[str], parts: Sequence[str]) -> bool:
    if not patterns or not parts:
        return not patterns and not parts
    if patterns[0] == "**":
        rests = range(len(parts) + 1) if patterns[1:] else range(len(parts), len(parts) + 1)
        return any(_match_parts(patterns[1:], parts[start:]) for start in rests)
    return fnmatchcase(parts[0], patterns[0]) and _match_parts(patterns[1:], parts[1:])
