"""The run in Dify's log."""

import json

import pytest

from scripted_dify import call, chunk, parameter, text_message, tool, usage


LOGIN = tool("login", parameter("password"), parameter("note"))


def run_login(agent):
    arguments = json.dumps({"password": "hunter2", "note": "n" * 3000})
    agent.dify.model = [
        [chunk("Logging in."), chunk(calls=[call("login", arguments)], usage=usage())],
        [chunk("Done.", usage=usage())],
    ]
    agent.dify.tools["login"] = [text_message("Welcome.")]
    return agent.run(tools=[LOGIN])


def test_every_log_is_opened_under_its_parent_and_closed_once(agent):
    transcript = run_login(agent)
    logs = [message["message"] for message in transcript.of("log")]
    by_id = {}
    for log in logs:
        by_id.setdefault(log["id"], []).append(log["status"])
    assert set(map(tuple, by_id.values())) == {("start", "success")}
    labels = {log["id"]: log["label"] for log in logs}
    parents = {log["label"]: labels.get(log["parent_id"]) for log in logs}
    assert parents == {
        "ROUND 1": None,
        "gpt-5.2 Thought": "ROUND 2",
        "CALL login": "ROUND 1",
        "ROUND 2": None,
    }


def test_logs_hold_contents_without_secrets_and_cut(agent):
    logs = run_login(agent).logs
    call_input = logs["CALL login"]["data"]["output"]["tool_call_input"]
    assert "hunter2" not in json.dumps(logs)
    assert "[redacted]" in call_input
    assert len(call_input) <= 2000
    assert logs["CALL login"]["data"]["output"]["tool_response"] == "Welcome."
    assert logs["ROUND 1"]["data"]["output"]["llm_response"] == "Logging in."


def test_a_call_shows_its_arguments_from_the_start(agent):
    logs = [message["message"] for message in run_login(agent).of("log")]
    opened = next(log for log in logs if log["label"] == "CALL login")
    assert opened["status"] == "start"
    assert opened["data"]["tool_call_input"].startswith('{"password": "[redacted]"')


def test_a_log_tells_tokens_and_price(agent):
    thought = run_login(agent).logs["gpt-5.2 Thought"]["metadata"]
    assert (thought["total_tokens"], thought["total_price"], thought["currency"]) == (
        15,
        "0.0002",
        "USD",
    )
    assert set(thought) > {"started_at", "finished_at", "elapsed_time"}


def providers(transcript):
    logs = [message["message"] for message in transcript.of("log")]
    return {
        (log["label"], log["status"]): log["metadata"]["provider"]
        for log in logs
        if "provider" in log["metadata"]
    }


def test_a_log_names_no_provider_since_dify_looks_each_up_in_the_stream(agent):
    assert providers(run_login(agent)) == {}


def test_icons_are_an_administrators_choice_and_stand_at_the_end_of_calls_alone(configured_agent):
    assert providers(run_login(configured_agent)) == {
        ("gpt-5.2 Thought", "success"): "someone/models/models",
        ("CALL login", "success"): "someone/tools/tools",
    }


def test_logs_can_be_reduced_to_counts(configured_agent):
    transcript = run_login(configured_agent)
    assert transcript.logs["CALL login"]["data"] == {
        "output_summary": {
            "tool_call_id": "c1",
            "tool_call_name": "login",
            "response_chars": 8,
            "is_error": False,
        }
    }
    assert transcript.logs["ROUND 1"]["data"]["output_summary"] == {
        "llm_response_chars": 11,
        "tool_response_count": 1,
        "tool_error_count": 0,
    }
    assert transcript.text.endswith("Done.")
    for secret in ("hunter2", "Welcome", "Logging", "nnn"):
        assert secret not in json.dumps(transcript.logs)


def test_counts_do_not_tell_causes(configured_agent):
    configured_agent.dify.model = [[chunk(calls=[call("missing", '{"a": 1}')])], [chunk("Done.")]]
    transcript = configured_agent.run(tools=[LOGIN, None])
    assert transcript.logs["CALL missing"]["error"] == "failed"
    assert transcript.logs["Tools left out"]["data"] == {"left_out_count": 1}


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (
            '{"extra_policy": "In French.",}',
            "it looks like a JSON object but cannot be read as one",
        ),
        ('{"extra_polisy": "In French."}', "the key 'extra_polisy' is unknown and changes nothing"),
    ],
)
def test_overrides_that_change_nothing_are_told_in_both_logs(agent, overrides, told):
    agent.dify.model = [[chunk("Done.")]]
    transcript = agent.run(prompt_policy_overrides=overrides)
    [finding] = transcript.logs["Prompt policy overrides"]["data"]["left_out"]
    assert finding.startswith(told)
    assert f"Prompt policy overrides: {told}" in agent.log
    assert "French" not in agent.dify.model_requests[0]["prompt_messages"][0]["content"]


SERVER_CALLS = [
    {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA"},
    {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "status": "completed",
        "code": "password = 'hunter2-hunter2'",
        "outputs": [{"type": "logs", "logs": "n" * 3000}],
    },
    {"type": "image_generation_call", "id": "ig_1", "result": "QUJD" * 1000, "size": "1x1"},
    {"type": "function_call", "call_id": "c1", "name": "login", "arguments": "{}"},
    {"type": None},
    "odd",
]


def run_server_calls(agent, items):
    body = {"responses_output": items, "carry": "content_part"}
    agent.dify.model = [[chunk("Done.", opaque=body)]]
    return agent.run().logs["gpt-5.2 Thought"]["data"]


def test_what_ran_at_the_model_s_server_stands_in_the_log_of_its_call(agent, configured_agent):
    code, image = run_server_calls(agent, SERVER_CALLS)["output"]["server_tools"]
    counts = run_server_calls(configured_agent, SERVER_CALLS)["output_summary"]

    assert code["type"] == "code_interpreter_call"
    assert "password" in code["code"]
    assert len(code["outputs"][0]["logs"]) <= 2000
    assert image == {"type": "image_generation_call", "size": "1x1"}
    assert counts["server_tools"] == ["code_interpreter_call", "image_generation_call"]


@pytest.mark.parametrize("items", [None, [], "odd", [1], [{"type": "message"}]])
def test_a_body_without_such_calls_adds_nothing_to_the_log(agent, items):
    assert "server_tools" not in run_server_calls(agent, items)["output"]
