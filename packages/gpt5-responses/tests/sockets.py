"""A server that answers by HTTP and by WebSocket, remembers as OpenAI's does, and fails as a test says."""

import hashlib
import json
import os
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from wire import Wire, arrive, body_of, frames, head, whole
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
from wsproto.utilities import generate_accept_token

from gpt5_responses import ModelConfig


type Event = dict[str, Any]
type Script = Callable[["Peer", Event], object]


class Peer:
    """One WebSocket, seen from the server."""

    def __init__(self, peer: socket.socket) -> None:
        self.peer = peer
        # Else a small frame may wait for the client to acknowledge the one before.
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._frames = Connection(ConnectionType.SERVER)

    def __iter__(self) -> Iterator[Event]:
        """Yield what the client sends, until it goes."""
        begun = ""
        with suppress(OSError):
            while data := self.peer.recv(65536):
                self._frames.receive_data(data)
                for event in self._frames.events():
                    if isinstance(event, CloseConnection):
                        return
                    if isinstance(event, TextMessage):
                        begun += event.data
                        if event.message_finished:
                            yield json.loads(begun)
                            begun = ""

    def frame(self, event: object) -> bytes:
        text = event if isinstance(event, str) else json.dumps(event)
        return self._frames.send(TextMessage(data=text))

    def send(self, *events: object) -> None:
        """Send events, each in a frame of its own."""
        self.peer.sendall(b"".join(map(self.frame, events)))

    def deliver(self, *events: object) -> None:
        """Send events, and wait until they have arrived."""
        self.send(*events)
        arrive(self.peer)

    def send_bytes(self, data: bytes) -> None:
        self.peer.sendall(self._frames.send(BytesMessage(data=data)))

    def ping(self) -> None:
        self.peer.sendall(self._frames.send(Ping(payload=b"there?")))

    def close(self, code: int, reason: str = "") -> None:
        self.peer.sendall(self._frames.send(CloseConnection(code=code, reason=reason)))
        self.cut()

    def cut(self) -> None:
        self.peer.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        """End the connection as a process does that dies."""
        self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.peer.detach())  # `close` would wait for whoever reads its lines


def is_upgrade(request: bytes) -> bool:
    return request.startswith(b"GET ") and b"\r\nsec-websocket-key:" in request.lower()


def agree(request: bytes) -> bytes:
    """Return the answer that agrees to a WebSocket."""
    fields = dict(
        line.split(": ", 1) for line in request.decode("latin-1").split("\r\n") if ": " in line
    )
    named = {name.lower(): value for name, value in fields.items()}
    token = generate_accept_token(named["sec-websocket-key"].strip().encode()).decode()
    return head(
        "101 Switching Protocols",
        upgrade="websocket",
        connection="Upgrade",
        sec_websocket_accept=token,
    )


class Sockets(Wire):
    """A server whose WebSockets follow a script.

    Args:
        script: Called with each request of a WebSocket.
        by_http: Answers a request by HTTP; by default with an answer that says so.
        refuse: Answers an upgrade in the place of a WebSocket; returns whether it has.

    Attributes:
        sent: The requests of all WebSockets, each with the number of its socket.
        posted: The bodies of the requests by HTTP.
        upgrades: The heads of the upgrades.
    """

    def __init__(
        self,
        script: Script,
        *,
        by_http: Callable[[Event], Iterable[Event]] | None = None,
        refuse: Callable[[socket.socket], bool] = lambda _: False,
    ) -> None:
        super().__init__(self._answer_one)
        self.sent: list[tuple[int, Event]] = []
        self.posted: list[Event] = []
        self.upgrades: list[bytes] = []
        self._script = script
        self._by_http = by_http or (lambda _: answer("by HTTP"))
        self._refuse = refuse

    def config(self, **settings: Any) -> ModelConfig:
        given = {"model_id": "gpt-5.2", "api_key": "k", "max_retries": 0, "price": None}
        return ModelConfig(
            **{**given, "base_url": self.base_url, "transport": "websocket", **settings}
        )

    def _answer_one(self, peer: socket.socket) -> None:
        request = self.requests[-1]
        if not is_upgrade(request):
            self.posted.append(body_of(request))
            body = frames(self._by_http(self.posted[-1]))
            whole(body, content_type="text/event-stream")(peer)
            return
        self.upgrades.append(request)
        if self._refuse(peer):
            return
        peer.sendall(agree(request))
        number, talk = len(self.upgrades), Peer(peer)
        for sent in talk:
            self.sent.append((number, sent))
            with suppress(OSError):
                self._script(talk, sent)
        peer.close()


def message(text: str, item_id: str = "msg_1") -> Event:
    part = {"type": "output_text", "text": text, "annotations": []}
    fields = {"type": "message", "id": item_id, "role": "assistant", "status": "completed"}
    return {**fields, "content": [part]}


def call(call_id: str, arguments: str = "{}") -> Event:
    fields = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "look"}
    return {**fields, "arguments": arguments, "status": "completed"}


def thought(text: str) -> Event:
    return {"type": "reasoning", "id": f"rs_{text}", "summary": [], "encrypted_content": text * 9}


def events_of(*items: Event, response_id: str = "resp_1") -> list[Event]:
    """Return the events of a response that holds these items."""
    told: list[Event] = [
        {"type": kind, "response": {"id": response_id, "status": "in_progress", "output": []}}
        for kind in ("response.created", "response.in_progress")
    ]
    for index, item in enumerate(items):
        told.append({"type": "response.output_item.added", "output_index": index, "item": item})
        told.append({"type": "response.output_item.done", "output_index": index, "item": item})
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    done = {"id": response_id, "status": "completed", "output": [*items], "usage": usage}
    told.append({"type": "response.completed", "response": done})
    return [{**event, "sequence_number": number} for number, event in enumerate(told)]


def answer(text: str, response_id: str = "resp_1") -> list[Event]:
    return events_of(message(text), response_id=response_id)


def refusal(status: int, code: str, **headers: str) -> Event:
    error = {"type": "x", "code": code, "message": f"{code}.", "param": None, "headers": headers}
    return {"type": "error", "status": status, "error": error}


class Memory:
    """A model that looks `rounds` times, with `calls` calls each, and then answers with a digest of all that it has read.

    Args:
        rounds: How many rounds of calls it makes.
        calls: How many calls each has.
        cuts: After how many events each response breaks off; None, or the end of the cuts, for a whole one.

    Attributes:
        histories: What it has read for each response, however that arrived.
        sizes: How many events each response has.
        cut: How many responses have broken off.
    """

    def __init__(self, rounds: int, *, calls: int = 1, cuts: Iterable[int | None] = ()) -> None:
        self.histories: list[list[Event]] = []
        self.sizes: list[int] = []
        self.cut = 0
        self._rounds = rounds
        self._calls = calls
        self._cuts = iter(cuts)
        self._known: dict[Peer, tuple[str, list[Event]]] = {}

    def by_socket(self, peer: Peer, sent: Event) -> None:
        parent = sent.get("previous_response_id")
        known_id, known = self._known.pop(peer, ("", []))
        if parent is not None and parent != known_id:
            peer.send(refusal(400, "previous_response_not_found"))
            return
        history = [*(known if parent else ()), *sent["input"]]
        response_id, items = self._go_on(history)
        told = events_of(*items, response_id=response_id)
        cut = next(self._cuts, None)
        self.sizes.append(len(told))
        if cut is not None and cut < len(told):
            self.cut += 1
            peer.send(*told[:cut])
            peer.cut()
            return
        self._known[peer] = response_id, [*history, *items]
        peer.send(*told)

    def by_http(self, posted: Event) -> list[Event]:
        response_id, items = self._go_on(posted["input"])
        return events_of(*items, response_id=response_id)

    def _go_on(self, history: list[Event]) -> tuple[str, list[Event]]:
        self.histories.append(history)
        outputs = [item for item in history if item.get("type") == "function_call_output"]
        done = len(outputs) // self._calls
        response_id = f"resp_{len(self.histories)}"
        if done == self._rounds:
            read = json.dumps([(item["call_id"], item["output"]) for item in outputs])
            return response_id, [message(hashlib.sha256(read.encode()).hexdigest())]
        calls = [call(f"call_{done}_{index}") for index in range(self._calls)]
        return response_id, [thought(f"t{done}"), *calls]


def results_of(history: Iterable[Mapping[str, Any]]) -> list[str]:
    return [item["call_id"] for item in history if item.get("type") == "function_call_output"]
