"""The reference is not written again before what it is written from has changed."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sessions import reference


READ = (
    "packages/low/src/low/a.py",
    "packages/low/README.md",
    "examples/a.py",
    "docs/a.png",
    "uv.lock",
)
UNREAD = ("packages/low/tests/test_a.py", "noxfile.py", "ignored.md")


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """Return a function that finds the place in the cache of the reference of a small repository."""
    for name in (*READ, *UNREAD):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("ignored.md\nbuild/\ncache/\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    monkeypatch.setattr(reference, "FOLDER", tmp_path / "cache")
    return reference.find_place


def test_a_reference_is_brought_as_it_was_kept(find: Callable[[], Path], tmp_path: Path) -> None:
    folder = tmp_path / "build" / "reference"
    assert not reference.bring(find(), folder)

    (folder / "low").mkdir(parents=True)
    (folder / "low" / "a.html").write_text("low.a", encoding="utf-8")
    reference.keep(folder, find())
    (folder / "old.html").touch()

    assert reference.bring(find(), folder)
    assert [path.relative_to(folder) for path in folder.rglob("*.html")] == [Path("low/a.html")]
    assert (folder / "low" / "a.html").read_text(encoding="utf-8") == "low.a"


@pytest.mark.parametrize("name", READ)
def test_what_it_is_written_from_has_it_written_anew(
    find: Callable[[], Path], tmp_path: Path, name: str
) -> None:
    places = [find()]
    (tmp_path / name).write_text("x", encoding="utf-8")
    places.append(find())
    (tmp_path / name).unlink()
    places.append(find())

    assert len(set(places)) == 3


@pytest.mark.parametrize("name", UNREAD)
def test_what_has_no_place_in_it_leaves_it_as_it_is(
    find: Callable[[], Path], tmp_path: Path, name: str
) -> None:
    before = find()
    (tmp_path / name).write_text("x", encoding="utf-8")

    assert find() == before
