"""The plugin as Dify gets it: packaged, installed, from the public index where uv's cache has nothing yet, started and called."""

import asyncio
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dify_plugin_host.installation import installed
from scripted_dify import chunk


TESTS = Path(__file__).parent
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, runner: asyncio.Runner):
    """Run a command of this environment away from the repository; return the finished process."""
    folder = tmp_path_factory.mktemp("away")
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "COLUMNS": "200"}

    def run(*command: object) -> subprocess.CompletedProcess[str]:
        # Beside the loop, which hears the heartbeats of the other tests' processes meanwhile: without any for two minutes it ends them.
        waiting = asyncio.to_thread(
            subprocess.run,
            list(map(str, command)),
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return runner.run(waiting)

    return run


@pytest.fixture(scope="module")
def package(run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the package, once for all who install it."""
    packaged = run(
        BIN / "dify-host", "package", TESTS.parent, "--output", tmp_path_factory.mktemp("package")
    )
    assert packaged.returncode == 0, packaged.stderr
    return Path(packaged.stdout.split()[0])


def test_the_package_has_all_pages(package: Path) -> None:
    pages = {path.relative_to(TESTS.parent).as_posix() for path in TESTS.parent.glob("readme/*.md")}
    with zipfile.ZipFile(package) as archive:
        assert {"README.md", "PRIVACY.md", *pages} <= set(archive.namelist())


def test_the_package_keeps_the_rules_of_daemon_and_platform(run, package: Path) -> None:
    checked = run(BIN / "dify-host", "check", "--quick", package)
    assert checked.returncode == 0, checked.stdout


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
def test_the_package_passes_every_check_of_the_host(run, package: Path) -> None:
    checked = run(BIN / "dify-host", "check", package)
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("; gpt5_function_calling, gpt5_react") == 2
