"""Answers in JSON, which Dify parses as a whole: whatever else a server sends stays out of their text."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gpt5_simulator import (
    FunctionCall,
    RawServer,
    Reasoning,
    Refusal,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)
from model_plugin import Answer, ModelPlugin
from raw_answers import frame, json_answers, streams


OPEN = {"type": "object", "properties": {"word": {"type": "string"}}}
CLOSED = OPEN | {"required": ["word"], "additionalProperties": False}
AS_DIFY_SENDS_IT = json.dumps({"schema": OPEN, "name": "llm_response"})
SHAPES = {
    "json_schema": {"response_format": "json_schema", "json_schema": AS_DIFY_SENDS_IT},
    # As Dify's workflow runtime sends one: without saying that the answer shall follow it.
    "a schema alone": {"json_schema": json.dumps(OPEN)},
    "json_object": {"response_format": "json_object"},
}
SUMMARY = 'The answer has the form {"word": "wrong"}.'
USAGE = {"input_tokens": 11, "output_tokens": 22, "total_tokens": 33}


def part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


ITEMS = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": SUMMARY}],
        "encrypted_content": "sealed",
    },
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "phase": "commentary",
        "content": [part("Looking it up {now}.")],
    },
    {
        "type": "message",
        "id": "msg_2",
        "role": "assistant",
        "phase": "final_answer",
        "content": [part('{"word": "right"}')],
    },
    {
        "type": "message",
        "id": "msg_3",
        "role": "assistant",
        "phase": "final_answer",
        "content": [part('{ "word": "right" }\n')],
    },
]
RESPONSE = {"id": "resp_1", "model": "gpt-5.2", "status": "completed", "usage": USAGE}


def events() -> Iterator[Mapping[str, Any]]:
    """Yield what a server streams that sends a summary although none was asked for."""
    where = {"output_index": 0, "summary_index": 0}
    yield {"type": "response.output_item.added", "output_index": 0, "item": {**ITEMS[0]}}
    yield {"type": "response.reasoning_summary_text.delta", "delta": SUMMARY, **where}
    yield {"type": "response.output_item.done", "output_index": 0, "item": ITEMS[0]}
    for index, item in enumerate(ITEMS[1:], start=1):
        (content,) = item["content"]
        opened = {**item, "content": []}
        yield {"type": "response.output_item.added", "output_index": index, "item": opened}
        for piece in (content["text"][:5], content["text"][5:]):
            where = {"output_index": index, "content_index": 0}
            yield {"type": "response.output_text.delta", "delta": piece, **where}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": {**RESPONSE, "output": ITEMS}}


STREAM = b"".join(frame(event) for event in events())
WHOLE = json.dumps({**RESPONSE, "output": ITEMS}).encode()


def ask(plugin: ModelPlugin, server: Any, shape: str, **request: Any) -> Answer:
    parameters = {**SHAPES[shape], **request.pop("parameters", {})}
    return plugin.invoke(server, "Answer in JSON.", model_parameters=parameters, **request)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("sent", ["as a stream", "whole"])
def test_the_text_is_the_json_and_nothing_else(
    plugin: ModelPlugin, *, shape: str, stream: bool, sent: str
) -> None:
    answering = streams(STREAM) if sent == "as a stream" else json_answers(WHOLE)
    with RawServer(answering) as server:
        answer = ask(plugin, server, shape, stream=stream)

    assert answer.text == '{"word": "right"}'
    assert all(carried is None for _, carried in answer.texts)
    assert answer.last["message"]["opaque_body"]["responses_output"] == ITEMS
    usage = answer.last["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (11, 22)


def test_the_same_server_s_text_is_shown_whole_where_it_is_text(plugin: ModelPlugin) -> None:
    with RawServer(streams(STREAM)) as server:
        answer = plugin.invoke(server)

    assert (
        answer.text
        == f'<think>\n{SUMMARY}\n</think>Looking it up {{now}}.{{"word": "right"}}{{ "word": "right" }}\n'
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("enable_stream", [True, False])
@pytest.mark.parametrize("summary", ["auto", "detailed", "off"])
def test_no_summary_is_asked_for(
    plugin: ModelPlugin,
    server: ResponsesSimulator,
    *,
    shape: str,
    enable_stream: bool,
    summary: str,
) -> None:
    parameters = {"enable_stream": enable_stream, "reasoning_summary": summary}
    answer = ask(plugin, server, shape, parameters=parameters)

    assert answer.error is None
    assert isinstance(json.loads(answer.text), dict)
    assert server.requests[-1].body["reasoning"] == {"effort": "medium"}


@pytest.mark.parametrize("off", ["off", False])
def test_off_gives_an_answer_without_thoughts(plugin: ModelPlugin, off: object) -> None:
    turn = (Reasoning(summary=("Plan.",)), Text(text="42"))
    with ResponsesSimulator(model=ScriptedModel([turn])) as server:
        answer = plugin.invoke(server, model_parameters={"reasoning_summary": off})

    assert answer.text == "42"
    assert "summary" not in server.requests[-1].body["reasoning"]


def test_a_refusal_is_told(plugin: ModelPlugin) -> None:
    turn = (Reasoning(summary=("Plan.",)), Refusal(text="I can't help with that."))
    with ResponsesSimulator(model=ScriptedModel([turn])) as server:
        assert ask(plugin, server, "json_schema").text == "I can't help with that."


@pytest.mark.parametrize(
    ("schema", "name", "strict"),
    [
        (AS_DIFY_SENDS_IT, "llm_response", False),
        (json.dumps(OPEN), "llm_response", False),
        (json.dumps({"schema": CLOSED, "name": "llm_response"}), "llm_response", True),
        (json.dumps(CLOSED), "llm_response", True),
        (json.dumps({"schema": CLOSED, "strict": False}), "structured_output", False),
        (json.dumps({"type": "array", "items": OPEN}), "llm_response", False),
    ],
)
def test_a_schema_goes_out_as_strict_only_where_it_can(
    plugin: ModelPlugin, *, schema: str, name: str, strict: bool
) -> None:
    parameters = {"response_format": "json_schema", "json_schema": schema}
    with ResponsesSimulator(model=ScriptedModel([(Text(text="{}"),)])) as server:
        assert plugin.invoke(server, model_parameters=parameters).error is None

    sent = server.requests[-1].body["text"]["format"]
    assert (sent["name"], sent["strict"]) == (name, strict)


def test_reasoning_comes_back_from_memory_after_a_structured_round(plugin: ModelPlugin) -> None:
    """What Dify has seen of the round is the answer alone, and that is what its memory is found by."""
    tool = {"name": "look", "description": "", "parameters": OPEN}
    turns = [
        (Reasoning(summary=("Plan.",)), Text(text="{}"), FunctionCall(name="look", arguments={})),
        (Text(text="{}"),),
    ]
    with ResponsesSimulator(model=ScriptedModel(turns)) as server:
        first = ask(plugin, server, "json_schema", tools=[tool])
        (call,) = first.last["message"]["tool_calls"]
        messages = [
            {"role": "user", "content": "Answer in JSON."},
            {"role": "assistant", "content": first.text, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "found"},
        ]
        parameters = SHAPES["json_schema"]
        plugin.invoke(server, messages, tools=[tool], model_parameters=parameters)

    kinds = [item.get("type", "message") for item in server.requests[-1].body["input"]]
    assert kinds == ["message", "reasoning", "message", "function_call", "function_call_output"]
