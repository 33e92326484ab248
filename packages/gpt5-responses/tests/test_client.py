"""Whole conversations with a server that checks each request as the real one would."""

import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest

from gpt5_messages import BlockDelta, BlockStart, Completion, UsageReported
from gpt5_responses import (
    AsyncResponsesClient,
    AuthenticationError,
    Conversation,
    ModelConfig,
    Request,
    ResponsesClient,
    ResponsesError,
    ResponsesScheme,
    SettingsError,
    StreamInterruptedError,
    Transport,
    UnexpectedResponseError,
)
from gpt5_simulator import (
    CustomToolCall,
    CutStream,
    FunctionCall,
    HtmlPage,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
    UnverifiedOrganization,
)


TOOL = {
    "name": "lookup",
    "description": "Look a word up",
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
}
THREE_ROUNDS = (
    [
        Reasoning(summary=("Look both up.",)),
        FunctionCall(name="lookup", arguments={"word": "a"}, call_id="c1"),
        FunctionCall(name="lookup", arguments={"word": "b"}, call_id="c2"),
    ],
    [Reasoning(), FunctionCall(name="lookup", arguments={"word": "c"}, call_id="c3")],
    [Reasoning(), Text(text="All found.")],
)


def config(server: ResponsesSimulator, **settings: object) -> ModelConfig:
    return ModelConfig(
        **{
            "model_id": "gpt-5",
            "api_key": "k",
            "base_url": server.base_url,
            "max_retries": 0,
            **settings,
        }
    )


def test_requirement_9_reasoning_and_tools_work_over_three_rounds(transport: Transport) -> None:
    conversation = Conversation()
    conversation.ask("Look up a, b, then c")
    rounds: list[Completion] = []
    with ResponsesSimulator(model=ScriptedModel(THREE_ROUNDS)) as server:
        client = ResponsesClient(config(server), transport=transport)
        while not rounds or rounds[-1].tool_calls:
            rounds.append(client.complete(conversation.request(tools=[TOOL], effort="medium")))
            conversation.add(rounds[-1])
            for call in rounds[-1].tool_calls:
                conversation.answer(call, f"found {call.arguments}")

    assert [len(completion.tool_calls) for completion in rounds] == [2, 1, 0]
    assert rounds[-1].text == "All found."
    assert rounds[0].reasoning_summaries == ("Look both up.",)


def test_requirement_1_a_client_takes_whatever_scheme_it_is_given(transport: Transport) -> None:
    scheme = ResponsesScheme(store=True, prompt_cache_key="conversation-1")
    with ResponsesSimulator() as server:
        client = ResponsesClient(config(server), scheme=scheme, transport=transport)
        client.complete(Request(items=[{"role": "user", "content": "Hi"}]))

    sent = server.requests[-1].body
    assert (sent["store"], sent["prompt_cache_key"]) == (True, "conversation-1")


def test_requirement_5_each_request_extends_the_one_before_with_reasoning(
    transport: Transport,
) -> None:
    conversation = Conversation()
    conversation.ask("Go")
    with ResponsesSimulator(model=ScriptedModel(THREE_ROUNDS)) as server:
        client = ResponsesClient(config(server), transport=transport)
        for _ in THREE_ROUNDS:
            completion = client.complete(conversation.request(tools=[TOOL], effort="low"))
            conversation.add(completion)
            for call in completion.tool_calls:
                conversation.answer(call, "x")

    inputs = [request.body["input"] for request in server.requests]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(inputs))
    reasoning = [item for item in inputs[-1] if item.get("type") == "reasoning"]
    assert [bool(item["encrypted_content"]) for item in reasoning] == [True, True]


def test_requirements_3_and_4_events_become_blocks(transport: Transport) -> None:
    with ResponsesSimulator(model=ScriptedModel(THREE_ROUNDS[:1])) as server:
        client = ResponsesClient(config(server), transport=transport)
        request = Request(items=[{"role": "user", "content": "Go"}], tools=[TOOL], effort="low")
        with client.stream(request) as stream:
            events = list(stream)

    starts = [(event.kind, event.name) for event in events if isinstance(event, BlockStart)]
    assert starts == [("summary_text", None), ("tool_use", "lookup"), ("tool_use", "lookup")]
    contents = {event.content for event in events if isinstance(event, BlockDelta)}
    assert contents == {"thinking", "input_json"}


def test_requirement_6_the_key_goes_out_as_a_bearer_token(transport: Transport) -> None:
    with ResponsesSimulator(api_keys=["good"]) as server:
        client = ResponsesClient(config(server, api_key="good"), transport=transport)
        client.complete(Request(items=[{"role": "user", "content": "Hi"}]))
        with pytest.raises(AuthenticationError):
            ResponsesClient(config(server, api_key="bad"), transport=transport).complete(
                Request(items=[{"role": "user", "content": "Hi"}])
            )

    assert server.requests[0].path == "/v1/responses"
    assert server.requests[0].headers["authorization"].startswith("Bearer ")


def test_requirement_7_usage_is_reported_once_with_cached_tokens(transport: Transport) -> None:
    with ResponsesSimulator() as server:
        client = ResponsesClient(config(server), transport=transport)
        with client.stream(Request(items=[{"role": "user", "content": "Hi"}])) as stream:
            (usage,) = [event.usage for event in stream if isinstance(event, UsageReported)]

    assert usage == stream.completion.usage
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens


def test_a_custom_tool_is_called_and_answered_as_one(transport: Transport) -> None:
    turns = ([CustomToolCall(name="shell", input="ls", call_id="c1")], [Text(text="done")])
    conversation = Conversation()
    conversation.ask("List the files")
    with ResponsesSimulator(model=ScriptedModel(turns)) as server:
        client = ResponsesClient(config(server), transport=transport)
        tools = [{"type": "custom", "name": "shell"}]
        first = client.complete(conversation.request(tools=tools))
        conversation.add(first)
        (call,) = first.tool_calls
        conversation.answer(call, "a.txt")
        assert client.complete(conversation.request(tools=tools)).text == "done"

    assert (call.type, call.arguments) == ("custom", "ls")
    assert server.requests[-1].body["input"][-1]["type"] == "custom_tool_call_output"


def test_a_conversation_can_start_from_earlier_items() -> None:
    first = Conversation()
    first.ask("Hi")

    assert Conversation(first.items).items == first.items


@pytest.mark.parametrize(
    ("settings", "named"), [({"api_key": ""}, "api_key"), ({"base_url": "ftp://x"}, "base_url")]
)
def test_a_wrong_setting_is_refused_under_the_name_that_the_caller_knows(
    settings: dict[str, str], named: str
) -> None:
    with pytest.raises(SettingsError, match=f"^{named} ") as caught:
        ResponsesClient(ModelConfig(**{"model_id": "gpt-5", "api_key": "k", **settings}))

    assert caught.value.field == named


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"base_url": "http://127.0.0.1:9"}, "Check the network and base_url."),
        ({"api_key": "wrong"}, "Check api_key and base_url."),
        ({"path": "/elsewhere"}, "Check base_url."),
        ({"base_url": "ftp://x"}, "base_url must use http or https."),
    ],
)
def test_an_error_names_the_setting_as_the_caller_knows_it(
    settings: dict[str, str], told: str
) -> None:
    with ResponsesSimulator(api_keys=["key"]) as server:
        beside = server.base_url.removesuffix("/v1") + settings.get("path", "")
        config = ModelConfig(
            model_id="gpt-5",
            api_key=settings.get("api_key", "key"),
            base_url=settings.get("base_url", beside),
            max_retries=0,
        )
        with pytest.raises(ResponsesError) as caught:
            ResponsesClient(config).complete(Request(messages=[{"role": "user", "content": "?"}]))
    assert told in str(caught.value)
    assert "openai_api" not in str(caught.value)
    assert "API Base URL" not in str(caught.value)


def test_the_key_is_not_part_of_the_repr() -> None:
    assert "secret" not in repr(ModelConfig(model_id="gpt-5", api_key="secret"))


async def test_the_asynchronous_client_gives_the_same_answer() -> None:
    request = Request(items=[{"role": "user", "content": "Hi"}], effort="low")
    scheme = ResponsesScheme(summary=None)
    with ResponsesSimulator(model=ScriptedModel([[Text(text="Hello!")]], repeat=True)) as server:
        async with AsyncResponsesClient(config(server), scheme=scheme) as client:
            async with client.stream(request) as stream:
                texts = [event.text async for event in stream if isinstance(event, BlockDelta)]
                assert stream.request_id
            completion = await client.complete(request)

    assert completion.text == "".join(texts) == "Hello!"


async def test_the_asynchronous_client_asks_for_less_when_refused() -> None:
    request = Request(items=[{"role": "user", "content": "Hi"}], effort="low")
    with ResponsesSimulator(faults=[UnverifiedOrganization(stream=True)]) as server:
        client = AsyncResponsesClient(config(server))
        async with client, client.stream(request) as stream:
            assert [event async for event in stream]

    assert stream.left_out == ("without_summary", "without_streaming")


@pytest.mark.parametrize(
    ("fault", "error"),
    [(CutStream(), StreamInterruptedError), (HtmlPage(), UnexpectedResponseError)],
)
async def test_the_asynchronous_client_reports_failures_alike(
    fault: object, error: type[Exception]
) -> None:
    with ResponsesSimulator(faults=[fault]) as server:
        async with AsyncResponsesClient(config(server)) as client:
            with pytest.raises(error):
                await client.complete(Request(items=[{"role": "user", "content": "Hi"}]))


def test_a_process_that_ends_leaves_no_connection_open() -> None:
    with ResponsesSimulator() as server:
        connection = f"Connection(api_key='k', base_url={server.base_url!r})"
        code = f"from gpt5_responses import Connection, create\ncreate({connection}, {{'model': 'gpt-5', 'input': 'Hi'}})"
        command = [sys.executable, "-W", "error::ResourceWarning", "-c", code]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)

    assert ended.stderr == ""


async def test_leaving_an_asynchronous_stream_early_closes_it() -> None:
    request = Request(items=[{"role": "user", "content": "Hi"}])
    with ResponsesSimulator() as server:
        async with AsyncResponsesClient(config(server)) as client:
            async with client.stream(request) as stream:
                async for _ in stream:
                    break
            assert (await client.complete(request)).text


@pytest.mark.parametrize(
    "options", [{"seconds": 3.0}, {"detached": True}], ids=["seconds", "detached"]
)
async def test_what_is_for_the_background_is_refused_without_it(options: dict[str, Any]) -> None:
    [name] = options
    request = Request(items=[{"role": "user", "content": "Hi"}])
    with ResponsesSimulator() as server:
        with pytest.raises(SettingsError, match=f"{name} is for a response that is made in the"):
            ResponsesClient(config(server)).stream(request, **options)
        async with AsyncResponsesClient(config(server)) as client:
            with pytest.raises(SettingsError, match=f"{name} is for"):
                await client.complete(request, **options)
        assert server.requests == []
        off = dict.fromkeys(options)
        assert ResponsesClient(config(server)).complete(request, **off).text
