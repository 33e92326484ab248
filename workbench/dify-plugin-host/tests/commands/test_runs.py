"""`dify-host runs`, `dify-host view` and `chat --view`."""

import json
import socket
import sys
import time

import httpx
import pytest

from run_log import RunLog
from run_log.view import ViewServer


@pytest.fixture(autouse=True)
def _server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")


@pytest.fixture
def command(monkeypatch, plugins, console_scripts):
    """Run the installed command in this process; return its exit code."""
    monkeypatch.chdir(plugins.parent)
    installed = console_scripts["dify-host"]

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dify-host", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            installed.load()()
        return ended.value.code or 0

    return run


def write_run(folder, about=None, content="hello"):
    with RunLog(folder).begin(about) as run:
        run.request(
            1,
            [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "before"},
                {"role": "user", "content": content},
            ],
            {},
        )
        run.end(
            "answered",
            rounds=1,
            usage={"total_tokens": 12, "total_price": "0.5", "currency": "EUR"},
        )
    return run.path


def test_runs_are_listed(command, capsys, tmp_path, monkeypatch):
    write_run(tmp_path / "logs", {"model": "m"})
    with RunLog(tmp_path / "logs").begin():
        assert command("runs", "--run-log", tmp_path / "logs") == 0
    out = capsys.readouterr().out
    assert "0.5000 EUR" in out
    assert "still running, or broken off" in out
    monkeypatch.setenv("GPT5_AGENT_RUN_LOG", str(tmp_path / "none"))
    assert command("runs") == 1
    assert "none: cannot be read" in capsys.readouterr().err


def test_a_run_is_shown_by_a_part_of_its_name(command, capsys, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: seen.append(True))
    monkeypatch.chdir(tmp_path)
    path = write_run(tmp_path / "runs")
    for wanted in (path.stem, path.stem[-6:]):
        assert command("view", wanted, "--no-open", "--plugins", tmp_path) == 0
        assert capsys.readouterr().err.strip().endswith(f"/#/run/{path.stem}")
    assert command("view", "--no-open") == 0
    assert capsys.readouterr().err.strip().endswith("/")
    assert seen == [True] * 3
    assert command("view", "other") == 2
    assert "there is no run 'other'" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(command, capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert command("view", "--run-log", tmp_path, "--port", port) == 1
    assert f"--port {port}" in capsys.readouterr().err


def test_a_chat_is_shown_on_a_page_that_stays(command, capsys, monkeypatch, tmp_path):
    opened, seen = [], []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(
        ViewServer,
        "wait",
        lambda server: seen.append(httpx.get(server.url(), timeout=120).status_code),
    )
    assert command("chat", "hello", "--view", "--json", "--run-log", tmp_path / "logs") == 0
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[-1])["event"] == "finish"
    assert opened == [line for line in err.splitlines() if line.startswith("http://127.0.0.1:")]
    assert opened[0].endswith("#/next/")
    assert seen == [200]
    assert command("chat", "hello", "--view", "--direct") == 2


@pytest.fixture
def again(command, monkeypatch, tmp_path, plugins):
    """Have the page run a run again; return what became of it."""

    def run(path, **wanted):
        states = []

        def ask(server):
            with server, httpx.Client(timeout=120) as client:
                address = server.url()
                asked = {"instruction": None, "model": None, "round": 1, **wanted}
                headers = {"origin": f"http://127.0.0.1:{server.port}"}
                path_ = f"{address}api/runs/{path.stem}/again"
                token = client.post(path_, json=asked, headers=headers).json()["token"]
                while not states or states[-1]["state"] == "running":
                    states.append(client.get(f"{address}api/again/{token}").json())
                    time.sleep(0.02)

        monkeypatch.setattr(ViewServer, "run", ask)
        assert command("view", "--run-log", tmp_path / "logs", "--plugins", plugins) == 0
        return states[-1]["error"]

    return run


def test_a_run_is_run_again_with_the_plugins_of_here(tmp_path, again):
    about = {"query": "hello", "model": "echo-1", "instruction": "Be brief."}
    path = write_run(tmp_path / "logs", about)
    assert again(path) is None
    assert "no such model" in again(path, model="no such model", instruction="Be long.")
    path = write_run(tmp_path / "logs", {**about, "parameters": {"a": 1}})
    assert "named 'a'" in again(path)


def test_a_run_that_cannot_be_run_again_is_told(tmp_path, again):
    assert "what is needed to repeat them" in again(write_run(tmp_path / "logs"))
    path = write_run(tmp_path / "logs", {"query": "?"}, content=[])
    assert "came with files" in again(path)


def test_a_run_that_fails_again_says_why(tmp_path, again):
    about = {"query": "fail InvokeConnectionError gone", "model": "echo-1", "instruction": "Go."}
    assert "OpenAI" in again(write_run(tmp_path / "logs", about))
