"""Packages for `dify-host package`: a plugin folder and the packages that it needs, in one installable file.

A plugin that is not a member of a uv workspace is packed as Dify's own packager does it, so that both give the same checksum.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from dify_plugin_packager._errors import PackageError
from dify_plugin_packager.declarations import PluginFolder, build_identifier

from ._archive import build_archive, write_package
from ._bundled import FOLDER, WHERE_DAEMONS_RUN, BundledWheel, build_index_page, build_requirements
from ._contents import Contents
from ._identity import names_in, validate_identifier
from ._owner import Owner, find_unsaid
from ._sources import Sources, read_member_sources, read_sources
from ._toml import write_toml
from ._uv import neutral_environment, run_uv
from ._variant import apply_variant, read_variant
from ._workspace import Member, Workspace


type Judge = Callable[[Mapping[str, bytes]], Iterable[str]]
"""A function that returns the reasons for which the platform would refuse a package of these files."""

_EXPORT = ("--no-dev", "--no-header", "--no-annotate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package that was written.

    Attributes:
        path: Its path.
        size_bytes: Its size.
        identifier: The name by which Dify knows exactly this content.
        left_out: Paths relative to the plugin's folder that were left out though they might be missed.
        is_as_is: Whether it holds the files that Dify's own packager takes, except for those left out.
        unsaid: Fields that the marketplace requires and the manifest lacks, if the workspace has a table for them.
    """

    path: Path
    size_bytes: int
    identifier: str
    left_out: tuple[str, ...]
    is_as_is: bool
    unsaid: tuple[str, ...] = ()


def build_package(
    folder: Path, output: Path, *, variant: str | None = None, judge: Judge = lambda _: ()
) -> Package:
    """Write the package of a plugin.

    Args:
        folder: The plugin's folder. If it is a member of a uv workspace, the members that it needs are bundled as wheels.
        output: The file to write if it ends with `.difypkg`, else the folder for it.
        variant: The variant to make, of those in `[tool.dify-host.variants]` of the plugin's pyproject.toml; None for the plugin as it is.
        judge: Returns the reasons for which the platform would refuse the files of a package.

    Raises:
        PluginFolderError: If the folder is not a plugin.
        PackageError: If it has no such variant, cannot be packaged, or the platform would refuse the package.
        UvError: If a wheel cannot be built or the dependencies cannot be resolved.
    """
    plugin = PluginFolder.read(folder)
    workspace = _workspace_of(plugin.path)
    owner = Owner.read(workspace.root) if workspace else None
    sources = read_sources(plugin.path, as_is=workspace is None)
    declared = sources.files
    if variant is not None:
        changes = read_variant(plugin.path, variant)
        declared = apply_variant(plugin.path, declared, changes)
    author = (owner and owner.author) or plugin.author
    _, name, version = names_in(Contents(declared).manifest)  # which a variant may have changed
    own = (author, name, version)
    # Before wheels are built: the names become a path.
    validate_identifier(plugin.path, build_identifier(*own, {}))
    needed = _read_needed(plugin.path, workspace) if workspace else {}
    with tempfile.TemporaryDirectory(prefix="dify-host-") as staging:
        made = (
            _exported_requirements(plugin.path)
            if workspace is None
            else _dependency_files(plugin.path, workspace, needed, Path(staging))
        )
    files = {**declared, **made}
    if owner:
        files = owner.write_into(plugin.path, files, author=plugin.author)
    for problem in judge(files):
        raise PackageError(plugin.path, problem)
    content = build_archive(files)
    return Package(
        path=write_package(output, f"{name}-{version}.difypkg", content),
        size_bytes=len(content),
        identifier=build_identifier(*own, files),
        left_out=(*sources.left_out, *_iter_left_out(plugin.path, needed)),
        is_as_is=workspace is None and variant is None,
        unsaid=find_unsaid(Contents(files).manifest) if owner else (),
    )


def _workspace_of(folder: Path) -> Workspace | None:
    """Return the workspace that a folder is a member of."""
    workspace = Workspace.find(folder)
    members = workspace.members.values() if workspace else ()
    return workspace if any(member.folder == folder for member in members) else None


def _read_needed(folder: Path, workspace: Workspace) -> dict[Member, Sources]:
    """Return the members that a plugin needs, each with the files of its wheel."""
    needed = workspace.needed_by(Member.read(folder))
    return {member: read_member_sources(member.folder, workspace.root) for member in needed}


def _iter_left_out(folder: Path, needed: Mapping[Member, Sources]) -> Iterator[str]:
    for member, sources in needed.items():
        for path in sources.left_out:
            yield f"{os.path.relpath(member.folder, folder)}/{path}"


def _exported_requirements(folder: Path) -> dict[str, bytes]:
    """Return the requirements.txt that Dify's own packager makes of a lock if the folder has none.

    By the same uv, since versions write it differently.

    Source: `pkg/plugin_packager/packager/packager.go` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
    """
    is_there = [
        (folder / name).exists() for name in ("requirements.txt", "pyproject.toml", "uv.lock")
    ]
    if is_there != [False, True, True]:
        return {}
    # The packager says `--no-group dev`, which fails if there is no such group, and else means the
    # same.
    options = ("--frozen", "--format", "requirements.txt", "--no-dev", "--no-emit-project")
    options = (*options, "--no-hashes", "--no-header", "--no-annotate")
    program = os.environ.get("UV_PATH") or shutil.which("uv")
    exported = run_uv("export", *options, cwd=folder, environment=os.environ, program=program)
    return {"requirements.txt": exported.encode()}


def _dependency_files(
    folder: Path, workspace: Workspace, needed: Mapping[Member, Sources], staging: Path
) -> dict[str, bytes]:
    """Return the wheels and the three files that list the dependencies.

    They are made in `staging`, because inside a workspace uv would write the workspace's lock.
    """
    member = Member.read(folder)
    wheels = [_build_wheel(one, files.files, staging) for one, files in needed.items()]
    constraints = _locked_versions(workspace, member)
    internal = sorted(workspace.members)
    pyproject = _pyproject(member, wheels, constraints=constraints, internal=internal)
    (staging / "pyproject.toml").write_text(pyproject, encoding="utf-8", newline="\n")
    _uv("lock", cwd=staging)
    exported = _uv("export", "--frozen", "--no-emit-project", *_EXPORT, cwd=staging)
    index = {f"{FOLDER}/index.html": build_index_page(wheels)} if wheels else {}
    return {
        **{wheel.path: wheel.content for wheel in wheels},
        **index,
        "pyproject.toml": pyproject.encode(),
        "uv.lock": (staging / "uv.lock").read_bytes(),
        "requirements.txt": build_requirements(exported, wheels).encode(),
    }


def _build_wheel(member: Member, files: Mapping[str, bytes], staging: Path) -> BundledWheel:
    """Build a member's wheel of these files and put it, with its local version, into the folder of wheels."""
    sources, folder = staging / "sources" / member.name, staging / FOLDER
    for name, content in files.items():
        path = sources / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    # A folder of its own for each, since uv may leave more than the wheel in it.
    built = folder / member.name
    _uv("build", "--wheel", "--no-sources", "--out-dir", str(built), cwd=sources)
    (path,) = built.glob("*.whl")
    wheel = BundledWheel.relabel(path.name, path.read_bytes())
    (folder / wheel.file_name).write_bytes(wheel.content)
    return wheel


def _locked_versions(workspace: Workspace, member: Member) -> tuple[str, ...]:
    """Return the versions of third-party packages in the workspace's lock, so that building an old commit gives old versions."""
    if not (workspace.root / "uv.lock").is_file():
        return ()
    command = ("export", "--frozen", "--package", member.name, "--no-emit-workspace", *_EXPORT)
    command = (*command, "--no-hashes")
    return tuple(_uv(*command, cwd=workspace.root).splitlines())


def _uv(command: str, *arguments: str, cwd: Path) -> str:
    """Run uv with only our settings: the public index and this interpreter."""
    neutral = ("--no-config", "--quiet", "--python", sys.executable)
    return run_uv(command, *neutral, *arguments, cwd=cwd, environment=neutral_environment())


def _pyproject(
    member: Member,
    wheels: Sequence[BundledWheel],
    *,
    constraints: Sequence[str],
    internal: Sequence[str],
) -> str:
    """Return the package's `pyproject.toml`.

    Every wheel is a direct dependency with a source of its own. One that only another wheel asks for would be looked up on
    the index, where its name may belong to a stranger. The daemon's packager needs a group `dev`.
    """
    bundled = {wheel.name for wheel in wheels}
    third_party = [
        str(requirement)
        for requirement in member.dependencies
        if canonicalize_name(requirement.name) not in bundled
    ]
    pinned = [f"{wheel.name}=={wheel.version}" for wheel in wheels]
    installed = write_toml(
        {
            "project": {
                "name": member.name,
                "version": member.version,
                "requires-python": member.requires_python,
                "dependencies": sorted([*third_party, *pinned]),
            },
            "dependency-groups": {"dev": []},
            "tool.uv": {
                "package": False,
                "environments": [WHERE_DAEMONS_RUN],
                "constraint-dependencies": list(constraints),
            },
            "tool.uv.sources": {wheel.name: {"path": wheel.path} for wheel in wheels},
        }
    )
    comment = "# Names of the workspace that this was made in. None of them may come from an index."
    known = write_toml({"tool.dify-host": {"workspace": list(internal)}})
    return f"{installed}\n{comment}\n{known}"
