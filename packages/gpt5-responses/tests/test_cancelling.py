"""Requests that are cancelled wherever they wait leave no connection open."""

import asyncio
import gc
import json
from contextlib import suppress
from itertools import count

from wire import SILENT, head

from gpt5_responses import AsyncResponsesClient, ModelConfig, Request


BODY = json.dumps(SILENT).encode()
ANSWER = head(content_type="application/json", content_length=str(len(BODY))) + BODY
REFUSAL = head("404 Not Found", content_length="0")
ASKED = Request(messages=[{"role": "user", "content": "Hi"}])


class Server:
    """A server that counts its open connections, and answers by HTTP alone."""

    def __init__(self) -> None:
        self.open = 0
        self.is_left = asyncio.Event()
        self.is_left.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.is_left.clear()
        with suppress(OSError, asyncio.IncompleteReadError):
            while line := await reader.readline():
                size = 0
                while (field := await reader.readline()) != b"\r\n":
                    name, _, value = field.partition(b":")
                    size = int(value) if name.lower() == b"content-length" else size
                await reader.readexactly(size)
                writer.write(REFUSAL if line.startswith(b"GET") else ANSWER)
        writer.close()
        self.open -= 1
        if not self.open:
            self.is_left.set()


async def test_a_cancelled_request_leaves_no_connection() -> None:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    config = ModelConfig(
        model_id="gpt-5.2", api_key="k", base_url=f"http://{host}:{port}/v1", transport="websocket"
    )
    gc.disable()  # It would close what is left.
    try:
        for steps in count():
            async with AsyncResponsesClient(config) as client, client.session() as session:
                asking = asyncio.create_task(session.complete(ASKED))
                for _ in range(steps):
                    await asyncio.sleep(0)
                asking.cancel()
                with suppress(asyncio.CancelledError):
                    await asking
                    break
        await asyncio.wait_for(server.is_left.wait(), 60)
    finally:
        gc.enable()
        listening.close()
