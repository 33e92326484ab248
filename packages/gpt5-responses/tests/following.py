"""Following background responses in tests, by both clients, and what goes wrong with one at the other end."""

import asyncio
import json
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from wire import Answer, chunk, frames, head, whole

from gpt5_messages import BlockDelta, StreamEvent
from gpt5_responses import AsyncResponsesClient, ModelConfig, Request, ResponsesClient, Transport


BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "async"])
ASKED = Request(messages=[{"role": "user", "content": "Write."}], effort="low", background=True)


class Followed:
    """A response that has been followed: its events, what it says, and what it ended with.

    Attributes:
        events: The events, in order.
        error: What iterating raised, if anything.
        stream: The stream, for what it knows of the response.
    """

    def __init__(self) -> None:
        self.events: list[StreamEvent] = []
        self.error: Exception | None = None
        self.stream: Any = None


def follow(
    base_url: str,
    request: Request | str = ASKED,
    *,
    is_async: bool,
    most: int | None = None,
    settings: dict[str, Any] | None = None,
    then: Callable[[Any], object] | None = None,
    **options: Any,
) -> Followed:
    """Follow a response, or one that was begun before, to its end or for some events.

    Args:
        base_url: Where it is made.
        request: What is asked for, or the id of a response.
        is_async: Whether the asynchronous client is used.
        most: How many events are read at most.
        settings: Further fields of `ModelConfig`.
        then: Called with the stream before it is left.
        options: How it is followed.
    """
    config = ModelConfig(
        model_id="gpt-5.2",
        api_key="sk-very-secret",
        base_url=base_url,
        **{"max_retries": 0, **(settings or {})},
    )
    told = Followed()
    how = {"poll_seconds": 0.02, **options}

    def take(event: StreamEvent) -> bool:
        told.events.append(event)
        return len(told.events) == most

    def leave() -> None:
        if then is not None:
            then(told.stream)

    try:
        if is_async:
            asyncio.run(_follow_async(config, request, told, take, leave, how))
        else:
            _follow(config, request, told, take, leave, how)
    except Exception as error:  # noqa: BLE001  the test looks at it
        told.error = error
    return told


def _follow(  # noqa: PLR0917  what `follow` has
    config: ModelConfig,
    request: Request | str,
    told: Followed,
    take: Callable[[StreamEvent], bool],
    leave: Callable[[], None],
    how: dict[str, Any],
) -> None:
    transport = Transport()
    client = ResponsesClient(config, transport=transport)
    try:
        is_id = isinstance(request, str)
        opened = client.attach(request, **how) if is_id else client.stream(request, **how)
        with opened as told.stream:
            for event in told.stream:
                if take(event):
                    break
            leave()
    finally:
        transport.close()


async def _follow_async(  # noqa: PLR0917  what `follow` has
    config: ModelConfig,
    request: Request | str,
    told: Followed,
    take: Callable[[StreamEvent], bool],
    leave: Callable[[], None],
    how: dict[str, Any],
) -> None:
    async with AsyncResponsesClient(config) as client:
        is_id = isinstance(request, str)
        opened = client.attach(request, **how) if is_id else client.stream(request, **how)
        async with opened as told.stream:
            async for event in told.stream:
                if take(event):
                    break
            leave()


def joined(events: Sequence[StreamEvent]) -> list[StreamEvent]:
    """Return events with the pieces of a block put together."""
    told: list[StreamEvent] = []
    for event in events:
        last = told[-1] if told else None
        if not isinstance(event, BlockDelta) or not isinstance(last, BlockDelta):
            told.append(event)
        elif last.index == event.index:
            told[-1] = replace(last, text=last.text + event.text)
        else:
            told.append(event)
    return told


def response(status: str = "completed", text: str = "", **more: Any) -> dict[str, Any]:
    """Return a response as a server writes it."""
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": "msg_1", "status": "completed", "content": [part]}
    output = [item] if text else []
    return {"id": "resp_1", "model": "gpt-5.2", "status": status, "output": output, **more}


def begun(*deltas: str) -> list[dict[str, Any]]:
    """Return the first events of a stream, and some of its text."""
    where = {"output_index": 0, "content_index": 0, "item_id": "msg_1"}
    item = {"type": "message", "id": "msg_1", "status": "in_progress", "content": []}
    part = {"type": "output_text", "text": "", "annotations": []}
    opening = [
        {"type": "response.created", "response": response("queued")},
        {"type": "response.queued", "response": response("queued")},
    ]
    text = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **where, "part": part},
        *({"type": "response.output_text.delta", **where, "delta": delta} for delta in deltas),
    ]
    return numbered(opening + (text if deltas else []))


def numbered(events: Sequence[dict[str, Any]], start: int = 0) -> list[dict[str, Any]]:
    return [
        {**event, "sequence_number": number} for number, event in enumerate(events, start=start)
    ]


def cut_stream(*events: dict[str, Any]) -> Answer:
    """Answer with a stream that breaks off."""
    opening = head(content_type="text/event-stream", transfer_encoding="chunked")

    def answer(peer: socket.socket) -> None:
        peer.sendall(opening + chunk(frames(events)))
        peer.shutdown(socket.SHUT_RDWR)

    return answer


def hang_up(peer: socket.socket) -> None:
    """Answer with nothing, and the end of the connection."""
    peer.shutdown(socket.SHUT_RDWR)


def told(body: object, status: str = "200 OK") -> Answer:
    return whole(json.dumps(body).encode(), status)


def refused(status: str = "400 Bad Request", message: str = "No longer streamed.") -> Answer:
    return told({"error": {"message": message, "param": "stream"}}, status)


def in_turn(*answers: Answer) -> Answer:
    """Answer each request by the next; the last one answers all that follow."""
    left = list(answers)

    def answer(peer: socket.socket) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(peer)

    return answer
