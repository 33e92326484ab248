"""The requirements of Dify's marketplace for a plugin's dependencies.

Source: `toolkit/checks/dependencies.py` of langgenius/dify-marketplace-toolkit at 04f98f82, read 2026-11.
"""

import posixpath
import re
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from dify_plugin_packager.json_access import list_at, object_at
from dify_plugin_packager.packaging import ContentError, Contents, Requirements
from dify_plugin_packager.rules._finding import Finding, Kind


_LIST = "requirements.txt"
_PROJECT = "pyproject.toml"
_SDK = "dify-plugin"
_OLDEST_SDK = Version("0.9.0")
_URL = re.compile(r"(^|@)\s*(git\+|hg\+|svn\+|https?:|ftp:|file:)", re.IGNORECASE)
_PATH = re.compile(r"(^|@)\s*(\.{0,2}/|\.$)")
_INCLUDE = re.compile(r"(?:-r|--requirement)[=\s]\s*(.+)")


def check_requirements_of(contents: Contents) -> Iterator[Finding]:
    """Check that a reviewer can tell what will be installed with a package."""
    if _LIST not in contents.files:
        yield Finding("rejected", f"expected a file {_LIST!r}, from which the marketplace installs")
    else:
        yield from _check_list(contents, _LIST, frozenset())
    for where, requirement in _iter_declared(contents):
        yield from _check_requirement(where, requirement)


def _check_list(contents: Contents, path: str, seen: frozenset[str]) -> Iterator[Finding]:
    """Check a list of requirements and those that it includes."""
    requirements = Requirements.parse(contents.any_text(path))
    for requirement in requirements.named:
        yield from _check_requirement(path, requirement)
    for option in requirements.options:
        if option.startswith(("-e", "--editable")):
            yield Finding("advice", f"{path}: {option!r}: a reviewer has to approve it")
        if found := _INCLUDE.fullmatch(option):
            included = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[1]))
            if included not in contents.files:
                yield Finding("advice", f"{path}: expected a file {included!r}")
            elif included not in seen | {path}:
                yield from _check_list(contents, included, seen | {path})


def _iter_declared(contents: Contents) -> Iterator[tuple[str, str]]:
    """Iterate over the requirements in pyproject.toml, each with its table."""
    try:
        pyproject = contents.toml(_PROJECT)
    except ContentError:
        return  # Reported by the checks for the platform.
    project = object_at(pyproject, "project")
    optional, groups = object_at(project, "optional-dependencies"), object_at(pyproject, "dependency-groups")  # fmt: skip
    tables = {
        "project.dependencies": project.get("dependencies"),
        **{f"project.optional-dependencies.{name}": given for name, given in optional.items()},
        **{f"dependency-groups.{name}": given for name, given in groups.items()},
    }
    for table, given in tables.items():
        for requirement in list_at({table: given}, table):
            if isinstance(requirement, str):
                yield f"{_PROJECT}: {table!r}", requirement


def _check_requirement(where: str, text: str) -> Iterator[Finding]:
    found = _judge(text)
    if found:
        kind, problem = found
        yield Finding(kind, f"{where}: {text!r}: {problem}")


def _judge(text: str) -> tuple[Kind, str] | None:
    """Return the kind of finding for a requirement that is not a plain one, and why."""
    if _URL.search(text):
        return "rejected", "expected a package of the index, not a URL or a repository"
    if _PATH.search(text):
        return "advice", "a path; a reviewer has to approve it"
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return "rejected", "expected 'name' and a range of versions"
    return _judge_range(canonicalize_name(requirement.name), requirement.specifier)


def _judge_range(name: str, specifier: SpecifierSet) -> tuple[Kind, str] | None:
    if name == _SDK and not _is_new_enough(specifier):
        return "rejected", f"expected '>=' or '==' and at least {_OLDEST_SDK}"
    if not specifier:
        return "rejected", "expected a range of versions"
    if all(one.operator in {">=", ">"} for one in specifier):
        return "advice", "expected an upper bound as well"
    return None


def _is_new_enough(specifier: SpecifierSet) -> bool:
    bounds = [one.version for one in specifier if one.operator in {">=", "=="}]
    return any(Version(bound.removesuffix(".*")) >= _OLDEST_SDK for bound in bounds)
