"""Background responses: the same events whatever happens below, cancelled when nobody waits, never made twice."""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from following import (
    ASKED,
    BOTH,
    Followed,
    begun,
    cut_stream,
    follow,
    hang_up,
    in_turn,
    joined,
    numbered,
    refused,
    response,
    told,
)
from wire import PATIENCE, Wire, body_of, chunk, frames, head, make_pacer, stream, whole

from gpt5_messages import BlockDelta, BlockStart, BlockStop, ResponseEnded, ResponseStarted
from gpt5_responses import (
    AsyncBackgroundStream,
    AsyncResponsesClient,
    AuthenticationError,
    BackgroundStream,
    Connection,
    ConnectionFailedError,
    ConnectionTimeoutError,
    InvalidRequestError,
    ModelConfig,
    NotFoundError,
    ResponseFailedError,
    ResponsesClient,
    ResponsesError,
    ServerError,
    SettingsError,
    StillRunningError,
    StreamInterruptedError,
    Transport,
    UnexpectedResponseError,
    aopen_background,
    attach_stream,
    cancel_background,
    poll_background,
    start_background,
)
from gpt5_simulator import HttpError, Reasoning, ResponsesSimulator, ScriptedModel, Text


TEXT = " ".join(f"word{number}" for number in range(60))
TURN = [Reasoning(summary=("First think,", "then write.")), Text(text=TEXT)]
REQUEST: dict[str, Any] = {
    "model": "gpt-5.2",
    "input": "Write.",
    "stream": True,
    "store": False,
    "include": ["reasoning.encrypted_content", "web_search_call.action.sources"],
    "reasoning": {"summary": "auto"},
}


def serving(seconds: float = 0.0, **settings: Any) -> ResponsesSimulator:
    model = ScriptedModel([TURN], repeat=True)
    return ResponsesSimulator(model=model, background_seconds=seconds, **settings)


def connect(server: ResponsesSimulator | Wire, **settings: Any) -> Connection:
    return Connection(**{"api_key": "k", "base_url": server.base_url, "max_retries": 0, **settings})


def lines(wire: Wire) -> list[str]:
    """Return the first line of each request, without its version."""
    return [request.split(b" HTTP")[0].decode() for request in wire.requests]


def text_of(events: Any) -> str:
    return "".join(event.text for event in events if isinstance(event, BlockDelta))


@BOTH
def test_a_response_of_the_background_streams_as_any_other(*, is_async: bool) -> None:
    with serving() as server:
        followed = follow(server.base_url, is_async=is_async)
        plain = follow(server.base_url, replace(ASKED, background=False), is_async=is_async)

    assert followed.error is None
    body = server.requests[0].body
    assert (body["background"], body["store"], body["stream"]) == (True, True, True)
    assert "include" not in body
    assert followed.stream.completion.text == TEXT
    kinds = [type(event) for event in followed.events]
    assert kinds == [type(event) for event in plain.events]
    assert [request.method for request in server.requests] == ["POST", "POST"]
    assert followed.stream.status == "completed"
    assert server.background.cancelled == 0


@BOTH
def test_what_is_not_streamed_is_polled_and_comes_as_the_same_events(*, is_async: bool) -> None:
    unverified = "unverified_organization;stream=true;summary=false"
    with serving(0.1) as server:
        streamed = follow(server.base_url, is_async=is_async)
        headers = {"x-simulator-fault": unverified}
        polled = follow(server.base_url, is_async=is_async, settings={"extra_headers": headers})

    assert polled.error is None
    assert polled.stream.left_out == ("without_streaming",)
    assert text_of(polled.events) == text_of(streamed.events)
    shapes = [
        [(type(event), getattr(event, "index", 0)) for event in joined(found.events)]
        for found in (polled, streamed)
    ]
    assert shapes[0] == shapes[1]


@BOTH
def test_who_leaves_has_the_server_cancel(*, is_async: bool) -> None:
    with serving(60) as server:
        left = follow(server.base_url, is_async=is_async, most=1)

        assert (left.error, len(left.events)) == (None, 1)
        assert server.background.cancelled == server.background.begun == 1

    paths = [request.path for request in server.requests]
    assert paths == ["/v1/responses", f"/v1/responses/{left.stream.response_id}/cancel"]


def test_an_iterator_that_is_let_go_of_has_the_server_cancel(transport: Transport) -> None:
    with serving(60) as server:
        batches = BackgroundStream(connect(server), REQUEST, transport=transport).batches()
        next(batches)
        del batches

        assert server.background.cancelled == 1


@BOTH
def test_what_is_detached_goes_on_and_is_found_by_its_id(*, is_async: bool) -> None:
    # No time passes before the first event is read: what is read together counts as received, and is not told again.
    now = [0.0]
    with serving(60, clock=lambda: now[0]) as server:
        first = follow(
            server.base_url, is_async=is_async, most=1, then=lambda stream: stream.detach()
        )
        now[0] = 61.0
        found, number = first.stream.response_id, first.stream.last_number
        rest = follow(server.base_url, found, is_async=is_async, starting_after=number)
        whole_again = follow(server.base_url, found, is_async=is_async)
        assert server.background.begun == server.background.done == 1

    assert first.stream.is_detached
    assert [*first.events, *rest.events] == whole_again.events
    assert whole_again.stream.completion.text == TEXT


def test_what_is_detached_before_it_is_sent_is_sent(transport: Transport) -> None:
    with serving(60) as server:
        found = BackgroundStream(connect(server), REQUEST, transport=transport).detach()
        with attach_stream(connect(server), found, transport=transport, detached=True) as again:
            again.open()  # has nothing to send
        looked = poll_background(connect(server), found, transport=transport)

    assert looked.status == "queued"


@BOTH
@pytest.mark.parametrize("detached", [False, True])
def test_a_caller_whose_time_is_over_is_told_the_id(*, detached: bool, is_async: bool) -> None:
    for seconds in PATIENCE:
        with serving(60) as server:
            late = follow(
                server.base_url, is_async=is_async, seconds=7 * seconds, detached=detached
            )
            running = server.background.running
        if isinstance(late.error, StillRunningError):
            break

    error = late.error
    assert running == detached
    assert isinstance(error, StillRunningError)
    assert error.response_id == late.stream.response_id
    assert error.response_id in str(error)
    assert error.is_cancelled is not detached


@BOTH
def test_time_is_over_between_looks_too(*, is_async: bool) -> None:
    with Wire(told(response("queued"))) as wire:
        late = too_late(wire, is_async=is_async, poll_seconds=60)

    assert isinstance(late.error, StillRunningError)


@BOTH
@pytest.mark.parametrize("stage", ["resume", "poll"])
def test_time_is_over_while_a_server_is_silent(stage: str, *, is_async: bool) -> None:
    gone = threading.Event()

    def silent(peer: Any) -> None:
        gone.wait(120)
        cut_stream(*begun("a"))(peer)

    first = cut_stream(*begun("a")) if stage == "resume" else told(response("queued"))

    def answer(peer: Any) -> None:
        is_begun = wire.requests[-1].startswith(b"POST")
        (first if is_begun else silent)(peer)

    before = {*threading.enumerate()}
    with Wire(answer) as wire:
        late = too_late(wire, is_async=is_async, detached=True)
        gone.set()
        for thread in {*threading.enumerate()} - before:
            if thread.name.endswith("(run)"):
                thread.join(120)  # What comes too late is let go of.

    assert isinstance(late.error, StillRunningError)


def too_late(server: Wire, **how: Any) -> Followed:
    """Follow a response for less time than it takes, and for long enough to know its id."""
    for seconds in PATIENCE:
        late = follow(server.base_url, seconds=7 * seconds, **how)
        if isinstance(late.error, StillRunningError):
            break
    return late


def begun_late(wait: Callable[[], object], *events: dict[str, Any]) -> Wire:
    """Return a server that takes its time to begin a response."""

    def late(peer: Any) -> None:
        wait()
        cut_stream(*events)(peer)

    return Wire(in_turn(late, told(response("cancelled"))))


@BOTH
@pytest.mark.parametrize("events", [begun(), ()], ids=["begun", "nothing"])
def test_a_response_that_was_begun_too_late_is_cancelled(
    events: Any, transport: Transport, *, is_async: bool
) -> None:
    is_given_up = threading.Event()
    with begun_late(partial(is_given_up.wait, 0.3 if is_async else 120), *events) as wire:
        if is_async:
            opened = aopen_background(connect(wire), REQUEST, seconds=0.1)
            with pytest.raises(ConnectionTimeoutError):
                asyncio.run(read(opened))
        else:
            late = BackgroundStream(connect(wire), REQUEST, transport=transport, seconds=0.1)
            with pytest.raises(ConnectionTimeoutError):
                late.open()
            is_given_up.set()
            until = time.monotonic() + (60 if events else 0.6)
            while len(wire.requests) < 2 and time.monotonic() < until:
                time.sleep(0.01)

    assert lines(wire)[1:] == (["POST /v1/responses/resp_1/cancel"] if events else [])


@BOTH
def test_a_request_that_may_have_arrived_is_not_sent_again(*, is_async: bool) -> None:
    with Wire(hang_up) as wire:
        lost = follow(wire.base_url, is_async=is_async, settings={"max_retries": 5})

    assert isinstance(lost.error, ConnectionFailedError)
    assert "may have begun the response" in str(lost.error)
    assert len(wire.requests) == 1


@BOTH
def test_a_stream_that_ends_before_the_id_is_known_is_told_as_such(*, is_async: bool) -> None:
    with Wire(cut_stream()) as wire:
        lost = follow(wire.base_url, is_async=is_async)

    assert isinstance(lost.error, StreamInterruptedError)
    assert "is unknown" in str(lost.error)
    assert len(wire.requests) == 1


@BOTH
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (whole(b"<html>", content_type="text/html"), UnexpectedResponseError),
        (told({"hello": 1}), UnexpectedResponseError),
        (told({"error": {"message": "no", "code": "server_error"}}), ServerError),
        (told({"error": {"message": "no"}}, "401 Unauthorized"), AuthenticationError),
    ],
    ids=["page", "object", "error", "key"],
)
def test_what_is_no_response_is_told_at_once(
    answer: Any, kind: type[Exception], *, is_async: bool
) -> None:
    with Wire(answer) as wire:
        refusal = follow(wire.base_url, is_async=is_async)

    assert type(refusal.error) is kind
    assert len(wire.requests) == 1


@BOTH
def test_a_request_is_sent_again_where_the_server_did_not_take_it(*, is_async: bool) -> None:
    with serving(faults=[HttpError(status=503, retry_after_ms=1)]) as server:
        followed = follow(server.base_url, is_async=is_async, settings={"max_retries": 1})

        assert server.background.begun == 1
    assert followed.stream.completion.text == TEXT


@BOTH
def test_a_stream_goes_on_after_its_last_event(*, is_async: bool) -> None:
    done = {"type": "response.completed", "response": response(text="one two")}
    rest = {"output_index": 0, "content_index": 0, "item_id": "msg_1", "delta": "two"}
    delta = {"type": "response.output_text.delta", **rest}
    again = stream(*numbered([delta, done], start=5))
    with Wire(in_turn(cut_stream(*begun("one ")), again)) as wire:
        followed = follow(wire.base_url, is_async=is_async)

    assert lines(wire)[1] == "GET /v1/responses/resp_1?stream=true&starting_after=4"
    deltas = [event.text for event in followed.events if isinstance(event, BlockDelta)]
    assert deltas == ["one ", "two"]
    assert isinstance(followed.events[-1], ResponseEnded)


@BOTH
@pytest.mark.parametrize(
    "odd",
    [
        {"type": "error", "error": {"code": "server_error", "message": "lost"}},
        {"type": "response.failed", "response": {"id": "resp_1", "status": "failed"}},
    ],
)
def test_an_error_of_the_stream_is_not_yet_one_of_the_response(
    odd: dict[str, Any], *, is_async: bool
) -> None:
    events = [*begun("one "), {**odd, "sequence_number": 5}]
    answers = (cut_stream(*events), refused(), told(response(text="one two")))
    with Wire(in_turn(*answers)) as wire:
        followed = follow(wire.base_url, is_async=is_async)

    assert followed.error is None
    assert [event.text for event in followed.events if isinstance(event, BlockDelta)] == [
        "one ",
        "two",
    ]
    assert [type(event) for event in followed.events].count(ResponseEnded) == 1


@BOTH
@pytest.mark.parametrize(
    ("end", "kind", "words"),
    [
        (response("failed", error={"code": "invalid_prompt", "message": "odd"}), None, "odd"),
        (response("failed"), ResponseFailedError, "failed"),
    ],
)
def test_a_response_that_fails_while_it_is_polled_fails(
    end: dict[str, Any], kind: type[Exception] | None, words: str, *, is_async: bool
) -> None:
    answers = (cut_stream(*begun("one ")), refused(), told(response("in_progress")), told(end))
    with Wire(in_turn(*answers)) as wire:
        followed = follow(wire.base_url, is_async=is_async)

    assert isinstance(followed.error, kind or InvalidRequestError)
    assert words in str(followed.error)
    assert text_of(followed.events) == "one "
    assert not any("cancel" in line for line in lines(wire))


@BOTH
def test_a_response_that_is_cancelled_before_it_says_anything_fails(*, is_async: bool) -> None:
    with Wire(in_turn(told(response("queued")), told(response("cancelled")))) as wire:
        followed = follow(wire.base_url, is_async=is_async)

    assert isinstance(followed.error, ResponseFailedError)
    assert followed.error.code == "cancelled"
    assert followed.stream.status == "cancelled"


@BOTH
def test_what_was_cut_off_or_cancelled_with_an_answer_is_told_to_its_end(*, is_async: bool) -> None:
    details = {"incomplete_details": {"reason": "max_output_tokens"}}
    for end in (response("incomplete", "one t", **details), response("cancelled", "one t")):
        with Wire(in_turn(cut_stream(*begun("one ")), refused(), told(end))) as wire:
            followed = follow(wire.base_url, is_async=is_async)

        assert text_of(followed.events) == "one t"
        assert followed.stream.completion.status == end["status"]
        assert isinstance(followed.events[-1], ResponseEnded)


@BOTH
def test_items_that_are_whole_already_are_told_while_the_rest_is_made(*, is_async: bool) -> None:
    early = response("in_progress", "one ")
    late = response(text="one ")
    second = {"type": "message", "id": "msg_2", "status": "in_progress", "content": []}
    early["output"].append(second)
    part = {"type": "output_text", "text": "two", "annotations": []}
    late["output"].append({**second, "status": "completed", "content": [part]})
    odd = response("in_progress", output=None)
    answers = (told(response("queued")), told(odd), told(early), told(early), told(late))
    with Wire(in_turn(*answers)) as wire:
        followed = follow(wire.base_url, is_async=is_async)

    texts = [event.text for event in followed.events if isinstance(event, BlockDelta)]
    assert texts == ["one ", "two"]
    assert len([event for event in followed.events if isinstance(event, BlockStart)]) == 2
    assert len([event for event in followed.events if isinstance(event, BlockStop)]) == 2


@BOTH
def test_what_fails_in_passing_is_asked_for_again(*, is_async: bool) -> None:
    answers = (
        cut_stream(*begun("one ")),
        refused("503 x", "busy"),
        hang_up,
        whole(b"<html>", content_type="text/html"),
        refused("404 Not Found", "not here yet"),
        refused("500 x", "oh"),
        told([]),
        told(response(text="one two")),
    )
    with Wire(in_turn(*answers)) as wire:
        followed = follow(wire.base_url, is_async=is_async)

    assert followed.error is None
    assert text_of(followed.events) == "one two"
    kinds = ["stream" if "stream=true" in line else line.split()[0] for line in lines(wire)]
    assert kinds == ["POST", *["stream"] * 4, "GET", "GET", "GET"]


@BOTH
def test_what_was_deleted_or_has_expired_is_told(*, is_async: bool) -> None:
    answers = (cut_stream(*begun("one ")), refused("404 Not Found", "not found"))
    with Wire(in_turn(*answers)) as wire:
        followed = follow(wire.base_url, is_async=is_async)

    assert isinstance(followed.error, NotFoundError)
    assert "resp_1" in str(followed.error)
    assert "10 minutes" in str(followed.error)


@BOTH
@pytest.mark.parametrize("stage", ["resume", "poll"])
def test_a_key_that_is_no_longer_accepted_ends_it(stage: str, *, is_async: bool) -> None:
    first = cut_stream(*begun("one ")) if stage == "resume" else told(response("queued"))
    with Wire(in_turn(first, refused("401 Unauthorized", "no"))) as wire:
        followed = follow(wire.base_url, is_async=is_async)

    assert isinstance(followed.error, AuthenticationError)
    assert len(wire.requests) == 3  # the last tried to cancel


@BOTH
def test_a_server_that_fails_for_too_long_is_given_up(
    monkeypatch: pytest.MonkeyPatch, *, is_async: bool
) -> None:
    monkeypatch.setattr("gpt5_responses._background.polling_policy.MOST_FAILING_SECONDS", 0.1)
    answers = (told(response("queued")), refused("500 x", "oh"))
    with Wire(in_turn(*answers)) as wire:
        followed = follow(wire.base_url, is_async=is_async)

    assert isinstance(followed.error, ServerError)


@BOTH
def test_a_silent_stream_is_left_for_another(transport: Transport, *, is_async: bool) -> None:
    opening = head(content_type="text/event-stream", transfer_encoding="chunked")

    def follow_for(connection: Connection) -> list[Any]:
        if is_async:
            return asyncio.run(read(aopen_background(connection, REQUEST, poll_seconds=0.02)))
        return list(BackgroundStream(connection, REQUEST, transport=transport, poll_seconds=0.02))

    def is_left(seconds: float) -> bool:
        gone = threading.Event()

        def silent(peer: Any) -> None:
            peer.sendall(opening + chunk(frames(begun())))
            gone.wait(120)

        followed: list[Any] = []
        with (
            Wire(in_turn(silent, refused(), told(response(text="done")))) as wire,
            suppress(ConnectionTimeoutError),  # Its id was not known by then.
        ):
            try:
                followed = follow_for(connect(wire, timeout_seconds=seconds))
            finally:
                gone.set()
        return text_of(followed) == "done"

    assert any(map(is_left, PATIENCE))


async def read(opened: AsyncBackgroundStream) -> list[Any]:
    async with opened as events:
        return [event async for event in events]


@BOTH
def test_a_server_without_numbers_is_polled(*, is_async: bool) -> None:
    events = [{**event} for event in begun("one ")]
    for event in events:
        del event["sequence_number"]
    with Wire(in_turn(cut_stream(*events), told(response(text="one two")))) as wire:
        followed = follow(wire.base_url, is_async=is_async)

    assert text_of(followed.events) == "one two"
    assert lines(wire)[1] == "GET /v1/responses/resp_1"


@BOTH
def test_a_stream_that_begins_again_begins_once(*, is_async: bool) -> None:
    done = {"type": "response.completed", "response": response(text="one two")}
    again = [*begun("one "), *numbered([done], start=5)]
    with Wire(in_turn(cut_stream(*begun("one ")), stream(*again))) as wire:
        followed = follow(wire.base_url, is_async=is_async)

    assert text_of(followed.events) == "one two"
    assert len([event for event in followed.events if isinstance(event, ResponseStarted)]) == 1


@BOTH
def test_what_was_attached_to_too_late_for_a_stream_is_told_whole(*, is_async: bool) -> None:
    with Wire(in_turn(refused(), told(response(text="all")))) as wire:
        followed = follow(wire.base_url, "resp_1", is_async=is_async, starting_after=4)

    assert lines(wire)[0] == "GET /v1/responses/resp_1?stream=true"
    assert isinstance(followed.events[0], ResponseStarted)
    assert text_of(followed.events) == "all"


@pytest.mark.parametrize("no_id", ["", "a/b"])
def test_what_is_no_id_is_attached_to_nothing(no_id: str, transport: Transport) -> None:
    with pytest.raises(InvalidRequestError, match="response_id"):
        attach_stream(Connection(api_key="k"), no_id, transport=transport)


@pytest.mark.parametrize(
    ("name", "value"),
    [("seconds", 0), ("seconds", float("nan")), ("poll_seconds", -1), ("starting_after", -1)],
)
def test_a_number_out_of_range_is_refused_by_name(
    name: str, value: Any, transport: Transport
) -> None:
    with pytest.raises(SettingsError, match=name) as refusal:
        attach_stream(Connection(api_key="k"), "resp_1", transport=transport, **{name: value})

    assert refusal.value.field == name


def test_one_call_starts_looks_and_cancels(transport: Transport) -> None:
    with serving(60) as server:
        begun_one = start_background(connect(server), REQUEST, transport=transport)
        looked = poll_background(connect(server), str(begun_one.response_id), transport=transport)
        ended = cancel_background(connect(server), str(looked.response_id), transport=transport)

    body = server.requests[0].body
    assert (body["stream"], body["include"]) == (False, ["web_search_call.action.sources"])
    assert (begun_one.status, looked.status, ended.status) == ("queued", "queued", "cancelled")


def test_closing_from_another_thread_ends_it(transport: Transport) -> None:
    with serving(60) as server:
        stream_ = BackgroundStream(connect(server), REQUEST, transport=transport)
        read: list[Any] = []
        reader = threading.Thread(target=lambda: read.extend(stream_))
        reader.start()
        while not stream_.response_id:
            time.sleep(0.005)
        stream_.close()
        reader.join(120)

        assert not reader.is_alive()
        assert server.background.cancelled == 1
    assert list(stream_) == []


def test_closing_while_it_is_gone_on_with_ends_it(transport: Transport) -> None:
    gone = threading.Event()

    def late(peer: Any) -> None:
        gone.wait(120)
        cut_stream(*begun("a"))(peer)

    with Wire(in_turn(cut_stream(*begun("a")), late, told(response("cancelled")))) as wire:
        stream_ = BackgroundStream(connect(wire), REQUEST, transport=transport)
        reader = threading.Thread(target=lambda: list(stream_))
        reader.start()
        while len(wire.requests) < 2:
            time.sleep(0.005)
        stream_.close()
        gone.set()
        reader.join(120)

        assert not reader.is_alive()
    assert lines(wire)[2:] == ["POST /v1/responses/resp_1/cancel"]


def test_closing_while_it_is_sent_cancels_what_is_begun(transport: Transport) -> None:
    with begun_late(partial(time.sleep, 0.2), *begun()) as wire:
        stream_ = BackgroundStream(connect(wire), REQUEST, transport=transport)
        opener = threading.Thread(target=stream_.open)
        opener.start()
        while not wire.requests:
            time.sleep(0.005)
        stream_.close()
        opener.join(120)

    assert lines(wire)[1:] == ["POST /v1/responses/resp_1/cancel"]


def test_a_pacer_reads_it_as_any_stream(transport: Transport) -> None:
    with serving(0.3) as server:
        stream_ = BackgroundStream(connect(server), REQUEST, transport=transport)
        batches = list(
            make_pacer(keep_alive_seconds=0.05).pace(stream_.batches, close=stream_.close)
        )

    assert [] in batches
    assert [event for batch in batches for event in batch][-1] == ResponseEnded(status="completed")


async def test_an_asynchronous_caller_that_is_cancelled_has_the_server_cancel() -> None:
    for seconds in (0, 0.15):  # while it is sent, and while it is read
        with serving(60) as server:
            config = ModelConfig(model_id="gpt-5.2", api_key="k", base_url=server.base_url)
            async with AsyncResponsesClient(config) as client:
                task = asyncio.create_task(client.complete(ASKED))
                await asyncio.sleep(seconds)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert server.background.cancelled == server.background.begun == 1


def test_an_agent_run_asks_in_the_background_where_its_defaults_say_so(
    transport: Transport,
) -> None:
    with serving(0.05) as server:
        config = ModelConfig(model_id="gpt-5.2", api_key="k", base_url=server.base_url)
        client = ResponsesClient(config, defaults=ASKED, transport=transport)
        call = {"messages": [{"role": "user", "content": "Go."}]}
        text = "".join(piece.text for piece in client.answer(call))

        assert text.endswith(TEXT)
        assert server.background.done == 1


def test_errors_hold_no_key(transport: Transport) -> None:
    answers = (told(response("queued")), refused("400 Bad Request", "not with k-very-secret"))
    with Wire(in_turn(*answers)) as wire:
        connection = connect(wire, api_key="k-very-secret")
        stream_ = BackgroundStream(connection, REQUEST, transport=transport)
        with pytest.raises(ResponsesError) as refusal:
            list(stream_)

    assert "very-secret" not in str(refusal.value)
    assert body_of(wire.requests[0])["background"] is True


@pytest.mark.parametrize(
    "function",
    [
        *(BackgroundStream, attach_stream, AsyncBackgroundStream, aopen_background),
        *(ResponsesClient.stream, ResponsesClient.attach, ResponsesClient.complete),
        *(AsyncResponsesClient.stream, AsyncResponsesClient.attach, AsyncResponsesClient.complete),
    ],
    ids=lambda function: function.__qualname__,
)
def test_help_names_the_ways_to_follow_a_response(function: Callable[..., object]) -> None:
    shown = inspect.signature(function).parameters

    assert list(shown)[-3:] == ["seconds", "detached", "poll_seconds"]
    assert [shown[name].default for name in ("seconds", "detached")] == [None, False]
    assert {one.kind for one in shown.values()}.isdisjoint(
        {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    )
