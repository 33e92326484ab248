"""Calling the plugin's process from ordinary tests."""

import asyncio
import base64
import struct
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from dify_plugin_host import Notice, PluginInvokeError, PluginProcess


PLUGIN = Path(__file__).parent.parent
PROVIDER = "openai_gpt5_responses"
# The tests' servers speak plain HTTP. Each has an address of its own, so that each gets a client of its own, and to read the machine's
# certificates costs a client more than everything else.
NO_CERTIFICATES = {"SSL_CERT_DIR": str(Path(__file__).parent)}


def png(width: int, height: int, data: bytes = b"") -> str:
    """Return what a picture of this size begins with, and some data, in base64."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)
    return base64.b64encode(head + b"\x08\2\0\0\0" + data).decode()


class Server(Protocol):
    """Whatever can be called."""

    @property
    def base_url(self) -> str: ...


@dataclass
class Answer:
    """What one call of the plugin came to."""

    chunks: list[dict[str, Any]] = field(default_factory=list)
    error: PluginInvokeError | None = None

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.texts)

    @property
    def texts(self) -> list[tuple[str, Any]]:
        """The text of each chunk, with what its part carries."""
        contents = [chunk["delta"]["message"]["content"] for chunk in self.chunks]
        return [
            (content, None)
            if isinstance(content, str)
            else (content[0].get("data", ""), content[0]["opaque_body"])
            for content in contents
        ]

    @property
    def images(self) -> list[dict[str, Any]]:
        contents = [chunk["delta"]["message"]["content"] for chunk in self.chunks]
        parts = [part for content in contents if isinstance(content, list) for part in content]
        return [part for part in parts if part["type"] == "image"]

    @property
    def last(self) -> dict[str, Any]:
        return self.chunks[-1]["delta"]

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        return [
            (call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in self.last["message"]["tool_calls"]
        ]


class ModelPlugin:
    """The plugin's process, called from ordinary tests."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, folder: Path = PLUGIN, **environment: str
    ) -> None:
        self.notices: list[Notice] = []
        self._loop = loop
        self._process = PluginProcess(
            folder,
            on_notice=self.notices.append,
            environment={"PATH": "/usr/bin:/bin", **NO_CERTIFICATES, **environment},
        )

    def _run[Value](self, act: Coroutine[Any, Any, Value]) -> Value:
        return asyncio.run_coroutine_threadsafe(act, self._loop).result()

    def start(self) -> None:
        self._run(self._process.start())

    def stop(self) -> None:
        self._run(self._process.stop())

    def invoke(
        self,
        server: Server,
        messages: str | Sequence[Mapping[str, Any]] = "Hello",
        *,
        key: str = "key",
        credentials: Mapping[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        if credentials is None:
            credentials = credentials_for(server, key)
        data = _call_data(messages, credentials=credentials, **request)
        return self._run(self._collect("invoke_llm", data))

    def invoke_all(self, calls: Iterable[Mapping[str, Any]], *, at_once: int) -> list[Answer]:
        """Make many calls, so many of them at the same time; the answers come in the order of the calls.

        Of a call with `most_chunks` no more are read.
        """
        return self._run(self._collect_all(calls, at_once))

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def peak_memory_bytes(self) -> int:
        """The most memory that the process has had so far."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        (kilobytes,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
        return int(kilobytes) * 1024

    def call(self, action: str, **data: Any) -> Answer:
        return self._run(self._collect(action, data))

    def validate(self, server: Server, *, model: str | None = None, **credentials: str) -> Answer:
        complete = {**credentials_for(server, "key"), **credentials}
        if model is None:
            return self.call("validate_provider_credentials", credentials=complete)
        return self.call("validate_model_credentials", model=model, credentials=complete)

    async def _collect_all(self, calls: Iterable[Mapping[str, Any]], at_once: int) -> list[Answer]:
        slots = asyncio.Semaphore(at_once)

        async def collect(call: Mapping[str, Any]) -> Answer:
            data = dict(call)
            most_chunks = data.pop("most_chunks", None)
            async with slots:
                return await self._collect(
                    "invoke_llm", _call_data(**data), most_chunks=most_chunks
                )

        return await asyncio.gather(*(collect(call) for call in calls))

    async def _collect(
        self, action: str, data: Mapping[str, Any], *, most_chunks: int | None = None
    ) -> Answer:
        answer = Answer()
        user_id = str(data.get("user_id", "user"))
        named = {"provider": PROVIDER, "model_type": "llm", **data}
        try:
            async with aclosing(
                self._process.invoke("model", action, named, user_id=user_id)
            ) as chunks:
                async for chunk in chunks:
                    answer.chunks.append(chunk)
                    if len(answer.chunks) == most_chunks:
                        break
        except PluginInvokeError as error:
            answer.error = error
        return answer


def credentials_for(server: Server, key: str) -> dict[str, str]:
    return {"openai_api_key": key, "openai_api_base": server.base_url, "max_retries": "0"}


def _call_data(
    messages: str | Sequence[Mapping[str, Any]] = "Hello", **request: Any
) -> dict[str, Any]:
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    return {
        "model": "gpt-5.2",
        "prompt_messages": list(messages),
        "model_parameters": {},
        "tools": [],
        "stop": None,
        "stream": True,
        **request,
    }
