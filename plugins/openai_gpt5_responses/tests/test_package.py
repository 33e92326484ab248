"""The plugin as Dify gets it: packaged, installed, from the public index where uv's cache has nothing yet, started and called."""

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
            input="",
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def package(run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the package, once for all who install it."""
    packaged = run(
        BIN / "dify-host", "package", TESTS.parent, "--output", tmp_path_factory.mktemp("package")
    )
    assert packaged.returncode == 0, packaged.stderr
    return Path(packaged.stdout.split()[0])


def test_the_package_has_all_pages_and_no_tools(package: Path) -> None:
    pages = {path.relative_to(TESTS.parent).as_posix() for path in TESTS.parent.glob("readme/*.md")}
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
    assert {"README.md", "PRIVACY.md", *pages} <= names
    assert not {"catalog.yaml", "generate_models.py"} & names
    wheels = {name.partition("-")[0] for name in names}
    assert {"wheels/dify_plugin_kit", "wheels/gpt5_prices"} <= wheels


def test_the_package_keeps_the_rules_of_daemon_and_platform(run, package: Path) -> None:
    checked = run(BIN / "dify-host", "check", "--quick", package)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.long
def test_the_package_passes_every_check_of_the_host(run, package: Path) -> None:
    checked = run(BIN / "dify-host", "check", package)
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("; gpt-6-luna") == 2


def test_the_package_is_installed_started_and_called(
    run, package: Path, server: ResponsesSimulator
) -> None:
    called = run(
        *("env", "OPENAI_API_KEY=sk-test", f"OPENAI_BASE_URL={server.base_url}"),
        *(BIN / "dify-host", "call", package, "gpt-5.2", "prompt=hello"),
    )
    assert called.returncode == 0, called.stderr
    assert called.stdout
    assert [request.path for request in server.requests] == ["/v1/responses"]
