"""A client answers what an agent run asks for, in pieces that the run takes as they are."""

import asyncio
from dataclasses import fields, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from gpt5_messages import MessageError, build_input
from gpt5_payloads import PayloadError, image_generation_tool, mcp_tool, web_search_tool
from gpt5_responses import (
    AnswerDelta,
    AsyncResponsesClient,
    AuthenticationError,
    Connection,
    Conversation,
    ModelConfig,
    NotFoundError,
    Request,
    RequestSettings,
    ResponsesClient,
    ResponsesScheme,
    acreate,
    aopen_stream,
)
from gpt5_simulator import (
    FunctionCall,
    OutputItem,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)


TOOL = {"name": "lookup", "description": "Look up", "parameters": {"type": "object"}}
QUESTION = {"role": "user", "content": "Look up a"}
SCRIPT = [
    [Reasoning(summary=("Look it up.",)), FunctionCall(name="lookup", arguments={"key": "a"})],
    [Text(text="On my way.", phase="commentary"), Text(text="Found it.")],
]


def config(server: ResponsesSimulator, **settings: Any) -> ModelConfig:
    fixed = {"model_id": "gpt-5.5", "api_key": "k", "base_url": server.base_url, "max_retries": 0}
    return ModelConfig(**{**fixed, **settings})


def wanted(messages: list[Any], **more: Any) -> SimpleNamespace:
    return SimpleNamespace(messages=messages, **{"tools": [TOOL], "tool_choice": None, **more})


def answer(server: ResponsesSimulator, call: object, *, is_async: bool) -> list[AnswerDelta]:
    defaults = Request(effort="low")
    if not is_async:
        return list(ResponsesClient(config(server), defaults=defaults).answer(call))

    async def read() -> list[AnswerDelta]:
        async with AsyncResponsesClient(config(server), defaults=defaults) as client:
            return [delta async for delta in client.answer(call)]

    return asyncio.run(read())


@pytest.mark.parametrize("is_async", [False, True])
def test_two_rounds_need_no_conversion_and_keep_the_reasoning(*, is_async: bool) -> None:
    messages: list[Any] = [QUESTION]
    with ResponsesSimulator(model=ScriptedModel(SCRIPT)) as server:
        first = answer(server, wanted(messages), is_async=is_async)
        messages.append({"role": "assistant", **vars_of(first[-1])})
        messages.append({"call_id": first[-1].tool_calls[0].call_id, "content": "x"})
        second = answer(server, wanted(messages, tool_choice="none"), is_async=is_async)

    assert "".join(delta.text for delta in first) == "<think>\nLook it up.\n</think>"
    assert [call.name for call in first[-1].tool_calls] == ["lookup"]
    assert first[-1].usage is not None
    assert first[-1].finish_reason == "tool_calls"
    assert [(delta.text, delta.phase) for delta in second if delta.text] != []
    assert {delta.phase for delta in second if "way" in delta.text} == {"commentary"}
    assert "".join(delta.text for delta in second).endswith("Found it.")
    inputs = [request.body["input"] for request in server.requests]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(inputs))
    kinds = [item.get("type", "message") for item in inputs[1]]
    assert kinds == ["message", "reasoning", "function_call", "function_call_output"]
    assert [request.body["tool_choice"] for request in server.requests] == ["auto", "none"]
    assert server.requests[0].body["reasoning"]["effort"] == "low"


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (None, {"type": "allowed_tools", "mode": "auto"}),
        ("required", {"type": "allowed_tools", "mode": "required"}),
        ("none", "none"),
        ("lookup", {"type": "function", "name": "lookup"}),
        ({"type": "function", "name": "lookup"}, {"type": "function", "name": "lookup"}),
    ],
)
def test_tools_that_alone_are_allowed_narrow_the_choice_and_change_no_tools(
    choice: Any, sent: Any
) -> None:
    with ResponsesSimulator(model=ScriptedModel(SCRIPT)) as server:
        for allowed in (("lookup",), ()):
            call = wanted([QUESTION], tool_choice=choice, allowed_tools=allowed)
            answer(server, call, is_async=False)
    narrow, wide = (request.body for request in server.requests)
    assert narrow["tools"] == wide["tools"]
    named = {"tools": [{"type": "function", "name": "lookup"}]} if "mode" in sent else {}
    assert narrow["tool_choice"] == (sent | named if named else sent)
    assert wide["tool_choice"] == (sent if not named else choice or "auto")


def test_a_schema_for_the_answer_becomes_its_format() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    with ResponsesSimulator(model=ScriptedModel(SCRIPT)) as server:
        answer(server, wanted([QUESTION], answer_schema=schema), is_async=False)
        answer(server, wanted([QUESTION], answer_schema=None), is_async=False)
    first, second = (request.body for request in server.requests)
    assert first["text"]["format"]["type"] == "json_schema"
    assert first["text"]["format"]["schema"] == schema
    assert "text" not in second


def vars_of(delta: AnswerDelta) -> dict[str, Any]:
    return {field.name: getattr(delta, field.name) for field in fields(delta)}


def test_an_answer_is_sent_when_it_is_read_and_can_be_let_go_of() -> None:
    with ResponsesSimulator(model=ScriptedModel(SCRIPT)) as server:
        unread = ResponsesClient(config(server)).answer({"messages": [QUESTION]})
        unread.close()
        assert list(unread)[-1] == AnswerDelta(finish_reason="error")
        assert server.requests == []


def test_what_cannot_be_read_or_sent_is_told_before_anything_is_sent() -> None:
    with ResponsesSimulator() as server:
        client = ResponsesClient(config(server))
        with pytest.raises(MessageError, match=r"messages\[1\]"):
            client.answer({"messages": [QUESTION, 5]})
        with pytest.raises(PayloadError, match="tool_choice"):
            client.answer(wanted([QUESTION], tool_choice="other"))
        assert server.requests == []


async def test_the_twins_of_open_stream_and_create_send_the_same() -> None:
    body = {"model": "gpt-5.2", "input": "Hello", "stream": True}
    with ResponsesSimulator() as server:
        fields = {"openai_api_key": "k", "openai_api_base": server.base_url, "max_retries": "0"}
        connection = Connection.from_credentials(fields)
        completion = await acreate(connection, body)
        async with aopen_stream(connection, body) as stream:
            async for _ in stream:
                pass
        assert stream.completion.text == completion.text
        assert completion.text
        assert server.requests[0].body == server.requests[1].body


async def test_a_refused_stream_lets_go_of_its_client() -> None:
    with ResponsesSimulator(api_keys=["good"]) as server:
        fields = {"openai_api_key": "bad", "openai_api_base": server.base_url, "max_retries": "0"}
        connection = Connection.from_credentials(fields)
        with pytest.raises(AuthenticationError):
            await acreate(connection, {"model": "gpt-5.2", "input": "Hello", "stream": True})


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"effort": "max"}, {"reasoning": {"effort": "xhigh", "summary": "auto"}}),
        ({"verbosity": "low"}, {"text": {"format": {"type": "text"}, "verbosity": "low"}}),
        ({"response_format": "text"}, {"text": {"format": {"type": "text"}}}),
        ({"tool_choice": "required"}, {"tool_choice": "required"}),
        (
            {"tool_choice": "lookup"},
            {"tool_choice": {"type": "function", "name": "lookup"}},
        ),
        ({"parallel_tool_calls": False}, {"parallel_tool_calls": False}),
        ({"max_output_tokens": 3}, {"max_output_tokens": 16}),
    ],
)
def test_a_conversations_request_is_typed_and_fitted(
    settings: RequestSettings, sent: dict[str, Any]
) -> None:
    conversation = Conversation()
    conversation.ask("Hello")
    request = conversation.request(tools=[TOOL], **settings)
    body = ResponsesScheme().build_body(request, model="gpt-5.2")
    assert sent.items() <= body.items()


def test_a_schema_is_the_format_of_the_answer() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    request = Request(messages=[QUESTION], response_format="json_schema", json_schema=schema)
    scheme = ResponsesScheme(text={"verbosity": "low"})
    text = scheme.build_body(request, model="gpt-5.2")["text"]
    assert (text["format"]["type"], text["verbosity"]) == ("json_schema", "low")
    assert text["format"]["schema"]["properties"] == schema["properties"]
    with pytest.raises(PayloadError, match="JSON"):
        scheme.build_body(
            Request(messages=[QUESTION], response_format="json_object"), model="gpt-5.2"
        )


def test_messages_come_before_items() -> None:
    item = {"type": "function_call_output", "call_id": "c1", "output": "x"}
    body = ResponsesScheme().build_body(Request(items=[item], messages=[QUESTION]), model="gpt-5.2")
    assert body["input"] == [*build_input([QUESTION]), item]


def test_an_error_of_the_server_is_raised_as_it_is_read() -> None:
    with ResponsesSimulator() as server:
        call = {"messages": [QUESTION]}
        with pytest.raises(NotFoundError):
            list(ResponsesClient(config(server, model_id="no-such-model")).answer(call))


def test_a_client_says_that_it_takes_a_schema_as_the_format_of_an_answer() -> None:
    with ResponsesSimulator() as server:
        assert ResponsesClient(config(server)).has_answer_format


SEARCH = web_search_tool()
DRAW = image_generation_tool()
HOSTED = Request(tools=[SEARCH, DRAW], max_tool_calls=9)
DRAWN = {"type": "image_generation_call", "result": "iVBORw0KGgo=", "output_format": "png"}
SEARCHED = {"type": "web_search_call", "action": {"type": "search", "query": "a"}}


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({}, ([SEARCH, DRAW], "auto", 9)),
        ({"max_hosted_calls": 3}, ([SEARCH, DRAW], "auto", 3)),
        ({"max_hosted_calls": 10**9}, ([SEARCH, DRAW], "auto", 9)),
        ({"max_hosted_calls": 0, "is_closing": True}, ([SEARCH, DRAW], "none", 9)),
        ({"is_compaction": True}, ([SEARCH, DRAW], "none", 9)),
        ({"allowed_tools": ()}, ([SEARCH, DRAW], "none", 9)),
        ({"hosted_tools": ("web_search",)}, ([SEARCH], "auto", 9)),
        ({"hosted_tools": (), "max_hosted_calls": 3}, ([], "auto", 9)),
        ({"tool_choice": "web_search"}, ([SEARCH, DRAW], SEARCH, 9)),
        (
            {"allowed_tools": ["web_search", "lookup"]},
            (
                [SEARCH, DRAW],
                {
                    "type": "allowed_tools",
                    "mode": "auto",
                    "tools": [SEARCH, {"type": "function", "name": "lookup"}],
                },
                9,
            ),
        ),
    ],
)
def test_tools_of_the_defaults_go_out_beside_those_of_the_call(more: Any, sent: Any) -> None:
    script = [[OutputItem(item=SEARCHED), OutputItem(item=DRAWN), Text(text="Found.")]]
    with ResponsesSimulator(model=ScriptedModel(script)) as server:
        client = ResponsesClient(config(server), defaults=HOSTED)
        last = list(client.answer(wanted([QUESTION], **more)))[-1]
        body = server.requests[0].body
    function, *beside = body["tools"]
    assert function["name"] == "lookup"
    assert (beside, body["tool_choice"], body["max_tool_calls"]) == sent
    assert last.hosted_calls == 2
    assert last.files == ({"media_type": "image/png", "data": DRAWN["result"]},)
    assert (client.hosted_tools, client.lacking_tools) == (("web_search", "image_generation"), ())


def test_a_tool_of_the_defaults_that_needs_somebody_here_is_refused_by_name() -> None:
    defaults = Request(tools=[SEARCH, mcp_tool("docs", url="https://docs.example")])
    fixed = ModelConfig(model_id="gpt-4o", api_key="k")
    client = ResponsesClient(fixed, defaults=defaults)
    reason = (
        r"defaults.tools\[1\]: docs cannot go out beside an agent's tools: its require_approval"
    )
    with pytest.raises(PayloadError, match=reason):
        client.answer(wanted([QUESTION]))
    draws = AsyncResponsesClient(replace(fixed, model_id="gpt-5-codex"), defaults=HOSTED)
    assert (client.lacking_tools, draws.no_agent_reason) == ((), None)
