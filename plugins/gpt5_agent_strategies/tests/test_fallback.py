"""A second model that takes over."""

import json

import pytest

from scripted_dify import DifyError, call, chunk, text_message, tool, usage


SECOND = {"provider": "other/models/models", "model": "claude", "mode": "chat"}
SECOND_ID = "other/models/models/claude"
FIRST_ID = "someone/models/models/gpt-5.2"
LIMITED = DifyError("[models] Rate Limit Error, too many requests")
BODY = {"responses_output": [{"type": "reasoning"}], "carry": "content_part"}


def ask(agent, *answers, **parameters):
    agent.dify.model = [list(answer) for answer in answers]
    agent.dify.tools["clock"] = [text_message("21:04")]
    return agent.run(tools=[tool("clock")], **{"fallback_model": SECOND} | parameters)


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
    assert transcript.logs["claude Thought"]["metadata"]["provider"] == "other/models/models"
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


@pytest.mark.parametrize("value", [None, "", {}], ids=repr)
def test_without_a_second_model_the_error_is_told(agent, value):
    transcript = ask(agent, [LIMITED], fallback_model=value)
    assert "too many requests" in transcript.error.message
    assert called(agent) == [FIRST_ID]


def priced(currency):
    return {"pricing": {"input": "1", "output": "1", "unit": "0.001", "currency": currency}}


@pytest.mark.parametrize(
    ("model", "fallback", "budget", "sentence"),
    [
        ({}, {"model": ""}, {}, "fallback_model must be a model with provider and name"),
        ({}, {"entity": 5}, {}, "fallback_model.entity must be an object, not 5"),
        (
            {},
            {"provider": "someone/models/models", "model": "gpt-5.2"},
            {},
            "fallback_model must be another model than that of the field model",
        ),
        (
            {},
            {"entity": {"pricing": None}},
            {"max_cost": 1},
            "fallback_model must be a model with prices where max_cost is set",
        ),
        (
            {"entity": priced("USD")},
            {"entity": priced("RMB")},
            {},
            "fallback_model must be a model with prices in USD, as those of the field model",
        ),
    ],
)
def test_a_model_that_cannot_take_its_place_is_refused(agent, model, fallback, budget, sentence):
    transcript = ask(agent, model=model, fallback_model={**SECOND, **fallback}, **budget)
    assert sentence in transcript.error.message
    assert agent.dify.model_requests == []
