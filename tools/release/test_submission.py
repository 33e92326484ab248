"""What a release says: its notes, and the pull request to the marketplace."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from submission import fill_submission, read_notes


CHANGELOG = """# Changelog

## Unreleased

- Not yet.

## 1.1.0 - 2026-11-22

### Added

- A thing, as in [its page](https://example.org/x).

## [1.0.0] - 2026-01-01

- The first.
"""
PYPROJECT = """
[project]
version = "1.1.0"

[tool.marketplace]
risk = "medium"
security = "Sends what it is given."
"""
MANIFEST = {
    "author": "a-team",
    "name": "thing",
    "version": "1.1.0",
    "repo": "https://github.com/a-team/thing",
    "contact": "a@example.org",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A plugin's folder with all that a submission takes from it."""
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing/CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    (tmp_path / "thing/pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    return tmp_path / "thing"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that says little more than whose it is."""
    path = tmp_path / "built.difypkg"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.yaml", json.dumps(MANIFEST))
    return path


def sections(body: str) -> dict[str, str]:
    return {
        part.partition("\n")[0]: part.partition("\n")[2].strip() for part in body.split("\n## ")[1:]
    }


def test_a_folder_is_filled_with_the_pull_request(
    folder: Path, package: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pull-request"

    refused = fill_submission(folder, package, out, is_update=True)

    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.*")) == [
        "a-team/thing/thing-1.1.0.difypkg",
        "body.md",
        "title.txt",
    ]
    copied = out / "a-team/thing/thing-1.1.0.difypkg"
    assert copied.read_bytes() == package.read_bytes()
    assert (out / "title.txt").read_text(encoding="utf-8") == "a-team/thing 1.1.0\n"
    body = sections((out / "body.md").read_text(encoding="utf-8"))
    assert "- **Source repository**: https://github.com/a-team/thing" in body["Plugin information"]
    assert "- **Contact**: a@example.org" in body["Plugin information"]
    ticked = [line for line in body["Submission type"].splitlines() if "[x]" in line]
    assert ticked == ["- [x] Version update"]
    assert (
        body["What changed"] == "### Added\n\n- A thing, as in [its page](https://example.org/x)."
    )
    assert "- [x] Medium risk" in body["Risk level"]
    assert body["Risk level"].count("[x]") == 1
    assert body["Security and privacy notes"] == "Sends what it is given."
    assert "expected a file 'README.md'" in refused
    assert refused.split("; ")[0] in body["Local validation"]
    assert "[x]" not in body["Required checks"]


@pytest.mark.parametrize(
    "fault",
    [
        ("CHANGELOG.md", "## 1.0.0\n\n- Old.\n", "expected a section '## 1.1.0'"),
        ("pyproject.toml", PYPROJECT.replace("medium", "none"), "expected risk, one of low, me"),
        ("pyproject.toml", "[project]\n", "tool.marketplace: expected risk"),
    ],
)
def test_what_is_not_said_is_asked_for(
    folder: Path, package: Path, tmp_path: Path, fault: tuple[str, str, str]
) -> None:
    name, content, problem = fault
    (folder / name).write_text(content, encoding="utf-8")

    with pytest.raises(ValueError, match=problem):
        fill_submission(folder, package, tmp_path / "out", is_update=False)

    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("version", "notes"),
    [("1.1.0", "### Added\n\n- A thing, as in [its page](https://example.org/x).\n"), ("1.0.0", "- The first.\n")],
)  # fmt: skip
def test_the_notes_are_the_changelogs_section(folder: Path, version: str, notes: str) -> None:
    assert read_notes(folder / "CHANGELOG.md", version) == notes


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["notes", "thing"], 0, "### Added\n\n- A thing, as in"),
        (["fill", "gone", "built.difypkg", "out"], 1, "not filled: "),
    ],
)  # fmt: skip
def test_the_script_says_what_it_did(
    folder: Path, package: Path, arguments: list[str], code: int, said: str
) -> None:
    script = Path(__file__).with_name("submission.py")
    places = {"thing": str(folder), "built.difypkg": str(package), "out": str(folder.parent / "o")}
    done = subprocess.run(
        [sys.executable, script, *(places.get(one, one) for one in arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr
