"""The plugin as Dify gets it. Slow: it is installed two times, from the public index where nothing is cached yet."""

import asyncio
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


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


def test_the_package_is_installed_started_and_called(run, tmp_path: Path) -> None:
    packaged = run(BIN / "dify-host", "package", TESTS.parent, "--output", tmp_path)
    assert packaged.returncode == 0, packaged.stderr
    pages = {path.relative_to(TESTS.parent).as_posix() for path in TESTS.parent.glob("readme/*.md")}
    with zipfile.ZipFile(packaged.stdout.split()[0]) as package:
        assert {"README.md", "PRIVACY.md", *pages} <= set(package.namelist())
    checked = run(BIN / "dify-host", "check", packaged.stdout.split()[0])
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("; gpt5_function_calling, gpt5_react") == 2


@pytest.mark.long  # its short form: the model plugin's, by the same command
def test_the_sdks_own_runner_drives_the_plugin(run) -> None:
    called = run(sys.executable, TESTS / "sdk_runner.py", BIN / "dify-plugin", TESTS.parent)
    assert called.returncode == 0, called.stderr
    assert called.stdout == "hello world"
