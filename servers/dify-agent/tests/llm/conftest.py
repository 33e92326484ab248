import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from dify_agent.adapters.llm import DifyLLMAdapterModel, DifyPluginDaemonProvider


API_KEY = "daemon-key-0123456789"
CREDENTIALS = {"api_key": "sk-model-key-0123456789"}


def frame(data: object, *, code: int = 0, message: str = "success") -> bytes:
    envelope = {"code": code, "message": message, "data": data}
    return f"data: {json.dumps(envelope)}\n\n".encode()


@dataclass
class Daemon:
    """The peer: answers each call with the next list of chunks, and keeps what it was asked."""

    answers: list[Any] = field(default_factory=list)
    requests: list[httpx.Request] = field(default_factory=list)
    schema: Any = None
    """What is answered when a model's schema is asked for: the schema, bytes of a frame, or what to raise."""
    schema_requests: list[httpx.Request] = field(default_factory=list)

    @staticmethod
    def chunk(content: object = "", **rest: Any) -> dict[str, Any]:
        """Build a chunk as a plugin's SDK writes it; `tool_calls` and `opaque_body` go into its message."""
        message = {
            "role": "assistant",
            "content": content,
            "name": None,
            "tool_calls": rest.pop("tool_calls", []),
            "opaque_body": rest.pop("opaque_body", None),
        }
        delta = {"index": 0, "message": message, "usage": None, "finish_reason": None, **rest}
        return {"model": "gpt-5", "prompt_messages": [], "system_fingerprint": None, "delta": delta}

    @staticmethod
    def call(call_id: str | None, name: str | None, arguments: str | None) -> dict[str, Any]:
        return {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }

    @staticmethod
    def usage(**figures: Any) -> dict[str, Any]:
        """Build usage as a plugin's SDK writes it, with its figures as text."""
        return {
            "prompt_tokens": 0,
            "prompt_unit_price": "0",
            "prompt_price_unit": "0",
            "prompt_price": "0",
            "completion_tokens": 0,
            "completion_unit_price": "0",
            "completion_price_unit": "0",
            "completion_price": "0",
            "total_tokens": 0,
            "total_price": "0",
            "currency": "USD",
            "latency": 0.5,
            **figures,
        }

    @staticmethod
    def error(error_type: str, message: str) -> bytes:
        """Build the frame of an error in a plugin, nested the way the daemon nests it."""
        inner = json.dumps({"args": {}, "error_type": error_type, "message": message})
        outer = json.dumps({"message": inner, "error_type": "PluginInvokeError", "args": None})
        return frame(None, code=-500, message=outer)

    def reply(self, *chunks: object) -> "Daemon":
        """Answer the next call with these chunks; bytes go out as they are."""
        self.answers.append(chunks)
        return self

    def handle(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/model/schema"):
            self.schema_requests.append(request)
            if isinstance(self.schema, Exception):
                raise self.schema
            told = self.schema
            body = told if isinstance(told, bytes) else frame({"model_schema": told})
            return httpx.Response(200, content=body)
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, httpx.Response | Exception):
            return self._special(answer)
        body = b"".join(part if isinstance(part, bytes) else frame(part) for part in answer)
        return httpx.Response(200, content=body, headers={"Content-Type": "text/event-stream"})

    @staticmethod
    def _special(answer: httpx.Response | Exception) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.requests]

    @property
    def sent(self) -> dict[str, Any]:
        """The data of the last request."""
        return self.bodies[-1]["data"]

    def provider(self, **settings: Any) -> DifyPluginDaemonProvider:
        known = {
            "tenant_id": "tenant-1",
            "plugin_id": "langgenius/openai",
            "plugin_daemon_url": "http://daemon:5002/",
            "plugin_daemon_api_key": API_KEY,
            "http_client": httpx.AsyncClient(transport=httpx.MockTransport(self.handle)),
        }
        return DifyPluginDaemonProvider(**{**known, **settings})

    def model(
        self, provider: DifyPluginDaemonProvider | None = None, **settings: Any
    ) -> DifyLLMAdapterModel:
        known = {"model_provider": "openai", "credentials": CREDENTIALS}
        return DifyLLMAdapterModel("gpt-5", provider or self.provider(), **{**known, **settings})

    async def ask(
        self,
        *messages: ModelMessage,
        settings: ModelSettings | None = None,
        parameters: ModelRequestParameters | None = None,
        model: DifyLLMAdapterModel | None = None,
    ) -> ModelResponse:
        """Ask a model of this daemon, and return the whole answer."""
        history = list(messages) or [ModelRequest.user_text_prompt("hi")]
        return await (model or self.model()).request(
            history, settings, parameters or ModelRequestParameters()
        )

    async def ask_for(self, *messages: ModelMessage) -> list[dict[str, Any]]:
        """Return the prompt messages that a history becomes."""
        self.reply(self.chunk("ok"))
        await self.ask(*messages)
        return self.sent["prompt_messages"]

    async def stream(self, *, model: DifyLLMAdapterModel | None = None) -> tuple[list[Any], Any]:
        """Ask in the streaming form; return the events and the answer."""
        history = [ModelRequest.user_text_prompt("hi")]
        async with (model or self.model()).request_stream(
            history, None, ModelRequestParameters()
        ) as response:
            events = [event async for event in response]
        return events, response.get()


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


@pytest.fixture(scope="session")
def make_daemon() -> Callable[[], Daemon]:
    return Daemon


@dataclass
class SlowDaemon:
    """A real server that sends what it is told to, and notices when the client has gone."""

    url: str = ""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    pieces: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)

    def send(self, chunk: object) -> None:
        self.pieces.put_nowait(frame(chunk))

    def break_off(self) -> None:
        """Close the connection in the middle of the reply."""
        self.pieces.put_nowait(None)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        self.asked.set()
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        sending = asyncio.create_task(self._send_pieces(writer))
        with contextlib.suppress(ConnectionResetError):
            await reader.read()  # returns when the client closes its side
        self.gone.set()
        sending.cancel()
        writer.close()

    async def _send_pieces(self, writer: asyncio.StreamWriter) -> None:
        while (piece := await self.pieces.get()) is not None:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
        writer.close()


@pytest.fixture
async def slow_daemon() -> AsyncIterator[SlowDaemon]:
    daemon = SlowDaemon()
    async with _serving(daemon):
        yield daemon


@asynccontextmanager
async def _serving(daemon: SlowDaemon) -> AsyncIterator[None]:
    server = await asyncio.start_server(daemon.serve, "127.0.0.1", 0)
    async with server:
        daemon.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield
