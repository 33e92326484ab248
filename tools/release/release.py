"""Release one package or plugin: check, bump, lock, commit, tag, build. Publishing is CI's, when the tag arrives there.

Run it by nox: `uv run nox -s "release(gpt5-payloads)" -- minor`. `current` releases a version that has never been released;
`--dry-run` does everything in a clone and shows what would have come of it.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from submission import fill_submission
from wheels import build, find_members, read_repository


BUMPS = ("current", "patch", "minor", "major")
_UNRELEASED = re.compile(r"^## Unreleased\n(?P<entry>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


class ReleaseError(Exception):
    """A release that something stands in the way of; the message says what, and what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A package or plugin of the workspace.

    Attributes:
        folder: Its folder, relative to the root.
        name: Its published name.
        version: The version in its pyproject.toml.
        requirements: What it depends on at run time.
    """

    folder: Path
    name: str
    version: Version
    requirements: tuple[Requirement, ...]

    @property
    def is_plugin(self) -> bool:
        """Whether this is a Dify plugin, which is packaged and not built as a wheel."""
        return self.folder.parts[0] == "plugins"

    def tag(self, version: Version) -> str:
        """Name the tag of a release; a plugin's goes by the name that Dify knows."""
        return f"{self.folder.name if self.is_plugin else self.name}-v{version}"


def main() -> int:
    """Release what the command line names; 1 if something stands in the way."""
    options = _read_options()
    try:
        if options.dry_run:
            rehearse(Path.cwd(), options.folder, options.bump)
        else:
            tag, built, problems = release(Path.cwd(), options.folder, options.bump)
            _tell(f"{tag} lies in dist/{tag}: {built}", *problems)
            _tell(f"Publish it with: git push origin main {tag}")
    except ReleaseError as error:
        print(f"not released: {error}", file=sys.stderr)  # noqa: T201 - the answer
        return 1
    return 0


def rehearse(root: Path, folder: Path, bump: str) -> None:
    """Do everything that `release` does in a clone that is thrown away."""
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        clone = Path(scratch) / "clone"
        _run(root, "git", "clone", "--quiet", "--branch", "main", str(root), str(clone))
        # A clone leaves the repository's own settings behind, and with them perhaps who commits.
        settings = _run(root, "git", "rev-parse", "--path-format=absolute", "--git-path", "config")
        _run(clone, "git", "config", "include.path", settings.strip())
        tag, built, problems = release(clone, folder, bump)
        _tell(f"This was a dry run: nothing here has changed. A release would make {tag}: {built}")
        _tell(*problems)


def release(root: Path, folder: Path, bump: str) -> tuple[str, str, list[str]]:
    """Check everything first, then change, commit, tag and build; return the tag, what was built, and what the marketplace would refuse.

    Raises:
        ReleaseError: If something stands in the way. The checks come before any change; if git or uv fails after them, what has been
            written so far is left in the work tree for a look.
    """
    members = read_members(root)
    member = next((one for one in members if one.folder == folder), None)
    if member is None:
        raise ReleaseError(f"{folder}: expected a folder of a package or plugin")
    version = next_version(member, bump)
    check(root, members, member, version)
    _write_version(root, member, version)
    _date_changelog(root / folder / "CHANGELOG.md", version)
    _run(root, "uv", "lock", "--quiet")
    _run(
        root, "git", "commit", "--quiet", "--all", "--message", f"{folder.name}: Release {version}"
    )
    _run(
        root,
        "git",
        "tag",
        "--annotate",
        member.tag(version),
        "--message",
        f"{folder.name} {version}",
    )
    built = _build(root, member, version)
    names = [path.name for path in built]
    if not member.is_plugin:
        return member.tag(version), ", ".join(names), []
    refused = _submit(root, member, built[0])
    names.append("the marketplace's pull request")
    problems = [f"The marketplace would refuse it: {refused}"] if refused else []
    return member.tag(version), ", ".join(names), problems


def read_members(root: Path) -> list[Member]:
    """Read every package and plugin of the workspace."""
    return [
        _read_member(root, root / path / "pyproject.toml") for path in find_members(root).values()
    ]


def next_version(member: Member, bump: str) -> Version:
    """Return the version to release."""
    major, minor, patch = member.version.release
    match bump:
        case "current":
            return member.version
        case "patch":
            return Version(f"{major}.{minor}.{patch + 1}")
        case "minor":
            return Version(f"{major}.{minor + 1}.0")
        case "major":
            return Version(f"{major + 1}.0.0")
        case _:
            raise ReleaseError(f"bump {bump!r}: expected one of {', '.join(BUMPS)}")


def check(root: Path, members: list[Member], member: Member, version: Version) -> None:
    """Find everything that stands in the way of this release.

    Raises:
        ReleaseError: If something does; all of it is named.
    """
    tags = _run(
        root, "git", "tag", "--list", f"{member.tag(version).rpartition('-v')[0]}-v*"
    ).split()
    problems = [
        *([] if not _run(root, "git", "status", "--porcelain") else ["the work tree is not clean"]),
        *_branch_problems(_run(root, "git", "branch", "--show-current").strip()),
        *([f"the tag {member.tag(version)} exists"] if member.tag(version) in tags else []),
        *_changelog_problems(root / member.folder / "CHANGELOG.md"),
        *_bound_problems(members, member, version),
        *_plugin_problems(root, member),
        *_repository_problems(root, member),
    ]
    if problems:
        raise ReleaseError("; ".join(problems))


def _branch_problems(branch: str) -> list[str]:
    return [] if branch == "main" else [f"this is branch {branch!r}: expected 'main'"]


def _changelog_problems(path: Path) -> list[str]:
    unreleased = _UNRELEASED.search(path.read_text(encoding="utf-8"))
    if unreleased is None or "- " not in unreleased["entry"]:
        return [
            f"{path.name} has no entry under '## Unreleased': a release with nothing to say is none"
        ]
    return []


def _bound_problems(members: list[Member], member: Member, version: Version) -> list[str]:
    """Name every sibling whose bounds would not take the new version: uv ignores them inside the workspace."""
    return [
        f"{other.name} requires {requirement}: raise its bound in the same change"
        for other in members
        for requirement in other.requirements
        if requirement.name == member.name and version not in requirement.specifier
    ]


def _plugin_problems(root: Path, member: Member) -> list[str]:
    if not member.is_plugin:
        return []
    declared = _manifest_version(root, member)
    return [] if declared == str(member.version) else [f"manifest.yaml has version {declared}"]


def _repository_problems(root: Path, member: Member) -> list[str]:
    if member.is_plugin or read_repository(root):
        return []
    return [
        "pyproject.toml: expected [tool.dify-plugins] repository, to which the README's links lead on an index"
    ]


def _manifest_version(root: Path, member: Member) -> str:
    text = (root / member.folder / "manifest.yaml").read_text(encoding="utf-8")
    found = re.search(r"^version: (\S+)$", text, re.MULTILINE)
    return found[1] if found else "none"


def _write_version(root: Path, member: Member, version: Version) -> None:
    _replace(
        root / member.folder / "pyproject.toml",
        f'version = "{member.version}"',
        f'version = "{version}"',
    )
    if member.is_plugin:
        _replace(
            root / member.folder / "manifest.yaml",
            f"version: {member.version}",
            f"version: {version}",
        )


def _date_changelog(path: Path, version: Version) -> None:
    today = datetime.now(UTC).date().isoformat()
    _replace(path, "## Unreleased\n", f"## {version} - {today}\n")


def _replace(path: Path, old: str, new: str) -> None:
    """Replace the first occurrence, which is the one that counts in each of these files."""
    text = path.read_text(encoding="utf-8")
    if old not in text:
        raise ReleaseError(f"{path.name}: expected to find {old!r}")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def _build(root: Path, member: Member, version: Version) -> list[Path]:
    """Build what is to be published, and see that it is what was expected."""
    out = root / "dist" / member.tag(version)
    if member.is_plugin:
        _run(
            root,
            "uv",
            "run",
            "--quiet",
            "dify-host",
            "package",
            str(member.folder),
            "--output",
            str(out),
        )
        expected = {f"{member.folder.name}-{version}.difypkg"}
    else:
        try:
            build(root, out, member.folder, sdist=True)
        except subprocess.CalledProcessError as error:
            raise ReleaseError(f"uv build ended with {error.returncode}") from None
        stem = f"{member.name.replace('-', '_')}-{version}"
        expected = {f"{stem}.tar.gz", f"{stem}-py3-none-any.whl"}
    built = sorted(path for path in out.iterdir() if path.name != ".gitignore")
    if {path.name for path in built} != expected:
        raise ReleaseError(f"built {[path.name for path in built]}: expected {sorted(expected)}")
    return built


def _tell(*lines: str) -> None:
    for line in lines:
        print(line)  # noqa: T201 - the answer


def _submit(root: Path, member: Member, package: Path) -> str:
    """Fill the folder with the pull request to the marketplace, beside the package; return why it would be refused, if it would."""
    stem = member.tag(member.version).rpartition("-v")[0]
    tags = _run(root, "git", "tag", "--list", f"{stem}-v*").split()
    out = package.parent / "pull-request"
    try:
        return fill_submission(root / member.folder, package, out, is_update=len(tags) > 1)
    except ValueError as error:
        raise ReleaseError(str(error)) from None


def _read_member(root: Path, path: Path) -> Member:
    project: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return Member(
        folder=path.parent.relative_to(root),
        name=project["name"],
        version=Version(project["version"]),
        requirements=tuple(map(Requirement, project.get("dependencies", ()))),
    )


def _run(root: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"{' '.join(command[:3])} failed: {done.stderr.strip()}")
    return done.stdout


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="release", description=__doc__)
    parser.add_argument("folder", type=Path, help="packages/NAME, plugins/NAME and the like")
    parser.add_argument("bump", choices=BUMPS)
    parser.add_argument(
        "--dry-run", action="store_true", help="do it in a clone that is thrown away"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
