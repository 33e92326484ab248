import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest

from gpt5_simulator import SIMULATOR_KEY


DIFY_HOST = Path(sys.executable).with_name("dify-host")
TOOLS = """
def greet(name: str) -> str:
    '''Greet somebody.

    Args:
        name: Who.
    '''
    return f"good day, {name}"
"""


def run_strategy(host, query):
    model = {"provider": "tests/echo_model/echo", "model": "echo-2", "model_type": "llm"}
    model |= {"mode": "chat", "completion_params": {}}
    params = {"query": query, "maximum_iterations": 2, "model": model}
    data = {"agent_strategy_provider": "small_agent", "agent_strategy": "steps"}
    data["agent_strategy_params"] = params
    messages = host.call("tests/small_agent", "agent_strategy/invoke", data)
    return next(m["message"]["text"] for m in messages if m["type"] == "text")


def test_programs_learn_where_the_server_is_and_what_it_serves(serve):
    def talk(host):
        assert host.ask("hello") == "hello"
        return host.ready

    ready = serve("--json", talk=talk)
    assert ready["event"] == "ready"
    assert ready["simulator_credentials"] is None
    echo, small = ready["plugins"]
    assert (echo["id"], echo["version"]) == ("tests/echo_model", "0.0.1")
    assert echo["models"] == {"echo": ["echo-2", "echo-1", "echo-3"]}
    assert (echo["tools"], echo["agent_strategies"]) == ({}, {})
    assert small["agent_strategies"] == {"small_agent": ["steps", "quiet"]}


WAITS = "wire.ready()\nfor request in wire.requests():\n    pass\n"
READY = "Callers send the credentials for models"


def test_people_learn_it_too(serve):
    shown = serve(talk=lambda host: host.read(READY))
    assert shown[0].startswith("serving on http://127.0.0.1:")
    assert shown[1].startswith("export DIFY_HOST_API_KEY=")
    assert shown[2:] == [
        "",
        "X-Plugin-ID: tests/echo_model (0.0.1)",
        "  llm/invoke: echo: echo-2, echo-1, echo-3",
        "",
        "X-Plugin-ID: tests/small_agent (0.0.1)",
        "  agent_strategy/invoke: small_agent: steps, quiet",
        "",
        "Callers send the credentials for models with each call; --simulator provides some.",
    ]


def test_whoever_gave_the_key_is_not_shown_it_again(serve, plugins):
    lines = serve(plugins / "echo_model", "--api-key", "my-key", talk=lambda host: host.read(READY))
    assert "# DIFY_HOST_API_KEY: the key that you gave" in lines
    assert "my-key" not in "\n".join(lines)


def ids(host):
    return {plugin["id"] for plugin in host.ready["plugins"]}


def test_plugins_are_named_by_folder_and_by_the_folder_they_lie_in(serve, plugins, make_plugin):
    odd = make_plugin("wire.ready()\nfor request in wire.requests():\n    pass\n", name="odd")
    assert serve(odd, "--json", talk=ids) == {"tests/odd"}
    everything = {"tests/odd", "tests/echo_model", "tests/small_agent"}
    assert serve(odd, "--plugins", plugins, "--json", talk=ids) == everything


@pytest.fixture
def declare(make_plugin):
    """Write a plugin with one provider of a kind, and files for its parts."""

    def write(kind, provider, **parts):
        folder = make_plugin(WAITS, name="other", plugins={kind: ["p.yaml"]})
        (folder / "p.yaml").write_text(json.dumps(provider))
        for part, content in parts.items():
            (folder / f"{part}.yaml").write_text(json.dumps(content))
        return folder

    return write


def test_models_of_every_type_are_named_by_their_route(serve, declare):
    types = ["text-embedding", "rerank", "moderation", "tts"]
    provider = {
        "provider": "p",
        "supported_model_types": types,
        "models": {"kind": {"predefined": ["m*.yaml"]}},
    }
    models = {
        f"m{number}-{kind}": {"model": f"{kind}-{number}", "model_type": kind}
        for kind in types
        for number in (1, 2)
    }
    lines = serve(declare("models", provider, **models), talk=lambda host: host.read(READY))
    for kind in types:
        assert f"  {kind.replace('-', '_')}/invoke: p: {kind}-1, {kind}-2" in lines


def test_a_provider_whose_users_name_the_models_says_so(serve, declare):
    fields = [{"variable": "base_url", "type": "text-input", "required": True}]
    schema = {"model": {}, "credential_form_schemas": fields}
    provider = {
        "provider": "own",
        "supported_model_types": ["llm", "speech2text"],
        "model_credential_schema": schema,
    }
    folder = declare("models", provider)
    lines = serve(folder, talk=lambda host: host.read(READY))
    assert "  llm/invoke: own: models that you name" in lines
    assert "  speech2text/invoke: own: models that you name" in lines
    ready = serve(folder, "--json", talk=lambda host: host.ready)
    (plugin,) = ready["plugins"]
    assert plugin["models"] == {"own": []}
    assert plugin["model_types"] == {"own": {"llm": [], "speech2text": []}}


def test_tools_are_named_by_their_route(serve, declare):
    provider = {"identity": {"name": "p"}, "tools": ["t.yaml"]}
    folder = declare("tools", provider, t={"identity": {"name": "look"}})
    assert "  tool/invoke: p: look" in serve(folder, talk=lambda host: host.read(READY))


@pytest.mark.parametrize(
    ("provider", "part", "shown"),
    [
        ({"endpoints": ["part.yaml"]}, {"path": "/hook", "method": "POST"}, ("endpoints: POST /hook", {"": ["POST /hook"]})),
        ({"identity": {"name": "d"}, "datasources": ["part.yaml"]}, {"identity": {"name": "pages"}}, ("datasources: d: pages", {"d": ["pages"]})),
        ({"identity": {"name": "t"}, "events": ["part.yaml"]}, {"identity": {"name": "opened"}}, ("triggers: t: opened", {"t": ["opened"]})),
    ],
)  # fmt: skip
def test_what_has_no_route_is_named_all_the_same(serve, declare, provider, part, shown):
    line, names = shown
    kind = line.partition(":")[0]
    folder = declare(kind, provider, part=part)
    assert f"  {line} (no route for these)" in serve(folder, talk=lambda host: host.read(READY))
    (plugin,) = serve(folder, "--json", talk=lambda host: host.ready)["plugins"]
    assert plugin[kind] == names
    assert not any(plugin[other] for other in ("models", "tools", "agent_strategies"))


@pytest.mark.parametrize(
    "change",
    [
        ("author: tests", "author: ../../../x"),
        ("author: tests", "author: /x"),
        ("author: tests", "author: .."),
        ("name: echo_model", "name: ../x"),
        ("version: 0.0.1", "version: 0.0.1/../../../../x"),
    ],
)
def test_a_package_is_unpacked_nowhere_but_in_the_state_folder(
    usage, packages, monkeypatch, tmp_path, change
):
    home = tmp_path / "a" / "b" / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    path = tmp_path / "in" / "bad.difypkg"
    path.parent.mkdir()
    with (
        zipfile.ZipFile(packages / "echo_model.difypkg") as good,
        zipfile.ZipFile(path, "w") as bad,
    ):
        for name in good.namelist():
            content = good.read(name)
            is_manifest = name == "manifest.yaml"
            bad.writestr(
                name, content.replace(*map(str.encode, change)) if is_manifest else content
            )
    before = set(tmp_path.rglob("*"))

    for arguments in [path], ["--packages", path.parent]:
        code, err = usage(*arguments)
        assert code == 2
        assert f"dify-host: error: {path}: " in err
    assert {found for found in tmp_path.rglob("*") if home not in found.parents} - before <= {
        home,
        *home.parents,
    }
    assert not list(home.rglob("manifest.yaml"))


@pytest.mark.usefixtures("shared_state")
def test_packages_are_served_as_their_sources_are(serve, packages):
    def talk(host):
        return host.ask("hello")

    assert serve(packages / "echo_model.difypkg", "--json", talk=talk) == "hello"
    both = {"tests/echo_model", "tests/small_agent"}
    assert serve("--packages", packages, "--json", talk=ids) == both


@pytest.mark.parametrize("options", [(), ("--api-key", "my-key")])
def test_a_key_that_was_given_is_taken_and_never_shown(serve, monkeypatch, options):
    if not options:
        monkeypatch.setenv("DIFY_HOST_API_KEY", "my-key")

    def talk(host):
        assert host.ask("hello", key="my-key") == "hello"
        return host.ready

    ready = serve("--json", *options, talk=talk)
    assert ready["api_key"] is None
    assert "my-key" not in json.dumps(ready)


def test_the_simulator_offers_credentials_to_send(serve, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")

    def talk(host):
        given = host.ready["simulator_credentials"]
        bearer = {"Authorization": f"Bearer {given['openai_api_key']}"}
        models = httpx.get(f"{given['openai_api_base']}/models", headers=bearer, timeout=120)
        assert models.status_code == 200
        return given, json.loads(run_strategy(host, "request"))["credentials"]

    given, sent = serve("--json", "--simulator", talk=talk)
    assert given.items() <= sent.items()


def test_people_are_told_the_simulators_credentials(serve):
    shown = serve(
        "--simulator",
        "--api-key",
        "my-key",
        talk=lambda host: host.read("credentials for the simulator"),
    )
    (line,) = [line for line in shown if line.startswith("credentials for the simulator: ")]
    assert json.loads(line.partition(": ")[2])["openai_api_key"] == SIMULATOR_KEY
    assert SIMULATOR_KEY.startswith("sk-simulator-")
    assert "my-key" not in "".join(shown)


def test_models_that_plugins_call_back_get_the_key_of_the_environment(serve, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")

    def talk(host):
        return host.ready, json.loads(run_strategy(host, "request"))["credentials"]

    ready, sent = serve("--json", talk=talk)
    assert sent["openai_api_key"] == "sk-very-secret"
    assert "sk-very-secret" not in json.dumps(ready)


def test_tools_of_a_file_are_there_for_plugins(serve, tmp_path):
    path = tmp_path / "tools.py"
    path.write_text(TOOLS)

    def talk(host):
        payload = {
            "tool_type": "builtin",
            "provider": "host",
            "tool": "greet",
            "tool_parameters": {"name": "Ada"},
        }
        return json.loads(run_strategy(host, f"raw tool {json.dumps(payload)}"))

    replies = serve("--json", "--tools", path, talk=talk)
    assert replies[0]["data"]["message"] == {"text": "good day, Ada"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [((), "ended with exit code 3"), (("--as-daemon",), "killed by timeout")],
)
def test_limits_come_from_the_variables_of_the_daemon(
    serve, make_plugin, monkeypatch, options, problem
):
    monkeypatch.setenv("PLUGIN_MAX_EXECUTION_TIMEOUT", "1" if options else "600")
    folder = make_plugin("wire.ready()\nfor request in wire.requests():\n    sys.exit(3)")

    def talk(host):
        url = f"{host.ready['base_url']}/plugin/t/dispatch/tool/validate_credentials"
        headers = {"X-Api-Key": host.ready["api_key"], "X-Plugin-ID": "tests/scripted"}
        data = {"provider": "p", "credentials": {}}
        body = {"user_id": "u", "data": data}
        return httpx.post(url, headers=headers, json=body, timeout=120).text

    assert problem in serve("--json", folder, *options, talk=talk)


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", "soon"])
def test_a_limit_must_be_a_whole_number(command, monkeypatch, capsys, limit):
    monkeypatch.setenv("DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT", limit)
    assert command("--port", 0) == 2
    problem = f"expected a whole number from 1, got {limit!r}"
    assert f"DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT: {problem}" in capsys.readouterr().err


TALKATIVE = """
import fcntl, termios
wire.ready()
for request in wire.requests():
    print("thinking", file=sys.stderr, flush=True)
    while any(fcntl.ioctl(2, termios.FIONREAD, bytes(4))):  # It comes by a pipe of its own.
        time.sleep(0.01)
    wire.send("log", {"level": "INFO", "message": "half"})
    wire.error(request, "ValueError", "no", {"traceback": "Traceback:\\n  File x\\nValueError: no"})
    wire.end(request)
"""


def test_with_json_a_failed_call_is_told_on_stderr(serve, make_plugin, capsys):
    path, data = "tool/validate_credentials", {"provider": "p", "credentials": {}}
    serve(
        make_plugin(TALKATIVE),
        "--json",
        talk=lambda host: host.call("tests/scripted", path, data),
    )
    assert capsys.readouterr().err.endswith("\nTraceback:\n  File x\nValueError: no\n")


@pytest.mark.parametrize("options", [(), ("--verbose",)])
def test_a_failed_call_is_told_with_its_traceback_and_the_rest_where_all_is_asked_for(
    serve, make_plugin, options
):
    def talk(host):
        *_, address, key = host.read("export")
        headers = {"X-Api-Key": key.partition("=")[2], "X-Plugin-ID": "tests/scripted"}
        url = f"{address.removeprefix('serving on ')}/plugin/t/dispatch/tool/validate_credentials"
        body = {"data": {"provider": "p", "credentials": {}}}
        httpx.post(url, headers=headers, json=body, timeout=120)
        return host.read("ValueError: no")

    shown = serve(make_plugin(TALKATIVE), *options, talk=talk)

    failed = "scripted: ERROR: validate_tool_credentials failed: ValueError: no"
    assert shown[-4:] == [failed, "Traceback:", "  File x", "ValueError: no"]
    said = {line for line in shown if line.startswith("scripted: INFO")}
    loaded, thinking, half = (f"scripted: INFO: {word}" for word in ("loaded", "thinking", "half"))
    assert said - {loaded} == ({thinking, half} if options else set())


def test_what_plugins_complain_about_is_shown(serve, make_plugin):
    folder = make_plugin(
        """
        wire.send("log", {"level": "INFO", "message": "unseen", "timestamp": 0.0})
        wire.send("log", {"level": "WARNING", "message": "low on ink", "timestamp": 0.0})
        wire.ready()
        for request in wire.requests():
            pass
        """,
        name="odd",
        plugins={"models": ["p.yaml"]},
    )
    models = {"llm": {"predefined": ["m.yaml"]}}
    (folder / "p.yaml").write_text(json.dumps({"provider": "p", "models": models}))
    (folder / "m.yaml").write_text('{"model": "m"}')
    expected = {"event": "notice", "plugin": "odd", "level": "WARNING", "text": "low on ink"}
    assert serve(folder, "--json", talk=lambda host: host.event()) == expected
    assert serve(folder, talk=lambda host: host.read("odd")) == ["odd: WARNING: low on ink"]


@contextlib.contextmanager
def hanging(ready):
    """Ask a model that never answers; yield the connection."""
    hang = {"provider": "echo", "model_type": "llm", "model": "echo-2", "credentials": {}}
    hang["prompt_messages"] = [{"role": "user", "content": "hang"}]
    body = json.dumps({"user_id": "u", "data": hang})
    lines = [
        "POST /plugin/t/dispatch/llm/invoke HTTP/1.1",
        "Host: localhost",
        f"X-Api-Key: {ready['api_key']}",
        "X-Plugin-ID: tests/echo_model",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    address, _, port = ready["base_url"].removeprefix("http://").partition(":")
    with socket.create_connection((address, int(port))) as waiting:
        waiting.sendall("\r\n".join([*lines, "", body]).encode())
        yield waiting


def assert_ended(plugin):
    ended, _, _ = select.select([plugin], [], [], 0)
    os.close(plugin)
    assert ended


def test_ctrl_c_ends_the_server_and_leaves_nothing_running(plugins):
    host = subprocess.Popen(
        [DIFY_HOST, "serve", "--port", "0", "--json"],
        cwd=plugins.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background has them ignore SIGINT, and ignoring is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  no threads here
    )
    with hanging(json.loads(host.stdout.readline())) as waiting:
        plugin = os.pidfd_open(int(json.loads(host.stdout.readline())["text"]))
        host.send_signal(signal.SIGINT)
        _, err = host.communicate(timeout=120)
        assert_ended(plugin)
        assert (host.returncode, err) == (130, "")
        assert b"plugin 'echo_model' was stopped" in waiting.makefile("rb").read()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_every_signal_that_ends_the_server_ends_its_plugins(serve, number, code):
    def talk(host):
        with hanging(host.ready):
            return os.pidfd_open(int(host.event()["text"]))

    assert_ended(serve("--json", talk=talk, ends_with=(number, code)))


def test_wrong_usage_is_explained(usage, tmp_path):
    for arguments, problem in [
        ([tmp_path / "none"], "no such folder; expected a Dify plugin folder"),
        (["--plugins", tmp_path / "none"], "no such folder; expected one that holds plugin"),
        (["--packages", tmp_path / "none"], "no such folder; expected one that holds packages"),
        (["--plugins", tmp_path / "plugins" / "echo_model"], "found no plugin in it"),
        (["--api-key", "two words"], "the API key: expected one or more visible ASCII characters"),
        (["--tenant", "local"], "the tenant: expected a UUID, got 'local'"),
    ]:
        code, err = usage(*arguments)
        assert code == 2, err
        assert problem in err
        assert "Traceback" not in err


def test_a_plugin_that_does_not_start_is_a_failure(usage, plugins):
    (plugins / "small_agent" / "main.py").write_text("import nothing_like_it")
    code, err = usage("--port", "0")
    assert code == 1
    assert "No module named 'nothing_like_it'" in err
