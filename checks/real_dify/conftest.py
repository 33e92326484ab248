"""The real daemon, with what it needs around it."""

import argparse
import contextlib
import itertools
import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from uv import find_uv_bin

from client import DaemonClient
from dify import Models, unchanged, without_opaque_body
from inner_api import InnerApi
from servers import SERVER_KEY, Daemon, run_databases


ROOT = Path(__file__).parents[2]


def programs_in(text):
    """Return the folder of the daemon's programs that an option names, if they are there."""
    folder = Path(text).resolve()
    missing = [name for name in ("server", "commandline") if not (folder / name).is_file()]
    if missing:
        problem = (
            f"expected the daemon's programs in {folder}, which has no {' and no '.join(missing)}"
        )
        raise argparse.ArgumentTypeError(problem)
    return folder


def pytest_addoption(parser):
    parser.addoption("--daemon", type=programs_in, help="the folder with the daemon's programs")
    parser.addoption("--official", type=Path, help="a checkout of langgenius/dify-official-plugins")
    parser.addoption("--graphon", action="store_true", help="put graphon's classes between plugins")


@pytest.fixture(scope="session")
def served():
    """Both plugins, served with tools like Dify's own; where."""
    tools = Path(__file__).with_name("builtin_tools.py")
    command = [Path(sys.executable).with_name("dify-host"), "serve", "--json", "--port", "0"]
    with subprocess.Popen(
        [*command, "--tools", tools, "--plugins", ROOT / "plugins"],
        # The simulators speak plain HTTP, and to read the machine's certificates costs a client more than everything else. A key of
        # whoever runs the tests would not be told.
        env=os.environ | {"SSL_CERT_DIR": str(Path(__file__).parent), "DIFY_HOST_API_KEY": ""},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


@pytest.fixture
def use_relay(tmp_path, monkeypatch):
    """Have graphon call models by the relay, which stands in for `slim`."""

    def use():
        relay = tmp_path / "slim"
        relay.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).parent}/relay.py" "$@"\n'
        )
        relay.chmod(relay.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("SLIM_BINARY_PATH", str(relay))

    return use


def pytest_ignore_collect(collection_path, config):
    """Leave out what needs official plugins unless a checkout is given."""
    needs_checkout = collection_path.name == "test_offline_plugins.py"
    return True if needs_checkout and not config.getoption("official") else None


@pytest.fixture(scope="session")
def folder():
    # Not below pytest's own folder, into which the user of PostgreSQL may not look.
    with tempfile.TemporaryDirectory(prefix="real-dify-") as name:
        yield Path(name)


@pytest.fixture(scope="session")
def packages(folder):
    """Both plugins as packages: the model plugin first."""
    command = [Path(sys.executable).with_name("dify-host"), "package", "--output", folder / "dist"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return [next((folder / "dist").glob(f"{name}*")) for name in ("openai_gpt5", "gpt5_agent")]


@pytest.fixture(scope="session")
def programs(pytestconfig):
    return pytestconfig.getoption("daemon")


@pytest.fixture(scope="session")
def databases(folder):
    with run_databases(folder) as databases:
        yield databases


@pytest.fixture(scope="session")
def inner_api():
    api = InnerApi()
    with api.serve():
        yield api


@pytest.fixture(scope="session")
def start_daemon(programs, databases, folder, inner_api):
    """Start daemons, each on databases of its own, with settings of its own."""
    numbers = itertools.count(1)

    @contextlib.contextmanager
    def start(**environment):
        settings = {"DIFY_INNER_API_URL": inner_api.base_url, **databases.create()}
        daemon = Daemon(programs, folder / f"daemon-{next(numbers)}", {**settings, **environment})
        daemon.start()
        try:
            yield daemon
        finally:
            daemon.stop()

    return start


@pytest.fixture(scope="session")
def without_network(folder):
    """The environment of a daemon whose uv runs where there is no network at all, not even loopback."""
    wrapper = folder / "uv-without-network"
    wrapper.write_text(
        f'#!/bin/sh\nexec unshare --user --map-root-user --net "{find_uv_bin()}" "$@"\n'
    )
    wrapper.chmod(0o755)
    return {"UV_PATH": str(wrapper)}


@pytest.fixture(scope="module")
def daemon(start_daemon):
    with start_daemon() as daemon:
        yield daemon


@pytest.fixture(scope="module")
def client(daemon, packages):
    """A tenant in which both packages are installed."""
    client = DaemonClient(daemon.base_url, SERVER_KEY)
    for package in packages:
        client.install(package)
    return client


@pytest.fixture
def between(inner_api, pytestconfig):
    """Put Dify between a strategy and the model: it knows `opaque_body`, or it does not."""
    messages, chunks = unchanged, unchanged
    if pytestconfig.getoption("graphon"):
        from through_graphon import chunk_through_graphon, message_through_graphon

        messages, chunks = message_through_graphon, chunk_through_graphon

    def put(client, base_url, *, keeps_opaque_body=True):
        to_strategy = chunks if keeps_opaque_body else without_opaque_body
        inner_api.answer_model = Models(client, base_url, messages, to_strategy).answer

    return put
