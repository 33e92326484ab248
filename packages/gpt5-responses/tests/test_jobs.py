"""Jobs with a completion window, by both clients."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from following import ASKED, BOTH, in_turn, response, told
from wire import Wire, body_of

from gpt5_messages import read_response
from gpt5_responses import (
    AsyncResponsesClient,
    Conversation,
    InvalidRequestError,
    ModelConfig,
    Request,
    ResponsesClient,
    ResponsesScheme,
    Transport,
    UnexpectedResponseError,
)
from gpt5_simulator import ResponsesSimulator


def ask(
    base_url: str,
    name: str,
    *values: Any,
    is_async: bool,
    scheme: ResponsesScheme | None = None,
    **named: Any,
) -> Any:
    config = ModelConfig(model_id="gpt-5.2", api_key="k", base_url=base_url, max_retries=0)
    if not is_async:
        transport = Transport()
        try:
            client = ResponsesClient(config, scheme=scheme, transport=transport)
            return getattr(client, name)(*values, **named)
        finally:
            transport.close()

    async def call() -> Any:
        async with AsyncResponsesClient(config, scheme=scheme) as client:
            return await getattr(client, name)(*values, **named)

    return asyncio.run(call())


@BOTH
@pytest.mark.parametrize(("window", "factor"), [("2h", "0.70"), ("8h", "0.60")])
def test_a_job_is_submitted_and_collected_with_its_price(
    window: str, factor: str, *, is_async: bool
) -> None:
    with ResponsesSimulator() as server:
        url = server.base_url
        job = ask(url, "submit", ASKED, completion_window=window, is_async=is_async)
        done = ask(url, "collect", job.response_id, is_async=is_async)

    body = server.requests[0].body
    assert body["background_options"] == {"completion_window": window}
    assert (body["background"], body["store"], body["stream"]) == (True, True, False)
    assert (job.is_done, done.is_done, done.completion.status) == (False, True, "completed")
    assert job.price_factor == done.price_factor == Decimal(factor)
    assert done.response_id == job.response_id


@BOTH
def test_jobs_that_belong_together_say_so(*, is_async: bool) -> None:
    with Wire(told(response("queued"))) as wire:
        options = {"completion_window": "2h", "continuation_id": "job-7"}
        job = ask(wire.base_url, "submit", ASKED, is_async=is_async, **options)

    assert body_of(wire.requests[0])["background_options"] == options
    assert (job.completion_window, job.price_factor) == (None, 1)  # this server keeps no metadata


@BOTH
def test_what_cannot_be_a_job_is_refused_by_name(*, is_async: bool) -> None:
    flex = ResponsesScheme(service_tier="flex")
    with Wire(told({})) as wire:
        with pytest.raises(InvalidRequestError, match="completion_window must be '2h' or '8h'"):
            ask(wire.base_url, "submit", ASKED, completion_window="1h", is_async=is_async)
        with pytest.raises(InvalidRequestError, match="service_tier"):
            ask(
                wire.base_url,
                "submit",
                ASKED,
                completion_window="2h",
                scheme=flex,
                is_async=is_async,
            )

    assert not wire.requests


@BOTH
def test_a_job_without_an_id_is_none(*, is_async: bool) -> None:
    nameless = {**response("queued"), "id": None}
    with Wire(in_turn(told(nameless))) as wire, pytest.raises(UnexpectedResponseError, match="id"):
        ask(wire.base_url, "submit", ASKED, completion_window="8h", is_async=is_async)


def test_a_conversation_goes_on_from_what_the_server_keeps() -> None:
    conversation = Conversation()
    conversation.ask("Think.")
    with ResponsesSimulator() as server:
        first = ask(
            server.base_url, "complete", conversation.request(), background=True, is_async=False
        )
        conversation.follow(first)
        conversation.ask("And?")
        second = ask(server.base_url, "complete", conversation.request(), is_async=True)

    body = server.requests[-1].body
    assert body["previous_response_id"] == first.response_id
    assert [item["role"] for item in body["input"]] == ["user"]
    assert second.status == "completed"


def test_a_conversation_cannot_go_on_from_nothing() -> None:
    with pytest.raises(InvalidRequestError, match="without an id"):
        Conversation().follow(read_response({"status": "completed", "output": []}))
    assert Request().previous_response_id is None
