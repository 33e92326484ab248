"""The calls beside `POST /responses`, each by both clients: what goes over the wire, and what its answer means."""

import asyncio
import json
import time
from typing import Any

import pytest
from wire import Wire, body_of, whole

from gpt5_messages import MessageItem, build_input, read_response
from gpt5_responses import (
    AsyncResponsesClient,
    AuthenticationError,
    CompactedWindow,
    Conversation,
    InvalidRequestError,
    ModelConfig,
    NotFoundError,
    RateLimitError,
    Request,
    ResponsesClient,
    ResponsesScheme,
    Transport,
    UnexpectedResponseError,
)
from gpt5_simulator import ResponsesSimulator, ScriptedModel
from gpt5_simulator import Text as SimulatedText


KEPT = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
QUEUED = {"id": "resp_1", "object": "response", "status": "queued", "output": []}
ANSWERED = {
    "id": "resp_1",
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
}
ASKED = Request(items=[{"role": "user", "content": "Hello"}], instructions="Be brief.")
BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "async"])


def ask(
    wire: Wire, name: str, *values: Any, is_async: bool, base_url: str = "", **named: Any
) -> Any:
    """Make one call of a client by its name."""
    url = base_url or wire.base_url
    config = ModelConfig(model_id="gpt-5.2", api_key="sk-very-secret", base_url=url, max_retries=0)
    if not is_async:
        transport = Transport()
        try:
            client = ResponsesClient(config, transport=transport)
            return getattr(client, name)(*values, **named)
        finally:
            transport.close()

    async def call() -> Any:
        async with AsyncResponsesClient(config) as client:
            return await getattr(client, name)(*values, **named)

    return asyncio.run(call())


def answering(body: object, status: str = "200 OK") -> Wire:
    return Wire(whole(json.dumps(body).encode(), status))


def sent(wire: Wire) -> tuple[str, Any]:
    """Return the request line without its version, and the body."""
    (request,) = wire.requests
    line = request.split(b"\r\n")[0].removesuffix(b" HTTP/1.1").decode()
    return line, body_of(request)


@BOTH
def test_input_is_counted_with_all_that_belongs_to_it(*, is_async: bool) -> None:
    with answering({"object": "response.input_tokens", "input_tokens": 17}) as wire:
        assert ask(wire, "input_tokens", ASKED, is_async=is_async) == 17

    line, body = sent(wire)
    assert line == "POST /v1/responses/input_tokens"
    assert (body["model"], body["instructions"]) == ("gpt-5.2", "Be brief.")
    assert body["input"] == [{"type": "message", "role": "user", "content": "Hello"}]
    assert body.keys().isdisjoint({"stream", "store", "include", "max_output_tokens"})


@BOTH
def test_a_compacted_conversation_goes_on_whole(*, is_async: bool) -> None:
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"},
    ]
    told = {
        "id": "resp_2",
        "object": "response.compaction",
        "output": items,
        "usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13},
    }
    with answering(told) as wire:
        window = ask(wire, "compact", ASKED, is_async=is_async)

    line, body = sent(wire)
    assert line == "POST /v1/responses/compact"
    assert set(body) == {"model", "input", "instructions"}
    assert (window.response_id, window.usage.total_tokens) == ("resp_2", 13)

    conversation = Conversation()
    conversation.replace(window)
    conversation.ask("And now?")
    next_body = ResponsesScheme().build_body(conversation.request(), model="gpt-5.2")
    assert next_body["input"][:2] == items == list(window.items)


@BOTH
def test_a_response_is_started_in_the_background_and_asked_for_by_its_id(*, is_async: bool) -> None:
    with answering(QUEUED) as wire:
        begun = ask(wire, "start", ASKED, is_async=is_async)

    line, body = sent(wire)
    assert line == "POST /v1/responses"
    assert (body["background"], body["store"], body["stream"]) == (True, True, False)
    assert "include" not in body  # it would be refused when the response is asked for
    assert (begun.response_id, begun.status) == ("resp_1", "queued")

    with answering(ANSWERED) as wire:
        done = ask(wire, "retrieve", begun.response_id, is_async=is_async)

    assert sent(wire) == ("GET /v1/responses/resp_1", None)
    assert (done.text, done.status) == ("Hi", "completed")


@BOTH
def test_more_of_a_response_is_told_where_it_is_asked_for(*, is_async: bool) -> None:
    include = ["web_search_call.action.sources", "file_search_call.results"]
    with answering(ANSWERED) as wire:
        url = f"{wire.base_url}?api-version=preview"
        ask(wire, "retrieve", "resp_1", include=include, is_async=is_async, base_url=url)

    line, _ = sent(wire)
    assert line == (
        "GET /v1/responses/resp_1?api-version=preview"
        "&include%5B%5D=web_search_call.action.sources&include%5B%5D=file_search_call.results"
    )


@BOTH
def test_a_failed_response_is_returned_with_its_error(*, is_async: bool) -> None:
    failed = {**QUEUED, "status": "failed", "error": {"code": "server_error", "message": "no"}}
    with answering(failed) as wire:
        told = ask(wire, "retrieve", "resp_1", is_async=is_async)

    assert (told.status, told.error["code"]) == ("failed", "server_error")


@BOTH
def test_a_response_is_cancelled_and_deleted(*, is_async: bool) -> None:
    with answering({**QUEUED, "status": "cancelled"}) as wire:
        assert ask(wire, "cancel", "resp_1", is_async=is_async).status == "cancelled"
    assert sent(wire) == ("POST /v1/responses/resp_1/cancel", None)
    assert b"\r\nContent-Length: 0\r\n" in wire.requests[0]

    gone = {"id": "resp_1", "object": "response.deleted", "deleted": True}
    with answering(gone) as wire:
        assert ask(wire, "delete", "resp_1", is_async=is_async) is None
    assert sent(wire) == ("DELETE /v1/responses/resp_1", None)


@BOTH
def test_input_items_come_in_pages(*, is_async: bool) -> None:
    item = {"type": "message", "id": "msg_1", "role": "user", "content": []}
    page = {"object": "list", "data": [item, None], "last_id": "msg_1", "has_more": True}
    with answering(page) as wire:
        items = ask(
            wire, "input_items", "resp_1", after="msg_0", limit=1, order="asc", is_async=is_async
        )
    assert sent(wire)[0] == ("GET /v1/responses/resp_1/input_items?after=msg_0&limit=1&order=asc")
    assert (items.items, items.has_more, items.last_id) == ((item,), True, "msg_1")

    with answering({"object": "list", "data": []}) as wire:
        rest = ask(wire, "input_items", "resp_1", is_async=is_async)
    assert (rest.items, rest.has_more, rest.last_id) == ((), False, None)


@BOTH
@pytest.mark.parametrize("name", ["retrieve", "cancel", "delete", "input_items"])
def test_a_response_that_is_not_there_is_told_by_its_id(name: str, *, is_async: bool) -> None:
    error = {"message": "Response with id 'resp_1' not found.", "code": None, "param": "id"}
    with answering({"error": error}, "404 Not Found") as wire, pytest.raises(NotFoundError) as told:
        ask(wire, name, "resp_1", is_async=is_async)

    assert "has no response 'resp_1'" in str(told.value)
    assert (told.value.status_code, told.value.param) == (404, "id")


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"404 page not found",
        b"<html><title>404 Not Found</title>",
        b'{"detail": "Not Found"}',
        b'{"error": {"message": "Invalid URL (GET /v1/responses/resp_1)"}}',
    ],
)
def test_a_server_without_such_a_route_is_told_as_one(body: bytes) -> None:
    with Wire(whole(body, "404 Not Found")) as wire, pytest.raises(NotFoundError) as told:
        ask(wire, "retrieve", "resp_1", is_async=False)

    assert "no such address (status 404)" in str(told.value)


@pytest.mark.parametrize("name", ["retrieve", "cancel", "delete", "input_items"])
@pytest.mark.parametrize(
    "no_id", [None, "", "..", ".", "a/b", "a?b", "a#b", "a b", "a%2fb", "ä", "a\n"]
)
def test_what_is_no_id_is_sent_nowhere(name: str, no_id: Any) -> None:
    with answering(ANSWERED) as wire, pytest.raises(InvalidRequestError, match="response_id"):
        ask(wire, name, no_id, is_async=False)

    assert not wire.requests


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_a_page_has_a_size(limit: int) -> None:
    with answering({}) as wire, pytest.raises(InvalidRequestError, match=r"limit must be from 1"):
        ask(wire, "input_items", "resp_1", limit=limit, is_async=False)

    assert not wire.requests


@BOTH
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("401 Unauthorized", AuthenticationError),
        ("400 Bad Request", InvalidRequestError),
        ("429 Too Many Requests", RateLimitError),
    ],
)
@pytest.mark.parametrize("name", ["compact", "start", "delete"])
def test_refusals_are_those_of_every_call_and_hold_no_key(
    name: str, status: str, kind: type[Exception], *, is_async: bool
) -> None:
    error = {"message": "Not with sk-very-secret.", "code": "sk-very-secret", "param": "x"}
    value = "resp_1" if name == "delete" else ASKED
    with answering({"error": error}, status) as wire, pytest.raises(kind) as told:
        ask(wire, name, value, is_async=is_async)

    assert "sk-very-secret" not in repr((str(told.value), vars(told.value)))


@pytest.mark.parametrize(
    ("name", "value", "answer"),
    [
        ("retrieve", "resp_1", b"<html>"),
        ("retrieve", "resp_1", b"[]"),
        ("retrieve", "resp_1", b'{"hello": 1}'),
        ("retrieve", "resp_1", b'{"output": [{"type": "function_call", "call_id": 7}]}'),
        ("cancel", "resp_1", b'{"deleted": true}'),
        ("start", ASKED, b"{}"),
        ("delete", "resp_1", b'{"deleted": false}'),
        ("input_items", "resp_1", b'{"data": null}'),
        ("input_tokens", ASKED, b'{"input_tokens": true}'),
        ("input_tokens", ASKED, b'{"input_tokens": -1}'),
        ("input_tokens", ASKED, b'{"tokens": 4}'),
        ("compact", ASKED, b'{"output": []}'),
        ("compact", ASKED, b'{"items": []}'),
    ],
)
def test_what_is_no_such_answer_is_told(name: str, value: Any, answer: bytes) -> None:
    with (
        Wire(whole(answer)) as wire,
        pytest.raises(UnexpectedResponseError, match="base_url"),
    ):
        ask(wire, name, value, is_async=False)


def test_an_answer_without_end_is_given_up() -> None:
    endless = b'{"output": "' + b"a" * 16 * 1024 * 1024 + b'"}'
    with Wire(whole(endless)) as wire, pytest.raises(UnexpectedResponseError, match="16 MiB"):
        ask(wire, "retrieve", "resp_1", is_async=False)


@BOTH
def test_what_cannot_be_sent_is_named(*, is_async: bool) -> None:
    odd = Request(items=[{"role": "user", "content": object()}])
    with answering({}) as wire, pytest.raises(InvalidRequestError, match=r"input"):
        ask(wire, "compact", odd, is_async=is_async)

    assert not wire.requests


@BOTH
def test_a_response_of_the_background_lives_as_a_server_has_it(*, is_async: bool) -> None:
    with ResponsesSimulator() as server:
        config = ModelConfig(
            model_id="gpt-5.2", api_key="k", base_url=server.base_url, max_retries=0
        )
        told = asyncio.run(_live_async(config)) if is_async else _live(config)

    counted, begun, done, (item,), missing = told
    assert counted == done.usage.input_tokens > 0
    assert begun.status in ("queued", "in_progress")
    assert (done.status, done.response_id) == ("completed", begun.response_id)
    assert done.text
    assert item["role"] == "user"
    assert begun.response_id in missing


def _live(config: ModelConfig) -> tuple[Any, ...]:
    transport = Transport()
    client = ResponsesClient(config, transport=transport)
    try:
        counted, begun = client.input_tokens(ASKED), client.start(ASKED)
        while (done := client.retrieve(begun.response_id)).status in ("queued", "in_progress"):
            time.sleep(0.01)
        page = client.input_items(begun.response_id)
        client.delete(begun.response_id)
        with pytest.raises(NotFoundError) as missing:
            client.retrieve(begun.response_id)
        return counted, begun, done, page.items, str(missing.value)
    finally:
        transport.close()


async def _live_async(config: ModelConfig) -> tuple[Any, ...]:
    async with AsyncResponsesClient(config) as client:
        counted, begun = await client.input_tokens(ASKED), await client.start(ASKED)
        done = begun
        for _ in range(6_000):  # as a caller who asks again and again
            if done.status not in ("queued", "in_progress"):
                break
            await asyncio.sleep(0.01)
            done = await client.retrieve(begun.response_id)
        page = await client.input_items(begun.response_id)
        await client.delete(begun.response_id)
        with pytest.raises(NotFoundError) as missing:
            await client.retrieve(begun.response_id)
        return counted, begun, done, page.items, str(missing.value)


def test_a_response_of_the_background_is_stopped_and_no_other_is() -> None:
    with ResponsesSimulator(background_seconds=60) as server:
        config = ModelConfig(
            model_id="gpt-5.2", api_key="k", base_url=server.base_url, max_retries=0
        )
        transport = Transport()
        stored = ResponsesClient(config, scheme=ResponsesScheme(store=True), transport=transport)
        begun = stored.start(ASKED)
        plain = stored.complete(ASKED)

        assert stored.cancel(begun.response_id).status == "cancelled"
        assert stored.retrieve(begun.response_id).status == "cancelled"
        with pytest.raises(InvalidRequestError):
            stored.cancel(plain.response_id)
        transport.close()


def test_a_conversation_goes_on_from_what_a_server_has_made_of_it() -> None:
    conversation = Conversation()
    conversation.ask("What is the capital of France?")
    with ResponsesSimulator() as server:
        config = ModelConfig(
            model_id="gpt-5.2", api_key="k", base_url=server.base_url, max_retries=0
        )
        transport = Transport()
        client = ResponsesClient(config, transport=transport)
        conversation.add(client.complete(conversation.request(effort="low")))
        conversation.replace(client.compact(conversation.request()))
        conversation.ask("And of Italy?")
        after = client.complete(conversation.request(effort="low"))
        transport.close()

    sent = server.requests[-1].body["input"]
    assert [item.get("type", "message") for item in sent] == ["message", "compaction", "message"]
    assert after.status == "completed"


def test_a_conversation_keeps_its_instructions_before_a_window() -> None:
    """What a window keeps of them fades when it is made shorter once more."""
    system = MessageItem.of_text("system", "Be brief.")
    window = CompactedWindow(items=(KEPT,), usage=None, response_id=None)
    conversation = Conversation([system, MessageItem.of_text("user", "Hi")])
    conversation.replace(window)

    assert [item.to_wire() for item in conversation.items] == [system.to_wire(), KEPT]
    message = {"role": "assistant", "content": "", "opaque_body": window.opaque_body}
    assert build_input([message]) == [KEPT]


def test_a_conversation_leaves_out_what_a_compaction_stands_for() -> None:
    conversation = Conversation()
    answer = "A long answer. " * 400
    with ResponsesSimulator(
        model=ScriptedModel([[SimulatedText(text=answer)], [SimulatedText(text="Short.")]])
    ) as server:
        config = ModelConfig(
            model_id="gpt-5.2", api_key="k", base_url=server.base_url, max_retries=0
        )
        transport = Transport()
        client = ResponsesClient(config, transport=transport)
        for question in ("First?", "Second?"):
            conversation.ask(question)
            conversation.add(client.complete(conversation.request(compact_threshold=1_000)))
        transport.close()

    first, second = (request.body for request in server.requests)
    assert first["context_management"] == [{"type": "compaction", "compact_threshold": 1_000}]
    assert [item.get("type", "message") for item in second["input"]] == ["compaction", "message"]


def test_a_conversation_that_the_server_keeps_is_not_cut() -> None:
    conversation = Conversation()
    conversation.follow(read_response({"id": "resp_1", "output": []}))
    conversation.ask("On?")
    conversation.add(read_response({"output": [KEPT]}))

    assert len(conversation.items) == 2
