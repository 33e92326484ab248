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


def official_calls(items: list[Any]) -> list[tuple[str, str, str]]:
    """Return the whole calls among the official client's items, one that was sent twice once."""
    calls = (
        (
            item.call_id,
            item.name,
            (item.arguments or "{}") if item.type == "function_call" else item.input,
        )
        for item in items
        if item.type in ("function_call", "custom_tool_call") and item.status != "incomplete"
    )
    return list(dict.fromkeys(calls))


def ask_officially(wire: Wire) -> tuple[str, list[tuple[str, str, str]]] | None:
    """Return text and calls as the official client tells them; None where it fails, or contradicts itself."""
    client = openai.OpenAI(api_key=KEY, base_url=wire.base_url, max_retries=0, timeout=20)
    told: dict[str, list[Any]] = {}
    ends = ("response.completed", "response.incomplete", "response.failed")
    try:
        with client, client.responses.create(model="gpt-5.2", input="Hi", stream=True) as stream:
            for event in stream:
                told.setdefault(event.type, []).append(event)
                if event.type in ends:
                    break  # that client would take what follows for the same answer
        [end] = told["response.completed"]
        final, text = end.response, end.response.output_text
        done = [event.item for event in told.get("response.output_item.done", [])]
        begun = {event.output_index for event in told.get("response.output_item.added", [])}
        ended = {event.output_index for event in told.get("response.output_item.done", [])}
        calls = official_calls(final.output or done)
        agrees = (
            final.status == "completed"
            and not final.error
            and text == "".join(event.delta for event in told.get("response.output_text.delta", []))
            and all(
                (getattr(event.part, "text", None) or "") in text
                for event in told.get("response.content_part.done", [])
            )
            # A call whose end was lost has arguments all the same.
            and (final.output or begun <= ended)
            and {*official_calls(done)} <= {*calls}
            and all(call_id for call_id, _, _ in calls)
        )
    except Exception:  # noqa: BLE001  whatever it stumbles over, it has no opinion then
        return None
    return (text, calls) if agrees else None
