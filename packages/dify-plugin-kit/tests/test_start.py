from importlib import metadata

import pytest

from dify_plugin_kit.start import cached_entry_points


def find_all() -> list[metadata.EntryPoints]:
    return [metadata.entry_points(group=group) for group in ("pytest11", "console_scripts", "none")]


def test_entry_points_are_read_once_and_found_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    before, read = find_all(), metadata.distributions
    readings: list[object] = []
    monkeypatch.setattr(
        metadata, "distributions", lambda **where: readings.append(where) or read(**where)
    )

    with cached_entry_points():
        assert find_all() == before
        assert len(readings) == 1
    assert find_all() == before
    assert len(readings) == 4
