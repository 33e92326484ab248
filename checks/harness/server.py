"""One server for all harnesses: the model, played by the simulator, and the tools.

A relay stands before the simulator. It knows by a request's text which run it belongs to, asks the simulator for the
fault that is due, and changes the events where the simulator has no fault for it. The tools of all harnesses are one
request to it, so that what was called, and with what, is seen in one place.
"""

import base64
import functools
import http.client
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from gpt5_simulator import ModelRequest, ResponsesSimulator, Turn

from .mutations import Case
from .script import Script, canonical, receipt


MOST_MODEL_CALLS = 60
_MOST_BYTES = 1_000_000
_TOO_LONG = "http;status=400;code=context_length_exceeded;message=Your input exceeds the context window of this model."
_FLOOD_CHARACTERS = 2_000_000
_LATE_SECONDS, _SLOW_SECONDS = 2, 3
_KINDS = ("turn", "fault", "wire", "tool")
_HEADERS = ("Content-Type", "retry-after")
_KEY = re.compile(r'(?:Case |_)(t\d+)[."]')

type Event = dict[str, Any]


@dataclass(kw_only=True)
class Run:
    """A run of a case, as the server sees it.

    Attributes:
        requests: The bodies of its model calls.
        outside: The tool calls that were made and that the model had not asked for.
        made: How often each call was made.
        seen_at: When something last came from it.
        struck: What has gone wrong in it, by the fields of its mutation.
    """

    case: Case
    requests: list[bytes] = field(default_factory=list[bytes])
    outside: list[str] = field(default_factory=list[str])
    made: Counter[str] = field(default_factory=Counter[str])
    seen_at: float = field(default_factory=time.monotonic)
    struck: set[str] = field(default_factory=set[str])
    hits: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    _receipts: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        """Begin its world, and its model."""
        self.script = Script(self.case)
        self.world = self.case.task.begin()
        self._places = {
            canonical(*call): (step, index)
            for step, calls in enumerate(self.case.task.gold)
            for index, call in enumerate(calls)
        }

    def is_done(self) -> bool:
        """Tell whether the state is the gold one."""
        return self.world.state() == self.case.task.gold_state()

    def is_hit(self, body: str) -> bool:
        """Take a request, and tell whether it is one for which things go wrong."""
        task = self.case.task
        with self.lock:
            self._receipts.update(re.findall(r"\[receipt \S+\]", body))
            place = len(task.gold) if self.case.last else self.case.step
            is_there = all(
                receipt(self.case, step, index) in self._receipts
                for step in range(place)
                for index in range(len(task.gold[step]))
            )
            if is_hit := is_there and self._is_due():
                self.struck |= {"fault", "wire"}
            return is_hit

    def call(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make a tool call, and return what the tool is to do: return a text or bytes, raise, or never return."""
        tool = self.case.task.tool(name)
        assert tool is not None
        arguments = tool.canonical(given)
        made = canonical(name, arguments)
        with self.lock:
            is_meant = made == canonical(*self.case.meant)
            # A tool without a trouble must not use up the fault of an answer that is still to come.
            trouble = self.case.mutation.tool
            trouble = trouble if trouble and is_meant and self._is_due() else ""
            self.struck |= {"tool"} if trouble else set()
            if trouble in {"fail", "hang"}:
                return {trouble: "The connection to the service was refused."}
            self.made[made] += 1
            if self.made[made] > self.script.asked[made] or name == self.script.refused_tool:
                self.outside.append(made)
            try:
                result = self.world.call(tool.original, arguments)
            except Exception as error:  # noqa: BLE001 - the data's own tools raise what they like
                return {"fail": str(error)}
        text = json.dumps(result, ensure_ascii=False, default=str)
        if made in self._places:
            text = f"{receipt(self.case, *self._places[made])} {text}"
        return _TROUBLES.get(trouble, lambda whole: {"text": whole})(text)

    def find_missed(self) -> set[str]:
        """Return what should have gone wrong by its mutation and has not, as where the run ended before."""
        struck = self.struck | {"turn" if self.script.said is not None else ""}
        return {name for name in _KINDS if getattr(self.case.mutation, name)} - struck

    def _is_due(self) -> bool:
        self.hits += 1
        return not self.case.mutation.times or self.hits <= self.case.mutation.times


def _late(text: str) -> dict[str, Any]:
    time.sleep(_LATE_SECONDS)
    return {"text": text}


_TROUBLES: dict[str, Callable[[str], dict[str, Any]]] = {
    "flood": lambda text: {"text": text + " and so on" * (_FLOOD_CHARACTERS // 10)},
    "late": _late,
    "odd": lambda text: {"text": f"{text} \0 \ud83d"},
    "binary": lambda text: {
        "bytes": base64.b64encode(b"\x89PNG\r\n\x1a\n\0\xff\xfe" + text.encode()).decode()
    },
}


class HarnessServer:
    """The server, while its `with` block runs.

    Attributes:
        base_url: Where the model is.
        tools_url: Where the tools are.
        runs: The runs by the keys of their tasks.
    """

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self._simulator = ResponsesSimulator(model=self)
        self._stopping = threading.Event()
        handler = functools.partial(_Handler, self)
        self._http = _HttpServer(("127.0.0.1", 0), handler)
        root = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.base_url, self.tools_url = f"{root}/v1", f"{root}/tools/"

    def __enter__(self) -> Self:
        """Start."""
        self._simulator.__enter__()
        threading.Thread(target=self._http.serve_forever, args=[0.05], daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop."""
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._simulator.__exit__(None, None, None)

    def respond(self, request: ModelRequest) -> Turn:
        """Answer a request, as the simulator's model."""
        run = self.find_run(json.dumps([request.body, request.items]))
        assert run is not None
        return run.script.respond(request)

    def find_run(self, text: str) -> Run | None:
        """Return the run that a request belongs to."""
        found = _KEY.search(text)
        return self.runs.get(found[1]) if found else None

    def use_tool(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make a tool call of the run whose tool has that name."""
        run = self.runs[name.rpartition("_")[2]]
        run.seen_at = time.monotonic()
        done = run.call(name, given)
        if "hang" in done:
            self._stopping.wait()
        run.seen_at = time.monotonic()
        return done

    def forward(
        self, method: str, path: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[http.client.HTTPResponse, Callable[[Event], Event | None] | None]:
        """Hand a request on to the simulator, with the fault that is due; return its answer, and how its events change on their way."""
        text = raw.decode()
        run = self.find_run(text) if path.endswith("/responses") else None
        sent = {name: headers.get(name, "") for name in ("Authorization", "Content-Type")}
        sent |= {"Connection": "close", "x-simulator-fault": "none"}
        wire = ""
        if run is not None:
            run.seen_at = time.monotonic()
            run.requests.append(raw)
            mutation = run.case.mutation
            is_hit = (mutation.fault or mutation.wire) and run.is_hit(text)
            wire = mutation.wire if is_hit else ""
            if len(raw) > _MOST_BYTES:
                sent["x-simulator-fault"] = _TOO_LONG
            elif len(run.requests) > MOST_MODEL_CALLS:
                self._stopping.wait()
            elif is_hit and mutation.fault:
                sent["x-simulator-fault"] = mutation.fault
            if wire == "slow":
                time.sleep(_SLOW_SECONDS)
        address = urlsplit(self._simulator.base_url)
        connection = http.client.HTTPConnection(str(address.hostname), address.port)
        connection.request(method, path, raw, sent)
        return connection.getresponse(), _WIRES.get(wire)


def _incomplete(event: Event) -> Event:
    """Say that the output limit was reached, as OpenAI does: in the last item, which is the only one with a status, and in the response."""
    if event["type"] == "response.output_item.done" and "status" in event["item"]:
        return event | {"item": event["item"] | {"status": "incomplete"}}
    if event["type"] != "response.completed":
        return event
    *items, last = event["response"]["output"]
    response = event["response"] | {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [*items, last | {"status": "incomplete"}],
    }
    return event | {"type": "response.incomplete", "response": response}


def _sparse(event: Event) -> Event | None:
    kept = {"response.created", "response.output_item.done", "response.completed"}
    return event if event["type"] in kept else None


def _usage(event: Event) -> Event:
    usage = event.get("response", {}).get("usage")
    if not usage:
        return event
    other = {"prompt_tokens": usage["input_tokens"], "completion_tokens": usage["output_tokens"]}
    return event | {"response": event["response"] | {"usage": other}}


# What becomes of an event on its way: it, another one, or none.
_WIRES: dict[str, Callable[[Event], Event | None]] = {
    "incomplete": _incomplete,
    "sparse": _sparse,
    "usage": _usage,
}


class _HttpServer(ThreadingHTTPServer):
    def handle_error(self, *arguments: object) -> None:
        """Say nothing of clients that leave or are killed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, server: HarnessServer, *arguments: Any) -> None:
        self._harness = server
        super().__init__(*arguments)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._relay(b"")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.path.startswith("/tools/"):
            self._relay(raw)
            return
        done = self._harness.use_tool(self.path.removeprefix("/tools/"), json.loads(raw))
        self._send(200, {"Content-Type": "application/json"}, [json.dumps(done).encode()])

    def _send(self, status: int, headers: Mapping[str, str], chunks: Iterable[bytes]) -> None:
        self.send_response(status)
        for name, value in (*headers.items(), ("Transfer-Encoding", "chunked")):
            self.send_header(name, value)
        self.end_headers()
        try:
            for chunk in chunks:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.write(b"0\r\n\r\n")
        except http.client.IncompleteRead:
            self.close_connection = True  # cut by the simulator, and so for the client

    def _relay(self, raw: bytes) -> None:
        answer, change = self._harness.forward(self.command, self.path, self.headers, raw)
        kept = {name: answer.headers[name] for name in _HEADERS if name in answer.headers}
        with answer:
            self._send(answer.status, kept, _iter_changed(answer, change))


def _iter_changed(
    answer: http.client.HTTPResponse, change: Callable[[Event], Event | None] | None
) -> Iterator[bytes]:
    if change is None:
        while chunk := answer.read1(65_536):
            yield chunk
        return
    if answer.headers["Content-Type"] == "application/json":  # whoever does not stream
        whole = change({"type": "response.completed", "response": json.load(answer)})
        yield json.dumps(whole and whole["response"]).encode()
        return
    for line in answer:
        if line.startswith(b"data:") and (event := change(json.loads(line[5:]))):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
