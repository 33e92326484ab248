"""The plugin as Dify gets it: packaged, installed, from the public index where uv's cache has nothing yet, started and called."""

import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from commands import run_dify_host
from dify_plugin_host.installation import installed
from gpt5_simulator import ResponsesSimulator
from model_plugin import PLUGIN, ModelPlugin


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of the host's, with uv's own cache."""
    folder = tmp_path_factory.mktemp("state") / "dify-host"
    folder.mkdir()
    uv_cache = subprocess.run(
        [sys.executable, "-m", "uv", "cache", "dir"], capture_output=True, text=True, check=True
    )
    (folder / ".uv-cache").symlink_to(uv_cache.stdout.strip())
    return folder


@pytest.fixture(scope="module")
def dify_host(state: Path) -> Callable[..., str]:
    """Run the command in this process, away from the repository; return what it prints."""
    return partial(run_dify_host, state, state.parent)


@pytest.fixture(scope="module")
def package(dify_host: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the package, once for all who install it."""
    told = dify_host("package", PLUGIN, "--output", tmp_path_factory.mktemp("package"))
    return Path(told.partition("  ")[0])


def test_the_package_has_all_pages_and_no_tools(package: Path) -> None:
    pages = {path.relative_to(PLUGIN).as_posix() for path in PLUGIN.glob("readme/*.md")}
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
    assert {"README.md", "PRIVACY.md", *pages} <= names
    assert not {"catalog.yaml", "generate_models.py"} & names
    wheels = {name.partition("-")[0] for name in names}
    assert {"wheels/dify_plugin_kit", "wheels/gpt5_prices"} <= wheels


def test_the_package_keeps_the_rules_of_daemon_and_platform(
    dify_host: Callable[..., str], package: Path
) -> None:
    dify_host("check", "--quick", package)


@pytest.mark.long
def test_the_package_passes_every_check_of_the_host(
    dify_host: Callable[..., str], package: Path
) -> None:
    assert dify_host("check", package).count("; gpt-6-luna") == 2


def test_the_package_is_installed_started_and_called(
    start_plugin: Callable[..., ModelPlugin], package: Path, state: Path, server: ResponsesSimulator
) -> None:
    answer = start_plugin(installed(package, state=state)).invoke(server)
    assert answer.error is None
    assert answer.text
    assert [request.path for request in server.requests] == ["/v1/responses"]
