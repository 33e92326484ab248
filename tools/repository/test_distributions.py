"""Every distribution of the repository has a name that is ours, and no requirement brings a stranger's in its place."""

import re
import shutil
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sessions.members import IMPORT_NAMES, MEMBERS, PACKAGES, find_members


ROOT = Path(__file__).parents[2]


# Most cases have the same lock, which is long; nobody changes what was read.
_parse = cache(tomllib.loads)


def read(path: Path) -> dict[str, Any]:
    return _parse(path.read_text(encoding="utf-8"))


def find_faults(root: Path) -> Iterator[str]:
    """Iterate over what would let a stranger's distribution in, in the words that a maintainer needs."""
    ours = read(root / "tools/repository/distributions.toml")
    members = {
        project["project"]["name"]: project
        for project in (
            read(root / path / "pyproject.toml") for path in find_members(root).values()
        )
    }
    for name in sorted(members.keys() ^ (ours["packages"] | ours["plugins"]).keys()):
        yield f"{name}: expected it as a member and in tools/repository/distributions.toml"
    for name in sorted(ours["packages"].keys() & members.keys()):
        module = members[name].get("tool", {}).get("uv", {}).get("build-backend", {})
        modules = module.get("module-name", name.replace("-", "_"))
        # Of several it is the first; the others are imported by no name that a user writes.
        if (modules if isinstance(modules, str) else modules[0]) != ours["packages"][name]:
            yield f"{name}: expected [tool.uv.build-backend] module-name to be {ours['packages'][name]!r}"
    # What somebody would write who derives a distribution's name from the name that is imported.
    mistaken = {canonicalize_name(module): name for name, module in ours["packages"].items()}
    strangers = mistaken.keys() - ours["packages"].keys()
    for name, project in members.items():
        for requirement in requirements(project):
            needed = canonicalize_name(requirement.name)
            if needed in strangers:
                yield f"{name}: {needed} may be somebody else's; expected {mistaken[needed]}"
    for entry in read(root / "uv.lock")["package"]:
        if "registry" in entry["source"] and entry["name"] in strangers | members.keys():
            yield f"uv.lock: {entry['name']} comes from an index"


def requirements(project: dict[str, Any]) -> Iterator[Requirement]:
    lists = [
        project["project"].get("dependencies", []),
        *project["project"].get("optional-dependencies", {}).values(),
        *project.get("dependency-groups", {}).values(),
    ]
    yield from (Requirement(text) for texts in lists for text in texts)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files of the repository that say who depends on whom."""
    paths = [
        *("tools/repository/distributions.toml", "uv.lock", "pyproject.toml"),
        *(folder / "pyproject.toml" for folder in MEMBERS.values()),
    ]
    for path in paths:
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, target)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_all_distributions_and_requirements_are_ours() -> None:
    assert list(find_faults(ROOT)) == []


def test_a_member_that_is_not_in_the_list_is_found(copy: Path) -> None:
    edit(copy / "packages/agent-loop/pyproject.toml", "gpt5-agent-loop", "agent-loop")

    assert "agent-loop: expected it as a member and in tools/repository/distributions.toml" in list(
        find_faults(copy)
    )


def test_a_requirement_that_a_stranger_could_meet_is_found(copy: Path) -> None:
    edit(copy / "packages/agent-loop/pyproject.toml", '"gpt5-agent-tooling>=', '"agent_tooling>=')

    assert list(find_faults(copy)) == [
        "gpt5-agent-loop: agent-tooling may be somebody else's; expected gpt5-agent-tooling"
    ]


def test_an_import_name_that_is_not_the_lists_is_found(copy: Path) -> None:
    edit(copy / "packages/agent-loop/pyproject.toml", 'module-name = "agent_loop"', "")

    assert list(find_faults(copy)) == [
        "gpt5-agent-loop: expected [tool.uv.build-backend] module-name to be 'agent_loop'"
    ]


def test_a_lock_that_takes_a_sibling_from_an_index_is_found(copy: Path) -> None:
    edit(
        copy / "uv.lock",
        'source = { editable = "packages/agent-loop" }',
        'source = { registry = "https://index.invalid/simple" }',
    )

    assert list(find_faults(copy)) == ["uv.lock: gpt5-agent-loop comes from an index"]


def test_a_readme_says_both_names_where_they_differ() -> None:
    for name, folder in PACKAGES.items():
        if canonicalize_name(IMPORT_NAMES[name]) != name:
            expected = f"Install it as `{name}`, import it as `{IMPORT_NAMES[name]}`."
            assert expected in (ROOT / folder / "README.md").read_text(encoding="utf-8")


def test_wheels_say_alike_what_they_are_tested_on() -> None:
    tested = read(ROOT / "packages/agent-loop/pyproject.toml")["project"]["classifiers"]
    (row,) = re.findall(
        r"^\| Python \|.*", (ROOT / "docs/supported.md").read_text("utf-8"), re.MULTILINE
    )
    versions = set(re.findall(r"Python :: (3\.\d+)", " ".join(tested)))
    assert versions == set(re.findall(r"\b3\.\d+\b", row.partition("Newer versions")[0]))
    for folder in PACKAGES.values():
        assert read(ROOT / folder / "pyproject.toml")["project"]["classifiers"] == tested, folder


def test_the_first_release_of_a_changelog_says_what_the_package_is() -> None:
    for folder in MEMBERS.values():
        path = ROOT / folder / "CHANGELOG.md"
        *_, first = re.split(r"^## .*\n\n", path.read_text("utf-8"), flags=re.MULTILINE)
        # Beside it, and before it where two branches were merged, stand the entries.
        assert re.search(r"^The first release\. [A-Z]", first, re.MULTILINE), path
