"""A uv workspace: its members, and which of them another one needs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from dify_plugin_packager._errors import PackageError
from dify_plugin_packager.json_access import JsonObject, list_at, object_at

from ._toml import read_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A project, as its `pyproject.toml` describes it.

    Attributes:
        name: Its published name, normalised.
        version: Its version.
        folder: Its folder.
        requires_python: The Python versions that it runs on.
        dependencies: Its dependencies.
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
            PackageError: If there is none, or it lacks a field that packaging needs.
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

    @property
    def dependency_names(self) -> list[str]:
        """The normalised names of its dependencies."""
        return [canonicalize_name(one.name) for one in self.dependencies]


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
                uv = object_at(read_toml(folder / "pyproject.toml"), "tool", "uv")
                if "workspace" in uv:
                    return cls(root=folder, members=_members(folder, object_at(uv, "workspace")))
        return None

    def needed_by(self, member: Member) -> tuple[Member, ...]:
        """Return the members that `member` needs, directly or not, by name."""
        wanted = {name: each.dependency_names for name, each in self.members.items()}
        needed = reach(member.dependency_names, wanted) & wanted.keys()
        return tuple(self.members[name] for name in sorted(needed))


def reach(names: Iterable[str], wanted: Mapping[str, Iterable[str]]) -> set[str]:
    """Return these names and all that they need, directly or not."""
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(wanted.get(name, ()))
    return reached


def _members(root: Path, workspace: JsonObject) -> dict[str, Member]:
    folders = [
        path.parent
        for pattern in list_at(workspace, "members")
        for path in sorted(root.glob(f"{pattern}/pyproject.toml"))
    ]
    members = map(Member.read, folders)
    return {member.name: member for member in members}
