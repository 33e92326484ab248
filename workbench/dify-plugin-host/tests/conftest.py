import asyncio
import compileall
import contextlib
import functools
import importlib.metadata
import importlib.util
import json
import os
import random
import shutil
import socket
import sys
import textwrap
import threading
from pathlib import Path

import httpx
import pytest
import typer.main

from dify_plugin_host import DaemonServer
from dify_plugin_packager.packaging import build_package


TESTS = Path(__file__).parent
WIRE = TESTS / "plugins" / "wire.py"
PLUGINS = ("echo_model", "small_agent")
# Whoever runs the tests may have them, and they decide which server answers.
for _name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "DIFY_HOST_API_KEY"):
    os.environ.pop(_name, None)
# Once for all copies: Python takes what is compiled of a file of the same time and size.
compileall.compile_dir(TESTS / "plugins", quiet=1)

MANIFEST = {
    "version": "0.0.1",
    "type": "plugin",
    "author": "tests",
    "name": "scripted",
    "resource": {"memory": 1048576, "permission": {}},
    "plugins": {"models": []},
    "meta": {"version": "0.0.1", "runner": {"language": "python", "entrypoint": "main"}},
}


@pytest.fixture(scope="session")
def anyio_backend():
    """Run asynchronous tests on asyncio, on which the host stands."""
    return "asyncio"


@pytest.fixture(scope="session")
def console_scripts():
    """Return the commands that are installed in this environment, by name."""
    return importlib.metadata.entry_points(group="console_scripts")


@pytest.fixture(scope="session", autouse=True)
def _one_command_line():
    """Have typer build the commands once, which it does anew for each run and which takes longer than many runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session")
def uv_cache(tmp_path_factory):
    """A cache for all installations of these tests: what uv finds out of the Python here, it finds out once."""
    return tmp_path_factory.mktemp("uv-cache")


@pytest.fixture
def state(monkeypatch, tmp_path, uv_cache):
    """Have the host keep what it installs in a folder of the test's own; return that folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "state" / "dify-host"
    folder.mkdir(parents=True)
    (folder / ".uv-cache").symlink_to(uv_cache)
    return folder


@pytest.fixture
def make_plugin(tmp_path):
    """Write a plugin folder whose `main.py` is the given script; `wire` is at hand in it."""

    return functools.partial(write_plugin, tmp_path / "plugins")


@pytest.fixture(scope="module")
def make_shared_plugin(tmp_path_factory):
    """Write a plugin folder that all tests of a module may use."""
    return lambda script, **manifest: write_plugin(
        tmp_path_factory.mktemp("plugins"), script, **manifest
    )


def write_plugin(parent, script, **manifest):
    folder = parent / manifest.get("name", MANIFEST["name"])
    folder.mkdir(parents=True)
    bring_wire(folder)
    (folder / "main.py").write_text("import os, sys, time, wire\n" + textwrap.dedent(script))
    (folder / "manifest.yaml").write_text(json.dumps({**MANIFEST, **manifest}))
    return folder


@pytest.fixture
def echo(make_plugin):
    return make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, request["data"])
            wire.end(request)
        """
    )


@pytest.fixture
def dify_host(monkeypatch, capsys, console_scripts):
    """Run the installed command in this process; return exit code, stdout and stderr."""
    command = console_scripts["dify-host"]

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dify-host", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            command.load()()
        return ended.value.code or 0, *capsys.readouterr()

    return run


@pytest.fixture
def plugins(tmp_path):
    """Lay out a `plugins` folder with the model plugin and the agent plugin of these tests."""
    return lay_out_plugins(tmp_path / "plugins")


def lay_out_plugins(folder):
    for name in PLUGINS:
        shutil.copytree(TESTS / "plugins" / name, folder / name)
        bring_wire(folder / name)
    return folder


def bring_wire(folder):
    """Copy `wire`, and what is compiled of it, into a plugin's folder."""
    compiled = Path(importlib.util.cache_from_source(str(WIRE)))
    shutil.copy2(WIRE, folder)
    (folder / "__pycache__").mkdir(exist_ok=True)
    shutil.copy2(compiled, folder / "__pycache__")


@pytest.fixture
def workshop(tmp_path):
    """Lay out a workspace with three packages, and the plugins of these tests, which need them all."""
    return lay_out_workshop(tmp_path / "workshop")


def lay_out_workshop(root):
    shutil.copytree(TESTS / "workshop", root)
    lay_out_plugins(root / "plugins")
    (root / "plugins/echo_model/models/llm/_position.yaml").write_text("[echo-2, echo-1]")
    return root


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """Package both plugins of the workshop; return the folder with `echo_model` and `small_agent`, each a .difypkg."""
    root = lay_out_workshop(tmp_path_factory.mktemp("packages") / "workshop")
    for name in PLUGINS:
        build_package(root / "plugins" / name, root / "dist" / f"{name}.difypkg")
    return root / "dist"


@pytest.fixture(scope="session")
def tool_package(tmp_path_factory):
    """Package the tool plugin of these tests."""
    root = lay_out_workshop(tmp_path_factory.mktemp("tools") / "workshop")
    shutil.copytree(TESTS / "plugins" / "demo_tools", root / "plugins" / "demo_tools")
    return build_package(root / "plugins" / "demo_tools", root / "dist").path


@pytest.fixture(scope="module")
def shared_plugins(tmp_path_factory):
    """Lay out the model plugin and the agent plugin once for all tests of a module, none of which changes them."""
    return lay_out_plugins(tmp_path_factory.mktemp("shared") / "plugins")


@pytest.fixture(scope="session")
def pass_time():
    """Move the clock of a loop on, on which all limits of the host go by; call it in that loop."""

    def move(seconds):
        loop = asyncio.get_running_loop()
        before = loop.time
        loop.time = lambda: before() + seconds

    return move


@pytest.fixture
def free_port():
    """A port that nobody else is given: systems give out none below 32768 by chance."""
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


@pytest.fixture
def run_daemon():
    """Run daemon servers, each on a loop in a thread of its own, until the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda *folders, **options: stack.enter_context(daemon_of(*folders, **options))


@pytest.fixture(scope="module")
def run_shared_daemon():
    """Run daemon servers until the module's tests are done; the same folders and settings get the same server."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(
            lambda *folders, **options: stack.enter_context(daemon_of(*folders, **options))
        )


@pytest.fixture(scope="session")
def daemon(tmp_path_factory):
    """Serve the model, agent and tool plugin of these tests."""
    plugins = lay_out_plugins(tmp_path_factory.mktemp("served"))
    folders = (plugins / "echo_model", plugins / "small_agent", TESTS / "plugins" / "demo_tools")
    with daemon_of(*folders, credentials={"key": "host's"}) as running:
        yield running


@contextlib.contextmanager
def daemon_of(*folders, **options):
    server = DaemonServer(*folders, **options)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()
        with httpx.Client(base_url=server.base_url, timeout=120, verify=False) as client:
            yield Caller(server, client, loop)
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Caller:
    """A caller of a daemon server, as Dify is one."""

    def __init__(self, server, client, loop):
        self.server, self.client, self._loop = server, client, loop

    def call_soon(self, act, *arguments):
        """Call a function in the server's loop."""
        self._loop.call_soon_threadsafe(act, *arguments)

    def stop(self):
        asyncio.run_coroutine_threadsafe(self.server.stop(), self._loop).result()

    def request(self, path, data, *, plugin="tests/demo_tools", headers=(), **body):
        shown = {"X-Api-Key": self.server.api_key, "X-Plugin-ID": plugin}
        shown |= {"Content-Type": "application/json", **dict(headers)}
        return {
            "method": "POST",
            "url": f"/plugin/t/dispatch/{path}",
            "headers": {name: value for name, value in shown.items() if value is not None},
            "content": json.dumps({"user_id": "u", "data": data, **body}),
        }

    def post(self, path, data, **options):
        return self.client.request(**self.request(path, data, **options))

    def stream(self, path, data, **options):
        return self.client.stream(**self.request(path, data, **options))

    def get(self, path, **query):
        headers = {"X-Api-Key": self.server.api_key}
        return self.client.get(f"/plugin/t/management/{path}", params=query, headers=headers)

    def frames(self, path, data, **options):
        """Return the envelopes of a stream."""
        response = self.post(path, data, **options)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] == "text/event-stream"
        *events, rest = response.text.split("\n\n")
        assert rest == ""
        return [json.loads(event.removeprefix("data: ")) for event in events]

    def items(self, path, data, **options):
        """Return what came in the envelopes of a stream in which nothing failed."""
        envelopes = self.frames(path, data, **options)
        assert all(
            (envelope["code"], envelope["message"]) == (0, "success") for envelope in envelopes
        ), envelopes
        return [envelope["data"] for envelope in envelopes]

    def tool(self, name, **parameters):
        return self.items("tool/invoke", tool_data(name, **parameters))


def tool_data(name, **parameters):
    return {"provider": "demo", "tool": name, "credentials": {}, "tool_parameters": parameters}
