import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest


COMMAND = str(Path(sys.executable).with_name("agent-runner"))


SCRIPT = r"""
import json, sys
fields = json.load(sys.stdin)
print("Looking at", fields["prompt"], "\x1b[2J")
print(json.dumps({"prompt": fields["prompt"], "client": fields.get("client_request_id")}))
print(json.dumps({"type": "image_output", "data": "aGk=", "mimeType": "image/png"}))
print(json.dumps({"type": "audio_output"}))
print(json.dumps({"type": "resource_output", "uri": "file:///a.csv", "text": "A table"}))
print(json.dumps({"type": "resource_output"}))
print(json.dumps({"_llm_usage": {"total_tokens": 3}}))
print("careful", file=sys.stderr)
"""


def test_people_see_the_outputs_and_how_it_went(make_agent, run_command):
    done = run_command("run", make_agent(SCRIPT), "--input", '{"prompt": "東京"}')
    assert done.stdout.decode() == (
        'Looking at 東京 \\x1b[2J\n{\n  "prompt": "東京",\n  "client": null\n}\n[image image/png, 2 bytes]\n'
        "[audio of unknown type, no data]\n[resource file:///a.csv] A table\n[resource without uri]\n"
    )
    warning, summary, usage = done.stderr.decode().splitlines()
    assert (warning, usage) == ("careful", 'usage: {"total_tokens": 3}')
    assert summary.startswith("succeeded in ")
    assert done.returncode == 0


def test_machines_get_a_line_of_json_for_each_output_and_the_result(make_agent, run_command):
    folder = make_agent(SCRIPT)
    done = run_command("run", folder, "--json", "--client-request-id", "7", stdin='{"prompt": "x"}')
    *outputs, result = map(json.loads, done.stdout.splitlines())
    assert {"type": "json_output", "value": {"prompt": "x", "client": "7"}} in outputs
    assert (result["type"], result["status"]) == ("result", "succeeded")
    assert done.stderr == b""


def test_a_line_that_asks_for_input_is_shown_as_any_json(make_agent, run_command):
    line = {"type": "input_required", "request": {"question": {"text": "Well?"}}, "state": 1}
    done = run_command("run", make_agent(f"print({json.dumps(line)!r})"), "--input", "{}")
    assert (json.loads(done.stdout), done.returncode) == (line, 0)


def test_what_the_terminal_cannot_encode_is_shown_as_an_escape(make_agent):
    command = [COMMAND, "run", make_agent("print('東 \\u2028')"), "--input", "{}"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert done.stdout == b"\\u6771 \\u2028\n"
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("script", "options", "exit_code"),
    [
        ("raise SystemExit(3)", [], 1),
        ("import time; time.sleep(600)", ["--timeout", "0.2"], 124),
    ],
)
def test_the_exit_code_says_how_the_run_ended(make_agent, run_command, script, options, exit_code):
    done = run_command("run", make_agent(script), *options, stdin="{}")
    assert done.returncode == exit_code
    assert b"failed in " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        ([], "", "input: expected --input or JSON on stdin"),
        ([], "\ufeff \n", "input: expected --input or JSON on stdin"),
        ([], '{"a": 1', "input: expected JSON: Expecting ',' delimiter at line 1 column 8"),
        (["--input", '{"a": NaN}'], "", "input: expected JSON: NaN is not JSON"),
        (["--input", '{"a":'], "", "input: expected JSON: Expecting value at line 1 column 6"),
        ([], "\udcff", "input: expected JSON in UTF-8"),
        ([], "[1]", "input: expected a JSON object"),
        (["--input", "{}"], "", "prompt: expected to be present"),
        (["--input", "{}", "--production-env", "sk-x"], "", "production env: expected NAME=VALUE"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_started(
    make_agent, run_command, arguments, stdin, message
):
    folder = make_agent("open('started', 'w')", schema={"required": ["prompt"]})
    done = run_command("run", folder, *arguments, stdin=stdin)
    assert done.stderr.decode().startswith(f"agent-runner: {message}")
    assert (done.returncode, done.stdout) == (2, b"")
    assert not (folder / "started").exists()


def test_help_says_what_it_is_and_what_is_not_passed(run_command):
    wide = {"COLUMNS": "400"}
    assert b"Run agent scripts: JSON in, typed outputs out" in run_command("--help").stdout
    shown = run_command("run", "--help", environment=wide).stdout
    assert b"one that is not set is not passed" in shown
    assert run_command("--version").stdout.startswith(b"agent-runner 0.")


def test_a_name_in_the_input_cannot_steer_the_terminal(make_agent, preloaded, read_terminal):
    folder = make_agent("", schema={"additionalProperties": {"type": "string"}})
    ours, theirs = pty.openpty()
    fields = json.dumps({"\x1b[31m": 1})
    process = preloaded.start(["run", folder, "--input", fields], theirs, theirs, theirs)
    os.close(theirs)
    shown, code = read_terminal(ours), process.wait()
    assert shown == b"agent-runner: ['\\x1b[31m']: expected type 'string'\r\n"
    assert code == 2


def test_a_closed_stdin_is_no_input(make_agent):
    command = [COMMAND, "run", make_agent("print('ran')")]
    closed = ["sh", "-c", 'exec "$@" <&-', "sh"]
    none = subprocess.run([*closed, *command], capture_output=True, check=False)
    given = subprocess.run([*closed, *command, "--input", "{}"], capture_output=True, check=False)
    assert none.stderr == b"agent-runner: input: expected --input or JSON on stdin\n"
    assert (none.returncode, given.returncode, given.stdout) == (2, 0, b"ran\n")


def test_a_terminal_is_not_waited_for(make_agent, preloaded, read_terminal):
    ours, theirs = pty.openpty()
    process = preloaded.start(["run", make_agent("")], theirs, theirs, theirs)
    os.close(theirs)
    shown, code = read_terminal(ours), process.wait()
    assert shown == b"agent-runner: input: expected --input or JSON on stdin\r\n"
    assert code == 2


def test_options_reach_the_script(make_agent, run_command, tmp_path):
    folder = make_agent(
        "import os; print([os.environ.get(name) for name in ('A', 'B', 'C', 'OPENAI_DEFAULT_MODEL')])"
    )
    (tmp_path / "prod").write_text("A=file\nB=file\n")
    options = [*("--production-env", tmp_path / "prod"), *("--production-env", "B=given")]
    done = run_command(
        "run",
        folder,
        *options,
        *("--model", "gpt-5.2", "--pass-env", "C"),
        stdin="{}",
        environment={"C": "passed"},
    )
    assert done.stdout == b"['file', 'given', 'passed', 'gpt-5.2']\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_script_too(make_agent, preloaded, number):
    folder = make_agent("import os, time; print(os.getpid(), flush=True); time.sleep(600)")
    process = preloaded.start_server(["run", folder, "--input", "{}"], {})
    script = psutil.Process(int(process.stdout.readline()))
    process.send_signal(number)
    code = process.wait()
    process.stdout.close()
    assert code == 130
    # The kernel may take a moment to remove a killed process.
    assert psutil.wait_procs([script], timeout=600) == ([script], [])


def test_a_file_goes_with_the_input(run_command, make_agent, tmp_path):
    (tmp_path / "chart.png").write_bytes(b"\x89PNG")
    folder = make_agent(
        """
        import json, pathlib, sys
        (path,) = map(pathlib.Path, json.load(sys.stdin)["files"])
        print(path.name, path.read_bytes())
        """
    )
    done = run_command("run", folder, "--input", "{}", "--file", tmp_path / "chart.png")
    assert (done.returncode, done.stdout) == (0, b"chart.png b'\\x89PNG'\n")


def test_a_file_that_cannot_go_with_it_is_told_by_the_option(run_command, make_agent, tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(8 * 1024 * 1024 + 1)
    for paths, problem in (
        (["none"], "none: expected a file that can be read: No such file or directory"),
        (
            ["a", "../" + tmp_path.name + "/a"],
            "a: expected another name than that of a file before",
        ),
        (["large"], "large: expected at most 8388608 bytes"),
    ):
        options = [part for path in paths for part in ("--file", tmp_path / path)]
        done = run_command("run", make_agent("open('ran', 'w')"), "--input", "{}", *options)
        assert done.returncode == 2
        assert b"--file " in done.stderr
        assert problem in done.stderr.decode()
