"""The plugin as Dify gets it. Slow: it is installed three times, from the public index where uv's cache has nothing yet."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gpt5_simulator import ResponsesSimulator


TESTS = Path(__file__).parent
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory):
    """Run a command of this environment away from the repository; return the finished process."""
    folder = tmp_path_factory.mktemp("away")
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "COLUMNS": "200"}
    host_state = folder / "state" / "dify-host"
    host_state.mkdir(parents=True)
    uv_cache = subprocess.run(
        [sys.executable, "-m", "uv", "cache", "dir"], capture_output=True, text=True, check=True
    )
    (host_state / ".uv-cache").symlink_to(uv_cache.stdout.strip())

    def run(*command: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            list(map(str, command)),
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_package_is_installed_started_and_called(run, tmp_path: Path) -> None:
    packaged = run(BIN / "dify-host", "package", TESTS.parent, "--output", tmp_path)
    assert packaged.returncode == 0, packaged.stderr
    pages = {path.relative_to(TESTS.parent).as_posix() for path in TESTS.parent.glob("readme/*.md")}
    with zipfile.ZipFile(packaged.stdout.split()[0]) as package:
        names = set(package.namelist())
    assert {"README.md", "PRIVACY.md", *pages} <= names
    assert not {"compare_prices.py", "generate_models.py"} & names
    checked = run(BIN / "dify-host", "check", packaged.stdout.split()[0])
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("; gpt-6-luna") == 2


def test_the_sdks_own_runner_drives_the_plugin(run, server: ResponsesSimulator) -> None:
    called = run(
        sys.executable, TESTS / "sdk_runner.py", BIN / "dify-plugin", TESTS.parent, server.base_url
    )
    assert called.returncode == 0, called.stderr
    assert called.stdout
    assert [request.path for request in server.requests] == ["/v1/responses"]
