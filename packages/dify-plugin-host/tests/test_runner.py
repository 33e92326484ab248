"""The command that the plugin SDK's own test runner calls, spoken to as that runner speaks to it."""

import importlib.metadata
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest


COMMAND = Path(sys.executable).with_name("dify-plugin")


@pytest.fixture
def start(tmp_path):
    """Start `plugin run` on a package; return its process, with text pipes."""
    started = []

    def run(package):
        process = subprocess.Popen(
            [COMMAND, "plugin", "run", package, "--response-format", "json"],
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def ready(start, packages):
    """Start a plugin of these tests and wait until it is ready."""

    def run(name):
        process = start(packages / f"{name}.difypkg")
        assert json.loads(process.stdout.readline())["response"] == {"info": "loading plugin"}
        assert json.loads(process.stdout.readline()) == {
            "invoke_id": "",
            "type": "plugin_ready",
            "response": {"info": "plugin loaded"},
        }
        return process

    return run


def ask(process, *requests):
    """Send requests and end stdin; return the answers by invoke id."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    out, _ = process.communicate(lines, timeout=30)
    answers = {}
    for line in out.splitlines():
        answer = json.loads(line)
        answers.setdefault(answer["invoke_id"], []).append((answer["type"], answer["response"]))
    assert answers.pop("") == [("info", {"info": "received request"})] * len(requests)
    return answers


def invoke_llm(invoke_id, text):
    data = {"model": "echo-1", "prompt_messages": [{"role": "user", "content": text}]}
    return {"invoke_id": invoke_id, "type": "model", "action": "invoke_llm", "request": data}


END = ("plugin_invoke_end", {"info": "plugin invoke end"})


def test_the_version_is_the_hosts():
    out = subprocess.check_output([COMMAND, "version"], text=True)
    assert out == importlib.metadata.version("dify-plugin-host") + "\n"


def test_a_folder_becomes_a_package_where_the_caller_wants_it(workshop, tmp_path):
    output = tmp_path / "out" / "plugin.difypkg"
    command = [COMMAND, "plugin", "package", workshop / "plugins" / "echo_model", "-o", output]
    out = subprocess.check_output(command, text=True)
    assert out == f"plugin packaged successfully, output path: {output}\n"
    assert output.is_file()


def test_a_folder_that_is_no_plugin_is_named(tmp_path):
    command = [COMMAND, "plugin", "package", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"dify-plugin: error: {tmp_path}: expected a file")


def test_requests_are_answered_side_by_side_under_their_own_ids(ready):
    process = ready("echo_model")
    answers = ask(process, invoke_llm("a", "one"), invoke_llm("b", "two"))
    for invoke_id, text in (("a", "one"), ("b", "two")):
        (kind, chunk), end = answers[invoke_id]
        assert (kind, end) == ("plugin_response", END)
        assert chunk["delta"]["message"]["content"] == text
    assert process.returncode == 0


def test_an_error_of_the_plugin_comes_as_the_daemon_words_it(ready):
    answers = ask(ready("echo_model"), invoke_llm("a", "fail InvokeRateLimitError slow down"))
    _, (kind, response), end = answers["a"]
    error = json.loads(response["error"])
    assert (kind, end) == ("error", END)
    assert (error["error_type"], error["message"]) == ("InvokeRateLimitError", "slow down")


def test_a_strategy_gets_a_model_and_tools_to_call(ready):
    model = {"provider": "p", "model": "m", "model_type": "llm", "mode": "chat"}
    params = {"model": {**model, "completion_params": {}}, "query": "hi", "maximum_iterations": 3}
    data = {"agent_strategy_provider": "small", "agent_strategy": "steps"}
    request = {"type": "agent_strategy", "action": "invoke_agent_strategy", "invoke_id": "a"}
    request["request"] = {**data, "agent_strategy_params": params}
    texts = [
        response["message"]["text"]
        for kind, response in ask(ready("small_agent"), request)["a"]
        if kind == "plugin_response" and response["type"] == "text"
    ]
    assert texts == ["hello", " world"]


def test_a_call_back_of_a_model_is_refused(ready):
    (_, chunk), _ = ask(ready("echo_model"), invoke_llm("a", "callback"))["a"]
    assert "you can not invoke dify from model" in chunk["delta"]["message"]["content"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nonsense", "expected a JSON object: Expecting value"),
        ("[]", "expected an object with 'invoke_id', 'type' and 'action'"),
        ('{"invoke_id": "a"}', "expected an object with 'invoke_id', 'type' and 'action'"),
    ],
)
def test_a_line_that_is_no_request_is_answered_with_an_error(ready, line, problem):
    out, _ = ready("echo_model").communicate(f"{line}\n", timeout=30)
    error = json.loads(out.splitlines()[1])
    assert (error["invoke_id"], error["type"]) == ("", "error")
    assert error["response"]["error"].startswith(problem)


def test_a_package_that_does_not_start_is_an_error_of_nobody(start, workshop, tmp_path):
    (workshop / "plugins/echo_model/main.py").write_text("import gone")
    package = tmp_path / "p.difypkg"
    folder = workshop / "plugins" / "echo_model"
    subprocess.check_output([COMMAND, "plugin", "package", folder, "-o", package])
    process = start(package)
    out, _ = process.communicate(timeout=30)
    last = json.loads(out.splitlines()[-1])
    assert process.returncode == 1
    assert (last["invoke_id"], last["type"]) == ("", "error")
    assert "before its first heartbeat" in last["response"]["error"]


def test_sigterm_ends_the_plugin_with_it(ready):
    process = ready("echo_model")
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    plugin = os.pidfd_open(int(child))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    ended, _, _ = select.select([plugin], [], [], 0)
    os.close(plugin)
    assert ended
    assert process.returncode == 0


def test_what_the_sdk_looks_for_on_the_path_is_this_command():
    assert shutil.which("dify-plugin", path=str(COMMAND.parent)) == str(COMMAND)
