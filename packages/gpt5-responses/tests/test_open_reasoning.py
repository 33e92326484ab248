"""Open reasoning goes back to the connection and model that made it, in the form that it came in; a refusal as a text."""

import json
from typing import Any

import pytest
from following import in_turn
from wire import Wire, body_of, whole

from gpt5_messages import Completion
from gpt5_responses import (
    AsyncResponsesClient,
    Connection,
    Conversation,
    InvalidRequestError,
    ModelConfig,
    Request,
    ResponsesClient,
    ResponsesError,
    ResponsesScheme,
    ResponseStream,
    Transport,
    create,
)
from gpt5_simulator import (
    FunctionCall,
    HttpError,
    OutputItem,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)


THOUGHT = "They want a word."
SAID = {"type": "reasoning_text", "text": THOUGHT}
FORMS: dict[str, dict[str, Any]] = {
    "content": {"type": "reasoning", "id": "rs_1", "summary": [], "content": [SAID]},
    "summary": {"type": "reasoning", "id": "rs_1", "summary": [{**SAID, "type": "summary_text"}]},
}
FORMS["plain"] = {**FORMS["summary"], "encrypted_content": THOUGHT}
TOOL = {"name": "lookup", "parameters": {"type": "object", "properties": {}}}
USER = {"role": "user", "content": [{"type": "input_text", "text": "Go"}]}


def thinking(item: dict[str, Any], rounds: int = 2) -> ResponsesSimulator:
    """Serve a model that thinks aloud before a call, and again before what it says of the result."""
    call = FunctionCall(name="lookup", arguments={}, call_id="c1")
    turns = [[OutputItem(item=item), call], *[[OutputItem(item=item), Text(text="Noon.")]] * rounds]
    return ResponsesSimulator(model=ScriptedModel(turns), strict=False)


def config(server: ResponsesSimulator, **settings: Any) -> ModelConfig:
    named = {"model_id": "gpt-oss", "api_key": "k", "base_url": server.base_url, "max_retries": 0}
    return ModelConfig(**{**named, **settings})


def thoughts(body: Any) -> list[Any]:
    return [item for item in body["input"] if item.get("type") == "reasoning"]


def hold_talk(server: ResponsesSimulator, transport: Transport) -> list[Any]:
    """Have the model call a tool, answer, and answer once more; return the reasoning in each request."""
    conversation, client = Conversation(), ResponsesClient(config(server), transport=transport)
    conversation.ask("Go")
    for _ in range(3):
        completion = client.complete(conversation.request(tools=[TOOL], effort="low"))
        conversation.add(completion)
        for call in completion.tool_calls:
            conversation.answer(call, "12")
        if not completion.tool_calls:
            assert THOUGHT not in completion.text
            conversation.ask("Sure?")
    return [thoughts(one.body) for one in server.requests]


@pytest.mark.parametrize("form", FORMS)
def test_it_goes_back_between_calls_and_in_the_next_turn(form: str, transport: Transport) -> None:
    item = FORMS[form]
    with thinking(item) as server:
        assert hold_talk(server, transport) == [[], [item], [item, item]]


LIKE = ["vllm", "sglang", "llama.cpp", "ollama", "litellm-bridge", "ogx", "localai", "mistral.rs"]


@pytest.mark.parametrize("like", [*LIKE, "responses.js"])
def test_each_server_reads_what_it_made_but_for_the_one_that_reads_none(
    like: str, transport: Transport
) -> None:
    thought = Reasoning(summary=(THOUGHT,))
    call = FunctionCall(name="lookup", arguments={}, call_id="c1")
    model = ScriptedModel([[thought, call], *[[thought, Text(text="Noon.")]] * 2])
    with ResponsesSimulator(model=model, like=like) as server:
        sent = hold_talk(server, transport)

    # The refused one is sent once more, and what has been refused never again.
    assert [len(one) for one in sent] == ([0, 1, 2] if like in LIKE else [0, 1, 0, 0])
    assert all(THOUGHT in str(one) for one in sent if one)


@pytest.mark.anyio
async def test_an_asynchronous_client_and_an_agent_s_messages_carry_it_too() -> None:
    call = {"messages": [{"role": "user", "content": "Go"}], "tools": [TOOL]}
    with thinking(FORMS["plain"]) as server:
        async with AsyncResponsesClient(config(server)) as client:
            *_, last = [delta async for delta in client.answer(call)]
            [asked] = last.tool_calls
            answer = {
                "role": "assistant",
                "content": "",
                "tool_calls": [asked],
                "opaque_body": json.loads(json.dumps(last.opaque_body)),
            }
            result = {"role": "tool", "tool_call_id": asked.call_id, "content": "12"}
            more = [*call["messages"], answer, result]
            assert [delta async for delta in client.answer({**call, "messages": more})]

    assert thoughts(server.requests[1].body) == [FORMS["plain"]]


def ask(client: ResponsesClient, completion: Completion | None = None) -> Completion:
    if completion is None:
        return client.complete(Request(items=[USER], tools=[TOOL]))
    output = {"type": "function_call_output", "call_id": "c1", "output": "12"}
    return client.complete(Request(items=[USER, *completion.items, output], tools=[TOOL]))


def test_no_other_model_or_server_gets_it_whatever_key_they_have(transport: Transport) -> None:
    with thinking(FORMS["content"], rounds=4) as server, thinking(FORMS["content"]) as other:
        first = ask(ResponsesClient(config(server), transport=transport))
        for settings in ({"api_key": "new"}, {"model_id": "gpt-other"}):
            ask(ResponsesClient(config(server, **settings), transport=transport), first)
        ask(ResponsesClient(config(other), transport=transport), first)

    assert [len(thoughts(one.body)) for one in server.requests] == [0, 1, 0]
    assert THOUGHT not in str(other.requests[0].body)


def test_a_request_that_is_made_by_hand_goes_out_without_the_mark(transport: Transport) -> None:
    with thinking(FORMS["content"]) as server:
        place = Connection(api_key="k", base_url=server.base_url, max_retries=0)
        first = {"model": "gpt-oss", "input": [USER], "store": False}
        asked = create(place, first, transport=transport)
        output = {"type": "function_call_output", "call_id": "c1", "output": "12"}
        for model in ("gpt-oss", "gpt-other"):
            again = {**first, "model": model, "input": [USER, *asked.items, output]}
            create(place, again, transport=transport)

    assert [thoughts(one.body) for one in server.requests] == [[], [FORMS["content"]], []]
    assert asked.items[0] == {**FORMS["content"], "made_by": place.reasoning_mark("gpt-oss")}


@pytest.mark.parametrize(
    "base_url",
    [
        "https://api.openai.com/v1",
        "https://eu.api.openai.com/v1",
        "https://mine.openai.azure.com/openai/v1",
        "https://mine.services.ai.azure.com/openai/v1",
    ],
)
def test_openai_and_azure_never_get_it(base_url: str, transport: Transport) -> None:
    with thinking(FORMS["content"]) as server:
        asked = ask(ResponsesClient(config(server), transport=transport))
    made_by = Connection(api_key="k", base_url=base_url).reasoning_mark("gpt-oss")
    request = Request(items=[*asked.items], messages=[asked])
    body = ResponsesScheme().build_body(request, model="gpt-oss", made_by=made_by)

    assert made_by is None
    assert THOUGHT not in str(body)


def test_the_mark_is_made_of_address_and_model_and_of_no_secret() -> None:
    def mark(base_url: str, model: str = "m", **settings: Any) -> str | None:
        named: dict[str, Any] = {"api_key": "k", "base_url": base_url}
        return Connection(**{**named, **settings}).reasoning_mark(model)

    marks = {mark("http://a/v1"), mark("http://b/v1"), mark("http://a/v1", "n")}
    assert len(marks) == 3
    assert {len(one or "") for one in marks} == {16}
    same = [
        mark("http://a/v1", api_key="other"),
        mark("http://a/v1?api-key=secret"),
        mark("http://a/v1", extra_headers={"x-token": "secret"}),
    ]
    assert {*same} == {mark("http://a/v1")}


@pytest.mark.parametrize("like", ["ogx", "ollama", None])
def test_a_refusal_goes_back_as_a_text(like: str | None, transport: Transport) -> None:
    """Neither ogx nor Ollama reads the part of a refusal."""
    refusal = {"type": "refusal", "refusal": "No."}
    said: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant"}
    said |= {"status": "completed", "content": [refusal]}
    with ResponsesSimulator(like=like, strict=False) as server:
        client = ResponsesClient(config(server), transport=transport)
        client.complete(Request(items=[USER, said, USER]))
        client.complete(Request(messages=[USER, said, USER]))
        place = Connection(api_key="k", base_url=server.base_url, max_retries=0)
        create(place, {"model": "m", "input": [USER, said, USER]}, transport=transport)

    plain = {"type": "message", "role": "assistant", "content": "No."}
    assert [one.body["input"][1] for one in server.requests] == [plain] * 3


REFUSALS = {
    "llama.cpp": HttpError(status=400, message="item['content'] is not an array"),
    "older llama.cpp": HttpError(status=500, message="item['content'] is empty"),
    "vllm": HttpError(status=400, message="Encrypted content is not supported.", param="input"),
    "the api": HttpError(status=400, message="Item 'rs_1' of type 'reasoning' was provided alone."),
    "sglang": HttpError(status=400, message="Unsupported Responses API item type: 'reasoning'"),
    "serde": HttpError(status=422, message="unknown variant `reasoning`, expected `message`"),
    "its place": HttpError(status=400, message="Expected 'message'.", param="input[1].type"),
    "pydantic": HttpError(status=422, message="Field required", param="body.input.list[A,B].1.id"),
    "a tuple": HttpError(status=400, message="{'loc': ('body', 'input', 1, 'B', 'id')}"),
    "behind a bridge": HttpError(
        status=400, message="'messages.1.reasoning_content' is unsupported"
    ),
    "cerebras behind one": HttpError(
        status=400,
        message="property 'messages.1.assistant.reasoning' is unsupported",
        param="validation_error",
    ),
    "mistral behind one": HttpError(
        status=422, message="('body', 'messages', 1, 'assistant', 'reasoning') is not permitted"
    ),
    "serde of any shape": HttpError(
        status=422, message="input: data did not match any variant of untagged enum Input at line 1"
    ),
    "zod": HttpError(status=400, message="Invalid input", param="input"),
    "lm studio": HttpError(status=400, message="No.", code="invalid_union", param="input"),
}
# The shape that responses.js (c0ac6ee) answers with; its unions say more in between.
ZOD = [{"code": "invalid_union", "unionErrors": [], "path": ["input"], "message": "Invalid input"}]
OTHERS = {
    "a place without end": HttpError(
        status=400, message="input[" * 20_000
    ),  # in seconds, not minutes
    "too long": HttpError(status=400, message="The input is longer than 4096.", param="input"),
    "another item": HttpError(status=400, message="Invalid value.", param="input[0].content"),
    "no item": HttpError(status=400, message="Invalid value.", param="input[99].content"),
    "a setting": HttpError(
        status=400, message="Unsupported: 'reasoning.effort'", param="reasoning"
    ),
    "the api's version": HttpError(status=400, message="This type of reasoning.effort is unknown."),
    "a count": HttpError(status=400, message="The input has 1 fault."),
    "another union": HttpError(status=400, message="Invalid input", param="text"),
    "no permission": HttpError(status=401, message="No encrypted content for you."),
}


def told(place: Connection, **item: Any) -> dict[str, Any]:
    """Return a request for one more answer with what a model of this connection has thought aloud."""
    thought = {**FORMS["content"], "made_by": place.reasoning_mark("gpt-oss"), **item}
    said = {"type": "message", "role": "assistant", "content": "Noon."}
    return {"model": "gpt-oss", "input": [USER, thought, said, USER], "store": False}


@pytest.mark.parametrize("fault", REFUSALS.values(), ids=REFUSALS)
def test_a_server_that_refuses_it_is_asked_without_it_from_then_on(
    fault: HttpError, transport: Transport
) -> None:
    with ResponsesSimulator(faults=[fault], strict=False) as server:
        place = Connection(api_key="k", base_url=server.base_url, max_retries=0)
        for _ in range(2):
            with ResponseStream(place, told(place), transport=transport) as stream:
                list(stream)
            assert stream.left_out == ("without_reasoning_items",)
            assert stream.completion.text

    assert [len(thoughts(one.body)) for one in server.requests] == [1, 0, 0]


@pytest.mark.parametrize(
    "body",
    [
        {"success": False, "error": ZOD, "details": ZOD},
        {
            "detail": [
                {"loc": ["body", "input", "list[A,B]", 1, "B", "id"], "msg": "Field required"}
            ]
        },
        {"detail": "1 validation error: ('body', 'input', 1, 'summary'): Field required"},
    ],
    ids=["responses.js", "fastapi", "a text"],
)
def test_the_refusal_may_come_in_any_dress(body: Any, transport: Transport) -> None:
    said = {"type": "message", "role": "assistant", "content": "Noon."}
    done = {"id": "resp_1", "status": "completed", "output": [said]}
    answers = (json.dumps(one).encode() for one in (body, done, done))
    first, *rest = (
        whole(data, status)
        for data, status in zip(answers, ("400 No", "200 OK", "200 OK"), strict=True)
    )
    with Wire(in_turn(first, *rest)) as wire:
        for _ in range(2):
            create(wire.connection(), told(wire.connection()), transport=transport)

    sent = [thoughts(body_of(request)) for request in wire.requests]
    assert [len(one) for one in sent] == [1, 0, 0]


@pytest.mark.parametrize("fault", OTHERS.values(), ids=OTHERS)
def test_a_refusal_of_something_else_stands(fault: HttpError, transport: Transport) -> None:
    with ResponsesSimulator(faults=[fault], strict=False) as server:
        place = Connection(api_key="k", base_url=server.base_url, max_retries=0)
        with pytest.raises(ResponsesError):
            create(place, told(place), transport=transport)

    assert len(server.requests) == 1


def test_what_one_model_is_refused_another_still_gets(transport: Transport) -> None:
    refused = REFUSALS["llama.cpp"]
    with ResponsesSimulator(faults=[refused], strict=False) as server:
        place = Connection(api_key="k", base_url=server.base_url, max_retries=0)
        other = {**told(place, made_by=place.reasoning_mark("gpt-other")), "model": "gpt-other"}
        for request in (told(place), other, told(place)):
            assert create(place, request, transport=transport).text

    assert [len(thoughts(one.body)) for one in server.requests] == [1, 0, 1, 0]


def test_the_refusal_of_what_is_encrypted_concerns_one_request(transport: Transport) -> None:
    sealed: dict[str, Any] = {
        "type": "reasoning",
        "id": "rs_0",
        "summary": [],
        "encrypted_content": "gAAA",
    }
    fault = HttpError(status=400, code="invalid_encrypted_content", message="It cannot be read.")
    with ResponsesSimulator(faults=[fault], strict=False) as server:
        place = Connection(api_key="k", base_url=server.base_url, max_retries=0)
        request = told(place)
        request["input"].insert(1, sealed)
        for _ in range(2):
            assert create(place, request, transport=transport).text

    assert [len(thoughts(one.body)) for one in server.requests] == [2, 0, 2]


def test_a_server_that_refuses_the_rest_as_well_is_not_remembered(transport: Transport) -> None:
    with ResponsesSimulator(faults=[REFUSALS["llama.cpp"]] * 2, strict=False) as server:
        place = Connection(api_key="k", base_url=server.base_url, max_retries=0)
        with pytest.raises(InvalidRequestError, match="sent again without earlier reasoning"):
            create(place, told(place), transport=transport)
        assert create(place, told(place), transport=transport).text

    assert [len(thoughts(one.body)) for one in server.requests] == [1, 0, 1]
