"""Background responses: the same events whatever happens below, cancelled when nobody waits, never made twice."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest

from gpt5_messages import BlockDelta, BlockStart, BlockStop, ResponseEnded, StreamEvent
from gpt5_responses import (
    BackgroundStream,
    Connection,
    StillRunningError,
    Transport,
    attach_stream,
    cancel_background,
    poll_background,
    start_background,
)
from gpt5_simulator import Reasoning, ResponsesSimulator, ScriptedModel, Text


TEXT = " ".join(f"word{number}" for number in range(60))
TURN = [Reasoning(summary=("First think,", "then write.")), Text(text=TEXT)]
REQUEST = {
    "model": "gpt-5.2",
    "input": "Write.",
    "stream": True,
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"summary": "auto"},
}


@pytest.fixture
def transport() -> Iterator[Transport]:
    transport = Transport()
    yield transport
    transport.close()


def serving(seconds: float = 0.0) -> ResponsesSimulator:
    return ResponsesSimulator(model=ScriptedModel([TURN], repeat=True), background_seconds=seconds)


def connect(server: ResponsesSimulator) -> Connection:
    return Connection(api_key="k", base_url=server.base_url, max_retries=0)


def calls(server: ResponsesSimulator) -> list[str]:
    """Return what was asked of the server, without ids."""
    return [
        f"{request.method} {'/'.join(part for part in request.path.split('/')[2:] if 'resp_' not in part)}"
        for request in server.requests
    ]


def joined(events: list[StreamEvent]) -> list[StreamEvent]:
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


def texts_of(events: list[StreamEvent]) -> list[BlockDelta]:
    return [event for event in events if isinstance(event, BlockDelta)]


def test_a_response_of_the_background_streams_as_any_other(transport: Transport) -> None:
    with serving() as server:
        stream = BackgroundStream(connect(server), REQUEST, transport=transport)
        events = list(stream)

    body = server.requests[0].body
    assert (body["background"], body["store"], body["stream"]) == (True, True, True)
    assert "include" not in body
    assert stream.completion.text == TEXT
    assert events[-1] == ResponseEnded(status="completed")
    kinds = [event.kind for event in events if isinstance(event, BlockStart)]
    assert kinds == ["summary_text", "summary_text", "text"]
    assert len([event for event in events if isinstance(event, BlockStop)]) == 3
    assert calls(server) == ["POST responses"]


def test_what_is_polled_comes_as_the_same_events(transport: Transport) -> None:
    with serving(0.2) as server:
        streamed = list(BackgroundStream(connect(server), REQUEST, transport=transport))
        request = {**REQUEST, "stream": False}
        stream = BackgroundStream(connect(server), request, transport=transport, poll_seconds=0.05)
        polled = list(stream)

    assert [type(event) for event in polled] == [type(event) for event in joined(streamed)]
    assert texts_of(polled) == texts_of(joined(streamed))
    assert "GET responses" in calls(server)


def test_who_leaves_has_the_server_cancel(transport: Transport) -> None:
    with serving(60) as server:
        with BackgroundStream(connect(server), REQUEST, transport=transport) as stream:
            next(iter(stream))
        assert (
            poll_background(connect(server), str(stream.response_id), transport=transport).status
            == "cancelled"
        )

    assert calls(server)[:2] == ["POST responses", "POST responses/cancel"]


def test_what_is_detached_goes_on_and_is_found_by_its_id(transport: Transport) -> None:
    with serving(0.2) as server:
        stream = BackgroundStream(connect(server), REQUEST, transport=transport, seconds=60)
        first = list(islice(stream, 1))
        found = stream.detach()
        assert stream.is_detached
        rest = list(
            attach_stream(
                connect(server), found, starting_after=stream.last_number, transport=transport
            )
        )
        whole = list(attach_stream(connect(server), found, transport=transport))

    assert [*first, *rest] == whole
    assert calls(server)[0] == "POST responses"
    assert "POST responses/cancel" not in calls(server)


@pytest.mark.parametrize("detached", [False, True])
def test_a_caller_whose_time_is_over_is_told_the_id(
    transport: Transport, *, detached: bool
) -> None:
    with serving(60) as server:
        stream = BackgroundStream(
            connect(server), REQUEST, transport=transport, seconds=0.3, detached=detached
        )
        with pytest.raises(StillRunningError) as told:
            list(stream)

    assert told.value.response_id == stream.response_id
    assert told.value.is_cancelled is not detached
    assert ("POST responses/cancel" in calls(server)) is not detached


def test_one_call_starts_looks_and_cancels(transport: Transport) -> None:
    with serving(60) as server:
        begun = start_background(connect(server), REQUEST, transport=transport)
        looked = poll_background(connect(server), str(begun.response_id), transport=transport)
        ended = cancel_background(connect(server), str(begun.response_id), transport=transport)

    assert (begun.status, looked.status, ended.status) == ("queued", "queued", "cancelled")
