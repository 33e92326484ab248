"""What is known of Dify stands in few places: the plugins, the packages named after it, and one room of agent-tooling."""

import re
from collections.abc import Iterator
from pathlib import Path

from tracked import ROOT, list_files


ROOMS = ("packages/agent-tooling/src/agent_tooling/_dify/",)
# The shapes of messages that gpt5-messages reads are named after those who write them.
SHAPES = "packages/gpt5-messages/src/gpt5_messages/"
SHAPE_MODULES = ("_media.py", "building.py", "histories.py")
ALLOWED = re.compile(r"\bfrom [.\w]*\._dify\b|\bfrom \.+_dify import\b")


def find_mentions(root: Path, modules: list[Path]) -> Iterator[str]:
    """Iterate over the lines of modules that name Dify, but for those that say where a rule comes from."""
    for module in modules:
        in_source = False
        for number, line in enumerate((root / module).read_text("utf-8").splitlines(), start=1):
            # A source may go on in the lines below it, up to the next blank one or the end of the docstring.
            in_source = ("Source:" in line or in_source) and line.strip() not in ("", '"""')
            if "dify" in line.lower() and not in_source and not ALLOWED.search(line):
                yield f"{module}:{number}: {line.strip()}"


def is_outside(module: Path) -> bool:
    path = module.as_posix()
    is_shape = path.startswith(SHAPES) and module.name in SHAPE_MODULES
    return (
        module.parts[2:3] == ("src",)
        and not (path.startswith(ROOMS) or module.parts[1].startswith("dify-"))
        and not is_shape
    )


def test_no_other_code_of_packages_names_dify() -> None:
    outside = list(filter(is_outside, list_files(".py")))

    assert len(outside) > 200
    assert list(find_mentions(ROOT, outside)) == []


def test_a_source_may_name_dify_and_what_stands_below_it_may_not(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        '"""A rule.\n\nSource: dify-plugin 0.10.2,\n`dify.py`.\n\nDify does it.\n"""\nfrom ._dify import x\n'
    )

    assert list(find_mentions(tmp_path, [Path("module.py")])) == ["module.py:6: Dify does it."]
