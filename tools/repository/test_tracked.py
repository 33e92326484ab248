"""The repository holds what people wrote, and nothing that a tool builds or downloads."""

from tracked import list_files


def test_no_package_is_kept() -> None:
    assert list_files(".difypkg", ".gz", ".whl", ".zip") == []
