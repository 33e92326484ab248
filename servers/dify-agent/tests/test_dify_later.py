"""Runs as Dify 1.17 and 1.18 ask for them, to their end: with models that Dify's API calls."""

import json
import uuid

import pytest


CONTEXT = {
    "tenant_id": "t1",
    "user_id": "u1",
    "user_from": "account",
    "app_id": "a1",
    "agent_mode": "agent_app",
    "invoke_from": "debugger",
}
MODEL = {"plugin_id": "acme/llm", "model_provider": "acme", "model": "fake", "model_settings": None}
PARAMETERS = {
    "*": {"effort": "low", "verbosity": "low", "temperature": 0.1},
    "fa*": {"effort": "high"},
    "real": {"seed": 1},
}
CLOCK = {"provider_type": "builtin", "provider_id": "time", "tool_name": "clock"}


@pytest.fixture(scope="module")
def server(share_server, served_daemon):
    with share_server(
        inner_api_url=served_daemon.url,
        inner_api_key="s3cret-inner-key",
        model_parameters=json.dumps(PARAMETERS),
    ) as client:
        yield client


@pytest.fixture
def api(daemon, chunks):
    """Let Dify's API answer: a model that looks at the clock and then tells the time, and the clock."""

    def answer(operation, body):
        if operation == "agent/tools/invoke":
            return {"observation": "noon", "messages": [], "metadata": {}}
        if chunks.tool_results(body["target"]) or not body["target"]["tools"]:
            return [chunks.text("It is noon.", finish_reason="stop")]
        return [chunks.call(("c1", body["target"]["tools"][0]["name"], {}))]

    daemon.api = answer
    return daemon


def run(client, request):
    """Run an agent, and return its id and its last event."""
    run_id = client.post("/runs", json=request).raise_for_status().json()["run_id"]
    with client.stream("GET", f"/runs/{run_id}/events/sse") as response:
        response.read()
    page = client.get(f"/runs/{run_id}/events", params={"limit": 500}).json()
    return run_id, page["events"][-1]


def protocol_2(*layers, **fields):
    known = [
        {"name": "agent_soul_prompt", "config": {"prefix": "Be brief.", "user": [], "suffix": []}},
        {"name": "agent_app_user_prompt", "config": {"text": "What time is it?", "files": []}},
        {"name": "execution_context", "config": CONTEXT},
        {"name": "runtime", "config": {"backend_binding_ref": "binding:1"}},
        {"name": "shell", "config": {"runtime": "runtime", "cli_tools": []}},
        {"name": "config", "config": {"shell": "shell", "note": ""}},
        {"name": "history", "config": None},
        {"name": "llm", "config": MODEL | {"context_window_tokens": 9000}},
    ]
    return {"composition": {"schema_version": 2, "layers": [*known, *layers]}} | fields


def protocol_1(*layers):
    needs = {"deps": {"execution_context": "execution_context"}}
    known = [
        {"name": "prompt", "type": "plain.prompt", "config": {"user": "What time is it?"}},
        {"name": "execution_context", "type": "dify.execution_context", "config": CONTEXT},
        {"name": "history", "type": "pydantic_ai.history"},
        {"name": "llm", "type": "dify.plugin.llm", "config": MODEL, **needs},
        *layers,
    ]
    return {"composition": {"layers": known}}


def model_requests(daemon):
    return [body for operation, body in daemon.api_requests if operation == "agent/llm/invoke"]


def test_a_run_of_protocol_2_calls_models_and_tools_through_dify_s_api(server, api):
    run_id, ended = run(server, protocol_2({"name": "core_tools", "config": {"tools": [CLOCK]}}))

    assert ended["data"]["output"] == "It is noon."
    assert ended["data"]["session_snapshot"]["schema_version"] == 2
    assert set(ended["data"]["session_snapshot"]["layers"]) >= {"history", "llm", "shell"}
    # The instruction stands there once, though it went out with both requests.
    assert json.dumps(ended["data"]["session_snapshot"]).count("Be brief.") == 1
    assert [json.dumps(body).count("Be brief.") for body in model_requests(api)] == [1, 1]
    callers = [body["caller"] for body in model_requests(api)]
    assert [(one["call_index"], one["agent_run_id"]) for one in callers] == [
        (1, run_id),
        (2, run_id),
    ]
    name = f"dify-agent:{run_id}:llm:2"
    assert callers[1]["invocation_id"] == str(uuid.uuid5(uuid.NAMESPACE_URL, name))
    assert api.headers[0]["X-Inner-Api-Key"] == "s3cret-inner-key"
    assert api.model_requests == []


def test_a_model_gets_the_server_s_parameters_for_its_name_on_top_of_the_agent_s(server, api):
    own = {"temperature": 0.5, "extra_body": {"verbosity": "high"}}
    for request, settings in ((protocol_2(), own), (protocol_1(), None)):
        for layer in request["composition"]["layers"]:
            if layer["name"] == "llm":
                layer["config"] |= {"model_settings": settings}
        run(server, request)

    first, second = [body["target"]["model_parameters"] for body in model_requests(api)]
    assert first == {"temperature": 0.5, "effort": "high", "verbosity": "high"}
    assert second == {"effort": "high", "verbosity": "low", "temperature": 0.1}


def test_what_is_wrong_with_an_agent_s_own_parameters_is_still_said(server):
    request = protocol_2()
    for layer in request["composition"]["layers"]:
        if layer["name"] == "llm":
            layer["config"] |= {"model_settings": 5}

    refused = server.post("/runs", json=request)

    assert refused.status_code == 422
    assert "model_settings" in refused.text


def test_what_is_wrong_with_a_layer_is_said_by_its_place_in_what_was_sent(server):
    """Ours stand in another order, with the context before those that need it."""
    output = {"name": "output", "config": {"json_schema": {"type": "array"}}}
    request = protocol_2(output, {"name": "core_tools", "config": {"tools": 5}})
    request["composition"]["layers"][0]["config"] = {"surprise": 1}

    told = server.post("/runs", json=request).json()["detail"]

    places = [one["loc"] for one in told]
    assert places == [["body", "composition", "layers", place] for place in (0, 8, 9)]


def test_a_conversation_of_protocol_2_goes_on_from_its_snapshot(server, api):
    _, first = run(server, protocol_2())
    run(server, protocol_2(session_snapshot=first["data"]["session_snapshot"]))

    said = model_requests(api)[-1]["target"]["prompt_messages"]
    assert [one["role"] for one in said] == ["system", "user", "assistant", "user"]


def test_an_output_of_protocol_2_fits_its_schema(server, api, chunks):
    schema = {"type": "object", "properties": {"hour": {"type": "integer"}}, "required": ["hour"]}
    output = {
        "name": "output",
        "config": {"json_schema": schema, "description": None, "strict": None},
    }
    api.api = lambda _operation, _body: [chunks.call(("c1", "final_output", {"hour": 12}))]

    assert run(server, protocol_2(output))[1]["data"]["output"] == {"hour": 12}


def test_a_question_of_protocol_1_that_nobody_has_answered_is_interrupted_in_protocol_2(
    server, api, chunks
):
    asks = chunks.call(("c1", "ask_human", {"question": "Which zone?"}))
    answers = [[asks], [chunks.text("Then it is noon.", finish_reason="stop")]]
    api.api = lambda _operation, _body: answers.pop(0)
    _, asked = run(server, protocol_1({"name": "ask_human", "type": "dify.ask_human"}))
    _, ended = run(server, protocol_2(session_snapshot=asked["data"]["session_snapshot"]))

    assert asked["data"]["deferred_tool_call"]["args"]["question"] == "Which zone?"
    assert ended["data"]["output"] == "Then it is noon."
    said = model_requests(api)[-1]["target"]["prompt_messages"]
    [told] = [one["content"] for one in said if one["role"] == "tool"]
    assert "interrupted" in told


def test_a_request_without_the_model_s_credentials_is_one_of_1_17(server, api):
    run_id, ended = run(server, protocol_1())

    assert ended["data"]["output"] == "It is noon."
    assert ended["data"]["session_snapshot"]["schema_version"] == 1
    assert "error_type" in server.get(f"/runs/{run_id}").json()
    assert len(model_requests(api)) == 1


def test_a_model_that_dify_refuses_ends_the_run_with_its_word(server, api):
    api.api = lambda _operation, _body: (
        404,
        {"code": "model_not_found", "message": "no such model"},
    )
    _, ended = run(server, protocol_2())

    assert (ended["type"], ended["data"]["error"]) == ("run_failed", "no such model")
    assert ended["data"]["session_snapshot"]["layers"]["history"]["messages"]


def test_a_snapshot_that_dify_holds_with_the_instruction_of_each_request_still_opens(server, api):
    _, first = run(server, protocol_2({"name": "core_tools", "config": {"tools": [CLOCK]}}))
    held = first["data"]["session_snapshot"]
    for message in held["layers"]["history"]["messages"]:
        if message["kind"] == "request":
            message["instructions"] = "Be brief, as ever."

    _, ended = run(server, protocol_2(session_snapshot=held))

    kept = json.dumps(ended["data"]["session_snapshot"])
    assert ended["data"]["output"] == "It is noon."
    assert (kept.count("Be brief."), kept.count("as ever")) == (1, 0)
    said = [one["content"] for one in model_requests(api)[-1]["target"]["prompt_messages"]]
    assert [text for text in said if "brief" in str(text)] == ["Be brief."]
