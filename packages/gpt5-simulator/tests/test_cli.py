import os
import signal
import socket
import subprocess
import sys
import threading
from importlib.metadata import entry_points
from pathlib import Path

import httpx
import pytest


COMMAND = [str(Path(sys.executable).with_name("gpt5-simulator"))]
KEY = {"authorization": "Bearer k"}


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process; return its exit code, output and error output."""

    def command(*options):
        (entry,) = entry_points(group="console_scripts", name="gpt5-simulator")
        monkeypatch.setattr(sys, "argv", ["gpt5-simulator", *options])
        with pytest.raises(SystemExit) as ended:
            entry.load()()
        return ended.value.code, *capsys.readouterr()

    return command


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_interrupted_even_if_a_stream_hangs(number):
    command = [*COMMAND, "--fault", "silence;after_events=1"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        url = process.stdout.readline().strip()
        listed = httpx.get(f"{url}/models", headers=KEY)
        body = {"model": "gpt-5", "input": "x", "stream": True}
        with httpx.stream("POST", f"{url}/responses", json=body, headers=KEY) as response:
            chunks = response.iter_raw()
            assert next(chunks)
            process.send_signal(number)
            with pytest.raises(httpx.RemoteProtocolError):
                next(chunks)
        out, err = process.communicate(timeout=20)
    assert listed.status_code == 200
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(
    ("options", "code", "line"),
    [
        (["--replay", "/nowhere"], 2, "gpt5-simulator: replay '/nowhere': no such file or folder"),
        (
            ["--fault", "cut;x=1"],
            2,
            "gpt5-simulator: fault 'cut;x=1': unknown setting 'x'; expected one of: after_bytes, after_events, times",
        ),
    ],
)
def test_bad_usage_is_one_clear_line(run, options, code, line):
    assert run(*options) == (code, "", f"{line}\n")


@pytest.mark.parametrize(
    "options",
    [
        ["--port", "many"],
        ["--port", "70000"],
        ["--host", "0.0.0.0"],
        ["--model", ""],
        ["--api-key", "k", "--api-key", " "],
        ["--fault", "http;status=200"],
        ["--shutdown", "gpt-5.2"],
        ["--shutdown", "gpt-5.2=soon"],
        ["--shutdown", "=2027-03-01"],
    ],
)
def test_options_that_do_not_exist_or_fit_are_bad_usage(run, options):
    assert run(*options)[0] == 2


def test_a_port_in_use_is_one_clear_line(run, server):
    port = server.base_url.split(":")[2].removesuffix("/v1")
    code, out, err = run("--port", port)
    assert (code, out) == (2, "")
    assert err.startswith(f"gpt5-simulator: port {port}: ")
    assert err.count("\n") == 1


def test_every_option_reaches_the_server(run, recordings):
    port = free_port()
    answers = []

    def visit():
        transport = httpx.HTTPTransport(retries=12)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/v1", transport=transport) as client:
            body = {"model": "own", "input": "x", "stream": True, "stop": 1}
            answers.append(client.get("/models", headers=KEY))
            answers.append(
                client.post("/responses", json=body, headers={"authorization": "Bearer other"})
            )
            answers.append(client.post("/responses", json=body, headers=KEY))
            answers.append(client.post("/responses", json=body, headers=KEY))
            gone = {"model": "gone", "input": "x"}
            answers.append(client.post("/responses", json=gone, headers=KEY))
        os.kill(os.getpid(), signal.SIGINT)

    options = ["--port", str(port), "--replay", str(recordings), "--fault", "rate_limit"]
    options += ["--api-key", "k", "--model", "own", "--models-status", "404", "--lenient"]
    options += ["--model", "gone", "--shutdown", "gone=2020-01-01"]
    options += ["--chunk-bytes", "500", "--delay-seconds", "0.001"]
    before = signal.getsignal(signal.SIGTERM)
    visitor = threading.Thread(target=visit)
    visitor.start()
    assert run(*options) == (0, f"http://127.0.0.1:{port}/v1\n", "")
    visitor.join(20)
    assert [answer.status_code for answer in answers] == [404, 401, 429, 200, 404]
    assert b"response.incomplete" in answers[3].content
    assert signal.getsignal(signal.SIGTERM) is before
