"""A running Dify, with both plugins of this checkout in it and OpenAI played by the simulator."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from apps import MODELS, Apps
from dify import Console
from gpt5_simulator import ResponsesSimulator
from upstream import KEY, Stage, Upstream


ROOT = Path(__file__).parents[2]


def pytest_addoption(parser):
    parser.addoption("--dify", required=True, help="the URL of a running Dify's API")
    for name, what in (("email", "whom to log in"), ("password", "their password")):
        default = os.environ.get(f"DIFY_{name.upper()}")
        parser.addoption(
            f"--{name}", default=default, help=f"{what}; DIFY_{name.upper()} if not given"
        )
    limit = "OPENAI_GPT5_BACKGROUND_SECONDS of its plugin daemon, for answers that outlive a call"
    parser.addoption("--background-seconds", type=float, help=limit)
    parser.addoption("--web", help="the URL of its pages")
    parser.addoption("--chromium", default=shutil.which("chromium"), help="a browser")
    parser.addoption("--pictures", action="store_true", help="take the picture of the README anew")
    parser.addoption(
        "--official", type=Path, help="a folder with the official packages, to measure beside ours"
    )


@pytest.fixture(scope="session")
def url(pytestconfig):
    return pytestconfig.getoption("--dify").rstrip("/")


@pytest.fixture(scope="session")
def console(url, pytestconfig):
    """The console of the Dify."""
    return Console(url, pytestconfig.getoption("--email"), pytestconfig.getoption("--password"))


@pytest.fixture(scope="session")
def stage():
    return Stage()


@pytest.fixture(scope="session")
def simulator(stage):
    with ResponsesSimulator(model=stage, api_keys=[KEY]) as simulator:
        yield simulator


@pytest.fixture(scope="session")
def make_package(tmp_path_factory):
    """Make a package of a plugin's folder."""

    def make(plugin, *options):
        folder = tmp_path_factory.mktemp("package")
        command = [Path(sys.executable).with_name("dify-host"), "package", plugin, *options]
        subprocess.run([*command, "--output", folder], cwd=ROOT, check=True, capture_output=True)
        return next(folder.glob("*.difypkg"))

    return make


@pytest.fixture(scope="session")
def packages(make_package):
    """Both packages: the model plugin's first."""
    return [
        make_package(ROOT / "plugins" / name)
        for name in ("openai_gpt5_responses", "gpt5_agent_strategies")
    ]


@pytest.fixture(scope="session")
def save_credentials(console, simulator):
    """Save the model provider's credentials, for the simulator or for another server."""

    def save(base_url=simulator.base_url):
        console.save_credentials(MODELS, {"openai_api_key": KEY, "openai_api_base": base_url})

    return save


@pytest.fixture(scope="session", autouse=True)
def plugins(console, packages, save_credentials):
    """Both plugins, with credentials for the simulator; their identifiers."""
    identifiers = [console.install(package) for package in packages]
    save_credentials()
    chosen = {"model_type": "llm", "provider": MODELS, "model": "gpt-6-luna"}
    console.post("/workspaces/current/default-model", model_settings=[chosen])
    return identifiers


@pytest.fixture
def apps(console, url):
    """What makes apps, which are deleted when the test is over."""
    apps = Apps(console, url)
    yield apps
    apps.delete()


@pytest.fixture
def upstream(simulator, stage):
    """The server behind the model plugin, as this test sees it."""
    stage.plays()
    return Upstream(simulator, stage)
