"""Any server at all: the documented errors, without the key; the same by both clients; and no other text than the official client's."""

import asyncio
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from hypothesis import given
from wire import Wire

from gpt5_messages import Completion
from gpt5_responses import (
    AsyncResponsesClient,
    ModelConfig,
    Request,
    ResponsesClient,
    ResponsesError,
    validate_model,
    validate_server,
)
from peers import KEY, Answering, Reply, answering_server, assert_secret_kept, replies


pytestmark = pytest.mark.long

REQUEST = Request(items=[{"role": "user", "content": "Hi"}])


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Wire, Answering]]:
    with answering_server() as running:
        yield running


def config(wire: Wire) -> ModelConfig:
    return ModelConfig(
        model_id="gpt-5.2", api_key=KEY, base_url=wire.base_url, max_retries=0, total_seconds=20
    )


def complete(wire: Wire) -> Completion | ResponsesError:
    try:
        return ResponsesClient(config(wire)).complete(REQUEST)
    except ResponsesError as error:
        return error


async def acomplete(wire: Wire) -> Completion | ResponsesError:
    async with AsyncResponsesClient(config(wire)) as client:
        try:
            return await client.complete(REQUEST)
        except ResponsesError as error:
            return error


def as_told(answer: Completion | ResponsesError) -> Any:
    if isinstance(answer, Completion):
        return answer
    return type(answer), str(answer), answer.status_code, answer.code, answer.param


@given(replies())
def test_any_answer_is_read_or_a_documented_error_without_the_key(
    server: tuple[Wire, Answering], reply: Reply
) -> None:
    wire, answering = server
    answering.reply = reply

    answer = complete(wire)

    assert as_told(asyncio.run(acomplete(wire))) == as_told(answer)
    if isinstance(answer, ResponsesError):
        assert_secret_kept(answer, answer.code, answer.param, answer.request_id)
        assert str(answer).strip()
        assert len(str(answer)) < 2_000


@given(replies())
def test_validation_passes_or_says_why_without_the_key(
    server: tuple[Wire, Answering], reply: Reply
) -> None:
    wire, answering = server
    answering.reply = reply
    connection = config(wire).connect()

    for validate in (
        lambda: validate_server(connection),
        lambda: validate_model(connection, "gpt-5.2"),
    ):
        try:
            validate()
        except ResponsesError as error:
            assert_secret_kept(error, error.code, error.param, error.request_id)


@given(replies())
def test_where_the_official_client_is_content_so_are_we_or_we_say_why(
    server: tuple[Wire, Answering], reply: Reply
) -> None:
    wire, answering = server
    answering.reply = reply
    official = ask_officially(wire)
    if official is None:
        return

    ours = complete(wire)

    if isinstance(ours, Completion):
        assert (ours.text, calls_of(ours)) == official


def calls_of(completion: Completion) -> list[tuple[str, str, str]]:
    return [(call.call_id, call.name, call.arguments) for call in completion.tool_calls]


def ask_officially(wire: Wire) -> tuple[str, list[tuple[str, str, str]]] | None:
    """Return text and calls as the official client tells them; None where it fails, or contradicts itself."""
    client = openai.OpenAI(api_key=KEY, base_url=wire.base_url, max_retries=0, timeout=20)
    deltas: list[str] = []
    done: list[Any] = []
    open_indexes: set[int] = set()
    try:
        with client, client.responses.create(model="gpt-5.2", input="Hi", stream=True) as stream:
            for event in stream:
                if event.type == "response.output_text.delta":
                    deltas.append(event.delta)
                if event.type == "response.output_item.added":
                    open_indexes.add(event.output_index)
                if event.type == "response.output_item.done":
                    done.append(event.item)
                    open_indexes.discard(event.output_index)
                if event.type in ("response.incomplete", "response.failed"):
                    return None  # the end; that client would take what follows for the same answer
                if event.type == "response.completed":
                    final = event.response
                    break
            else:
                return None
        text = final.output_text
        if final.status != "completed" or final.error or text != "".join(deltas):
            return None
        if open_indexes and not final.output:  # a call whose end was lost, which its arguments have
            return None
        calls = [
            (
                item.call_id,
                item.name,
                (item.arguments or "{}") if item.type == "function_call" else item.input,
            )
            for item in final.output or done
            if item.type in ("function_call", "custom_tool_call") and item.status != "incomplete"
        ]
        calls = list(dict.fromkeys(calls))  # an event that was sent twice
    except Exception:  # noqa: BLE001  whatever it stumbles over, it has no opinion then
        return None
    return text, calls
