"""The plugin as Dify gets it: packaged, installed, from the public index where uv's cache has nothing yet, started and called."""

import asyncio
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import run_dify_host
from dify_plugin_host.installation import installed
from scripted_dify import chunk


PLUGIN = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def dify_host(
    tmp_path_factory: pytest.TempPathFactory, runner: asyncio.Runner
) -> Callable[..., str]:
    """Run the command in this process, away from the repository; return what it prints."""
    folder = tmp_path_factory.mktemp("away")

    def run(*arguments: object) -> str:
        # Beside the loop, which hears the heartbeats of the other tests' processes meanwhile: without any for two minutes it ends them.
        return runner.run(asyncio.to_thread(run_dify_host, folder, folder / "state", *arguments))

    return run


@pytest.fixture(scope="module")
def package(dify_host: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the package, once for all who install it."""
    told = dify_host("package", PLUGIN, "--output", tmp_path_factory.mktemp("package"))
    return Path(told.partition("  ")[0])


def test_the_package_has_all_pages(package: Path) -> None:
    pages = {path.relative_to(PLUGIN).as_posix() for path in PLUGIN.glob("readme/*.md")}
    with zipfile.ZipFile(package) as archive:
        assert {"README.md", "PRIVACY.md", *pages} <= set(archive.namelist())


def test_the_package_keeps_the_rules_of_daemon_and_platform(
    dify_host: Callable[..., str], package: Path
) -> None:
    dify_host("check", "--quick", package)


def test_the_package_is_installed_started_and_called(
    runner: asyncio.Runner, start_agent, package: Path, tmp_path: Path
) -> None:
    uv_cache = subprocess.run(
        [sys.executable, "-m", "uv", "cache", "dir"], capture_output=True, text=True, check=True
    )
    (tmp_path / ".uv-cache").symlink_to(uv_cache.stdout.strip())
    agent = start_agent(runner.run(asyncio.to_thread(installed, package, state=tmp_path)))
    for strategy in ("gpt5_function_calling", "gpt5_react"):
        agent.dify.model = [[chunk("Hello.")]]
        assert agent.run(strategy=strategy).text == "Hello."


@pytest.mark.long
def test_the_package_passes_every_check_of_the_host(
    dify_host: Callable[..., str], package: Path
) -> None:
    assert dify_host("check", package).count("; gpt5_function_calling, gpt5_react") == 2
