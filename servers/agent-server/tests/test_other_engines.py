"""Engines of other packages, which are found by the schemes of their URLs."""

import pytest
from agents import Scripted, settings_of
from pydantic import ValidationError

from agent_server.engine import ENGINES, EngineError, StorageError, open_engine


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that installs a package with an engine, which yields what it is opened with."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "engine_of_a_test.py").write_text(
        "from contextlib import asynccontextmanager\n"
        "@asynccontextmanager\n"
        "async def open_here(settings, executor):\n"
        "    yield settings.engine, executor\n"
    )

    def install(scheme, place):
        folder = tmp_path / f"{scheme}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {scheme}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[{ENGINES}]\n{scheme} = {place}\n")

    return install


async def open_and_close(engine):
    async with open_engine(settings_of("sqlite:///runs.sqlite", engine=engine), Scripted()):
        pass


async def test_an_engine_is_opened_by_whatever_package_has_its_scheme(installed):
    installed("here", "engine_of_a_test:open_here")
    executor = Scripted()
    settings = settings_of("sqlite:///runs.sqlite", engine="here://host:1/a-namespace")

    async with open_engine(settings, executor) as opened:
        pass

    assert opened == ("here://host:1/a-namespace", executor)


async def test_an_engine_that_is_not_installed_is_told_with_what_to_install():
    with pytest.raises(
        EngineError,
        match=r"^engine: no engine is installed for elsewhere://;"
        r" for temporal:// install gpt5-agent-temporal beside this server$",
    ) as caught:
        await open_and_close("elsewhere://user:secret@host")

    assert isinstance(caught.value, StorageError)


@pytest.mark.parametrize("place", ["nowhere_at_all:open", "json:open"])
async def test_an_engine_that_cannot_be_loaded_is_told_with_its_place(installed, place):
    installed("broken", place)

    with pytest.raises(
        EngineError, match=f"^engine: expected one that can be loaded; {place} of broken:// cannot"
    ):
        await open_and_close("broken://host")


@pytest.mark.parametrize("engine", ["", "temporal", "Temporal://host", "temporal://", "tables x"])
def test_a_setting_that_names_no_engine_is_refused(engine):
    with pytest.raises(ValidationError, match="expected tables, or a URL such as temporal://HOST"):
        settings_of("sqlite:///runs.sqlite", engine=engine)
