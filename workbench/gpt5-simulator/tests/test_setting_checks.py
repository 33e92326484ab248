import pytest

from gpt5_simulator import HttpError, ResponsesSimulator


def error_of(response, status=400):
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    return error


@pytest.mark.parametrize(
    ("settings", "param", "code"),
    [
        ({"temperature": 2.5}, "temperature", "decimal_above_max_value"),
        ({"temperature": -1}, "temperature", "integer_below_min_value"),
        ({"temperature": "hot"}, "temperature", "invalid_type"),
        ({"temperature": True}, "temperature", "invalid_type"),
        ({"top_p": 1.01}, "top_p", "decimal_above_max_value"),
        ({"top_logprobs": 21}, "top_logprobs", "integer_above_max_value"),
        ({"top_logprobs": 1.5}, "top_logprobs", "invalid_type"),
        ({"max_tool_calls": 0}, "max_tool_calls", "integer_below_min_value"),
        ({"metadata": {"a": 1}}, "metadata.a", "invalid_type"),
        ({"metadata": {"a": "x" * 513}}, "metadata.a", "string_above_max_length"),
        ({"metadata": {"k" * 65: "x"}}, f"metadata.{'k' * 64}", "string_above_max_length"),
        (
            {"metadata": {str(number): "x" for number in range(17)}},
            "metadata",
            "object_above_max_properties",
        ),
        ({"service_tier": "best"}, "service_tier", "invalid_value"),
        ({"service_tier": 1}, "service_tier", "invalid_type"),
        ({"include": ["everything"]}, "include[0]", "invalid_value"),
        ({"reasoning": {"mode": "pro"}}, "reasoning.mode", None),
        ({"reasoning": {"context": "all_turns"}}, "reasoning.context", "unsupported_value"),
        ({"prompt_cache_options": {"ttl": "30m"}}, "prompt_cache_options", None),
        ({"prompt_cache_retention": "1h"}, "prompt_cache_retention", "invalid_value"),
        ({"background": "yes"}, "background", "invalid_type"),
        (
            {"background_options": {"completion_window": "8h"}},
            "background_options",
            None,
        ),
        (
            {"background": True, "background_options": {"completion_window": "1h"}},
            "background_options.completion_window",
            "invalid_value",
        ),
        (
            {"background": True, "background_options": {"window": "8h"}},
            "background_options.window",
            "unknown_parameter",
        ),
        (
            {"background": True, "stream": True, "background_options": {"completion_window": "2h"}},
            "stream",
            "unsupported_value",
        ),
        (
            {
                "background": True,
                "service_tier": "flex",
                "background_options": {"completion_window": "2h"},
            },
            "service_tier",
            "unsupported_value",
        ),
        ({"stream": True, "stream_options": {"x": 1}}, "stream_options.x", "unknown_parameter"),
        (
            {"stream": True, "stream_options": {"include_obfuscation": "no"}},
            "stream_options.include_obfuscation",
            "invalid_type",
        ),
        (
            {"context_management": [{"type": "pruning"}]},
            "context_management[0].type",
            "invalid_value",
        ),
        (
            {"conversation": "conv_1", "previous_response_id": "resp_1"},
            "conversation",
            "mutually_exclusive_parameters",
        ),
        ({"conversation": 5}, "conversation", "invalid_type"),
        ({"prompt": {}}, "prompt.id", "missing_required_parameter"),
        ({"truncation": "some"}, "truncation", "invalid_value"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(server, ask, settings, param, code):
    error = error_of(ask(server, model="gpt-5.2", **settings))
    assert (error["param"], error["code"]) == (param, code)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"conversation": "conv_1"}, "Conversation with id 'conv_1' not found."),
        ({"conversation": {"id": "conv_2"}}, "Conversation with id 'conv_2' not found."),
        ({"prompt": {"id": "pmpt_1"}, "input": ...}, "Prompt with id 'pmpt_1' not found."),
    ],
)
def test_what_the_server_does_not_keep_is_not_found(server, ask, settings, message):
    assert error_of(ask(server, **settings), 404)["message"] == message


def test_a_completion_window_is_for_the_background(server, ask):
    settings = {"background": True, "background_options": {"completion_window": "8h"}}
    assert ask(server, settings).status_code == 200
    grouped = settings | {"background_options": {"continuation_id": "job-7"}}
    assert ask(server, grouped, service_tier="flex").status_code == 200


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_logprobs"])
def test_sampling_is_for_models_that_do_not_reason(server, ask, name):
    free = ask(server, model="gpt-5.2", **{name: 1})
    refused = ask(server, model="gpt-5.2", reasoning={"effort": "low"}, **{name: 1})
    assert free.status_code == 200
    assert error_of(refused)["param"] == name


def test_probabilities_are_for_models_that_do_not_reason(server, ask):
    include = ["message.output_text.logprobs"]
    assert ask(server, model="gpt-5.2", include=include).status_code == 200
    assert error_of(ask(server, model="gpt-6-astra", include=include))["param"] == "include"


@pytest.mark.parametrize(
    ("model", "tiers"),
    [
        ("gpt-5.2", (None, "default")),
        ("gpt-5.2", ("auto", "default")),
        ("gpt-5.2", ("default", "default")),
        ("gpt-5.2", ("flex", "flex")),
        ("gpt-5.2", ("fast", "priority")),
        ("gpt-5.2", ("scale", "scale")),
        ("gpt-5-nano", ("priority", "default")),
        ("gpt-6.2-sol", ("ultrafast", "ultrafast")),
    ],
)
def test_the_response_names_the_tier_that_served_it(server, ask, events_of, model, tiers):
    asked, served = tiers
    body = {"model": model, "service_tier": asked}
    assert ask(server, body).json()["service_tier"] == served
    events = events_of(ask(server, body, stream=True))
    begun = "auto" if served == "default" else served
    assert events[0]["response"]["service_tier"] == begun
    assert events[-1]["response"]["service_tier"] == served


@pytest.mark.parametrize(
    ("model", "tier"), [("gpt-6.2-sol", "flex"), ("gpt-5.2-pro", "flex"), ("gpt-5.2", "ultrafast")]
)
def test_a_tier_that_the_model_lacks_is_refused(server, ask, model, tier):
    error = error_of(ask(server, model=model, service_tier=tier))
    assert (error["param"], error["code"]) == ("service_tier", "unsupported_value")


def test_flex_may_be_short_of_resources(ask):
    fault = HttpError(status=429, code="resource_unavailable", message="Resource Unavailable")
    with ResponsesSimulator(faults=[fault]) as simulator:
        refused = ask(simulator, service_tier="flex")
        served = ask(simulator, service_tier="flex")
    assert (refused.status_code, served.status_code) == (429, 200)
    assert refused.json()["error"]["code"] == "resource_unavailable"


@pytest.mark.parametrize(
    ("model", "asked", "echoed"),
    [
        ("gpt-5.2", {}, {}),
        ("gpt-5.4", {}, {"context": "current_turn"}),
        ("gpt-5.5", {"context": "all_turns"}, {"context": "all_turns"}),
        ("gpt-5.6", {"context": "auto"}, {"context": "all_turns", "mode": "standard"}),
        (
            "gpt-6-sol",
            {"context": "current_turn", "mode": "pro"},
            {"context": "current_turn", "mode": "pro"},
        ),
    ],
)
def test_the_response_says_how_it_was_reasoned(server, ask, model, asked, echoed):
    reasoning = ask(server, model=model, reasoning=asked).json()["reasoning"]
    assert {key: value for key, value in reasoning.items() if key in {"context", "mode"}} == echoed


def test_the_conversation_changes_the_effort(server, ask):
    update = {"type": "configuration_update", "reasoning": {"effort": "high"}}
    question = {"role": "user", "content": "Hello"}
    body = {"model": "gpt-6-astra", "reasoning": {"effort": "low"}}
    before = ask(server, body, input=[question]).json()
    after = ask(server, body, input=[update, {"type": "configuration_update"}, question]).json()
    assert before["reasoning"] == after["reasoning"]
    spent = [one["usage"]["output_tokens_details"]["reasoning_tokens"] for one in (before, after)]
    assert spent[0] < spent[1]
    wrong = update | {"reasoning": {"effort": "none"}}
    assert error_of(ask(server, body, input=[wrong, question]))["param"] == (
        "input[0].reasoning.effort"
    )


@pytest.mark.parametrize(
    ("model", "context", "is_withheld"),
    [
        ("gpt-5.5", None, True),
        ("gpt-5.5", "all_turns", False),
        ("gpt-5.6", None, False),
        ("gpt-5.6", "current_turn", True),
        ("gpt-5.2", "current_turn", False),
    ],
)
def test_reasoning_of_earlier_turns_may_be_withheld(server, ask, model, context, is_withheld):
    body = {"model": model, "store": False, "include": ["reasoning.encrypted_content"]}
    body["reasoning"] = {"effort": "low", "context": context}
    question = {"role": "user", "content": "Hello"}
    first = ask(server, body, input=[question]).json()
    then = ask(server, body, input=[question, *first["output"], question]).json()
    withheld = {"type": "reasoning", "action": "removed", "reason": "turn_boundary"}
    expected = [{"id": first["output"][0]["id"]} | withheld] if is_withheld else None
    assert then.get("input_transformations") == expected
    assert "input_transformations" not in first


LONG = "word " * 1200


def marked(text, *, explicit=True):
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}} if explicit else {}
    return {"role": "user", "content": [{"type": "input_text", "text": text} | mark]}


def test_what_is_written_to_the_cache_is_billed(ask):
    with ResponsesSimulator() as simulator:
        body = {"model": "gpt-5.6", "input": LONG}
        first = ask(simulator, body, prompt_cache_options={"ttl": "12h"}).json()
        second = ask(simulator, body).json()
        older = ask(simulator, body, model="gpt-5.2").json()
    usage = first["usage"]["input_tokens_details"]
    assert usage["cache_write_tokens"] > 1024
    assert usage["cache_write_tokens_details"] == {
        "ttl_30m_tokens": 0,
        "ttl_12h_tokens": usage["cache_write_tokens"],
    }
    assert first["prompt_cache_options"] == {"ttl": "12h"}
    again = second["usage"]["input_tokens_details"]
    assert again["cached_tokens"] == usage["cache_write_tokens"]
    assert again["cache_write_tokens"] == 0
    details = older["usage"]["input_tokens_details"]
    assert details == {"cache_write_tokens": 0, "cached_tokens": 0}


def test_explicit_mode_caches_up_to_the_last_breakpoint(ask):
    options = {"mode": "explicit"}
    with ResponsesSimulator() as simulator:
        body = {"model": "gpt-5.6", "prompt_cache_options": options}
        none = ask(simulator, body, input=LONG).json()
        items = [marked(LONG), marked(LONG, explicit=False)]
        half = ask(simulator, body, input=items).json()
        again = ask(simulator, body, input=[marked(LONG), marked("Other")]).json()
    assert none["usage"]["input_tokens_details"]["cache_write_tokens"] == 0
    written = half["usage"]["input_tokens_details"]["cache_write_tokens"]
    assert 1024 < written < half["usage"]["input_tokens"] / 2 + 128
    assert again["usage"]["input_tokens_details"]["cached_tokens"] == written


@pytest.mark.parametrize(
    ("settings", "param"),
    [
        ({"prompt_cache_options": {"mode": "none"}}, "prompt_cache_options.mode"),
        ({"prompt_cache_options": {"ttl": "1h"}}, "prompt_cache_options.ttl"),
        ({"prompt_cache_options": {"size": 1}}, "prompt_cache_options.size"),
        ({"prompt_cache_retention": "in_memory"}, "prompt_cache_retention"),
        (
            {"input": [marked("x")] * 4},
            "input[3].content[0].prompt_cache_breakpoint",
        ),
        (
            {"input": [marked("x")] * 5, "prompt_cache_options": {"mode": "explicit"}},
            "input[4].content[0].prompt_cache_breakpoint",
        ),
    ],
)
def test_cache_options_that_cannot_be_are_refused(server, ask, settings, param):
    assert error_of(ask(server, model="gpt-5.6", **settings))["param"] == param


def test_older_models_have_no_breakpoints(server, ask):
    error = error_of(ask(server, model="gpt-5.2", input=[marked("x")]))
    assert error["param"] == "input[0].content[0].prompt_cache_breakpoint"


QUESTION = {"role": "user", "content": "Go on"}
PICTURE = {
    "type": "image_generation_call",
    "id": "ig_1",
    "status": "completed",
    "result": "iVBORw0KGgo=",
}
SEARCHED = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}


@pytest.mark.parametrize(
    ("item", "param", "code"),
    [
        (PICTURE | {"action": "generate"}, "input[0].action", "unknown_parameter"),
        (PICTURE | {"size": "1024x1024"}, "input[0].size", "unknown_parameter"),
        (PICTURE | {"revised_prompt": "x"}, "input[0].revised_prompt", "unknown_parameter"),
        (PICTURE | {"result": None, "status": "failed"}, "input[0].result", "invalid_type"),
        ({"type": "image_generation_call"}, "input[0].id", "missing_required_parameter"),
        (SEARCHED | {"id": "srvtoolu_1"}, "input[0].id", "invalid_value"),
        (SEARCHED | {"action": None}, "input[0].action", "missing_required_parameter"),
        ({"type": "telepathy_call"}, "input[0]", "invalid_value"),
        (
            {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
            "input",
            None,
        ),
        (
            {"type": "shell_call_output", "call_id": "call_1", "output": []},
            "input",
            None,
        ),
        (
            {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ls"]}},
            "input",
            None,
        ),
        ({"type": "compaction"}, "input[0].encrypted_content", "missing_required_parameter"),
        ({"type": "additional_tools", "role": "developer"}, "input[0].tools", None),
    ],
)
def test_items_that_cannot_be_replayed_are_refused(server, ask, item, param, code):
    error = error_of(ask(server, input=[item, QUESTION]))
    assert error["param"] == param
    assert error["code"] == (code or error["code"])


@pytest.mark.parametrize(
    "item",
    [
        PICTURE,
        SEARCHED,
        {"type": "configuration_update", "reasoning": {"effort": "high"}},
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "code": "x",
            "container_id": "cntr_1",
            "status": "completed",
            "outputs": None,
        },
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "a", "tools": []},
        {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": []},
    ],
)
def test_items_of_hosted_tools_are_replayed(server, ask, item):
    assert ask(server, input=[item, QUESTION], store=False).status_code == 200


def test_a_lenient_server_refuses_nothing(ask):
    with ResponsesSimulator(strict=False) as simulator:
        body = {"tools": [{"type": "telepathy"}], "service_tier": "best", "temperature": 9}
        body["input"] = [{"role": "user", "content": ["Hello"]}]
        answer = ask(simulator, body)
    assert answer.status_code == 200
    assert answer.json()["service_tier"] == "best"
