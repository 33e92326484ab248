"""The plugins' author stands in one place, and nothing names another one."""

import shutil
from pathlib import Path

import pytest
from author import SUFFIXES, find_others, write_author
from tracked import ROOT, list_files


def test_nothing_names_another_author() -> None:
    assert list(find_others(ROOT, list_files(*SUFFIXES))) == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files of the repository that can name an author."""
    for path in list_files(*SUFFIXES):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def test_another_author_is_written_everywhere_and_nowhere_else(copy: Path) -> None:
    pages = list_files(*SUFFIXES)
    before = {page: (copy / page).read_text(encoding="utf-8") for page in pages}
    root = copy / "pyproject.toml"
    root.write_text(before[Path("pyproject.toml")].replace('author = "gpt5-agent"', 'author = "x9"'))  # fmt: skip
    others = list(find_others(copy, pages))

    write_author(copy, pages)

    assert list(find_others(copy, pages)) == []
    changed = {page for page in pages if (copy / page).read_text(encoding="utf-8") != before[page]}
    assert changed == {Path("pyproject.toml"), *(Path(other.split(":")[0]) for other in others)}
    manifest = Path("plugins/openai_gpt5_responses/manifest.yaml")
    assert "\nauthor: x9\nname:" in (copy / manifest).read_text(encoding="utf-8")
    assert "gpt5-agent-loop" in (copy / "uv.lock").with_name("pyproject.toml").read_text(encoding="utf-8")  # fmt: skip
