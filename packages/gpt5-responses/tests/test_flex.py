"""The flex tier that has no capacity: another try for the default one, only where the caller has allowed it."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from wire import WHOLE, Wire, body_of, whole

from gpt5_responses import (
    AsyncResponsesClient,
    Connection,
    Fallback,
    ModelConfig,
    RateLimitError,
    Request,
    ResponsesClient,
    ResponsesScheme,
    ResponseStream,
    Transport,
    acreate,
    create,
)


FLEX = {**WHOLE, "service_tier": "flex"}
NO_CAPACITY = {"message": "Resource Unavailable", "type": "resource_unavailable", "code": None}
ANSWERED = {
    "status": "completed",
    "service_tier": "default",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
}


class Flex(Wire):
    """A server that refuses the flex tier, and any other where `error` belongs to the account."""

    def __init__(self, error: dict[str, Any] = NO_CAPACITY, status: int = 429) -> None:
        super().__init__(self._serve_tier)
        self._refusal = whole(json.dumps({"error": error}).encode(), f"{status} No")

    def _serve_tier(self, peer: socket.socket) -> None:
        answer = self._refusal if self.tiers[-1] == "flex" else whole(json.dumps(ANSWERED).encode())
        answer(peer)

    @property
    def tiers(self) -> list[str | None]:
        return [body_of(request).get("service_tier") for request in self.requests]


@contextmanager
def transports() -> Iterator[Transport]:
    transport = Transport()
    try:
        yield transport
    finally:
        transport.close()


def by_create(
    connection: Connection, *, flex_fallback: bool, request: dict[str, Any] = FLEX
) -> str:
    with transports() as transport:
        return create(connection, request, transport=transport, flex_fallback=flex_fallback).text


def by_acreate(connection: Connection, *, flex_fallback: bool) -> str:
    return asyncio.run(acreate(connection, FLEX, flex_fallback=flex_fallback)).text


def by_client(connection: Connection, *, flex_fallback: bool) -> str:
    config, scheme = _settings(connection, flex_fallback=flex_fallback)
    with transports() as transport:
        client = ResponsesClient(config, scheme=scheme, transport=transport)
        return client.complete(Request(messages=[{"role": "user", "content": "Hello"}])).text


def by_answer(connection: Connection, *, flex_fallback: bool) -> str:
    config, scheme = _settings(connection, flex_fallback=flex_fallback)
    wanted = {"messages": [{"role": "user", "content": "Hello"}]}
    with transports() as transport:
        client = ResponsesClient(config, scheme=scheme, transport=transport)
        return "".join(piece.text for piece in client.answer(wanted))


def by_async_client(connection: Connection, *, flex_fallback: bool) -> str:
    config, scheme = _settings(connection, flex_fallback=flex_fallback)

    async def ask() -> str:
        async with AsyncResponsesClient(config, scheme=scheme) as client:
            wanted = Request(messages=[{"role": "user", "content": "Hello"}])
            return (await client.complete(wanted)).text

    return asyncio.run(ask())


def _settings(
    connection: Connection, *, flex_fallback: bool
) -> tuple[ModelConfig, ResponsesScheme]:
    config = ModelConfig(
        model_id="gpt-5.2", api_key="k", base_url=connection.base_url, max_retries=0
    )
    return config, ResponsesScheme(service_tier="flex", flex_fallback=flex_fallback)


WAYS = pytest.mark.parametrize(
    "way", [by_create, by_acreate, by_client, by_answer, by_async_client], ids=lambda way: way.__name__
)  # fmt: skip


@WAYS
def test_the_default_tier_takes_over_where_that_is_allowed(way: Callable[..., str]) -> None:
    with Flex() as wire:
        assert way(wire.connection(), flex_fallback=True) == "Hi"

    assert wire.tiers == ["flex", "default"]


@WAYS
def test_nothing_dearer_is_asked_for_unasked(way: Callable[..., str]) -> None:
    with Flex() as wire, pytest.raises(RateLimitError):
        way(wire.connection(), flex_fallback=False)

    assert wire.tiers == ["flex"]


def test_what_took_over_is_told_and_learned_for_no_other_call() -> None:
    left_out: list[tuple[Fallback, ...]] = []
    with Flex() as wire, transports() as transport:
        for _ in range(2):
            stream = ResponseStream(
                wire.connection(), FLEX, transport=transport, flex_fallback=True
            )
            with stream:
                list(stream)
            left_out.append(stream.left_out)

    assert left_out == [("without_flex",), ("without_flex",)]
    assert wire.tiers == ["flex", "default", "flex", "default"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, {"message": "no quota", "code": "insufficient_quota"}),
        (400, {"message": "no such tier", "param": "service_tier"}),
    ],
)
def test_what_the_default_tier_would_refuse_too_stands(status: int, error: dict[str, Any]) -> None:
    with Flex(error, status) as wire, pytest.raises(Exception, match=r"quota|no such tier"):
        by_create(wire.connection(), flex_fallback=True)

    assert wire.tiers == ["flex"]


def test_a_limit_that_no_tier_lifts_says_what_was_tried() -> None:
    refusal = whole(json.dumps({"error": NO_CAPACITY}).encode(), "429 No")
    with Wire(refusal) as wire, pytest.raises(RateLimitError, match="without the flex tier"):
        by_create(wire.connection(), flex_fallback=True)


@pytest.mark.parametrize("tier", [None, "auto", "default", "priority"])
def test_other_tiers_have_none_to_fall_back_to(tier: str | None) -> None:
    refusal = whole(json.dumps({"error": NO_CAPACITY}).encode(), "429 No")
    request = {**WHOLE, **({"service_tier": tier} if tier else {})}
    with Wire(refusal) as wire, pytest.raises(RateLimitError):
        by_create(wire.connection(), flex_fallback=True, request=request)

    assert len(wire.requests) == 1
