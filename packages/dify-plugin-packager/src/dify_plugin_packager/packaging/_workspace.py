"""A uv workspace: the packages that lie side by side, and which of them one needs."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from dify_plugin_packager._errors import PackageError
from dify_plugin_packager.json_access import JsonObject, list_at, object_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A project, as its `pyproject.toml` describes it.

    Attributes:
        name: Its published name, normalised.
        version: Its version.
        folder: Where it lies.
        requires_python: The Python versions it runs on.
        dependencies: What it depends on.
    """

    name: str
    version: str
    folder: Path
    requires_python: str
    dependencies: tuple[Requirement, ...]

    @classmethod
    def read(cls, folder: Path) -> "Member":
        """Read a project's `pyproject.toml`.

        Raises:
            PackageError: If there is none, or it lacks what packaging needs.
        """
        project = object_at(read_toml(folder / "pyproject.toml"), "project")
        try:
            return cls(
                name=canonicalize_name(project["name"]),
                version=project["version"],
                folder=folder,
                requires_python=project["requires-python"],
                dependencies=tuple(map(Requirement, project.get("dependencies", ()))),
            )
        except KeyError as error:
            problem = f"expected {error.args[0]!r} under [project]"
            raise PackageError(folder / "pyproject.toml", problem) from None
        except InvalidRequirement as error:
            raise PackageError(folder / "pyproject.toml", f"dependencies: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A uv workspace with its members.

    Attributes:
        root: The folder with the workspace's `pyproject.toml` and `uv.lock`.
        members: Its members by name.
    """

    root: Path
    members: Mapping[str, Member]

    @classmethod
    def find(cls, start: Path) -> "Workspace | None":
        """Return the workspace that `start` lies in; None if there is none.

        Raises:
            PackageError: If a `pyproject.toml` in it cannot be read.
        """
        for folder in (start, *start.parents):
            if (folder / "pyproject.toml").is_file():
                workspace = _workspace_table(read_toml(folder / "pyproject.toml"))
                if workspace is not None:
                    return cls(root=folder, members=_members(folder, workspace))
        return None

    def needed_by(self, member: Member) -> tuple[Member, ...]:
        """Return the members that `member` needs, directly or not, by name."""
        needed: dict[str, Member] = {}
        waiting = [member]
        while waiting:
            for requirement in waiting.pop().dependencies:
                name = canonicalize_name(requirement.name)
                if name in self.members and name not in needed:
                    needed[name] = self.members[name]
                    waiting.append(self.members[name])
        return tuple(needed[name] for name in sorted(needed))


def read_toml(path: Path) -> JsonObject:
    """Return the content of a TOML file.

    Raises:
        PackageError: If it cannot be read.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PackageError(path, f"expected TOML: {error}") from None


def _workspace_table(pyproject: JsonObject) -> JsonObject | None:
    uv = object_at(object_at(pyproject, "tool"), "uv")
    return object_at(uv, "workspace") if "workspace" in uv else None


def _members(root: Path, workspace: JsonObject) -> dict[str, Member]:
    folders = [
        path.parent
        for pattern in list_at(workspace, "members")
        for path in sorted(root.glob(f"{pattern}/pyproject.toml"))
    ]
    members = map(Member.read, folders)
    return {member.name: member for member in members}
