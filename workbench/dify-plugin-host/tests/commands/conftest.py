import json
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest


class Host:
    """A running `dify-host serve`, read a line at a time."""

    def __init__(self, lines):
        self._lines = lines
        self._ready = None

    def event(self):
        return json.loads(self._lines.readline())

    @property
    def ready(self):
        """Return the first event."""
        self._ready = self._ready or self.event()
        return self._ready

    def read(self, last):
        """Return the lines up to the one that begins with `last`."""
        taken = []
        for line in self._lines:
            taken.append(line.rstrip("\n"))
            if line.startswith(last):
                return taken
        raise AssertionError(taken)

    def call(self, plugin, path, data, *, key=None):
        """Return the data of a dispatch that goes well."""
        headers = {"X-Api-Key": key or self.ready["api_key"], "X-Plugin-ID": plugin}
        headers["Content-Type"] = "application/json"
        body = json.dumps({"user_id": "u", "data": data})
        url = f"{self.ready['base_url']}/plugin/t/dispatch/{path}"
        response = httpx.post(url, headers=headers, content=body, timeout=120, verify=False)
        events = response.text.split("\n\n")[:-1]
        return [json.loads(event.removeprefix("data: "))["data"] for event in events]

    def ask(self, text, *, plugin="tests/echo_model", key=None):
        data = {"provider": "echo", "model_type": "llm", "model": "echo-2", "credentials": {}}
        data["prompt_messages"] = [{"role": "user", "content": text}]
        chunks = self.call(plugin, "llm/invoke", data, key=key)
        return "".join(chunk["delta"]["message"]["content"] for chunk in chunks)


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """What a command has installed for one test it has for all that take `shared_state`."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture
def shared_state(monkeypatch, installed):
    """Have the host keep what it installs where other tests keep the same packages."""
    monkeypatch.setenv("XDG_STATE_HOME", str(installed))


@pytest.fixture
def command(monkeypatch, plugins, console_scripts):
    """Return a function that runs the installed command in this process and returns its exit code."""
    monkeypatch.chdir(plugins.parent)
    installed = console_scripts["dify-host"]

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dify-host", "serve", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            installed.load()()
        return ended.value.code

    return run


@pytest.fixture
def serve(monkeypatch, command):
    """Run the command while `talk` talks to it in another thread; then end it, and return what `talk` does."""

    def run(*arguments, talk, ends_with=(signal.SIGTERM, 143)):
        number, expected = ends_with
        reading, writing = os.pipe()
        has_ended = threading.Event()

        def talk_and_end(lines):
            try:
                return talk(Host(lines))
            finally:
                if not has_ended.is_set():
                    os.kill(os.getpid(), number)

        with os.fdopen(reading) as lines, ThreadPoolExecutor(1) as pool:
            with os.fdopen(writing, "w") as out, monkeypatch.context() as patch:
                patch.setattr(sys, "stdout", out)
                told = pool.submit(talk_and_end, lines)
                code = command("--port", 0, *arguments)
                has_ended.set()
            told = told.result()
        assert code == expected
        return told

    return run


@pytest.fixture
def usage(command, capsys):
    """Run the command where it is to fail; return exit code and stderr."""

    def run(*arguments):
        code = command(*arguments)
        out, err = capsys.readouterr()
        assert out == ""
        return code, err

    return run
