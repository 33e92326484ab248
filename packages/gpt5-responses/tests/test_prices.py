"""The usage of an answer tells what it cost, where that is known, and the client says why where it is not."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from following import ASKED, BOTH, in_turn, response, told
from wire import Answer, Wire, stream

from gpt5_messages import Usage
from gpt5_prices import READ_ON, ModelPrice, Rates, price_of
from gpt5_responses import (
    AsyncResponsesClient,
    Connection,
    ModelConfig,
    Request,
    ResponsesClient,
    Transport,
    open_stream,
)


HELLO = Request(messages=[{"role": "user", "content": "Hello"}])
USAGE = {
    "input_tokens": 1_000,
    "input_tokens_details": {"cached_tokens": 400},
    "output_tokens": 100,
}
STANDARD = Decimal("0.00252")  # 600 at 1.75, 400 at 0.175, 100 at 14 for a million
PRICED = response(text="Hi", usage=USAGE, service_tier="default")


def answered(**more: Any) -> Answer:
    return told({**PRICED, **more})


def ask(
    answer: Answer, name: str, *values: Any, is_async: bool, price: Any = "listed", **named: Any
) -> Any:
    """Make one call of a client by its name; of an answer, return the last piece."""
    with Wire(answer) as wire:
        config = ModelConfig(
            model_id="gpt-5.2", api_key="k", base_url=wire.base_url, max_retries=0, price=price
        )
        if not is_async:
            transport = Transport()
            try:
                client = ResponsesClient(config, transport=transport)
                made = getattr(client, name)(*values, **named)
                return list(made)[-1] if name == "answer" else made
            finally:
                transport.close()

        async def call() -> Any:
            async with AsyncResponsesClient(config) as client:
                if name == "answer":
                    return [delta async for delta in client.answer(*values, **named)][-1]
                return await getattr(client, name)(*values, **named)

        return asyncio.run(call())


def cost(usage: Usage | None) -> tuple[Decimal | None, str | None]:
    assert usage is not None
    return usage.total_price, usage.currency


@pytest.fixture
def openai(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every server pass for OpenAI's own, whose address nothing in a test may reach."""
    monkeypatch.setattr(Connection, "is_default_server", True)


@BOTH
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("complete", (HELLO,)),
        ("complete", (ASKED,)),  # in the background
        ("answer", ({"messages": HELLO.messages},)),
        ("retrieve", ("resp_1",)),
        ("start", (HELLO,)),
        ("cancel", ("resp_1",)),
        ("compact", (HELLO,)),
    ],
)
@pytest.mark.usefixtures("openai")
def test_every_call_that_brings_a_usage_tells_its_cost(
    name: str, values: tuple[Any, ...], *, is_async: bool
) -> None:
    made = ask(answered(), name, *values, is_async=is_async)

    assert cost(made.usage) == (STANDARD, "USD")
    assert made.usage == Usage(
        input_tokens=1_000, cached_tokens=400, output_tokens=100, total_tokens=1_100
    )


@BOTH
@pytest.mark.parametrize(
    ("more", "dollars"),
    [
        ({"service_tier": "flex"}, STANDARD / 2),
        ({"service_tier": "priority"}, STANDARD * 2),
        ({"service_tier": None}, STANDARD),
        ({"model": "gpt-5.2-2025-12-11"}, STANDARD),
        ({"model": None}, STANDARD),
        ({"model": "gpt-5-nano"}, Decimal("0.000072")),
        ({"tool_usage": {"web_search": {"num_requests": 2}}}, STANDARD + Decimal("0.02")),
        ({"metadata": {"completion_window": "8h"}}, STANDARD * Decimal("0.6")),
    ],
)
@pytest.mark.usefixtures("openai")
def test_what_the_response_names_is_what_is_billed(
    more: dict[str, Any], dollars: Decimal, *, is_async: bool
) -> None:
    job = ask(answered(**more), "collect", "resp_1", is_async=is_async)

    assert cost(job.completion.usage) == (dollars, "USD")


@BOTH
@pytest.mark.usefixtures("openai")
def test_a_job_is_priced_in_its_window(*, is_async: bool) -> None:
    window = {"metadata": {"completion_window": "2h"}}
    job = ask(answered(**window), "submit", HELLO, completion_window="2h", is_async=is_async)

    assert cost(job.completion.usage) == (STANDARD * job.price_factor, "USD")
    assert job.price_factor == Decimal("0.7")


@BOTH
@pytest.mark.usefixtures("openai")
def test_a_response_that_is_attached_to_tells_its_cost(*, is_async: bool) -> None:
    events = stream({"type": "response.completed", "response": PRICED, "sequence_number": 0})
    with Wire(in_turn(events)) as wire:
        config = ModelConfig(model_id="gpt-7", api_key="k", base_url=wire.base_url)

        async def attach() -> Any:
            async with (
                AsyncResponsesClient(config) as client,
                client.attach("resp_1") as attached,
            ):
                _ = [event async for event in attached]
                return attached.completion

        if is_async:
            completion = asyncio.run(attach())
        else:
            with ResponsesClient(config).attach("resp_1") as attached:
                _ = list(attached)
                completion = attached.completion

    assert cost(completion.usage) == (STANDARD, "USD")


@BOTH
@pytest.mark.parametrize(
    ("price", "expected"),
    [
        ("listed", (None, None)),  # it is not OpenAI's server
        (None, (None, None)),
        (price_of("gpt-5.2"), (STANDARD, "USD")),
    ],
)
def test_another_server_has_the_price_that_it_is_said_to_have(
    price: Any, expected: Any, *, is_async: bool
) -> None:
    deployed = answered(model="prod-chat")
    completion = ask(deployed, "complete", HELLO, is_async=is_async, price=price)

    assert cost(completion.usage) == expected


def test_a_price_may_be_of_any_currency() -> None:
    rates = Rates(input=2, cached_input=1, cache_write=2, cache_write_12h=2, output=8)
    price = ModelPrice(rates=rates, currency="EUR")
    completion = ask(answered(), "complete", HELLO, is_async=False, price=price)

    assert cost(completion.usage) == (Decimal("0.0024"), "EUR")


@pytest.mark.usefixtures("openai")
@pytest.mark.parametrize("counted", ["prompt_tokens", "output_tokens"])
def test_a_usage_that_counts_one_side_alone_has_no_cost(counted: str) -> None:
    made = ask(answered(usage={counted: 7}), "complete", HELLO, is_async=False)

    assert (made.usage.total_tokens, *cost(made.usage)) == (7, None, None)


def test_without_a_usage_or_a_price_there_is_no_cost() -> None:
    assert ask(answered(usage=None), "complete", HELLO, is_async=False).usage is None
    unknown = ask(answered(model="gpt-7"), "complete", HELLO, is_async=False)
    assert cost(unknown.usage) == (None, None)


def test_a_stream_of_one_s_own_is_priced_by_the_list() -> None:
    with Wire(answered()) as wire:
        connection = Connection(api_key="k", base_url=wire.base_url)
        with open_stream(connection, {"model": "gpt-5.2"}).priced_by(price_of) as opened:
            _ = list(opened)

    assert cost(opened.completion.usage) == (STANDARD, "USD")


@pytest.mark.parametrize("client", [ResponsesClient, AsyncResponsesClient])
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, None),
        ({"base_url": "https://api.openai.com"}, None),
        ({"model_id": "gpt-5.2-2025-12-11"}, None),
        ({"base_url": "https://gateway.example", "price": price_of("gpt-5.2")}, None),
        (
            {"model_id": "gpt-7"},
            f"the model 'gpt-7' has no price in gpt5-prices, which was read on {READ_ON}",
        ),
        ({"price": None}, "the model 'gpt-5.2' has no price: ModelConfig.price is None"),
        (
            {"base_url": "https://gateway.example"},
            "the model 'gpt-5.2' has no price at gateway.example, which is not OpenAI's own server: set ModelConfig.price",
        ),
    ],
)
def test_a_client_says_why_it_has_no_price(
    client: Any, settings: dict[str, Any], reason: str | None
) -> None:
    config = ModelConfig(**{"model_id": "gpt-5.2", "api_key": "k", **settings})

    assert client(config).no_price_reason == reason
