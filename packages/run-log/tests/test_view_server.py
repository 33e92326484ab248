"""The server as a program, and as a context manager."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from run_log import RunLog
from run_log.view import ViewServer, main


def test_the_server_answers_to_its_address_alone(tmp_path):
    with ViewServer(tmp_path) as server:
        assert httpx2.get(server.url()).status_code == 200
        assert httpx2.get(f"http://127.0.0.1:{server.port}/").status_code == 404
    assert server.url("run-1").endswith("/#/run/run-1")
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(server.url())


def test_the_page_can_wait_for_the_next_run_and_the_program_for_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr("run_log.view._server._WAIT_SECONDS", 0.01)
    with ViewServer(tmp_path / "runs") as server:
        assert server.url(waits=True).endswith("/#/next/")
        run = RunLog(tmp_path / "runs").begin()
        run.close()
        assert server.url(waits=True).endswith(f"/#/next/{run.path.stem}")
        waiting = threading.Thread(target=server.wait)
        waiting.start()
        assert waiting.is_alive()
    waiting.join(120)
    assert not waiting.is_alive()


def test_each_server_has_a_key_of_its_own(tmp_path):
    keys = set()
    for _ in range(3):
        with ViewServer(tmp_path) as server:
            keys.add(server.url().split("/")[3])
    assert len(keys) == 3
    assert min(map(len, keys)) >= 32


def test_the_command_prints_its_address_and_ends_on_a_signal(tmp_path):
    run = RunLog(tmp_path).begin()
    run.close()
    command = [Path(sys.executable).with_name("run-view"), run.path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip()
        assert address.endswith(f"#/run/{run.path.stem}")
        assert httpx2.get(address).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_the_command_opens_the_page_where_it_is_asked_to(tmp_path, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: os.kill(os.getpid(), signal.SIGINT))
    for arguments in ([str(tmp_path), "--open"], [str(tmp_path)]):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0
    run = RunLog(tmp_path).begin()
    run.close()
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    main([str(run.path)])
    first, *_, last = capsys.readouterr().out.splitlines()
    assert opened == [first]
    assert last.endswith(run.path.stem)


def test_the_command_tells_its_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out[:11]) == (0, "run-view 0.")


@pytest.mark.parametrize(
    ("name", "problem"),
    [("none", "expected a folder"), ("x.jsonl", "expected a name such as run-")],
)
def test_what_is_no_folder_of_runs_is_told(tmp_path, capsys, name, problem):
    (tmp_path / "x.jsonl").write_text("{}")
    with pytest.raises(SystemExit) as stopped:
        main([str(tmp_path / name)])
    assert stopped.value.code == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("port", ["70000", "x", "used"])
def test_a_port_that_cannot_be_had_is_told(tmp_path, capsys, port):
    with ViewServer(tmp_path) as server, pytest.raises(SystemExit) as stopped:
        main([str(tmp_path), "--port", str(server.port) if port == "used" else port])
    assert stopped.value.code == 2
    assert "port" in capsys.readouterr().err


def test_importing_the_log_needs_nothing_of_the_page():
    code = "import sys, run_log; sys.exit(any(name in sys.modules for name in ('starlette', 'uvicorn', 'run_log.view')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
