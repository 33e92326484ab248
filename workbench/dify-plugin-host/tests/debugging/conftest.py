import contextlib
import itertools
import json
import queue
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest


SHOUT = """
def answer(request, text):
    said = text.upper()
    if text.startswith("wait"):
        breakpoint()
    wire.stream(request, {"type": "text", "message": {"text": said}, "meta": None})
    if text.startswith("fail"):
        wire.error(request, "ValueError", "out of breath")

wire.ready()
for request in wire.requests():
    answer(request, request["data"]["tool_parameters"]["text"])
    wire.end(request)
"""


class Editor:
    """The side of a debugger that people see, as far as these tests need it: it speaks the Debug Adapter Protocol."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._file = self._socket.makefile("rb")
        self._numbers = itertools.count(1)
        self._messages = []

    def attach(self, *breakpoints):
        """Attach, with breakpoints, each a file and the beginning of a line."""
        self._ask("initialize", adapterID="debugpy")
        number = self._send("attach", justMyCode=True)
        self.event("initialized")
        for path, text in breakpoints:
            lines = [line.strip().startswith(text) for line in path.read_text().splitlines()]
            where = [{"line": lines.index(True) + 1}]
            self._ask("setBreakpoints", source={"path": str(path)}, breakpoints=where)
        self._ask("configurationDone")
        self._read(lambda message: message.get("request_seq") == number)
        return self

    def stopped(self):
        """Wait until the plugin stands still; return the reason, the line, and the local variables."""
        event = self.event("stopped")
        self._thread = event["threadId"]
        frame = self._ask("stackTrace", threadId=self._thread)["stackFrames"][0]
        local, *_ = self._ask("scopes", frameId=frame["id"])["scopes"]
        found = self._ask("variables", variablesReference=local["variablesReference"])
        values = {one["name"]: one["value"] for one in found["variables"]}
        lines = Path(frame["source"]["path"]).read_text().splitlines()
        return event["reason"], lines[frame["line"] - 1].strip(), values

    def go(self, command="continue"):
        """Let the plugin go on, as `command` says."""
        self._ask(command, threadId=self._thread)

    def leave(self):
        """Disconnect, and let the plugin run on."""
        self._ask("disconnect", terminateDebuggee=False)
        self.close()

    def close(self):
        self._file.close()
        self._socket.close()

    def event(self, name):
        return self._read(lambda message: message.get("event") == name).get("body")

    def _ask(self, command, **arguments):
        number = self._send(command, **arguments)
        answer = self._read(lambda message: message.get("request_seq") == number)
        assert answer["success"], answer
        return answer.get("body")

    def _send(self, command, **arguments):
        number = next(self._numbers)
        request = {"seq": number, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(request).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        return number

    def _read(self, is_wanted):
        """Return the first message that is wanted, and keep the others."""
        while not (found := [message for message in self._messages if is_wanted(message)]):
            if not (head := self._file.readline()):
                raise ConnectionAbortedError
            length = int(head.removeprefix(b"Content-Length: "))
            assert self._file.readline() == b"\r\n"
            self._messages.append(json.loads(self._file.read(length)))
        self._messages.remove(found[0])
        return found[0]


class Desk:
    """Somebody with editors, who reads the notices of plugins."""

    def __init__(self, stack):
        self._stack = stack
        self._texts = queue.SimpleQueue()

    def read(self, notice):
        """Take a notice of a plugin."""
        self._texts.put(notice.text)

    def find_port(self):
        """Wait for the notice with the address; return the port."""
        address = re.compile(r"waiting for a debugger on 127\.0\.0\.1:(\d+)$")
        while not (found := address.search(self._texts.get(timeout=120))):
            pass
        return int(found[1])

    def attach(self, port, *breakpoints):
        """Attach an editor as soon as the debugger listens, and not somebody who had the port before it."""
        for _ in range(2_400):
            with contextlib.suppress(ConnectionError):
                editor = Editor(port)
                self._stack.callback(editor.close)
                return editor.attach(*breakpoints)
            time.sleep(0.05)
        raise AssertionError(port)


@pytest.fixture(scope="module")
def desk():
    with contextlib.ExitStack() as stack:
        yield Desk(stack)


@pytest.fixture(scope="session")
def meanwhile():
    """Return a function that runs another one in a thread, and returns its future."""
    with ThreadPoolExecutor() as pool:
        yield pool.submit


@pytest.fixture(scope="module")
def shout(make_shared_plugin):
    """Write a plugin with a tool that gives back its text in capitals."""
    folder = make_shared_plugin(SHOUT, plugins={"tools": ["p.yaml"]})
    text = {"name": "text", "type": "string", "required": True, "form": "llm"}
    tools = [{"identity": {"name": "shout"}, "parameters": [text]}]
    (folder / "p.yaml").write_text(json.dumps({"identity": {"name": "p"}, "tools": tools}))
    return folder
