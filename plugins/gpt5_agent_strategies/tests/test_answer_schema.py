"""Answers that have to fulfil a JSON schema."""

import json

import pytest

from scripted_dify import DifyError, call, chunk, text_message, tool, usage


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TEXT = json.dumps(CITY)
TAKES_SCHEMAS = {
    "parameter_rules": [
        {"name": "response_format", "options": ["text", "json_schema"]},
        {"name": "json_schema"},
        {"name": "tool_choice"},
    ]
}
ANSWER = '{"city": "Kyoto"}'


def ask(agent, *answers, **parameters):
    agent.dify.model = [list(answer) for answer in answers]
    agent.dify.tools["clock"] = [text_message("21:04")]
    return agent.run(tools=[tool("clock")], **{"answer_schema": TEXT} | parameters)


def values(transcript):
    """Return what came as JSON before the figures of the run, which come last."""
    *values, metadata = [m["message"]["json_object"] for m in transcript.of("json")]
    assert transcript.messages[-1]["type"] == "json"
    assert "execution_metadata" in metadata
    return values


@pytest.mark.parametrize("schema", [TEXT, CITY, {"name": "city", "schema": CITY}], ids=range(3))
def test_the_answer_leaves_as_text_and_as_json_before_the_figures(agent, schema):
    question = [chunk("Looking."), chunk(calls=[call("clock")])]
    answer = [chunk('{"city": '), chunk('"Kyoto"}', usage=usage())]
    given = {"answer_schema": schema}
    transcript = ask(agent, question, answer, raw=given, emit_intermediate_thoughts=False)
    assert transcript.error is None
    assert [message["message"]["text"] for message in transcript.of("text")] == [ANSWER]
    assert values(transcript) == [{"city": "Kyoto"}]
    assert transcript.final_answer == ANSWER


def test_a_model_that_takes_a_schema_is_given_it_from_the_first_call(agent):
    question = [chunk(calls=[call("clock")])]
    ask(agent, question, [chunk(ANSWER)], model={"entity": TAKES_SCHEMAS})
    for request in agent.dify.model_requests:
        assert request["completion_params"]["response_format"] == "json_schema"
        sent = json.loads(request["completion_params"]["json_schema"])
        assert sent == {"name": "answer", "schema": CITY}
        assert TEXT not in json.dumps(request["prompt_messages"])


@pytest.mark.parametrize(
    "rules",
    [
        [],
        [{"name": "response_format", "options": ["JSON", "XML"]}, {"name": "json_schema"}],
        [{"name": "response_format"}],
    ],
    ids=range(3),
)
def test_another_model_is_asked_in_words(agent, rules):
    ask(agent, [chunk(ANSWER)], model={"entity": {"parameter_rules": rules}})
    [request] = agent.dify.model_requests
    assert request["completion_params"] == {}
    assert request["prompt_messages"][-1]["content"].endswith(f":\n{TEXT}")


def test_an_answer_that_is_not_valid_is_asked_for_once_more(agent):
    wrong = [chunk("<think>Kyoto.</think>Kyoto")]
    transcript = ask(agent, wrong, [chunk(f"```json\n{ANSWER}\n```")])
    assert transcript.text == ANSWER
    assert values(transcript) == [{"city": "Kyoto"}]
    first, second = (request["prompt_messages"] for request in agent.dify.model_requests)
    assert second[: len(first)] == first
    assert second[-1]["content"].startswith("Your answer does not fulfil the JSON schema")
    assert json.dumps(transcript.of("json")[-1]).count('"iterations": 2') == 1


def test_an_answer_that_is_never_valid_fails_the_node(agent):
    transcript = ask(agent, [chunk("Kyoto")], [chunk('{"city": 7}')])
    assert "The answer does not fulfil answer_schema" in transcript.error.message
    assert "$.city: 7 is not of type 'string'" in transcript.error.message
    assert transcript.text == ""
    assert transcript.metadata["stop_reason"] == "invalid_answer"


def test_a_run_that_breaks_has_no_value(agent):
    transcript = ask(agent, [DifyError("invalid api key")])
    assert transcript.error is not None
    assert values(transcript) == []


def test_a_value_that_is_no_object_comes_in_one(agent):
    assert values(ask(agent, [chunk("7")], answer_schema='{"type": "integer"}')) == [{"answer": 7}]


@pytest.mark.parametrize("schema", [None, "", " \n"])
def test_without_a_schema_text_streams(agent, schema):
    transcript = ask(agent, [chunk("Kyo"), chunk("to")], answer_schema=schema)
    assert [message["message"]["text"] for message in transcript.of("text")] == ["Kyo", "to"]
    assert values(transcript) == []


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        (
            '{"type": "city"}',
            "type of answer_schema must be a valid JSON schema, got 'city' is not valid",
        ),
        ("Kyoto", "answer_schema must be a JSON schema, got Expecting value"),
        ('["city"]', "answer_schema must be a JSON schema object, got list"),
        (7, "answer_schema must be a JSON schema, not 7"),
        ('{"$ref": "https://example.org/city"}', "$ref of answer_schema must be a place in"),
    ],
)
def test_what_is_no_schema_is_refused_before_any_call(agent, schema, sentence):
    transcript = agent.run(raw={"answer_schema": schema})
    assert sentence in transcript.error.message
    assert agent.dify.model_requests == []
