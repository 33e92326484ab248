"""Choice of the files of a plugin's folder for its package: those that git tracks or a list names, and no keys or environments.

For a plugin in a uv workspace some files are written anew; for any other the files are those that Dify's own packager takes, as they are.
For a package of the workspace, whose wheel is bundled, new files that git would add count as well, because a wheel that lacks a module is broken.
"""

import functools
import os
import re
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path, PurePosixPath
from typing import Any

from dify_plugin_packager._errors import PackageError
from dify_plugin_packager.json_access import list_at

from ._ignore import read_rules, walk
from ._toml import read_settings, read_toml


_NAMES: dict[str, list[str]] = read_toml(Path(__file__).with_name("file_names.toml"))
_SILENT, _SUSPICIOUS = tuple(_NAMES["silent"]), tuple(_NAMES["suspicious"])
_EXCLUDED = (*_SILENT, *_NAMES["workspace"], *_NAMES["personal"])
_PRIVATE = (*_NAMES["personal"], *_NAMES["as_is"], *(f"!{name}" for name in _NAMES["harmless"]))
_IGNORE_FILES = (".difyignore", ".gitignore")
# As a file of its own, or in the JSON of an account.
_PRIVATE_KEY = re.compile(rb'\s*(?:\{[^{}]*"private_key"\s*:\s*")?-----BEGIN [A-Z0-9 ]*PRIVATE KEY')


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The files of a folder.

    Attributes:
        files: The content of each file that is taken, by its path.
        left_out: Paths that are left out though they might be missed; a folder's ends with a slash.
    """

    files: Mapping[str, bytes]
    left_out: tuple[str, ...]


def read_sources(folder: Path, *, as_is: bool) -> Sources:
    """Read the files that make a plugin.

    They are the files and the content of the folders that `include` of `[tool.dify-host]` in its pyproject.toml names; without such
    a list those that git tracks and `.difyignore` does not exclude; and if git tracks none, those that Dify's own packager takes.
    Private keys, virtual environments, logs and other names that no package should hold are left out, unless the list names the
    file itself.

    Args:
        folder: The plugin's folder.
        as_is: Whether the package holds the folder's own pyproject.toml and everything else that Dify's own packager takes.

    Raises:
        PackageError: If one of the files is not a regular file, git is there and cannot be asked, or the list names a file that is missing.
    """
    excluded = _PRIVATE if as_is else _EXCLUDED
    if named := list_at(read_settings(folder), "include"):
        found, sure = _named_files(folder, named)
        return _read(folder, found, wanted=found, sure=sure, excluded=excluded)
    by_packager = set(walk(folder, read_rules(folder, *_IGNORE_FILES)))
    tracked, known = _git_files(folder)
    if not tracked:
        excluded = (*excluded, *_SUSPICIOUS)
        return _read(folder, by_packager, wanted=by_packager, sure=(), excluded=excluded)
    if not as_is:
        by_packager = known.intersection(walk(folder, read_rules(folder, ".difyignore")))
    return _read(folder, by_packager, wanted=tracked, excluded=excluded)


def read_member_sources(folder: Path, root: Path) -> Sources:
    """Read the files for the wheel of a workspace's package.

    They are those that `include` of `[tool.dify-host]` in its pyproject.toml names; without such a list those that git tracks or would add; and
    without git, those that the package's own ignore rules leave. A file that looks private is left out, unless git tracks it, and so is one
    outside of the workspace. A link is left out if the file that it leads to would be.

    Args:
        folder: The package's folder.
        root: The folder of the workspace, into which a link may lead.

    Raises:
        PackageError: If git is there and cannot be asked, or the list names a file that is missing.
    """
    excluded = _PRIVATE
    if named := list_at(read_settings(folder), "include"):
        found, sure = _named_files(folder, named)
    else:
        sure, known = _git_files(folder)
        found = known or set(walk(folder, read_rules(folder, *_IGNORE_FILES)))
        excluded = (*excluded, *_SUSPICIOUS)
    wanted = {path for path in found if _is_file_of(root.resolve(), folder / path)}
    return _read(folder, found, wanted=wanted, sure=sure, excluded=excluded, follows_links=True)


def _is_file_of(root: Path, path: Path) -> bool:
    """Tell whether a path is a file of a workspace, or a link to a public one."""
    target = path.resolve()
    # git lists a repository inside the repository as well, and that is a folder.
    if not path.is_file() or not target.is_relative_to(root):
        return False
    return not path.is_symlink() or _is_public(root, target.relative_to(root).as_posix())


def _is_public(root: Path, path: str) -> bool:
    """Tell whether git tracks a file of a workspace, or would add it while it does not look private."""
    tracked, known = _git_files(root)
    looks_private = _excluded_part(path, (*_PRIVATE, *_SUSPICIOUS), ()) is not None
    return path in tracked or (not looks_private and (not known or path in known))


def _named_files(folder: Path, named: Collection[Any]) -> tuple[set[str], set[str]]:
    """Return the files that a list names, directly or by their folders, and the names in the list themselves."""
    found: set[str] = set()
    names = {PurePosixPath(str(name)) for name in named}
    for name in names:
        path = folder / name
        is_inside = path.parent.resolve().is_relative_to(folder.resolve())
        if not path.exists() or not is_inside or ".." in name.parts:
            problem = (
                f"tool.dify-host.include: expected files and folders beside this file, got '{name}'"
            )
            raise PackageError(folder / "pyproject.toml", problem)
        is_folder = path.is_dir() and not path.is_symlink()
        inside = walk(path) if is_folder else ("",)
        found.update((name / below).as_posix() for below in inside)
    return found, {name.as_posix() for name in names}


def _git_files(folder: Path) -> tuple[set[str], set[str]]:
    """Return the files that git tracks, and these together with untracked ones that it does not ignore."""
    listed = _git(folder, "--cached", "--recurse-submodules")
    # git also lists files that were deleted and not committed.
    tracked = {path for path in listed if os.path.lexists(folder / path)}
    return tracked, tracked | _git(folder, "--others", "--exclude-standard")


def _git(folder: Path, *options: str) -> set[str]:
    # A hook or a script around us may have set another repository in these.
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    # In a container the folder may belong to another user. That is safe here: git only lists files
    # and runs nothing that the repository configures.
    settings = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false")
    try:
        listed = subprocess.run(  # noqa: S603 - nothing of a stranger's
            ["git", *settings, "ls-files", "-z", *options],  # noqa: S607 - the one on the path
            cwd=folder,
            env=environment,
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        if not any(os.path.lexists(above / ".git") for above in (folder, *folder.parents)):
            return set()
        reason = os.fsdecode(getattr(error, "stderr", b"")).strip() or str(error)
        problem = f"git cannot list the files of this repository: {reason}. They can also be named in tool.dify-host.include"
        raise PackageError(folder, problem) from None
    return {os.fsdecode(path) for path in listed.stdout.split(b"\0") if path}


def _read(  # noqa: PLR0913 - all that is asked of a file
    folder: Path,
    found: Collection[str],
    *,
    wanted: Collection[str],
    sure: Collection[str] = (),
    excluded: tuple[str, ...],
    follows_links: bool = False,
) -> Sources:
    """Read the wanted ones of the found files; those in `sure` are taken whatever their names are."""
    environments = {
        str(PurePosixPath(path).parent) for path in found if path.endswith("pyvenv.cfg")
    }
    files: dict[str, bytes] = {}
    left_out: set[str] = set()
    for path in sorted(found):
        part = None if path in sure else _excluded_part(path, excluded, environments)
        if part is None and path in wanted:
            content = _content(folder / path, follows_links=follows_links)
            if path in sure or not _PRIVATE_KEY.match(content):
                files[path] = content
                continue
        if part is None or not _fits(PurePosixPath(part).name, _SILENT):
            left_out.add(part or path)
    return Sources(files=files, left_out=tuple(sorted(left_out)))


def _content(path: Path, *, follows_links: bool) -> bytes:
    if path.is_symlink() and not follows_links and path.name not in _IGNORE_FILES:
        raise PackageError(path, "expected a file or folder, got a link")
    if not path.is_file():
        raise PackageError(path, "expected a file or folder, got a pipe, a socket or a device")
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        problem = f"expected names in UTF-8, got {os.fsencode(path.name)!r}"
        raise PackageError(path.parent, problem) from None
    return path.read_bytes()


def _excluded_part(
    path: str, excluded: tuple[str, ...], environments: Collection[str]
) -> str | None:
    """Return the file or the uppermost folder on a path that is excluded."""
    parts = path.split("/")
    for end, name in enumerate(parts, start=1):
        part = "/".join(parts[:end])
        if part in environments or (_fits(name, excluded) and f"!{name}" not in excluded):
            return part if end == len(parts) else f"{part}/"
    return None


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return _compiled(patterns).match(name.casefold()) is not None


@functools.cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))
