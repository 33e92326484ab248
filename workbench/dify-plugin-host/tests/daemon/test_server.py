import asyncio
import base64
import contextlib
import json
import math
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dify_plugin_host import (
    DaemonServer,
    DaemonServerError,
    HostSettings,
    PlatformRules,
    PluginFolderError,
    PluginStartError,
)


SCRIPTED = {"plugin": "tests/scripted"}
LLM = {"provider": "echo", "model_type": "llm", "model": "echo-2", "credentials": {"key": "mine"}}
TOOL = {"provider": "p", "tool": "t", "credentials": {}}
MODEL = {"provider": "p", "model_type": "tts", "model": "m", "credentials": {}}
STRATEGY = {"agent_strategy_provider": "p", "agent_strategy": "s", "agent_strategy_params": {}}
LLM_MODEL = {**MODEL, "model_type": "llm"}
LLM_DATA = {**LLM_MODEL, "prompt_messages": [], "model_parameters": {}}
PICTURE = {"content": "00", "content_type": "image"}


def model(kind, **fields):
    return {**MODEL, "model_type": kind, **fields}


ROUTES = {
    "agent_strategy/invoke": (STRATEGY, "agent_strategy", "invoke_agent_strategy"),
    "llm/invoke": (LLM_DATA, "model", "invoke_llm"),
    "llm/num_tokens": (
        {**LLM_MODEL, "prompt_messages": []},
        "model",
        "get_llm_num_tokens",
    ),
    "model/polling/check": (
        {**LLM_MODEL, "plugin_state": {"id": 1}},
        "model",
        "check_polling",
    ),
    "model/polling/start": (LLM_DATA, "model", "start_polling"),
    "model/schema": (MODEL, "model", "get_ai_model_schemas"),
    "model/validate_model_credentials": (MODEL, "model", "validate_model_credentials"),
    "model/validate_provider_credentials": (
        {"provider": "p", "credentials": {}},
        "model",
        "validate_provider_credentials",
    ),
    "moderation/invoke": (model("moderation", text="x"), "model", "invoke_moderation"),
    "multimodal_embedding/invoke": (
        model("llm", documents=[PICTURE], input_type="query"),
        "model",
        "invoke_multimodal_embedding",
    ),
    "multimodal_rerank/invoke": (
        model("llm", query=PICTURE, docs=[PICTURE]),
        "model",
        "invoke_multimodal_rerank",
    ),
    "rerank/invoke": (model("rerank", query="q", docs=["d"], top_n=2), "model", "invoke_rerank"),
    "speech2text/invoke": (model("speech2text", file="00"), "model", "invoke_speech2text"),
    "text_embedding/invoke": (
        model("text-embedding", texts=["a"], input_type="query"),
        "model",
        "invoke_text_embedding",
    ),
    "text_embedding/num_tokens": (
        model("text-embedding", texts=["a"]),
        "model",
        "get_text_embedding_num_tokens",
    ),
    "tool/get_runtime_parameters": (TOOL, "tool", "get_tool_runtime_parameters"),
    "tool/invoke": (TOOL, "tool", "invoke_tool"),
    "tool/validate_credentials": (
        {"provider": "p", "credentials": {}},
        "tool",
        "validate_tool_credentials",
    ),
    "tts/invoke": (
        model("tts", content_text="x", voice="v", tenant_id="t"),
        "model",
        "invoke_tts",
    ),
    "tts/model/voices": (MODEL, "model", "get_tts_model_voices"),
}

ENDS = {"en_US": ".png", "zh_Hans": "", "pt_BR": ".svg"}
ANY = HostSettings(rules=PlatformRules(chunk_rules=False, float_numbers=False))


def tool_data(name, **parameters):
    return {"provider": "demo", "tool": name, "credentials": {}, "tool_parameters": parameters}


def error_of(envelope):
    """Return the error that stands as JSON text in an envelope."""
    assert envelope["data"] is None
    error = json.loads(envelope["message"])
    assert list(error) == ["message", "error_type", "args"]
    return envelope["code"], error["error_type"], error["message"]


def refusal(response):
    return response.status_code, *error_of(response.json())


def texts(messages):
    return [message["message"]["text"] for message in messages if message["type"] == "text"]


def next_item(lines):
    return json.loads(next(line for line in lines if line).removeprefix("data: "))["data"]


@pytest.fixture(scope="module")
def scripted_plugin(make_shared_plugin):
    """Write a plugin that answers every request as its file `answer.py` says just then."""
    return make_shared_plugin(
        """
        wire.ready()
        for request in wire.requests():
            exec(open("answer.py").read())
            wire.end(request)
        """
    )


@pytest.fixture
def scripted(scripted_plugin, run_shared_daemon):
    """Serve a plugin whose answer to every request is the given script."""

    def run(script, settings=None):
        (scripted_plugin / "answer.py").write_text(script)
        return run_shared_daemon(scripted_plugin, settings=settings)

    return run


@pytest.fixture
def echoing(scripted):
    """Serve a plugin that answers with the whole line it got."""
    return scripted("wire.stream(request, request)", ANY)


def test_the_health_of_the_server_is_told_to_anybody(daemon):
    health = daemon.client.get("/health/check")
    assert health.status_code == 200
    assert health.json()["status"] == "ok"


def test_an_idle_connection_stays_open_longer_than_clients_keep_it(daemon):
    with socket.create_connection(("127.0.0.1", daemon.client.base_url.port)) as connection:
        connection.settimeout(5.5)  # httpx keeps idle connections for 5 seconds
        connection.sendall(b"GET /health/check HTTP/1.1\r\nHost: x\r\n\r\n")
        while connection.recv(1 << 20)[-1:] != b"}":
            pass
        with pytest.raises(TimeoutError):
            connection.recv(1)


@pytest.mark.parametrize("path", ROUTES)
def test_every_route_goes_to_the_plugin_as_its_type_and_action(echoing, path):
    data, kind, action = ROUTES[path]
    response = echoing.post(path, data, **SCRIPTED)
    asked = json.loads(response.text.removeprefix("data: "))["data"]["data"]
    assert (asked["type"], asked["action"], asked["user_id"]) == (kind, action, "u")
    assert data.items() <= asked.items()


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("key", [None, "", "wrong", "schlüssel"])
def test_no_route_is_open_without_the_key(daemon, path, key):
    shown = key and key.encode()
    response = daemon.post(path, ROUTES[path][0], headers={"X-Api-Key": shown})
    expected = (401, -401, "PluginDaemonUnauthorizedError", "unauthorized")
    assert refusal(response) == expected


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/plugin/t/dispatch/llm"),
        ("GET", "/plugin/t/dispatch/llm/invoke"),
        ("GET", "/plugin/t/management/unknown"),
        ("GET", "/"),
    ],
)
def test_what_is_no_route_is_told_so_as_by_the_daemon(daemon, method, path):
    response = daemon.client.request(method, path)
    assert response.status_code == 404
    assert response.json() == {"code": "not_found", "message": "route not found"}


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        (None, (400, -400, "PluginDaemonBadRequestError", "plugin_id is required")),
        ("demo_tools", (404, -404, "PluginNotFoundError", "plugin not found")),
        ("tests/none", (404, -404, "PluginNotFoundError", "plugin not found")),
    ],
)
def test_the_plugin_must_be_named_by_its_id(daemon, plugin, expected):
    response = daemon.post("tool/invoke", tool_data("words", text="a"), plugin=plugin)
    assert refusal(response) == expected


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/json ;x"])
def test_what_follows_the_content_type_does_not_count(daemon, kind):
    response = daemon.post(
        "tool/invoke", tool_data("words", text="a"), headers={"Content-Type": kind}
    )
    assert response.status_code == 200


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_of_another_content_type_says_nothing(daemon, kind):
    response = daemon.post("tool/invoke", tool_data("words"), headers={"Content-Type": kind})
    status, _, error_type, message = refusal(response)
    assert (status, error_type) == (400, "PluginDaemonBadRequestError")
    assert ".Data.InvokeToolSchema.Provider' Error:Field validation for 'Provider'" in message


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        ("tool/invoke", "{", ["Provider", "Tool"]),
        ("tool/invoke", "[]", ["Provider", "Tool"]),
        ("tool/invoke", "{}", ["Provider", "Tool"]),
        ("tool/invoke", "[" * 100_000, ["Provider", "Tool"]),
        ("tool/invoke", '{"data": {"tool": "t"}}', ["Provider"]),
        ("tool/invoke", '{"data": {"provider": "", "tool": "t"}}', ["Provider"]),
        ("tool/invoke", '{"data": {"provider": "p", "tool": 1}}', ["Tool"]),
        ("llm/invoke", '{"data": {"provider": "p", "model": "m"}}', ["ModelType"]),
        ("model/polling/check", json.dumps({"data": LLM}), ["PluginState"]),
    ],
)
def test_a_bad_body_is_refused_with_the_fields_that_are_wrong(daemon, path, body, fields):
    request = daemon.request(path, {})
    response = daemon.client.request(**{**request, "content": body})
    status, code, error_type, message = refusal(response)
    assert (status, code, error_type) == (400, -400, "PluginDaemonBadRequestError")
    told = [line.split("for '")[1].split("'")[0] for line in message.splitlines()]
    assert told == fields


@pytest.mark.parametrize("slash", ["/plugin/t/dispatch/tool/invoke/", "/health/check/"])
def test_a_slash_too_many_leads_to_the_path_without(daemon, slash):
    method, status = ("GET", 301) if "health" in slash else ("POST", 307)
    response = daemon.client.request(method, slash + "?x=1", follow_redirects=False)
    assert response.status_code == status
    assert response.headers["location"] == slash.rstrip("/") + "?x=1"


def test_the_head_of_a_path_is_no_route(daemon):
    assert daemon.client.head("/health/check").status_code == 404


def test_icons_are_shown_by_the_ids_that_stand_for_them(make_plugin, run_daemon):
    folder = make_plugin(
        "wire.ready()\ninput()",
        icon="icon.svg",
        icon_dark="gone.svg",
        created_at="2026-11-21T01:02:03.450000+00:00",
        verified=True,
        plugins={"models": ["p.yaml"]},
    )
    names = {"en_US": "sub/a.b.png", "zh_Hans": "plain", "pt_BR": "icon.svg"}
    provider = {"provider": "p", "icon_small": names, "models": []}
    (folder / "p.yaml").write_text(json.dumps(provider))
    for name in names.values():
        (folder / "_assets" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "_assets" / name).write_bytes(f"the icon {name}".encode())
    daemon = run_daemon(folder)
    (shown,) = daemon.get("list", page=1, page_size=1).json()["data"]["list"]
    declaration = shown["declaration"]
    assert (declaration["created_at"], declaration["verified"]) == (
        "2026-11-21T01:02:03.45Z",
        False,
    )
    ids = declaration["model"]["icon_small"]
    assert (declaration["icon"], declaration["icon_dark"]) == (ids["pt_BR"], "gone.svg")
    assert [len(ids[language].removesuffix(end)) for language, end in ENDS.items()] == [64, 64, 64]

    def get(path, **query):
        headers = {"X-Api-Key": daemon.server.api_key}
        response = daemon.client.get(f"/plugin/t/{path}", headers=headers, params=query)
        assert response.status_code == 200
        return response.content

    package = {"plugin_unique_identifier": shown["plugin_unique_identifier"]}
    for language, name in names.items():
        content = f"the icon {name}".encode()
        assert get(f"asset/{ids[language]}") == content
        assert get("extract-asset/", **package, file_path=name) == content
    for outside in ("gone.svg", "../manifest.yaml", "/etc/hostname", "sub"):
        assert get("extract-asset/", **package, file_path=outside) == b""
    assert get("asset/gone.svg") == b""


def test_agent_strategies_are_listed_with_their_parameters(daemon):
    (provider,) = daemon.get("agent_strategies", page=1, page_size=10).json()["data"]
    assert (provider["plugin_id"], provider["provider"]) == ("tests/small_agent", "small_agent")
    (steps, _) = provider["declaration"]["strategies"]
    assert steps["identity"]["name"] == "steps"
    assert [parameter["name"] for parameter in steps["parameters"]][:2] == ["model", "tools"]
    assert provider["meta"]["runner"]["language"] == "python"
    one = daemon.get("agent_strategy", plugin_id="tests/small_agent", provider="small_agent")
    assert one.json()["data"] == provider


def test_what_the_daemon_does_not_know_is_dropped_and_what_is_missing_is_empty(echoing):
    message = {"role": "user", "content": "hi", "odd": 1}
    data = {**LLM_DATA, "prompt_messages": [message], "odd": 1, "tools": [{"name": "t"}]}
    (got,) = echoing.items("llm/invoke", data, **SCRIPTED)
    asked = got["data"]
    assert "odd" not in asked
    assert "odd" not in asked["prompt_messages"][0]
    assert "credential_type" not in asked
    assert "tool_choice" not in asked
    assert (asked["stop"], asked["stream"], asked["json_schema"]) == (None, False, None)
    assert asked["prompt_messages"][0]["tool_calls"] is None
    assert asked["tools"] == [{"name": "t", "description": "", "parameters": None}]


def test_a_choice_and_a_kind_of_credentials_go_on(echoing):
    given = {"tool_choice": {"mode": "tool", "name": "t"}, "credential_type": "oauth2"}
    (got,) = echoing.items("llm/invoke", {**LLM_DATA, **given}, **SCRIPTED)
    assert given.items() <= got["data"].items()


def test_the_plugin_is_told_what_a_call_belongs_to(echoing):
    ids = {"conversation_id": "c", "message_id": "m", "app_id": "a", "endpoint_id": None}
    context = {"credentials": {"tool_credentials": {"demo": "id"}}, "x": 1}
    (got,) = echoing.items("tool/invoke", TOOL, **SCRIPTED, **ids, user_id=None, context=context)
    assert ids.items() <= got.items()
    assert got["context"] == context
    assert got["data"]["user_id"] == ""


@pytest.mark.parametrize(
    ("given", "shared", "seen"),
    [
        ({"own": {"key": "k"}}, False, {}),
        ({"tests/scripted/own": {"key": "k"}}, False, {}),
        ({"own": {"key": "k"}}, True, {"provider_credentials": {"own": {"key": "k"}}}),
        (
            {"own": {"key": "k"}, "far": {"key": "f"}},
            False,
            {"provider_credentials": {"far": {"key": "f"}}},
        ),
        ({"far": 1}, False, {"provider_credentials": {"far": 1}}),
        ("text", False, {"provider_credentials": "text"}),
    ],
)
def test_a_plugin_sees_no_credentials_of_the_providers_that_run_here(
    provider_plugin, run_shared_daemon, given, shared, seen
):
    settings = HostSettings(
        rules=PlatformRules(chunk_rules=False, float_numbers=False, share_credentials=shared)
    )
    daemon = run_shared_daemon(provider_plugin, settings=settings)
    context = {"credentials": {"tool_credentials": {}, "provider_credentials": given}}
    (got,) = daemon.items("tool/invoke", TOOL, **SCRIPTED, context=context)
    assert got["context"] == {"credentials": {"tool_credentials": {}, **seen}}


@pytest.fixture(scope="module")
def provider_plugin(make_shared_plugin):
    """Write a plugin with a model provider that answers with the whole line it got."""
    folder = make_shared_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, request)
            wire.end(request)
        """,
        plugins={"models": ["provider.yaml"]},
    )
    (folder / "provider.yaml").write_text("provider: own")
    return folder


def test_numbers_pass_through_go_on_the_way_in_and_out(scripted):
    daemon = scripted(
        "wire.stream(request, {'type': 'json', 'message': request['data'], 'meta': None})"
    )
    parameters = {"b": 1.0, "a": 2**60 + 1}
    (got,) = daemon.items("tool/invoke", {**TOOL, "tool_parameters": parameters}, **SCRIPTED)
    assert got["message"]["tool_parameters"] == {"a": 1152921504606847000, "b": 1}
    assert list(got["message"]["tool_parameters"]) == ["a", "b"]


def test_a_number_that_no_json_knows_makes_the_body_say_nothing(daemon):
    body = '{"data": {"provider": "p", "tool": "t", "tool_parameters": {"n": NaN}}}'
    request = {**daemon.request("tool/invoke", {}), "content": body}
    assert refusal(daemon.client.request(**request))[:2] == (400, -400)


@pytest.mark.parametrize("number", ["1" * 400, "1e400"])
def test_a_number_that_is_too_large_for_go_is_null(echoing, number):
    body = f'{{"data": {{"provider": "p", "tool": "t", "tool_parameters": {{"n": {number}}}}}}}'
    request = {**echoing.request("tool/invoke", {}, **SCRIPTED), "content": body}
    got = next_item(echoing.client.request(**request).text.splitlines())
    assert got["data"]["tool_parameters"] == {"n": None}


def test_a_number_too_large_for_go_ends_the_stream(scripted):
    daemon = scripted(
        "wire.stream(request, {'type': 'json', 'message': {'n': 10**400}, 'meta': None})"
    )
    (envelope,) = daemon.frames("tool/invoke", TOOL, **SCRIPTED)
    assert json.loads(error_of(envelope)[2])["error_type"] == "unmarshal_error"


def test_a_tool_streams_its_messages(daemon):
    response = daemon.post("tool/invoke", tool_data("words", text="a <b>"))
    assert response.text == (
        'data: {"code":0,"message":"success","data":'
        '{"type":"text","message":{"text":"a "},"meta":null}}\n\n'
        'data: {"code":0,"message":"success","data":'
        '{"type":"text","message":{"text":"\\u003cb\\u003e "},"meta":null}}\n\n'
    )


def test_all_kinds_of_messages_pass(daemon):
    record = daemon.tool("record", city="Köln")
    kinds = [message["type"] for message in record]
    assert kinds == ["log", "log", "variable", "variable", "json"]
    log = record[1]["message"]
    assert (log["label"], log["status"], log["data"]) == (
        "looking it up",
        "success",
        {"found": True},
    )
    assert record[-1]["message"]["json_object"] == {"city": "Köln", "rain": None, "temperature": 21}
    page = "https://example.com"
    assert [
        (message["type"], message["message"]["text"])
        for message in daemon.tool("pointers", page=page)
    ] == [("link", page), ("image", f"{page}/image.png")]


def test_the_blobs_of_tools_come_in_the_chunks_that_the_plugin_sends(daemon):
    chunks = [message["message"] for message in daemon.tool("blob", size=20000)]
    sizes = [len(base64.b64decode(chunk["blob"])) for chunk in chunks]
    assert sizes == [8192, 8192, 3616, 0]
    assert [chunk["end"] for chunk in chunks] == [False, False, False, True]
    content = b"".join(base64.b64decode(chunk["blob"]) for chunk in chunks)
    assert content == (bytes(range(256)) * 79)[:20000]


def test_the_blobs_of_strategies_come_in_one_piece(scripted):
    daemon = scripted(
        """
wire.blob_chunk(request, b"one ", sequence=0, total=7, last=False)
wire.blob_chunk(request, b"two", sequence=1, total=7, last=False)
wire.blob_chunk(request, b"", sequence=2, total=7, last=True)
"""
    )
    (message,) = daemon.items("agent_strategy/invoke", STRATEGY, **SCRIPTED)
    assert message["type"] == "blob"
    assert base64.b64decode(message["message"]["blob"]) == b"one two"
    assert message["meta"] == {"mime_type": "x/y"}


def test_a_blob_chunk_of_a_strategy_that_is_too_large_ends_the_stream(scripted):
    daemon = scripted("wire.blob_chunk(request, bytes(8193), sequence=0, total=8193, last=False)")
    (envelope,) = daemon.frames("agent_strategy/invoke", STRATEGY, **SCRIPTED)
    assert error_of(envelope) == (-500, "PluginInvokeError", "single file chunk is too large")


def test_what_a_plugin_says_went_wrong_is_nested_twice(scripted):
    daemon = scripted(
        'wire.error(request, "InvokeRateLimitError", "slow <down>", {"description": "d"})'
    )
    response = daemon.post("tool/invoke", TOOL, **SCRIPTED)
    inner = (
        r'{"args":{"description":"d"},"error_type":"InvokeRateLimitError",'
        r'"message":"slow \u003cdown\u003e"}'
    )
    outer = f'{{"message":{json.dumps(inner)},"error_type":"PluginInvokeError","args":null}}'
    assert response.text == f'data: {{"code":-500,"message":{json.dumps(outer)},"data":null}}\n\n'


@pytest.mark.parametrize(
    ("way", "error_type", "message"),
    [
        ("value_error", "ValueError", "cannot do 'value_error'"),
        ("credentials", "ToolProviderCredentialValidationError", "the token has expired"),
    ],
)
def test_the_error_of_a_real_tool_arrives_with_its_class(daemon, way, error_type, message):
    (envelope,) = daemon.frames("tool/invoke", tool_data("fail", way=way))
    code, outer, text = error_of(envelope)
    inner = json.loads(text)
    assert (code, outer) == (-500, "PluginInvokeError")
    assert (inner["error_type"], inner["message"]) == (error_type, message)
    assert "Traceback" in inner["args"]["traceback"]


def test_what_came_before_an_error_stays(daemon):
    first, last = daemon.frames("tool/invoke", tool_data("fail", way="halfway"))
    assert first["data"]["message"] == {"text": "so far"}
    assert json.loads(error_of(last)[2])["message"] == "out of ink"


def test_what_the_daemon_cannot_decode_ends_the_stream(daemon):
    data = {**LLM, "prompt_messages": [{"role": "user", "content": "null"}]}
    first, last = daemon.frames("llm/invoke", data, plugin="tests/echo_model")
    assert first["data"]["delta"]["message"]["content"] == "fine"
    assert error_of(last)[1] == "PluginInvokeError"
    assert json.loads(error_of(last)[2]) == {
        "error_type": "unmarshal_error",
        "message": "unmarshal json failed: content field is required",
    }


def test_an_answer_that_is_no_object_ends_the_stream(scripted):
    (envelope,) = scripted("wire.stream(request, 1)").frames("tool/invoke", TOOL, **SCRIPTED)
    assert json.loads(error_of(envelope)[2])["error_type"] == "unmarshal_error"


def test_an_older_core_loses_opaque_bodies_on_the_way_in_as_well(scripted):
    rules = PlatformRules(drop_opaque_body=True)
    daemon = scripted(
        """
content = request["data"]["prompt_messages"][0]["content"][0]
message = {"role": "assistant", "content": str(content["opaque_body"])}
wire.stream(request, {"model": "m", "delta": {"index": 0, "message": message}})
""",
        HostSettings(rules=rules),
    )
    part = {"type": "text", "data": "", "opaque_body": {"a": 1}}
    data = {**LLM_DATA, "prompt_messages": [{"role": "assistant", "content": [part]}]}
    (chunk,) = daemon.items("llm/invoke", data, **SCRIPTED)
    assert chunk["delta"]["message"]["content"] == "None"


def test_credentials_are_checked_by_the_plugin(daemon):
    data = {"provider": "demo", "credentials": {"token": "let-me-in"}}
    assert daemon.items("tool/validate_credentials", data) == [{"result": True}]
    (envelope,) = daemon.frames("tool/validate_credentials", {"provider": "demo"})
    assert error_of(envelope)[1] == "PluginInvokeError"


def test_a_call_that_the_sdk_has_no_route_for_is_an_empty_stream(daemon):
    assert daemon.frames("tool/get_runtime_parameters", tool_data("words")) == []


def test_a_frame_arrives_when_the_plugin_sends_it(daemon, tmp_path):
    gate = tmp_path / "gate"
    with daemon.stream("tool/invoke", tool_data("slow", until=str(gate))) as response:
        lines = response.iter_lines()
        assert next_item(lines)["message"] == {"text": "began"}
        gate.touch()
        assert next_item(lines)["message"] == {"text": "ended"}


def test_many_calls_run_at_the_same_time(daemon, tmp_path):
    gate = tmp_path / "gate"
    with contextlib.ExitStack() as stack:
        calls = [
            stack.enter_context(
                daemon.stream("tool/invoke", tool_data("slow", until=str(tmp_path / f"gate{n}")))
            ).iter_lines()
            for n in range(30)
        ]
        began = [next_item(lines)["message"]["text"] for lines in calls]
        assert began == ["began"] * len(calls)
        for number in range(len(calls)):
            gate.with_name(f"gate{number}").touch()
        ended = [next_item(lines)["message"]["text"] for lines in calls]
        assert ended == ["ended"] * len(calls)


def active_dispatches(daemon):
    return daemon.client.get("/health/check").json()["active_dispatch_requests"]


def wait_until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline


def test_a_caller_that_goes_away_leaves_nothing_but_the_plugin_running(daemon, tmp_path):
    gate = tmp_path / "gate"
    with daemon.stream("tool/invoke", tool_data("slow", until=str(gate))) as response:
        lines = response.iter_lines()
        next_item(lines)
        assert active_dispatches(daemon) == 1
    wait_until(lambda: active_dispatches(daemon) == 0)
    gate.touch()
    wait_until(lambda: gate.read_text() == "passed")
    assert texts(daemon.tool("words", text="and on")) == ["and ", "on "]


def test_a_plugin_that_dies_fails_its_calls_and_comes_back_for_the_next(daemon, tmp_path):
    gate = tmp_path / "gate"
    with daemon.stream("tool/invoke", tool_data("slow", until=str(gate))) as response:
        lines = response.iter_lines()
        next_item(lines)
        (envelope,) = daemon.frames("tool/invoke", tool_data("fail", way="exit"))
        expected = (-500, "PluginDaemonInternalServerError")
        assert error_of(envelope)[:2] == expected
        assert error_of(envelope)[2] == "plugin 'demo_tools' ended with exit code 3"
        other = json.loads(next(line for line in lines if line).removeprefix("data: "))
        assert error_of(other) == error_of(envelope)
    question = {**LLM, "prompt_messages": [{"role": "user", "content": "hello"}]}
    assert daemon.items("llm/invoke", question, plugin="tests/echo_model")
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda word: daemon.tool("words", text=word), "abc"))
    assert [texts(answer) for answer in answers] == [["a "], ["b "], ["c "]]


def test_a_plugin_that_does_not_come_back_says_so(make_plugin, run_daemon, tmp_path):
    folder = make_plugin(
        f"""
        from pathlib import Path
        mark = Path({str(tmp_path / "mark")!r})
        if mark.exists():
            sys.exit("out of memory")
        mark.touch()
        wire.ready()
        next(wire.requests())
        """
    )
    daemon = run_daemon(folder)
    for problem in ("ended with exit code 0", "before its first heartbeat"):
        (envelope,) = daemon.frames("tool/invoke", TOOL, **SCRIPTED)
        assert error_of(envelope)[1] == "PluginDaemonInternalServerError"
        assert problem in error_of(envelope)[2]


@pytest.fixture
def unfinished(make_plugin):
    """Write a plugin that begins to answer every request and ends none."""
    return make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, {"type": "text", "message": {}, "meta": None})
        """
    )


def test_a_dispatch_may_take_only_so_long(unfinished, run_daemon, pass_time):
    settings = HostSettings(call_timeout_seconds=600, heartbeat_timeout_seconds=math.inf)
    daemon = run_daemon(unfinished, settings=settings)
    with daemon.stream("tool/invoke", TOOL, **SCRIPTED) as response:
        lines = response.iter_lines()
        next_item(lines)
        daemon.call_soon(pass_time, 600)
        last = json.loads(next(line for line in lines if line).removeprefix("data: "))
        assert not any(lines)
    assert error_of(last) == (-500, "PluginDaemonInternalServerError", "killed by timeout")


def test_stopping_tells_those_who_wait(unfinished, run_daemon):
    daemon = run_daemon(unfinished)
    with daemon.stream("tool/invoke", TOOL, **SCRIPTED) as response:
        lines = response.iter_lines()
        next_item(lines)
        daemon.stop()
        last = json.loads(next(line for line in lines if line).removeprefix("data: "))
    assert error_of(last)[2] == "plugin 'scripted' was stopped"


def test_slow_models_answer_in_plain_json(scripted):
    daemon = scripted(
        """
state = request["data"].get("plugin_state")
if state == {"fail": True}:
    wire.error(request, "ValueError", "no such job")
elif state != {"silent": True}:
    wire.stream(request, {"status": "running", "plugin_state": {"id": "1"}})
"""
    )

    def check(state):
        data = {**LLM_DATA, "plugin_state": state}
        return daemon.post("model/polling/check", data, **SCRIPTED)

    started = daemon.post("model/polling/start", LLM_DATA, **SCRIPTED)
    assert started.headers["content-type"] == "application/json; charset=utf-8"
    assert started.json()["data"] == {"status": "running", "plugin_state": {"id": "1"}}
    status, _, error_type, message = refusal(check({"fail": True}))
    assert (status, error_type) == (500, "PluginInvokeError")
    assert json.loads(message)["message"] == "no such job"
    silent = (500, -500, "PluginInvokeError", "no polling result received from plugin")
    assert refusal(check({"silent": True})) == silent


def test_slow_models_may_take_longer_than_a_call(make_plugin, run_daemon):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            time.sleep(0.4)
            wire.stream(request, {"status": "failed", "error": "at last"})
            wire.end(request)
        """
    )
    daemon = run_daemon(folder, settings=HostSettings(call_timeout_seconds=0.1))
    answer = daemon.post("model/polling/start", LLM_DATA, **SCRIPTED)
    assert (answer.status_code, answer.json()["data"]["error"]) == (200, "at last")


def run_strategy(daemon, query, *, context=None, provider="tests/echo_model/echo"):
    model = {"provider": provider, "model": "echo-2", "model_type": "llm", "mode": "chat"}
    params = {"query": query, "maximum_iterations": 3, "model": {**model, "completion_params": {}}}
    data = {"agent_strategy_provider": "small_agent", "agent_strategy": "steps"}
    data["agent_strategy_params"] = params
    options = {"plugin": "tests/small_agent", "context": context}
    return texts(daemon.items("agent_strategy/invoke", data, **options))


def test_a_strategy_gets_models_with_the_credentials_of_the_host(daemon):
    (asked,) = run_strategy(daemon, "request")
    assert json.loads(asked)["credentials"]["key"] == "host's"


@pytest.mark.parametrize("named", ["echo", "tests/echo_model/echo"])
@pytest.mark.parametrize("provider", ["echo", "tests/echo_model/echo"])
def test_a_strategy_gets_models_with_the_credentials_that_the_caller_brought(
    daemon, named, provider
):
    context = {"credentials": {"provider_credentials": {named: {"key": "caller's"}}}}
    (asked,) = run_strategy(daemon, "request", context=context, provider=provider)
    assert json.loads(asked)["credentials"]["key"] == "caller's"


def test_credentials_for_another_provider_are_not_taken(daemon):
    context = {"credentials": {"provider_credentials": {"other": {"key": "other's"}}}}
    (asked,) = run_strategy(daemon, "request", context=context)
    assert json.loads(asked)["credentials"]["key"] == "host's"


def call_tool(daemon, tool, *, provider="tests/demo_tools/demo", context=None, **parameters):
    """Have the strategy call a tool; return what it was answered."""
    call = {"tool_type": "builtin", "provider": provider, "tool": tool}
    call = json.dumps({**call, "tool_parameters": parameters})
    (replies,) = run_strategy(daemon, f"raw tool {call}", context=context)
    return [(reply["event"], reply["data"] or reply["message"]) for reply in json.loads(replies)]


def test_a_strategy_gets_the_tools_of_plugins_and_those_of_the_host(daemon):
    first, second, end = call_tool(daemon, "words", text="a b")
    assert (first[1]["message"], second[1]["message"]) == ({"text": "a "}, {"text": "b "})
    assert end[0] == "end"
    host = call_tool(daemon, "calculator", provider="host", expression="6 * 7")
    assert "42" in json.dumps(host[0][1])


@pytest.mark.parametrize(
    ("tool", "parameters", "problem"),
    [
        ("none", {}, "there is not a tool named none of provider tests/demo_tools/demo"),
        ("fail", {"way": "halfway"}, "tool invoke error: out of ink"),
    ],
)
def test_a_strategy_is_told_why_a_tool_of_a_plugin_failed(daemon, tool, parameters, problem):
    assert call_tool(daemon, tool, **parameters)[-2:] == [("error", problem), ("end", "")]


def test_a_strategy_is_told_that_the_plugin_of_a_tool_has_ended(make_plugin, run_daemon, plugins):
    folder = make_plugin(
        "wire.ready()\nnext(wire.requests())\nsys.exit(3)", plugins={"tools": ["provider.yaml"]}
    )
    (folder / "provider.yaml").write_text('{"identity": {"name": "p"}, "tools": ["t.yaml"]}')
    (folder / "t.yaml").write_text('{"identity": {"name": "look"}}')
    daemon = run_daemon(folder, plugins / "small_agent")
    problem = "invoke tool failed: plugin 'scripted' ended with exit code 3"
    assert call_tool(daemon, "look", provider="p") == [("error", problem), ("end", "")]


def test_tools_get_the_credentials_that_the_caller_brought(make_plugin, run_daemon, plugins):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, {"type": "json", "message": request["data"], "meta": None})
            wire.end(request)
        """,
        plugins={"tools": ["provider.yaml"]},
    )
    listed = [{"name": "region", "default": "eu"}, {"name": "token"}]
    tool = {"identity": {"name": "look"}, "output_schema": {"type": "object"}}
    provider = {"identity": {"name": "p"}, "tools": ["t.yaml"], "credentials_schema": listed}
    (folder / "provider.yaml").write_text(json.dumps(provider))
    (folder / "t.yaml").write_text(json.dumps(tool))
    daemon = run_daemon(folder, plugins / "small_agent")
    for given, kind in (({"token": "t"}, "api-key"), ({}, "unauthorized")):
        context = {"credentials": {"provider_credentials": {"p": given} if given else {}}}
        answered = call_tool(daemon, "look", provider="p", context=context)[0][1]["message"]
        assert answered["credentials"] == {"region": "eu", **given}
        assert answered["credential_type"] == kind
    (declared,) = daemon.get("tools", page=1, page_size=1).json()["data"]
    schema = declared["declaration"]["credentials_schema"]
    assert [(field["name"], field["default"]) for field in schema] == [
        ("region", "eu"),
        ("token", None),
    ]
    assert declared["declaration"]["tools"][0]["output_schema"] == {"type": "object"}


def test_a_real_tool_calls_models_storage_and_other_tools(daemon):
    given = {"provider": "tests/echo_model/echo", "model": "echo-2", "question": "one two"}
    then = {"tool_provider": "tests/demo_tools/demo", "tool": "words"}
    assert texts(daemon.tool("ask", **given, **then)) == ["one two", "one ", "two "]


def test_the_tools_of_plugins_are_listed_with_their_parameters(daemon):
    (provider,) = daemon.get("tools", page=1, page_size=256).json()["data"]
    assert provider["tenant_id"] == "t"
    assert (provider["plugin_id"], provider["provider"]) == ("tests/demo_tools", "demo")
    assert provider["plugin_unique_identifier"].startswith("tests/demo_tools:0.0.1@")
    declaration = provider["declaration"]
    assert declaration["credentials_schema"][0]["name"] == "token"
    tools = {tool["identity"]["name"]: tool for tool in declaration["tools"]}
    text, ending = tools["words"]["parameters"]
    assert (text["name"], text["type"], text["form"], text["required"]) == (
        "text",
        "string",
        "llm",
        True,
    )
    assert text["default"] is None
    assert [option["value"] for option in ending["options"]] == ["space", "newline"]
    assert daemon.get("tools", page=2, page_size=256).json()["data"] == []
    one = daemon.get("tool", plugin_id="tests/demo_tools", provider="demo")
    assert one.json()["data"] == provider


def test_model_providers_are_listed_with_their_models(daemon):
    (provider,) = daemon.get("models", page=1, page_size=256).json()["data"]
    assert (provider["plugin_id"], provider["provider"]) == ("tests/echo_model", "echo")
    models = [model["model"] for model in provider["declaration"]["models"]]
    assert sorted(models) == ["echo-1", "echo-2", "echo-3"]


def test_all_plugins_are_listed_a_page_at_a_time(daemon):
    first = daemon.get("list", page=1, page_size=2).json()["data"]
    last = daemon.get("list", page=2, page_size=2).json()["data"]
    assert (first["total"], last["total"]) == (3, 3)
    plugins = [*first["list"], *last["list"]]
    # The last one first, as the daemon lists them.
    names = ["tests/demo_tools", "tests/small_agent", "tests/echo_model"]
    assert [plugin["plugin_id"] for plugin in plugins] == names
    assert {plugin["tenant_id"] for plugin in plugins} == {"t"}
    kinds = ("tool", "agent_strategy", "model")
    for plugin, own in zip(plugins, kinds, strict=True):
        assert [kind for kind in kinds if plugin["declaration"].get(kind)] == [own]


def test_a_plugin_without_providers_is_an_extension(scripted):
    """Recordings of the real daemon hold the other categories."""
    asked = scripted("").get
    ids = asked("installation/ids", category="extension").json()
    assert ids["data"] == {"plugin_ids": ["tests/scripted"]}
    pages = [
        asked("extension/list", page=page, page_size=1, query="SCRIPT").json()["data"]
        for page in (1, 2)
    ]
    assert [one["name"] for one in pages[0]["list"]] == ["scripted"]
    assert pages[1] == {"list": [], "has_more": False}


def test_a_readme_is_shown_in_a_language_that_there_is(make_plugin, run_daemon):
    folder = make_plugin("wire.ready()\ninput()")
    daemon = run_daemon(folder)
    (plugin,) = daemon.get("list", page=1, page_size=1).json()["data"]["list"]
    identifier = plugin["plugin_unique_identifier"]

    def ask(language, identifier=identifier):
        query = {"plugin_unique_identifier": identifier, "language": language}
        return daemon.get("fetch/readme", **query).json()

    assert ask("en_US")["message"] == (
        '{"message":"no readme content available for this plugin","error_type":"PluginDaemonNotFoundError","args":null}'
    )
    (folder / "README.md").write_text("hello")
    (folder / "readme").mkdir()
    (folder / "readme" / "README_pt_BR.md").write_text("olá")
    shown = [ask(language)["data"] for language in ("en_US", "pt_BR", "ja_JP", "xx")]
    hello = {"content": "hello", "language": "en_US"}
    assert shown == [hello, {"content": "olá", "language": "pt_BR"}, hello, hello]
    missing = ask("en_US", identifier.replace("scripted", "another"))
    assert "failed to get readme from database" in missing["message"]


def test_a_tool_provider_that_is_not_there_is_told_in_the_envelope_alone(daemon):
    response = daemon.get("tool", plugin_id="tests/demo_tools", provider="none")
    assert refusal(response) == (200, -404, "PluginNotFoundError", "plugin not found")


@pytest.mark.parametrize(
    ("path", "query", "problems"),
    [
        ("tools", {}, {"Page": "required", "PageSize": "required"}),
        ("tools", {"page": 1}, {"PageSize": "required"}),
        ("tools", {"page": "x", "page_size": 1}, {"Page": "required", "PageSize": "required"}),
        ("tools", {"page": 1, "page_size": 257}, {"PageSize": "max"}),
        ("agent_strategies", {"page": -1, "page_size": 1}, {"Page": "min"}),
        ("tool", {"plugin_id": "a/b"}, {"Provider": "required"}),
    ],
)
def test_a_query_is_held_to_its_rules(daemon, path, query, problems):
    status, _, error_type, message = refusal(daemon.get(path, **query))
    assert (status, error_type) == (400, "PluginDaemonBadRequestError")
    assert message.splitlines() == [
        f"Key: '{name}' Error:Field validation for '{name}' failed on the '{rule}' tag"
        for name, rule in problems.items()
    ]


@pytest.mark.parametrize("path", ["tools", "tool"])
def test_nothing_is_listed_without_the_key(daemon, path):
    assert refusal(daemon.client.get(f"/plugin/t/management/{path}"))[0] == 401


async def test_a_server_has_an_address_only_while_it_runs(echo):
    server = DaemonServer(echo)
    with pytest.raises(DaemonServerError, match="runs only inside"):
        _ = server.base_url

    async with server:
        url, plugins, providers = server.base_url, list(server.plugins), server.host.tool_providers
    assert url.startswith("http://127.0.0.1:")
    assert (plugins, providers) == (["tests/scripted"], ())
    with pytest.raises(DaemonServerError):
        _ = server.base_url


def test_keys_are_random_unless_given(echo):
    assert DaemonServer(echo).api_key != DaemonServer(echo).api_key
    assert DaemonServer(echo, api_key="k").api_key == "k"
    for key in ("", "two words", "schlüssel"):
        with pytest.raises(DaemonServerError, match="expected one or more visible ASCII"):
            DaemonServer(echo, api_key=key)


def test_the_only_tenant_is_a_uuid_in_any_form(echo):
    tenant = "e1407479-3136-56c0-9908-bb02fb0339e2"
    for written in (tenant, tenant.upper(), tenant.replace("-", ""), f"{{{tenant}}}"):
        assert DaemonServer(echo, tenant=written).tenant == tenant
    assert DaemonServer(echo).tenant is None
    for written in ("", "local", f"{{{tenant}", f"{tenant}-"):
        with pytest.raises(DaemonServerError, match="the tenant: expected a UUID, got"):
            DaemonServer(echo, tenant=written)


async def test_a_port_that_cannot_be_had_is_named(echo):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(DaemonServerError, match=f"port {port}: "):
            await DaemonServer(echo, port=port).start()
    with pytest.raises(DaemonServerError, match="port 65536: expected 0 to 65535"):
        await DaemonServer(echo, port=65536).start()


async def test_a_plugin_that_does_not_start_frees_the_port(make_plugin, free_port):
    server = DaemonServer(make_plugin("sys.exit(1)"), port=free_port)
    with pytest.raises(PluginStartError):
        await server.start()
    socket.create_server(("127.0.0.1", free_port)).close()


async def test_a_start_that_is_given_up_frees_the_port(free_port):
    start = asyncio.create_task(DaemonServer(port=free_port).start())
    await asyncio.sleep(0)  # Now it listens, and has not begun to serve.
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    socket.create_server(("127.0.0.1", free_port)).close()


def test_a_plugin_that_is_stopped_while_it_comes_back_stays_away(make_plugin, run_daemon, tmp_path):
    mark = tmp_path / "mark"
    folder = make_plugin(
        f"""
        from pathlib import Path
        mark = Path({str(mark)!r})
        if mark.exists():
            mark.write_text("again")
            time.sleep(600)
        mark.touch()
        wire.ready()
        next(wire.requests())
        """
    )
    daemon = run_daemon(folder)
    daemon.frames("tool/invoke", TOOL, **SCRIPTED)
    with ThreadPoolExecutor() as pool:
        call = pool.submit(daemon.frames, "tool/invoke", TOOL, **SCRIPTED)
        wait_until(lambda: mark.read_text() == "again")
        daemon.stop()
        (envelope,) = call.result()
    assert error_of(envelope)[2] == "plugin 'scripted' was stopped"


def test_one_plugin_twice_is_refused(echo):
    with pytest.raises(
        PluginFolderError, match=r"'tests/scripted' is served from .*; expected each plugin once"
    ):
        DaemonServer(echo, echo)
