"""Releases, tried on a clone of this repository."""

import os
import subprocess
from pathlib import Path

import pytest
from packaging.version import Version

from release import Member, ReleaseError, next_version, read_members, rehearse, release


ROOT = Path(__file__).parents[2]
PACKAGE = Path("packages/gpt5-payloads")
REPOSITORY = "https://git.example/team/agents"
_IDENTITY = ("-c", "user.name=Tester", "-c", "user.email=tester@example.invalid")
_NO_SETTINGS = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *_IDENTITY, *arguments],
        cwd=root,
        env=os.environ | _NO_SETTINGS,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the files of this one as they are now, committed on main."""
    root = tmp_path_factory.mktemp("committed") / "clone"
    git(ROOT, "clone", "--quiet", str(ROOT), str(root))
    for name in git(ROOT, "ls-files", "--modified", "--others", "--exclude-standard").splitlines():
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes((ROOT / name).read_bytes())
    named = (root / "pyproject.toml").read_text("utf-8")
    named = named.replace('repository = ""', f'repository = "{REPOSITORY}"')
    (root / "pyproject.toml").write_text(named, "utf-8")
    git(root, "checkout", "--quiet", "-B", "main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "As it is now")
    return root


@pytest.fixture(scope="module")
def cloned(committed: Path) -> Path:
    """A clone of that repository, where git knows a name only in there."""
    root = committed.with_name("cloned")
    git(committed, "clone", "--quiet", "--shared", str(committed), str(root))
    git(root, "config", "user.name", "Tester")
    git(root, "config", "user.email", "tester@example.invalid")
    return root


@pytest.fixture
def clone(cloned: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That clone as it was at first: to write all files again takes a second."""
    for name, value in _NO_SETTINGS.items():
        monkeypatch.setenv(name, value)
    git(cloned, "checkout", "--quiet", "--force", "-B", "main", "origin/main")
    git(cloned, "clean", "--quiet", "-ffdx")
    for tag in git(cloned, "tag").split():
        git(cloned, "tag", "--delete", tag)
    return cloned


def commit(root: Path, path: str, old: str, new: str) -> None:
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new, 1), encoding="utf-8")
    git(root, "commit", "--quiet", "--all", "--message", "Change")


def test_a_release_is_committed_tagged_and_built(clone: Path) -> None:
    release(clone, PACKAGE, "patch")

    assert git(clone, "tag") == "gpt5-payloads-v0.1.1"
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "log", "-1", "--format=%s") == "gpt5-payloads: Release 0.1.1"
    assert "## 0.1.1 - " in (clone / PACKAGE / "CHANGELOG.md").read_text(encoding="utf-8")
    built = {path.name for path in (clone / "dist/gpt5-payloads-v0.1.1").glob("gpt5*")}
    assert built == {"gpt5_payloads-0.1.1.tar.gz", "gpt5_payloads-0.1.1-py3-none-any.whl"}


def test_a_version_is_released_once(clone: Path) -> None:
    release(clone, PACKAGE, "current")

    with pytest.raises(
        ReleaseError, match=r"tag gpt5-payloads-v0\.1\.0 exists; CHANGELOG\.md has no entry"
    ):
        release(clone, PACKAGE, "current")


def test_a_dry_run_changes_nothing_and_says_so(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = git(clone, "rev-parse", "HEAD")

    rehearse(clone, PACKAGE, "patch")

    assert (git(clone, "rev-parse", "HEAD"), git(clone, "tag"), (clone / "dist").exists()) == (
        before,
        "",
        False,
    )
    [told] = capsys.readouterr().out.splitlines()
    assert told.startswith("This was a dry run: nothing here has changed.")
    assert "gpt5_payloads-0.1.1.tar.gz" in told


def test_a_breaking_version_is_refused_while_siblings_do_not_take_it(clone: Path) -> None:
    with pytest.raises(ReleaseError, match="gpt5-responses requires gpt5-payloads"):
        release(clone, PACKAGE, "minor")


def test_everything_that_stands_in_the_way_is_named_and_nothing_changed(clone: Path) -> None:
    commit(clone, "packages/gpt5-payloads/CHANGELOG.md", "## Unreleased", "## 0.0.9 - 2026-01-01")
    git(clone, "checkout", "--quiet", "-b", "elsewhere")
    (clone / "stray").write_text("x", encoding="utf-8")
    before = git(clone, "rev-parse", "HEAD")

    with pytest.raises(ReleaseError, match=r"not clean; this is branch 'elsewhere'.*; CHANGELOG"):
        release(clone, PACKAGE, "patch")

    assert git(clone, "rev-parse", "HEAD") == before


def test_a_plugin_whose_manifest_disagrees_is_refused(clone: Path) -> None:
    commit(clone, "plugins/openai_gpt5_responses/manifest.yaml", "version: 0.1.0", "version: 0.0.9")

    with pytest.raises(ReleaseError, match=r"manifest\.yaml has version 0\.0\.9"):
        release(clone, Path("plugins/openai_gpt5_responses"), "current")


def test_a_folder_that_is_no_member_is_refused(clone: Path) -> None:
    with pytest.raises(ReleaseError, match="expected a folder of a package or plugin"):
        release(clone, Path("packages/nothing"), "patch")


@pytest.mark.parametrize(
    ("bump", "expected"),
    [("current", "1.2.3"), ("patch", "1.2.4"), ("minor", "1.3.0"), ("major", "2.0.0")],
)
def test_a_bump_raises_its_part_and_resets_the_smaller_ones(bump: str, expected: str) -> None:
    member = Member(folder=PACKAGE, name="x", version=Version("1.2.3"), requirements=())

    assert next_version(member, bump) == Version(expected)


def test_a_plugin_is_tagged_by_the_name_that_dify_knows() -> None:
    tags = {member.folder.name: member.tag(Version("1.0.0")) for member in read_members(ROOT)}

    assert tags["openai_gpt5_responses"] == "openai_gpt5_responses-v1.0.0"
    assert tags["gpt5-payloads"] == "gpt5-payloads-v1.0.0"
