"""A plugin's dependencies with their files: its lock, or uv's resolution of its lists, as the standard's lock file.

Source: https://packaging.python.org/en/latest/specifications/pylock-toml/.
"""

import dataclasses
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.pylock import (
    PackageArchive,
    PackageDirectory,
    PackageSdist,
    PackageVcs,
    PackageWheel,
    Pylock,
    PylockSelectError,
)

from dify_plugin_packager._errors import PackageError
from dify_plugin_packager.json_access import object_at
from dify_plugin_packager.packaging._uv import run_uv, search_path

from .platforms import GLIBC, PYTHON_VERSION, Platform


type Source = PackageArchive | PackageDirectory | PackageSdist | PackageVcs | PackageWheel

# They would make uv look at another environment or project.
_OTHERS = ("VIRTUAL_ENV", "UV_PROJECT", "UV_WORKING_DIR", "UV_FROZEN", "UV_LOCKED", "PYTHON")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A distribution that one platform needs.

    Attributes:
        name: Its published name, normalised.
        version: Its version, if the lock names it.
        source: The file, folder or repository that it comes from.
    """

    name: str
    version: str
    source: Source

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


def read_locks(folder: Path, platforms: Sequence[Platform]) -> Mapping[Platform, Pylock]:
    """Return the lock of what the daemon would install for a plugin's folder, on each platform.

    Like the daemon it takes pyproject.toml first, with uv.lock if that is there, and else requirements.txt.

    Raises:
        PackageError: If there is nothing to install from.
        UvError: If it cannot be resolved.
    """
    if (folder / "uv.lock").is_file() and (folder / "pyproject.toml").is_file():
        exported = _uv("export", "--frozen", "--no-dev", "--format", "pylock.toml", cwd=folder)
        return dict.fromkeys(platforms, Pylock.from_dict(tomllib.loads(exported)))
    listed = _list_of(folder)
    python = (f"--python-version={PYTHON_VERSION}", f"--python={PYTHON_VERSION}")
    locks: dict[Platform, Pylock] = {}
    for platform in platforms:
        system = f"--python-platform={platform.machine}-manylinux_{GLIBC[0]}_{GLIBC[1]}"
        options = ("--format=pylock.toml", *python, system)
        resolved = _uv("pip", "compile", listed, *options, cwd=folder)
        locks[platform] = Pylock.from_dict(tomllib.loads(resolved))
    return locks


def _list_of(folder: Path) -> str:
    """Return the file that lists the dependencies if there is no lock; for a plugin that is itself built, one that names the plugin."""
    if (folder / "pyproject.toml").is_file():
        pyproject = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        uv = object_at(pyproject, "tool", "uv")
        if not uv.get("package", "build-system" in pyproject):
            return "pyproject.toml"
        itself = folder.with_name("itself.in")
        itself.write_text(f"{folder}\n", encoding="utf-8")
        return str(itself)
    if not (folder / "requirements.txt").is_file():
        raise PackageError(folder, "expected a file 'pyproject.toml' or 'requirements.txt'")
    return "requirements.txt"


def choose(lock: Pylock, platform: Platform) -> tuple[list[Chosen], list[str]]:
    """Choose the distributions of a lock that a platform needs, each by its best file; return them, and the problems with the others."""
    chosen: list[Chosen] = []
    problems: list[str] = []
    for package in lock.packages:
        # One package at a time, so that all problems are found and not the first alone.
        alone = dataclasses.replace(lock, packages=[package], environments=None)
        version = str(package.version or "")
        try:
            sources = [
                source
                for environment in platform.environments
                for _, source in alone.select(environment=environment, tags=platform.tags)
            ]
        except PylockSelectError as error:
            problems.append(f"{package.name} {version}: {_reason(error, platform)}")
            continue
        if sources:
            chosen.append(Chosen(name=package.name, version=version, source=sources[0]))
    return chosen, problems


def _reason(error: PylockSelectError, platform: Platform) -> str:
    if "python_full_version" in str(error):
        return f"not for Python {PYTHON_VERSION}"
    return f"has no wheel for {platform.name} and Python {PYTHON_VERSION}, and no source to build one from"


def _uv(*arguments: str, cwd: Path) -> str:
    """Run uv with this machine's settings, so that its own index is asked."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(_OTHERS)}
    environment = {**kept, "PATH": search_path()}
    return run_uv(*arguments, "--quiet", cwd=cwd, environment=environment)
