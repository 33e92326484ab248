"""A server that streams one recorded response to everybody, in a process of its own.

The simulator makes the recording, but does not serve it: building and checking a response anew costs about as much per event as the
plugins do, which would slow them down and take one of the machine's cores. This one only sends.
"""

import asyncio
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from gpt5_simulator import ResponsesSimulator, ScriptedModel, Text


DELTAS = 400
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_END = b"0\r\n\r\n"


@contextmanager
def stream_server(deltas: int = DELTAS) -> Generator[str]:
    """Serve a stream of so many text deltas while the `with` block runs, and give out the server's URL.

    `URL/20/v1` is the base URL for a pause of 20 ms before each event, `URL/0/v1` for as fast as it goes.
    """
    with TemporaryDirectory() as folder:
        recording = Path(folder) / "response.sse"
        recording.write_bytes(_record(deltas))
        command = [sys.executable, "-m", __name__, str(recording)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own module
            assert process.stdout is not None  # noqa: S101 - a pipe was asked for
            try:
                yield process.stdout.readline().strip()
            finally:
                process.terminate()


def _record(deltas: int) -> bytes:
    turn = [Text(text="word" + " word" * (deltas - 1))]
    request = {"model": "gpt-5.2", "input": "Say it.", "stream": True}
    with ResponsesSimulator(model=ScriptedModel([turn])) as simulator:
        headers = {"authorization": "Bearer benchmark"}
        url = f"{simulator.base_url}/responses"
        return httpx.post(url, json=request, headers=headers).raise_for_status().content


class _Server:
    """A server that answers every request of every connection with the same events."""

    def __init__(self, recording: bytes) -> None:
        events = [event + b"\n\n" for event in recording.split(b"\n\n") if event]
        self._chunks = [b"%x\r\n%b\r\n" % (len(event), event) for event in events]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests until the client closes it."""
        try:
            while True:
                seconds = await _read_request(reader)
                await self._send(writer, seconds)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, pause_seconds: float) -> None:
        writer.write(_HEAD)
        due = asyncio.get_running_loop().time()
        for chunk in self._chunks:
            due += pause_seconds
            # Also without a pause the others get their turn, so that all streams run side by side, event by event.
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
            writer.write(chunk)
            await writer.drain()
        writer.write(_END)


async def _read_request(reader: asyncio.StreamReader) -> float:
    """Read a request to its end and return the pause that its path asks for, in seconds."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    request_line, *lines = head.split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines if line)
    await reader.readexactly(int(headers["content-length"]))
    return int(request_line.split("/")[1]) / 1000


async def _serve(recording: bytes) -> None:
    handler = _Server(recording)
    server = await asyncio.start_server(handler.answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)  # noqa: T201 - how the parent learns of it
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]).read_bytes()))
