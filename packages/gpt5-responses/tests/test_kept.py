"""What is kept of a conversation's last request changes no byte of the next."""

import asyncio
import copy
import json
import pickle
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest
from wire import Answer, Wire, stream, whole

from gpt5_responses import (
    AsyncResponsesClient,
    Connection,
    Conversation,
    ModelConfig,
    Request,
    ResponsesClient,
    ResponsesScheme,
)


TOOL = {"name": "lookup", "parameters": {"type": "object"}}
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64," + "QUJD" * 10_000}
MADE = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "lookup", "arguments": '{"key":"\u00e4"}'},
]  # fmt: skip
SAID = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
        "content": [{"type": "output_text", "text": "Found \ud83d it.", "annotations": []}]}  # fmt: skip
FINE = stream({"type": "response.completed", "response": {"status": "completed", "output": [SAID]}})
REFUSAL = whole(b'{"error": {"message": "The encrypted content is not ours."}}', "400 Bad Request")


@dataclass(frozen=True, kw_only=True)
class Called:
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True)
class Said:
    role: str
    content: object
    tool_calls: tuple[object, ...] = ()
    tool_call_id: str | None = None
    opaque_body: object = None


def history() -> list[Any]:
    call = Called(call_id="c1", name="lookup", arguments='{"key":"\u00e4"}')
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look up \u00e4"}, PICTURE]},
        Said(role="assistant", content="", tool_calls=(call,), opaque_body={"responses_output": MADE}),
        Said(role="tool", content=("x", PICTURE), tool_call_id="c1"),
        {"role": "user", "content": "And b?"},
        {"role": "assistant", "content": "A.", "opaque_body": {"responses_output": [SAID]}},
        {"role": "user", "content": "Thanks."},
    ]  # fmt: skip


def ask(connection: Connection, call: object, *, is_async: bool) -> None:
    config = ModelConfig(
        model_id="gpt-5.5", api_key="k", base_url=connection.base_url, max_retries=0
    )
    if not is_async:
        list(ResponsesClient(config).answer(call))
        return

    async def read() -> None:
        async with AsyncResponsesClient(config) as client:
            async for _ in client.answer(call):
                pass

    asyncio.run(read())


def bodies(wire: Wire) -> list[bytes]:
    return [b"{" + request.partition(b"\r\n{")[2] for request in wire.requests]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("refuses", [False, True])
def test_each_request_of_a_conversation_is_the_same_byte_for_byte(
    *, is_async: bool, refuses: bool
) -> None:
    kept: dict[str, Any] = {}
    messages, answers = history(), list[Answer]()

    def answer(peer: socket.socket) -> None:
        answers.pop()(peer)

    with Wire(answer) as wire:
        for number, count in enumerate((2, 4, 4, 5, 7, 3, 7)):
            if number == 4:  # The caller changes what it has given.
                messages[0]["content"], messages[1]["content"][0]["text"] = "Be long.", "Look up c"
            call = SimpleNamespace(messages=messages[:count], tools=[TOOL], tool_choice=None)
            has_reasoning = count > 3
            sent: list[list[bytes]] = []
            for call.kept in (kept, None):
                before = len(wire.requests)
                answers += [FINE, *([REFUSAL] if refuses and has_reasoning else [])]
                ask(wire.connection(), call, is_async=is_async)
                sent.append(bodies(wire)[before:])
            assert sent[0] == sent[1]
            assert len(sent[0]) == 1 + (refuses and has_reasoning)
            assert (b"Be long." in sent[0][0]) == (number > 3)


def test_what_was_built_before_is_the_same_in_the_next_body() -> None:
    kept: dict[str, Any] = {}
    scheme, messages = ResponsesScheme(), history()
    first, second, other = (
        scheme.build_body(Request(messages=messages[:count], kept=kept), model=model)["input"]
        for count, model in ((4, "gpt-5.5"), (7, "gpt-5.5"), (7, "gpt-4.1"))
    )

    assert len(first) == 5
    assert list(map(id, second[:5])) == list(map(id, first))
    assert other == second
    assert other[0] is not second[0]


def test_a_conversation_is_copied_and_pickled_between_two_requests_without_what_is_kept() -> None:
    conversation, scheme = Conversation(), ResponsesScheme()
    conversation.ask("x" * 10_000)
    body = scheme.build_body(conversation.request(), model="gpt-5.5")
    stored = pickle.dumps(conversation)

    assert len(stored) < 12_000
    for copied in (pickle.loads(stored), copy.deepcopy(conversation)):
        assert scheme.build_body(copied.request(), model="gpt-5.5") == body
    assert asdict(conversation.request())["items"][0]["role"] == "user"


def test_a_conversation_goes_out_as_it_is_from_any_thread_and_to_any_model() -> None:
    conversation = Conversation([{"role": "user", "content": "Hello"}])  # pyright: ignore[reportArgumentType]
    with Wire(FINE) as wire:
        connection = wire.connection()
        clients = [
            ResponsesClient(ModelConfig(model_id=model, api_key="k", base_url=connection.base_url))
            for model in ("gpt-5.5", "gpt-6")
        ]
        for _ in range(3):
            request = conversation.request(effort="low")
            with ThreadPoolExecutor(4) as threads:
                asked = [threads.submit(client.complete, request) for client in clients * 2]
                answers = [one.result() for one in asked]
            conversation.add(answers[0])
            conversation.ask("And?")
        sent = bodies(wire)
    plain = replace(request, kept=None)
    for model in ("gpt-5.5", "gpt-6"):
        body = ResponsesScheme().build_body(plain, model=model)
        written = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(
            errors="replace"
        )
        assert sent[-4:].count(written) == 2
