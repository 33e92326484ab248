"""A server that answers many keys at once, in every way a server can, and notices what one key tells of another."""

import asyncio
import json
import re
import threading
from typing import Any, Self


_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_WORDS = 12
SAID_BEFORE_THE_END = 6  # words of a stream that is cut or fails


def words(mark: str) -> list[str]:
    """Return the words of the answer to a stream; each says whose it is."""
    return [f"{mark}w{number} " for number in range(_WORDS)]


def kind_of(number: int) -> str:
    """Return how the stream of a number ends; every tenth in another way."""
    kinds = {1: "cut", 2: "refused", 3: "failed", 4: "abandoned", 5: "call", 6: "call"}
    return kinds.get(number % 10, "whole")


class SoakServer:
    """A server in a thread of its own. The user's message is the mark of the stream, such as `k7s123`; its key is `key-7`.

    Attributes:
        base_url: Where it is.
        open_connections: How many connections it has at the moment.
        strangers: Marks of other keys than the request's own that stood in a request.
        replayed: How many requests came with the reasoning of their own conversation.
    """

    def __init__(self) -> None:
        self.open_connections = 0
        self.strangers: list[str] = []
        self.replayed = 0
        self.base_url = ""
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._is_over.set)
        self._thread.join(timeout=30)

    async def _run(self) -> None:
        self._loop, self._is_over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        await self._is_over.wait()
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open_connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the plugin has gone, or the server goes
        finally:
            self.open_connections -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request, and return whether the connection may be used again."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        (length,) = re.findall(r"content-length: (\d+)", head)
        (key,) = re.findall(r"authorization: bearer key-(\d+)", head)
        body = json.loads(await reader.readexactly(int(length)))
        mark = self._look_at(body, f"k{key}s")
        kind = kind_of(int(mark.partition("s")[2]))
        if kind == "refused":
            told = json.dumps({"error": {"message": f"{mark} too fast", "code": "rate_limit"}})
            writer.write(
                f"HTTP/1.1 429 No\r\ncontent-length: {len(told)}\r\ncontent-type: application/json\r\n\r\n{told}".encode()
            )
            return True
        writer.write(_HEAD)
        is_answered = any(item.get("type") == "function_call_output" for item in body["input"])
        for event in _events(mark, "whole" if is_answered else kind):
            data = b"data: " + json.dumps(event).encode() + b"\n\n"
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0)
        if kind == "cut":
            return False
        writer.write(b"0\r\n\r\n")
        return True

    def _look_at(self, body: dict[str, Any], own: str) -> str:
        """Return the mark of a request, and note whatever it has of other keys or streams."""
        marks = re.findall(r"k\d+s\d+", json.dumps(body["input"]))
        self.strangers += [mark for mark in marks if mark != marks[0] or not mark.startswith(own)]
        self.replayed += f"the thought of {marks[0]}" in json.dumps(body["input"])
        return marks[0]


def _events(mark: str, kind: str) -> list[dict[str, Any]]:
    said = words(mark)
    deltas = [
        {"type": "response.output_text.delta", "output_index": 1, "delta": word} for word in said
    ]
    if kind == "cut":
        return deltas[:SAID_BEFORE_THE_END]
    if kind == "failed":
        error = {"code": "server_error", "message": f"{mark} failed"}
        failed = {"type": "response.failed", "response": {"status": "failed", "error": error}}
        return [*deltas[:SAID_BEFORE_THE_END], failed]
    thought = {"type": "reasoning", "summary": [], "encrypted_content": f"the thought of {mark}"}
    message = {"type": "message", "content": [{"type": "output_text", "text": "".join(said)}]}
    # Every other one has the id that all have: what is remembered under it must not be taken for somebody else's.
    call_id = f"call_{mark}" if mark.endswith("5") else "call_0"
    call = {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}
    output = [thought, call if kind == "call" else message]
    usage = {"input_tokens": 3, "output_tokens": _WORDS}
    response = {"status": "completed", "output": output, "usage": usage}
    return [
        *(deltas if kind != "call" else []),
        {"type": "response.completed", "response": response},
    ]
