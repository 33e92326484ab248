"""The responses of one run over one WebSocket: what is sent, and what becomes of a run when the socket does not hold."""

import asyncio
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sockets import (
    Event,
    Memory,
    Peer,
    Script,
    Sockets,
    agree,
    answer,
    events_of,
    message,
    refusal,
    results_of,
    thought,
)
from wire import head

from gpt5_messages import Completion, SSEDecoder
from gpt5_responses import (
    AsyncResponsesClient,
    AuthenticationError,
    ConnectionTimeoutError,
    Conversation,
    InvalidRequestError,
    ModelConfig,
    RateLimitError,
    Request,
    ResponseFailedError,
    ResponsesClient,
    ResponsesError,
    SettingsError,
    StreamInterruptedError,
    Transport,
    UnexpectedResponseError,
)


RECORDINGS = sorted(Path(__file__).parents[3].glob("*/*/tests/recordings/*.sse"))
ENDS = ("response.completed", "response.incomplete", "response.failed", "error")
ASKED = Request(messages=[{"role": "user", "content": "Hi"}])


class Blocking:
    """A session of the blocking client."""

    def __init__(self, config: ModelConfig, transport: Transport, **settings: Any) -> None:
        self.client = ResponsesClient(config, transport=transport, **settings)
        self.session = self.client.session()

    def ask(self, request: Request = ASKED, **options: Any) -> Completion:
        return self.session.complete(request, **options)

    def read(self, request: Request, events: int | None = None) -> list[Any]:
        """Return the events of a response, or the first of them and leave."""
        with self.session.stream(request) as stream:
            return [event for _, event in zip(_upto(events), stream, strict=False)]

    def both(self) -> list[str]:
        """Have two requests answered at once."""
        with self.session.stream(ASKED) as stream:
            second = self.ask().text
            for _ in stream:
                pass
            return [stream.completion.text, second]

    def renew(self) -> None:
        self.session = self.client.session()

    def close(self) -> None:
        self.session.close()


class Asynchronous:
    """A session of the asynchronous client."""

    def __init__(self, config: ModelConfig, _: Transport, **settings: Any) -> None:
        self.runner = asyncio.Runner()
        self.client = AsyncResponsesClient(config, **settings)
        self.session = self.client.session()

    def ask(self, request: Request = ASKED, **options: Any) -> Completion:
        return self.runner.run(self.session.complete(request, **options))

    def read(self, request: Request, events: int | None = None) -> list[Any]:
        async def read() -> list[Any]:
            found: list[Any] = []
            async with self.session.stream(request) as stream:
                async for event in stream:
                    found.append(event)
                    if len(found) == events:
                        break
            return found

        return self.runner.run(read())

    def both(self) -> list[str]:
        async def both() -> list[str]:
            async with self.session.stream(ASKED) as stream:
                second = await self.session.complete(ASKED)
                async for _ in stream:
                    pass
                return [stream.completion.text, second.text]

        return self.runner.run(both())

    def renew(self) -> None:
        self.session = self.client.session()

    def close(self) -> None:
        self.runner.run(self.session.aclose())

    def end(self) -> None:
        self.close()
        self.runner.run(self.client.aclose())
        self.runner.close()


def _upto(number: int | None) -> Iterator[int]:
    return iter(count() if number is None else range(number))


type Side = Blocking | Asynchronous
type Open = Callable[..., Side]


@pytest.fixture(params=[Blocking, Asynchronous])
def open_side(request: pytest.FixtureRequest, transport: Transport) -> Iterator[Open]:
    """Give what opens a session, blocking and asynchronous; at the end no thread and no task is left."""
    sides: list[Side] = []

    def open_one(config: ModelConfig, **settings: Any) -> Side:
        sides.append(request.param(config, transport, **settings))
        return sides[-1]

    yield open_one
    for side in sides:
        if isinstance(side, Asynchronous):
            side.end()
        else:
            side.close()


def says(*texts: str) -> Callable[[Peer, Event], None]:
    """Answer with one text after the other, each in a response of its own."""
    left = iter(texts)
    numbers = count(1)
    return lambda peer, _: peer.send(*answer(next(left), f"resp_{next(numbers)}"))


def in_turn(*steps: Callable[[Peer, Event], object]) -> Callable[[Peer, Event], None]:
    left = iter(steps)

    def script(peer: Peer, sent: Event) -> None:
        next(left)(peer, sent)

    return script


def talk(side: Side, conversation: Conversation, text: str, **settings: Any) -> Completion:
    conversation.ask(text)
    completion = side.ask(conversation.request(**settings))
    conversation.add(completion)
    return completion


def run(side: Side, rounds: int = 100, result: str = "seen") -> str:
    """Play a run whose calls are answered, with one more try after a stream that was cut, and return its answer."""
    conversation = Conversation()
    conversation.ask("Look around.")
    for _ in range(rounds):
        for _ in range(2):
            try:
                completion = side.ask(conversation.request(effort="low"))
                break
            except ResponsesError as error:
                if not error.is_transient:
                    raise
        conversation.add(completion)
        if not completion.tool_calls:
            return completion.text
        for made in completion.tool_calls:
            conversation.answer(made, f"{result} by {made.call_id}")
    raise AssertionError


def sockets_of(server: Sockets) -> list[int]:
    return [number for number, _ in server.sent]


def parents_of(server: Sockets) -> list[str | None]:
    return [sent.get("previous_response_id") for _, sent in server.sent]


# What is sent.


def test_a_run_sends_only_what_is_new(open_side: Open) -> None:
    memory = Memory(2, calls=2)
    with Sockets(memory.by_socket) as server:
        side = open_side(server.config())
        assert side.session.transport == "websocket"
        run(side)

    assert server.posted == []
    assert sockets_of(server) == [1, 1, 1]
    assert parents_of(server) == [None, "resp_1", "resp_2"]
    first, second, _ = (sent for _, sent in server.sent)
    assert first["type"] == "response.create"
    assert (first["store"], first["include"]) == (False, ["reasoning.encrypted_content"])
    assert not {"stream", "background"} & first.keys()
    assert [item["type"] for item in second["input"]] == ["function_call_output"] * 2
    same = first.keys() - {"input"}
    assert {name: second[name] for name in same} == {name: first[name] for name in same}
    assert results_of(memory.histories[-1]) == ["call_0_0", "call_0_1", "call_1_0", "call_1_1"]


def test_what_does_not_go_on_from_the_last_response_is_sent_whole(open_side: Open) -> None:
    cut = [
        *answer("Four")[:-1],
        {
            "type": "response.incomplete",
            "response": {"id": "r", "status": "incomplete", "output": [message("Four")]},
        },
    ]
    texts = says("One", "Two", "Three", "Five", "Six")
    script = in_turn(*[texts] * 3, lambda peer, _: peer.send(*cut), *[texts] * 2)
    with Sockets(script) as server:
        side, conversation = open_side(server.config()), Conversation()
        talk(side, conversation, "1")
        talk(side, conversation, "2")
        talk(side, conversation, "3", instructions="Be brief.")
        talk(side, conversation, "4", instructions="Be brief.")
        talk(side, conversation, "5", instructions="Be brief.")
        side.ask()

    assert parents_of(server) == [None, "resp_1", None, "resp_3", None, None]
    assert sockets_of(server) == [1] * 6
    assert [len(sent["input"]) for _, sent in server.sent] == [1, 1, 5, 1, 9, 1]


@pytest.mark.parametrize("kept", [None, {}])
def test_what_a_caller_has_changed_in_place_is_sent(
    open_side: Open, kept: dict[str, Any] | None
) -> None:
    def asked(text: str) -> Event:
        part = {"type": "input_text", "text": text, "prompt_cache_breakpoint": {"n": 1}}
        return {"type": "message", "role": "user", "content": [part]}

    with Sockets(says(*"12345")) as server:
        side, history = open_side(server.config(model_id="gpt-6-luna")), [asked("Secret")]
        for changed, key, value in (
            (None, "", None),
            (0, "text", "[cleared]"),
            (1, "text", "No"),  # what the model has said
            (0, "prompt_cache_breakpoint", {"n": True}),
        ):
            if changed is not None:
                history[changed]["content"][0][key] = value
            history.extend(side.ask(Request(messages=history, kept=kept)).items)
            history.append(asked("Go on."))
        history[-1]["content"][0]["text"] = object()
        with pytest.raises(InvalidRequestError, match=r"input\[8\]\.content"):
            side.ask(Request(messages=history, kept=kept))
        history[-1]["content"][0]["text"] = "Thanks."
        side.ask(Request(messages=history, kept=kept))

    assert parents_of(server) == [*[None] * 4, "resp_4"]
    assert sockets_of(server) == [1] * 5
    assert server.sent[3][1]["input"][:2] == history[:2]


@pytest.mark.parametrize(
    "item",
    [
        thought("t"),
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "Hm."}],
        },
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "q"},
        },
        {"type": "custom_tool_call", "id": "ct_1", "call_id": "c1", "name": "look", "input": "x"},
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "content": [{"type": "refusal", "refusal": "No."}],
        },
    ],
    ids=["encrypted reasoning", "open reasoning", "hosted call", "custom call", "refusal"],
)
def test_all_kinds_of_items_are_recognised(open_side: Open, item: Event) -> None:
    def script(peer: Peer, _: Event) -> None:
        peer.send(*events_of(item, *([] if item["type"] == "message" else [message("Ok")])))

    with Sockets(script) as server:
        side, conversation = open_side(server.config()), Conversation()
        conversation.ask("Go.")
        completion = side.ask(conversation.request())
        conversation.add(completion)
        for made in completion.tool_calls:
            conversation.answer(made, "Done.")
        talk(side, conversation, "On.")

    assert parents_of(server) == [None, "resp_1"]
    assert len(server.sent[1][1]["input"]) == 1 + (item["type"] == "custom_tool_call")


def test_what_a_socket_cannot_carry_goes_by_http(open_side: Open) -> None:
    done = {"id": "resp_1", "status": "completed", "output": [message("Stored")]}
    with Sockets(
        says("One", "Two"),
        by_http=lambda _: [{"type": "response.completed", "response": done, "sequence_number": 0}],
    ) as server:
        side = open_side(server.config())
        assert side.ask().text == "One"
        assert side.ask(ASKED, background=True).text == "Stored"
        assert side.ask().text == "Two"

    assert [posted["background"] for posted in server.posted] == [True]


def test_a_request_while_another_is_answered_goes_by_http(open_side: Open) -> None:
    with Sockets(says("One")) as server:
        assert open_side(server.config()).both() == ["One", "by HTTP"]


@pytest.mark.parametrize("given", [None, "mine"])
def test_our_id_of_a_request_is_known_on_both_sides(
    open_side: Open, given: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "gpt5_responses")
    headers = {"x-client-request-id": given} if given else {}
    cut = lambda peer, _: (peer.send(*answer("Half")[:2]), peer.cut())  # noqa: E731 - one
    for transport in ("websocket", "http"):
        with Sockets(cut, by_http=lambda _: answer("Half")[:2]) as server:
            side = open_side(server.config(transport=transport, extra_headers=headers))
            with pytest.raises(StreamInterruptedError) as caught:
                side.ask()
        sent = re.findall(rb"(?i)x-client-request-id: (\S+)", server.requests[0])
        assert [caught.value.client_request_id] == [name.decode() for name in sent]
        assert given in (None, caught.value.client_request_id)
        if transport == "websocket":
            assert f"{caught.value.client_request_id}, response: resp_1)" in str(caught.value)
            assert f"The request {caught.value.client_request_id} by WebSocket" in caplog.text
        else:
            assert str(caught.value.client_request_id) in caught.value.__notes__[0]


def test_without_the_setting_a_session_goes_by_http(open_side: Open) -> None:
    with Sockets(says()) as server:
        side = open_side(server.config(transport="http"))
        assert (side.session.transport, side.ask().text) == ("http", "by HTTP")

    assert server.upgrades == []


def test_no_other_transport_can_be_set() -> None:
    with pytest.raises(SettingsError, match="transport must be http or websocket") as caught:
        ModelConfig(model_id="m", api_key="k", transport="carrier pigeon")  # type: ignore[arg-type]

    assert caught.value.field == "transport"


# How it arrives.


def read(recording: Path) -> list[Event]:
    decoder = SSEDecoder()
    return [*decoder.feed(recording.read_bytes()), *decoder.close()]


def hear(side: Blocking) -> tuple[list[Any], str]:
    """Return the events of a response, and how it failed."""
    seen: list[Any] = []
    try:
        with side.session.stream(ASKED) as stream:
            seen += stream
    except ResponsesError as error:
        return seen, f"{type(error).__name__}: {str(error).partition(' (X-Client')[0]}"
    return seen, ""


def test_recorded_streams_give_the_same_events_by_both_transports(transport: Transport) -> None:
    playing: list[Event] = []

    def play(peer: Peer, _: Event) -> None:
        events = [*playing]  # The next may be playing once these have been sent.
        peer.send(*events)
        if events[-1]["type"] not in ENDS:
            peer.cut()

    heard: dict[str, dict[Path, object]] = {}
    with Sockets(play, by_http=lambda _: playing) as server:
        for name in ("http", "websocket"):
            side = Blocking(server.config(transport=name), transport)
            heard[name] = {}
            for recording in RECORDINGS:
                playing[:] = read(recording)
                heard[name][recording] = hear(side)
            side.close()

    assert len(server.posted) == len(server.sent) == len(RECORDINGS) >= 50
    assert heard["websocket"] == heard["http"]


def frame(opcode: int, payload: bytes, *, first: int = 0x80) -> bytes:
    """Return a frame as a server sends it, of any kind."""
    size = len(payload)
    sized = (
        bytes([size])
        if size < 126
        else struct.pack("!BH", 126, size)
        if size < 65536
        else struct.pack("!BQ", 127, size)
    )
    return bytes([first | opcode]) + sized + payload


def test_frames_are_read_however_they_are_split(open_side: Open) -> None:
    texts = [json.dumps(event, indent=1).encode() for event in answer("Grüße, 世界")]
    split = b"".join(
        frame(1, text[:7], first=0)
        + frame(9, b"ping")
        + frame(0, text[7:20], first=0)
        + frame(10, b"")
        + frame(0, text[20:])
        for text in texts
    )

    def drip(peer: Peer, _: Event) -> None:
        for index in range(len(split)):
            peer.peer.sendall(split[index : index + 1])

    with Sockets(in_turn(drip, lambda peer, _: peer.send_bytes(b"".join(texts[-1:])))) as server:
        side = open_side(server.config())
        assert side.ask().text == "Grüße, 世界"
        assert side.ask().text == "Grüße, 世界"  # in a frame of bytes

    assert sockets_of(server) == [1, 1]


def test_what_is_said_beside_a_response_is_passed_over(open_side: Open) -> None:
    beside = ["[DONE]", {"type": "codex.rate_limits"}, {"type": "codex.keepalive"}]

    def script(peer: Peer, _: Event) -> None:
        peer.send(*beside)
        peer.ping()
        peer.send(*answer("Hi"))
        peer.send(*beside)
        peer.ping()

    with Sockets(script) as server:
        side, conversation = open_side(server.config()), Conversation()
        assert [talk(side, conversation, text).text for text in "abc"] == ["Hi"] * 3

    assert sockets_of(server) == [1, 1, 1]


BROKEN = {
    "masked": b"\x81\x82abcd{}",
    "reserved bits": frame(1, b"{}", first=0xC0),
    "no such kind": frame(3, b"{}"),
    "no text": frame(1, b'{"\xff"}'),
    "a long ping": frame(9, b"x" * 200),
    "a piece of nothing": frame(0, b"{}"),
    "a length too long": bytes([0x81, 126, 0, 5]),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_frame_that_breaks_the_protocol_ends_the_response(open_side: Open, broken: bytes) -> None:
    def script(peer: Peer, _: Event) -> None:
        peer.send(*answer("x")[:2])
        peer.peer.sendall(broken)

    with Sockets(script) as server, pytest.raises(StreamInterruptedError) as caught:
        open_side(server.config()).ask()

    own_id = caught.value.client_request_id
    assert str(caught.value) == (
        "The connection broke off before the response was complete (the server sent a frame that breaks the WebSocket protocol). "
        f"What arrived is shown; try again for the rest. (X-Client-Request-Id: {own_id}, response: resp_1)"
    )


@pytest.mark.parametrize("before", [0, 1])
def test_a_message_over_the_bound_is_not_read(
    open_side: Open, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._http.web_socket.MOST_WHOLE_BYTES", 3 * 1024 * 1024)
    large = {"type": "response.output_text.delta", "delta": "x" * 3_200_000}
    with Sockets(lambda peer, _: peer.send(*answer("x")[:before], large)) as server:
        side = open_side(server.config())
        with pytest.raises(UnexpectedResponseError, match="it exceeds 3 MiB"):
            side.ask()


# Servers without WebSockets.


def refusing(answered: bytes) -> Callable[[socket.socket], bool]:
    def refuse(peer: socket.socket) -> bool:
        peer.sendall(answered)
        peer.shutdown(socket.SHUT_RDWR)
        return True

    return refuse


EMPTY = "content_length"
REFUSALS = {
    **{
        str(status): head(f"{status} x", content_length="0")
        for status in (200, 302, 403, 404, 405, 426, 429, 500, 503)
    },
    "cut": b"",
    "no http": b"SSH-2.0-x\r\n",
    "somebody else's": head(
        "101 x", upgrade="websocket", connection="Upgrade", sec_websocket_accept="x"
    ),
}


@pytest.mark.parametrize("answered", REFUSALS.values(), ids=REFUSALS)
def test_a_server_that_speaks_none_gets_http_at_once(
    open_side: Open, answered: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with Sockets(says(), refuse=refusing(answered)) as server:
        side = open_side(server.config())
        assert [side.ask().text for _ in range(2)] == ["by HTTP"] * 2
        assert side.session.transport == "http"
        side.close()
        side.renew()  # The next run does not pay again.
        assert side.ask().text == "by HTTP"

    assert len(server.upgrades) == 1
    assert ["requests go over HTTP" in told for told in caplog.messages] == [True]


def test_compression_that_was_not_asked_for_is_none(open_side: Open) -> None:
    def refuse(peer: socket.socket) -> bool:
        extended = (
            agree(server.upgrades[-1])[:-2]
            + b"sec-websocket-extensions: permessage-deflate\r\n\r\n"
        )
        return refusing(extended)(peer)

    with Sockets(says(), refuse=refuse) as server:
        assert open_side(server.config()).ask().text == "by HTTP"


def test_after_a_while_a_server_is_asked_again(
    open_side: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._calls.socket_session._NO_SOCKET_SECONDS", 0)
    with Sockets(
        says("One"),
        refuse=lambda peer: len(server.upgrades) == 1 and refusing(REFUSALS["404"])(peer),
    ) as server:
        side = open_side(server.config())
        assert side.ask().text == "by HTTP"
        side.renew()
        assert side.ask().text == "One"


def test_a_server_that_says_nothing_gets_http(
    open_side: Open, monkeypatch: pytest.MonkeyPatch, pause: threading.Event
) -> None:
    monkeypatch.setattr("gpt5_responses._http.web_socket._UPGRADE_SECONDS", 0.05)
    with Sockets(says(), refuse=lambda _: pause.wait(60)) as server:
        side = open_side(server.config())
        assert side.ask().text == "by HTTP"
        pause.set()


def test_a_key_that_is_not_accepted_is_told(open_side: Open) -> None:
    body = b'{"error": {"message": "No such key.", "code": "invalid_api_key"}}'
    refused = head("401 x", content_type="application/json", content_length=str(len(body))) + body
    with Sockets(says(), refuse=refusing(refused)) as server:
        side = open_side(server.config())
        with pytest.raises(AuthenticationError, match="does not accept the API key") as caught:
            side.ask()

    assert (caught.value.status_code, caught.value.code) == (401, "invalid_api_key")
    assert caught.value.client_request_id is not None
    assert server.posted == []


def test_a_server_that_cannot_be_reached_is_told_as_ever(open_side: Open) -> None:
    with Sockets(says()) as server:
        config = server.config()
    side = open_side(config)
    with pytest.raises(ResponsesError, match="refused the connection"):
        side.ask()
    assert side.session.transport == "websocket"


# Sockets that do not hold.

CUT: Script = lambda peer, _: peer.cut()  # noqa: E731 - one of a few
RESET: Script = lambda peer, _: peer.reset()  # noqa: E731 - likewise


def refusing_with(event: Event) -> Script:
    return lambda peer, _: peer.send(event)


def test_a_socket_that_was_closed_meanwhile_is_replaced(open_side: Open) -> None:
    ended = threading.Semaphore(0)

    def with_end(end: Callable[[Peer], None]) -> Script:
        def script(peer: Peer, _: Event) -> None:
            peer.send(*answer("Hi"))
            end(peer)
            ended.release()

        return script

    ends = [
        lambda peer: peer.close(1011, "keepalive ping timeout"),
        Peer.cut,
        lambda peer: peer.peer.sendall(BROKEN["masked"]),
        Peer.reset,
        lambda _: None,
    ]
    with Sockets(in_turn(*map(with_end, ends))) as server:
        side, conversation = open_side(server.config()), Conversation()
        for text in "abcde":
            assert talk(side, conversation, text).text == "Hi"
            assert ended.acquire(timeout=60)

    assert parents_of(server) == [None] * 5
    assert sockets_of(server) == [1, 2, 3, 4, 5]
    assert server.posted == []


def test_a_socket_is_replaced_before_its_server_ends_it(
    open_side: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._http.web_socket._MOST_SECONDS", 0)
    with Sockets(says("One", "Two")) as server:
        side, conversation = open_side(server.config()), Conversation()
        talk(side, conversation, "a")
        talk(side, conversation, "b")

    assert (sockets_of(server), parents_of(server)) == ([1, 2], [None, None])


def test_what_arrives_late_is_read_with_the_next_response(
    open_side: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._http.web_socket._LOOK_SECONDS", 1e-9)
    peers: list[Peer] = []

    def script(peer: Peer, _: Event) -> None:
        peers.append(peer)
        peer.send(*answer("Hi"))

    with Sockets(script) as server:
        side, conversation = open_side(server.config()), Conversation()
        for text in "ab":
            talk(side, conversation, text)
            peers[0].ping()

    assert parents_of(server) == [None, "resp_1"]


def test_a_socket_that_is_flooded_is_replaced(
    open_side: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._http.web_socket._MOST_LOOKS", 1)
    peers: list[Peer] = []

    def script(peer: Peer, _: Event) -> None:
        peers.append(peer)
        peer.send(*answer("Hi"))

    with Sockets(script) as server:
        side, conversation = open_side(server.config()), Conversation()
        talk(side, conversation, "a")
        peers[0].deliver("x" * 30_000)
        talk(side, conversation, "b")

    assert sockets_of(server) == [1, 2]


def test_a_request_that_is_not_begun_is_sent_once_more(open_side: Open) -> None:
    with Sockets(in_turn(says("One"), CUT, says("Two"), RESET, CUT)) as server:
        side, conversation = open_side(server.config()), Conversation()
        talk(side, conversation, "a")
        assert talk(side, conversation, "b").text == "Two"
        assert talk(side, conversation, "c").text == "by HTTP"
        assert side.session.transport == "http"

    assert sockets_of(server) == [1, 1, 2, 2, 3]
    assert parents_of(server) == [None, "resp_1", None, "resp_1", None]
    assert [len(posted["input"]) for posted in server.posted] == [5]


def test_a_response_that_was_cut_is_an_error_and_the_next_request_is_whole(open_side: Open) -> None:
    def cut(peer: Peer, _: Event) -> None:
        peer.send(*answer("Half")[:3])
        peer.close(1012)

    with Sockets(in_turn(says("One"), cut, says("Two"))) as server:
        side, conversation = open_side(server.config()), Conversation()
        talk(side, conversation, "a")
        with pytest.raises(StreamInterruptedError, match=r"with the code 1012\)") as caught:
            talk(side, conversation, "b")
        assert caught.value.is_transient
        assert side.ask(conversation.request()).text == "Two"

    assert (sockets_of(server), parents_of(server)) == ([1, 1, 2], [None, "resp_1", None])


LOST = {
    "not found": refusal(400, "previous_response_not_found"),
    "in a response": {
        "type": "response.failed",
        "response": {
            "id": "resp_2",
            "status": "failed",
            "error": {"code": "previous_response_not_found", "message": "Gone."},
        },
    },
    "by its parameter": {
        "type": "error",
        "error": {"message": "No.", "code": None, "param": "previous_response_id"},
    },
    "in words": {
        "type": "error",
        "status": 404,
        "error": {"message": "Previous response with id 'resp_1' not found."},
    },
    "a result of nothing": {
        "type": "error",
        "status": 400,
        "error": {"message": "No tool call found for function call output with call_id c."},
    },
}


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_a_parent_that_is_not_known_any_more_costs_one_whole_request(
    open_side: Open, lost: Event
) -> None:
    steps = [says("One"), refusing_with(lost), says("Two"), says("Three")]
    with Sockets(in_turn(*steps)) as server:
        side, conversation = open_side(server.config()), Conversation()
        talk(side, conversation, "a")
        assert talk(side, conversation, "b").text == "Two"
        assert talk(side, conversation, "c").text == "Three"

    # Who does not say that it has forgotten the response may never know one.
    is_known = "previous_response_not_found" in json.dumps(lost)
    assert parents_of(server) == [None, "resp_1", None, "resp_1" if is_known else None]
    assert sockets_of(server) == [1] * 4


def test_a_connection_at_its_limit_is_replaced(open_side: Open) -> None:
    limit = refusing_with({**refusal(400, "websocket_connection_limit_reached"), "status": None})
    with Sockets(in_turn(says("One"), limit, says("Two"), limit, limit)) as server:
        side, conversation = open_side(server.config()), Conversation()
        talk(side, conversation, "a")
        assert talk(side, conversation, "b").text == "Two"
        with pytest.raises(InvalidRequestError, match="limit_reached") as caught:
            side.ask()
        assert caught.value.status_code == 400

    assert sockets_of(server) == [1, 1, 2, 2, 3]


def test_a_refusal_is_the_error_of_http(open_side: Open) -> None:
    with Sockets(
        in_turn(lambda peer, _: peer.send(refusal(400, "bad_value")), says("Two"))
    ) as server:
        side = open_side(server.config())
        with pytest.raises(InvalidRequestError) as caught:
            side.ask()
        assert side.ask().text == "Two"

    own_id = caught.value.client_request_id
    assert str(caught.value) == (
        "The server refused the request (status 400), code 'bad_value': bad_value. "
        f"(X-Client-Request-Id: {own_id})"
    )
    assert f"x-client-request-id: {own_id}".encode() in server.upgrades[0].lower()


def test_a_rate_limit_is_waited_for(open_side: Open) -> None:
    limit = refusing_with(refusal(429, "slow_down", **{"Retry-After": "0.01"}))
    with Sockets(in_turn(says("One"), limit, says("Two"), limit, limit)) as server:
        side, conversation = open_side(server.config(max_retries=1)), Conversation()
        talk(side, conversation, "a")
        assert talk(side, conversation, "b").text == "Two"
        with pytest.raises(RateLimitError):
            side.ask()

    assert parents_of(server) == [None, "resp_1", None, None, None]


def test_what_a_server_does_not_know_is_left_out(open_side: Open) -> None:
    unknown = {
        "type": "error",
        "status": 400,
        "error": {
            "message": "Unknown parameter: 'include'.",
            "param": "include",
            "code": "unknown_parameter",
        },
    }
    with Sockets(
        in_turn(lambda peer, _: peer.send(unknown), says("One", "Two"), says("Two"))
    ) as server:
        side, conversation = open_side(server.config()), Conversation()
        assert talk(side, conversation, "a").text == "One"
        assert talk(side, conversation, "b").text == "Two"

    assert ["include" in sent for _, sent in server.sent] == [True, False, False]
    assert parents_of(server) == [None, None, "resp_1"]


def test_an_error_within_a_response_is_that_of_a_stream(open_side: Open) -> None:
    late = {"type": "error", "status": 503, "code": "odd", "message": "Gone."}
    plain = {"type": "error", "code": "odd", "message": "Gone."}
    with Sockets(
        in_turn(
            lambda peer, _: peer.send(*answer("x")[:2], late),
            lambda peer, _: peer.send(plain),
            says("Two"),
        )
    ) as server:
        side = open_side(server.config())
        with pytest.raises(ResponsesError, match="failed to answer") as caught:
            side.ask()
        assert (caught.value.status_code, caught.value.code) == (503, "odd")
        with pytest.raises(ResponseFailedError, match="Gone"):
            side.ask()
        assert side.ask().text == "Two"


def test_a_request_that_is_too_large_for_a_socket_goes_by_http(open_side: Open) -> None:
    with Sockets(in_turn(lambda peer, _: peer.close(1009), says("One"))) as server:
        side = open_side(server.config())
        assert [side.ask().text for _ in range(2)] == ["by HTTP"] * 2
        side.renew()
        assert side.ask().text == "One"

    assert sockets_of(server) == [1, 2]


@pytest.mark.parametrize("begun", [0, 2])
def test_silence_ends_by_the_usual_limit_and_pings_do_not_count(
    open_side: Open, begun: int, pause: threading.Event
) -> None:
    def script(peer: Peer, _: Event) -> None:
        peer.send(*answer("x")[:begun])
        with suppress(OSError):
            while not pause.wait(0.02):
                peer.ping()

    with Sockets(script) as server:
        side = open_side(server.config())
        # The setting begins at 30 s.
        object.__setattr__(side.client._connection, "timeout_seconds", 0.2)
        with pytest.raises(ConnectionTimeoutError, match=r"in time.*X-Client-Request-Id: "):
            side.ask()
        pause.set()

    assert server.posted == []


def test_the_limit_of_a_whole_call_counts(open_side: Open, pause: threading.Event) -> None:
    with Sockets(lambda *_: pause.wait(60)) as server:
        side = open_side(server.config(total_seconds=0.2))
        with pytest.raises(ConnectionTimeoutError, match="exceeded its total time limit"):
            side.ask()
        pause.set()


# Whoever leaves.


def test_a_response_that_is_left_closes_the_socket(open_side: Open) -> None:
    begun = lambda peer, _: peer.send(*answer("One")[:1])  # noqa: E731 - one of two
    with Sockets(in_turn(begun, says("Two"))) as server:
        side = open_side(server.config())
        assert len(side.read(ASKED, events=1)) == 1
        assert side.ask().text == "Two"

    assert sockets_of(server) == [1, 2]


def test_a_session_that_was_closed_opens_another_socket(open_side: Open) -> None:
    with Sockets(says("One", "Two")) as server:
        side = open_side(server.config())
        side.ask()
        side.close()
        side.close()
        assert side.ask().text == "Two"

    assert sockets_of(server) == [1, 2]


def test_closing_a_session_that_opens_its_socket_changes_nothing(transport: Transport) -> None:
    with Sockets(says("One"), refuse=lambda _: session.close() is not None) as server:
        session = ResponsesClient(server.config(), transport=transport).session()
        assert session.complete(ASKED).text == "One"
        session.close()


def test_closing_a_session_ends_what_is_read(transport: Transport, pause: threading.Event) -> None:
    def script(peer: Peer, _: Event) -> None:
        peer.send(*answer("x")[:2])
        pause.wait(60)

    with Sockets(script) as server:
        session = ResponsesClient(server.config(), transport=transport).session()
        stream = session.stream(ASKED)
        events = iter(stream)
        next(events)
        assert stream.client_request_id is not None
        session.close()
        with pytest.raises(StreamInterruptedError, match="the connection broke off"):
            list(events)
        pause.set()


def test_closing_a_session_whose_response_has_not_begun_asks_nobody_again(
    transport: Transport,
) -> None:
    with Sockets(lambda *_: session.close()) as server:
        session = ResponsesClient(server.config(), transport=transport).session()
        with pytest.raises(StreamInterruptedError, match="the connection broke off"):
            session.complete(ASKED)

    assert sockets_of(server) == [1]
    assert server.posted == []


# Runs.


@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=pytest.mark.long)])
def test_a_run_that_is_cut_anywhere_comes_to_the_same_answer(open_side: Open, rounds: int) -> None:
    memories = [Memory(rounds, calls=2)]
    script: Script = lambda peer, sent: memories[-1].by_socket(peer, sent)  # noqa: E731, PLW0108 - the last one by then
    with Sockets(script) as server:
        side = open_side(server.config())
        expected, whole = run(side), memories[-1]
        places = [
            [*[None] * turn, event]
            for turn, size in enumerate(whole.sizes)
            for event in range(size)
        ]
        # Both kinds send by the same steps, so one of them need not be cut everywhere.
        least = 1 if isinstance(side, Blocking) else 9
        for cuts in places[:: max(len(places) // 200, least)]:
            memories.append(Memory(rounds, calls=2, cuts=cuts))
            assert run(side) == expected
            assert results_of(memories[-1].histories[-1]) == results_of(whole.histories[-1])
            assert memories[-1].cut == 1

    assert server.posted == []
