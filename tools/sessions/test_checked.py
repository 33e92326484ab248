"""What the type checker has found right is not checked again before it, or what it stands on, has changed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sessions import checked


FILES = {name: [name] for name in ("low", "high", "other")} | {"programs": ["programs.py"]}


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """Return a function that finds what is to be checked in a workspace where `high` stands on `low`, and takes it for right."""
    for name in ("low/a.py", "high/a.py", "other/a.py", "programs.py", "uv.lock", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(checked, "ROOT", tmp_path)
    monkeypatch.setattr(checked, "FOLDER", tmp_path / "cache")
    monkeypatch.setattr(checked, "MEMBERS", {name: Path(name) for name in ("low", "high", "other")})
    monkeypatch.setattr(checked, "sources", lambda folder: [str(folder)])
    monkeypatch.setattr(
        checked, "siblings", lambda name, for_tests: ["low"] if name == "high" and for_tests else []
    )

    def find() -> set[str]:
        unchecked = checked.find_unchecked(FILES)
        for note in unchecked.values():
            note.touch()
        return set(unchecked)

    assert find() == set(FILES)
    return find


def test_where_nothing_has_changed_nothing_is_checked(find: Callable[[], set[str]]) -> None:
    assert find() == set()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("low/a.py", {"low", "high", "programs"}),
        ("low/new.py", {"low", "high", "programs"}),
        ("high/a.py", {"high", "programs"}),
        ("programs.py", {"programs"}),
        ("uv.lock", set(FILES)),
        ("pyproject.toml", set(FILES)),
    ],
)
def test_what_stands_on_a_change_is_checked(
    find: Callable[[], set[str]], tmp_path: Path, changed: str, expected: set[str]
) -> None:
    (tmp_path / changed).write_text("x = 1\n", encoding="utf-8")

    assert find() == expected
    assert find() == set()
