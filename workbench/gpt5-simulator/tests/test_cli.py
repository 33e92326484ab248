import os
import signal
import subprocess
import sys
import threading
from importlib.metadata import entry_points
from pathlib import Path

import httpx
import pytest

from gpt5_simulator import LIKENESSES


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


def test_help_is_whole_and_the_version_is_told(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, shown, _ = run("--help")
    assert (code, "unverified_organization" in shown) == (0, True)
    code, shown, _ = run("--version")
    assert (code, shown.startswith("gpt5-simulator 0.")) == (0, True)


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
        out, err = process.communicate(timeout=120)
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
        (
            ["--like", "olama"],
            2,
            f"gpt5-simulator: like: expected one of {', '.join(LIKENESSES)}, found 'olama'",
        ),
        (["replay", "/nowhere"], 2, "gpt5-simulator: replay '/nowhere': no such file or folder"),
        (
            ["record", "--upstream", "http://openai.com", "--to", "x"],
            2,
            "gpt5-simulator: upstream: expected https://HOST/PATH, or http:// and a loopback address, without user, query and fragment",
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
        ["--port", "8080", "replay", "folder"],
        ["record", "--to", "folder"],
        ["replay"],
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


@pytest.fixture
def serve(run, monkeypatch, free_port):
    """Run the command, have a function ask it, interrupt it; return its exit code and what it wrote to stderr."""

    def command(visit, *options):
        said, out = map(os.fdopen, os.pipe(), "rw")
        told = []

        def ask_and_interrupt():
            told.append(said.readline())
            try:
                with httpx.Client(base_url=told[0].strip(), headers=KEY) as client:
                    visit(client)
            finally:
                if told[0]:  # else it has ended by itself
                    os.kill(os.getpid(), signal.SIGINT)

        visitor = threading.Thread(target=ask_and_interrupt)
        visitor.start()
        with said, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            code, _, err = run(*options, "--port", str(free_port))
            out.close()
            visitor.join(120)
            assert [*told, *said] == [f"http://127.0.0.1:{free_port}/v1\n"]
        return code, err

    return command


def test_every_option_reaches_the_server(serve, recordings):
    answers = []

    def visit(client):
        body = {"model": "own", "input": "x", "stream": True, "stop": 1}
        other = {"authorization": "Bearer other"}
        answers.append(client.get("/models"))
        answers.append(client.post("/responses", json=body, headers=other))
        answers.append(client.post("/responses", json=body))
        answers.append(client.post("/responses", json=body))
        answers.append(client.post("/responses", json={"model": "gone", "input": "x"}))

    options = ["--replay", str(recordings), "--fault", "rate_limit"]
    options += ["--api-key", "k", "--model", "own", "--models-status", "404", "--lenient"]
    options += ["--model", "gone", "--shutdown", "gone=2020-01-01"]
    options += ["--chunk-bytes", "500", "--delay-seconds", "0.001", "--like", "ollama"]
    before = signal.getsignal(signal.SIGTERM)
    assert serve(visit, *options) == (0, "")
    assert [answer.status_code for answer in answers] == [404, 401, 429, 200, 404]
    assert b"response.incomplete" in answers[3].content
    assert answers[4].json()["error"]["type"] == "not_found_error"
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_record_has_written_replay_answers_and_tells_what_differs(serve, server, tmp_path):
    folder = str(tmp_path / "recorded")
    answers = []

    def asking(*texts):
        bodies = [{"model": "gpt-5", "input": text} for text in texts]
        return lambda client: answers.extend(
            client.post("/responses", json=body) for body in bodies
        )

    recording = ["record", "--upstream", server.base_url, "--to", folder]
    assert serve(asking("one", "two"), *recording) == (0, "")
    assert serve(asking("one", "two"), "replay", folder) == (0, "")
    assert answers[0].content == answers[2].content
    assert answers[1].content == answers[3].content

    code, err = serve(asking("one", "too"), "replay", folder)
    difference = 'The request differs from recording 00002: input: expected "two", got "too"'
    assert (code, answers[5].status_code) == (1, 400)
    assert err.splitlines() == [
        f"gpt5-simulator: {difference}",
        "gpt5-simulator: the simulator was not used as planned:",
        difference,
        "recorded requests that never came: 00002",
    ]


def test_record_tells_what_it_does_not_write(serve, tmp_path):
    options = ["--upstream", "http://127.0.0.1:9", "--to", str(tmp_path)]
    code, err = serve(lambda client: client.get("/models"), "record", *options)
    assert code == 0
    assert err.startswith("gpt5-simulator: 00001 was not recorded: The upstream server gave")


def test_a_recorder_that_is_killed_has_written_what_was_answered(server, tmp_path):
    key = "sk-proj-DoNotWriteThis0123"
    command = [*COMMAND, "record", "--upstream", server.base_url, "--to", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        body = {"model": "gpt-5", "input": "Hello", "stream": True}
        headers = {"authorization": f"Bearer {key}", "cookie": f"sid={key}"}
        answer = httpx.post(f"{url}/responses", json=body, headers=headers)
        process.kill()
    assert (tmp_path / "00001.sse").read_bytes() == answer.content
    written = "".join(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())
    assert "Hello" in written
    assert key not in written
