"""A second model that takes over."""

import json

import pytest

from scripted_dify import DifyError, call, chunk, text_message, tool, usage


SECOND = {"provider": "other/models/models", "model": "claude", "mode": "chat"}
SECOND_ID = "other/models/models/claude"
FIRST_ID = "someone/models/models/gpt-5.2"
LIMITED = DifyError("[models] Rate Limit Error, too many requests")
BODY = {"responses_output": [{"type": "reasoning"}], "carry": "content_part"}


def ask(agent, *answers, fallback_model=SECOND, **parameters):
    agent.dify.model = [list(answer) for answer in answers]
    agent.dify.tools["clock"] = [text_message("21:04")]
    return agent.run(tools=[tool("clock")], raw={"fallback_model": fallback_model}, **parameters)


def called(agent):
    return [f"{r['provider']}/{r['model']}" for r in agent.dify.model_requests]


def test_another_model_takes_over_and_log_and_metadata_say_which_answered(agent):
    completion = {**SECOND, "completion_params": {"temperature": 0.5}}
    transcript = ask(
        agent,
        [chunk(calls=[call("clock")], usage=usage())],
        [LIMITED],
        [chunk("It is late.", usage=usage())],
        fallback_model=completion,
        model={"completion_params": {"verbosity": "low"}},
    )
    assert transcript.error is None
    assert transcript.text.endswith("It is late.")
    assert called(agent) == [FIRST_ID, FIRST_ID, SECOND_ID]
    parameters = [request["completion_params"] for request in agent.dify.model_requests]
    assert parameters == [{"verbosity": "low"}, {"verbosity": "low"}, {"temperature": 0.5}]
    assert transcript.metadata["models"] == [FIRST_ID, FIRST_ID, SECOND_ID]
    assert transcript.metadata["total_tokens"] == 30
    assert "claude Thought" in transcript.logs
    assert "too many requests" in transcript.logs["ROUND 2"]["error"]
    told = "Another model takes over, because the first has failed"
    assert transcript.logs[told]["data"] == {"model": [f"{SECOND_ID}, from round 3 on"]}
    assert f"{told}: {SECOND_ID}, from round 3 on" in agent.log


def test_the_reasoning_of_the_first_is_not_handed_to_the_second(agent):
    thinking = chunk("<think>hm</think>Looking.", calls=[call("clock")], opaque=BODY)
    ask(agent, [thinking], [LIMITED], [chunk("It is late.")])
    second, third = (json.dumps(r["prompt_messages"]) for r in agent.dify.model_requests[1:])
    assert "responses_output" in second
    assert "hm" in second
    assert "responses_output" not in third
    assert "<think>" not in third
    assert "Looking." in third
    assert "21:04" in third


def test_what_the_second_does_not_read_becomes_a_sentence(agent):
    image = {"type": "image", "base64_data": "QQ==", "mime_type": "image/png", "format": "png"}
    history = [
        {"role": "user", "content": [{"type": "text", "data": "What is it?"}, image]},
        {"role": "assistant", "content": "A chart."},
    ]
    ask(
        agent,
        [LIMITED],
        [chunk("So.")],
        model={"history_prompt_messages": history},
        fallback_model={**SECOND, "entity": {"features": ["tool-call"]}},
    )
    first, second = (r["prompt_messages"][1]["content"] for r in agent.dify.model_requests)
    assert [part["type"] for part in first] == ["text", "image"]
    assert second.startswith("What is it?\n")
    assert "this model does not read it" in second


@pytest.mark.parametrize("error", ["[models] Incorrect model credentials provided", "boom"])
def test_an_error_that_the_second_would_have_too_ends_the_run(agent, error):
    transcript = ask(agent, [DifyError(error)])
    assert transcript.error is not None
    assert called(agent) == [FIRST_ID]
    assert "models" not in transcript.metadata


@pytest.mark.parametrize("value", [None, "", "  ", {}], ids=repr)
def test_without_a_second_model_the_error_is_told(agent, value):
    transcript = ask(agent, [LIMITED], fallback_model=value)
    assert "too many requests" in transcript.error.message
    assert called(agent) == [FIRST_ID]


@pytest.mark.parametrize(
    ("written", "provider", "name"),
    [
        ("other/models/models/claude", "other/models/models", "claude"),
        (" other/models/models/org/claude:4 ", "other/models/models", "org/claude:4"),
        ("gpt-5.4-mini", "someone/models/models", "gpt-5.4-mini"),
        ("org/claude", "someone/models/models", "org/claude"),
        (json.dumps(SECOND), "other/models/models", "claude"),
    ],
)
def test_the_second_is_written_by_its_path_its_name_or_as_json(agent, written, provider, name):
    transcript = ask(agent, [LIMITED], [chunk("So.")], fallback_model=written)
    assert transcript.text == "So."
    assert called(agent) == [FIRST_ID, f"{provider}/{name}"]


def test_json_may_hold_parameters_and_what_the_model_can_do(agent):
    entity = {"features": ["vision"], "parameter_rules": []}
    written = {**SECOND, "completion_params": {"temperature": 0.5}, "entity": entity}
    ask(agent, [LIMITED], [chunk("So.")], fallback_model=json.dumps(written))
    assert agent.dify.model_requests[1]["completion_params"] == {"temperature": 0.5}


PICTURED = [
    {
        "role": "user",
        "content": [
            {"type": "text", "data": "What is it?"},
            {"type": "image", "base64_data": "QQ==", "mime_type": "image/png", "format": "png"},
        ],
    },
    {"role": "assistant", "content": "A chart."},
]


@pytest.mark.parametrize(
    ("written", "reads_images"), [("gpt-5.4", True), ("other/models/models/claude", False)]
)
def test_a_second_of_the_same_provider_reads_what_the_first_reads_and_another_text_alone(
    agent, written, reads_images
):
    first = {"history_prompt_messages": PICTURED, "entity": {"features": ["vision"]}}
    ask(agent, [LIMITED], [chunk("So.")], model=first, fallback_model=written)
    sent = agent.dify.model_requests[1]["prompt_messages"][1]["content"]
    assert (not isinstance(sent, str)) is reads_images


def test_a_second_that_is_only_named_is_asked_for_a_schema_in_words(agent):
    rules = [{"name": "response_format", "options": ["json_schema"]}, {"name": "json_schema"}]
    transcript = ask(
        agent,
        [LIMITED],
        [chunk('{"a": 1}')],
        model={"entity": {"parameter_rules": rules}},
        fallback_model="gpt-5.4",
        answer_schema='{"type": "object"}',
    )
    first, second = agent.dify.model_requests
    assert "json_schema" in first["completion_params"]
    assert "json_schema" not in second["completion_params"]
    assert "JSON schema" in second["prompt_messages"][-1]["content"]
    assert transcript.text == '{"a": 1}'


@pytest.mark.parametrize(
    ("first", "second", "budget", "sentence"),
    [
        ("USD", "", {"max_cost": 1}, "max_cost cannot be kept: the model does not tell its prices"),
        (
            "USD",
            "CNY",
            {},
            "The cost of the run cannot be summed up: the prices of its models are in two currencies",
        ),
    ],
)
def test_prices_that_cannot_be_summed_up_end_the_run_at_the_first_answer_of_the_second(
    agent, first, second, budget, sentence
):
    told = {**usage(price="0.1" if second else "0"), "currency": second}
    transcript = ask(
        agent,
        [chunk(calls=[call("clock")], usage={**usage(), "currency": first})],
        [LIMITED],
        [chunk(calls=[call("clock", id_="c2")], usage=told)],
        **budget,
    )
    assert transcript.error.message == sentence
    assert len(agent.dify.tool_requests) == 1
    assert transcript.metadata["total_price"] == "0.0002"


@pytest.mark.parametrize(
    ("fallback", "sentence"),
    [
        ({**SECOND, "model": ""}, "fallback_model must be a model with provider and name"),
        ("other/models//claude", "must be a model's name, or author/plugin/provider/model, not"),
        ("other/models/models/ ", "must be a model's name, or author/plugin/provider/model, not"),
        ("gpt-5.4\ngpt-5.5", "must be a model's name, or author/plugin/provider/model, not"),
        ('["gpt-5.4"]', "fallback_model must be a model with provider and name, not a list"),
        ('"gpt-5.4"', "fallback_model must be a model with provider and name, not text"),
        ({**SECOND, "entity": 5}, "fallback_model.entity must be an object, not 5"),
        ('{"provider": 5', "fallback_model must be valid JSON where it begins like it, not text"),
        ("gpt-5.2", "fallback_model must be another model than that of the field model"),
        ("someone/models/models/ gpt-5.2", "fallback_model must be another model than that"),
        (FIRST_ID, "fallback_model must be another model than that of the field model"),
    ],
    ids=str,
)
def test_a_model_that_cannot_take_its_place_is_refused_before_any_call(agent, fallback, sentence):
    transcript = ask(agent, fallback_model=fallback)
    assert sentence in transcript.error.message
    assert agent.dify.model_requests == []
