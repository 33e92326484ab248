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
def dify_plugin(monkeypatch, capsys, shared_state, console_scripts):  # noqa: ARG001 - around it
    """Run the installed command in this process with these lines on stdin; return exit code, stdout and stderr."""
    command = console_scripts["dify-plugin"]

    def run(*arguments, lines=()):
        reading, writing = os.pipe()
        with os.fdopen(writing, "w") as pipe:
            pipe.writelines(f"{line}\n" for line in lines)
        with os.fdopen(reading) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            monkeypatch.setattr(sys, "argv", ["dify-plugin", *map(str, arguments)])
            with pytest.raises(SystemExit) as ended:
                command.load()()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run


@pytest.fixture
def answers(dify_plugin, packages):
    """Send lines to a plugin of these tests; return what it says after it is ready, but for the receipts."""

    def run(name, *lines):
        package = packages / f"{name}.difypkg"
        code, out, err = dify_plugin(
            "plugin", "run", package, "--response-format", "json", lines=lines
        )
        assert (code, err) == (0, "")
        loading, ready, *rest = [json.loads(line) for line in out.splitlines()]
        assert loading == message("info", {"info": "loading plugin"})
        assert ready == message("plugin_ready", {"info": "plugin loaded"})
        receipt = message("info", {"info": "received request"})
        assert rest.count(receipt) == len(lines)
        return [answer for answer in rest if answer != receipt]

    return run


@pytest.fixture
def ask(answers):
    """Send requests to a plugin of these tests; return the answers by invoke id."""

    def run(name, *requests):
        taken = {}
        for answer in answers(name, *map(json.dumps, requests)):
            taken.setdefault(answer["invoke_id"], []).append((answer["type"], answer["response"]))
        return taken

    return run


def message(kind, response):
    return {"invoke_id": "", "type": kind, "response": response}


def invoke_llm(invoke_id, text):
    data = {"model": "echo-1", "prompt_messages": [{"role": "user", "content": text}]}
    return {"invoke_id": invoke_id, "type": "model", "action": "invoke_llm", "request": data}


END = ("plugin_invoke_end", {"info": "plugin invoke end"})


def test_the_version_is_the_hosts(dify_plugin):
    assert dify_plugin("version") == (0, importlib.metadata.version("dify-plugin-host") + "\n", "")


def test_a_folder_becomes_a_package_where_the_caller_wants_it(dify_plugin, workshop, tmp_path):
    output = tmp_path / "out" / "plugin.difypkg"
    folder = workshop / "plugins" / "echo_model"
    expected = f"plugin packaged successfully, output path: {output}\n"
    assert dify_plugin("plugin", "package", folder, "-o", output) == (0, expected, "")
    assert output.is_file()


def test_a_folder_that_is_no_plugin_is_named(dify_plugin, tmp_path):
    code, _, err = dify_plugin("plugin", "package", tmp_path)
    assert code == 1
    assert err.startswith(f"dify-plugin: error: {tmp_path}: expected a file")


def test_requests_are_answered_side_by_side_under_their_own_ids(ask):
    taken = ask("echo_model", invoke_llm("a", "one"), invoke_llm("b", "two"))
    for invoke_id, text in (("a", "one"), ("b", "two")):
        (kind, chunk), end = taken[invoke_id]
        assert (kind, end) == ("plugin_response", END)
        assert chunk["delta"]["message"]["content"] == text


def test_an_error_of_the_plugin_comes_as_the_daemon_words_it(ask):
    taken = ask("echo_model", invoke_llm("a", "fail InvokeRateLimitError slow down"))
    _, (kind, response), end = taken["a"]
    error = json.loads(response["error"])
    assert (kind, end) == ("error", END)
    assert (error["error_type"], error["message"]) == ("InvokeRateLimitError", "slow down")


def run_strategy(query, tools=()):
    model = {"provider": "p", "model": "m", "model_type": "llm", "mode": "chat"}
    params = {"model": {**model, "completion_params": {}}, "query": query, "tools": list(tools)}
    data = {"agent_strategy_provider": "small_agent", "agent_strategy": "steps"}
    request = {"type": "agent_strategy", "action": "invoke_agent_strategy", "invoke_id": "a"}
    data["agent_strategy_params"] = {**params, "maximum_iterations": 3}
    return {**request, "request": data}


def texts(taken):
    return [
        response["message"]["text"]
        for kind, response in taken
        if kind == "plugin_response" and response["type"] == "text"
    ]


def test_a_strategy_gets_a_model_that_answers(ask):
    assert texts(ask("small_agent", run_strategy("hi"))["a"]) == ["hello", " world"]


SCHEMA = {
    "type": "object",
    "properties": {
        "unit": {"type": "string", "enum": ["c", "f"]},
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "note": {"type": "string"},
    },
    "required": ["unit", "city", "days"],
}


MODEL = {"provider": "p", "model": "m", "mode": "chat"}


def backwards(kind, payload):
    return run_strategy(f"raw {kind} {json.dumps(payload)}")


def replies(taken):
    (text,) = texts(taken)
    return json.loads(text)


def test_the_model_calls_the_first_tool_as_its_schema_asks(ask):
    tool = {"name": "weather", "description": "", "parameters": SCHEMA}
    other = {"name": "other", "description": "", "parameters": {}}
    question = {"role": "user", "content": "hi"}
    payload = {**MODEL, "prompt_messages": [question], "tools": [tool, other]}
    chunk, _ = replies(ask("small_agent", backwards("llm", payload))["a"])
    (call,) = chunk["data"]["delta"]["message"]["tool_calls"]
    assert call["function"]["name"] == "weather"
    arguments = json.loads(call["function"]["arguments"])
    assert arguments == {"unit": "c", "city": "example", "days": 1}


def test_the_model_answers_once_it_has_a_result(ask):
    payload = {**MODEL, "tools": [{"name": "weather", "description": "", "parameters": {}}]}
    payload["prompt_messages"] = [{"role": "tool", "content": "fine", "tool_call_id": "c"}]
    taken = replies(ask("small_agent", backwards("llm", payload))["a"])
    deltas = [reply["data"]["delta"]["message"]["content"] for reply in taken[:-1]]
    assert deltas == ["hello", " world"]


def test_every_tool_agrees(ask):
    payload = {"tool_type": "builtin", "provider": "p", "tool": "weather", "tool_parameters": {}}
    reply, _ = replies(ask("small_agent", backwards("tool", payload))["a"])
    assert reply["data"]["message"] == {"text": "weather was called"}


def test_what_is_neither_for_a_model_nor_for_a_tool_is_answered_as_everywhere(ask):
    payload = {"filename": "a.png", "mimetype": "image/png"}
    reply, _ = replies(ask("small_agent", backwards("upload_file", payload))["a"])
    assert reply["data"]["url"].startswith("http://127.0.0.1:")


def test_a_call_is_refused_that_the_manifest_does_not_allow(ask):
    error, _ = replies(ask("small_agent", backwards("storage", {}))["a"])
    assert error["event"] == "error"
    assert "permission denied" in error["message"]


def test_a_call_back_of_a_model_is_refused(ask):
    (_, chunk), _ = ask("echo_model", invoke_llm("a", "callback"))["a"]
    assert "you can not invoke dify from model" in chunk["delta"]["message"]["content"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nonsense", "expected a JSON object: Expecting value"),
        ("[]", "expected an object with 'invoke_id', 'type' and 'action'"),
        ('{"invoke_id": "a"}', "expected an object with 'invoke_id', 'type' and 'action'"),
    ],
)
def test_a_line_that_is_no_request_is_answered_with_an_error(answers, line, problem):
    error, _ = answers("echo_model", line)
    assert (error["invoke_id"], error["type"]) == ("", "error")
    assert error["response"]["error"].startswith(problem)


def test_a_plugin_that_ends_meanwhile_is_an_error_of_the_request(ask):
    ((kind, response), end) = ask("small_agent", run_strategy("die"))["a"]
    assert (kind, end) == ("error", END)
    assert "ended with exit code 1" in response["error"]


def test_a_package_that_does_not_start_is_an_error_of_nobody(dify_plugin, workshop, tmp_path):
    (workshop / "plugins/echo_model/main.py").write_text("import gone")
    package = tmp_path / "p.difypkg"
    dify_plugin("plugin", "package", workshop / "plugins" / "echo_model", "-o", package)
    code, out, _ = dify_plugin("plugin", "run", package)
    last = json.loads(out.splitlines()[-1])
    assert code == 1
    assert (last["invoke_id"], last["type"]) == ("", "error")
    assert "before its first heartbeat" in last["response"]["error"]


@pytest.mark.usefixtures("shared_state")
def test_sigterm_ends_the_plugin_with_it(packages):
    process = subprocess.Popen(
        [COMMAND, "plugin", "run", packages / "echo_model.difypkg"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert b"loading plugin" in process.stdout.readline()
    assert b"plugin_ready" in process.stdout.readline()
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    plugin = os.pidfd_open(int(child))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    ended, _, _ = select.select([plugin], [], [], 0)
    os.close(plugin)
    assert ended
    assert process.returncode == 0


def test_what_the_sdk_looks_for_on_the_path_is_this_command():
    assert shutil.which("dify-plugin", path=str(COMMAND.parent)) == str(COMMAND)


def test_both_commands_tell_their_version(dify_plugin, dify_host):
    for name, run in (("dify-plugin", dify_plugin), ("dify-host", dify_host)):
        code, out, _ = run("--version")
        assert (code, out.startswith(f"{name} 0.")) == (0, True)
