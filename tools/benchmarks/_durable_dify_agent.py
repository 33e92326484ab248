"""What a served run of dify-agent needs around it.

`… daemon` answers its model calls, `… alone URL N` prints what each of N runs costs without any server.
"""

import asyncio
import json
import sys

import httpx

from dify_agent.layers.dify_plugin import DifyPluginLayerConfig, DifyPluginLLMLayerConfig
from dify_agent.protocol import CreateRunRequest, RunComposition, RunEvent, RunLayerSpec
from dify_agent.runtime.layer_providers import create_default_layer_providers
from dify_agent.runtime.runner import AgentRunRunner

from ._usage import tell_cost


_DELTAS = 20


def build_request() -> CreateRunRequest:
    """Return a composition that asks the model once."""
    model = DifyPluginLLMLayerConfig(
        plugin_id="acme/llm", model_provider="acme", model="fake", credentials={"api_key": "key"}
    )
    layers = [
        RunLayerSpec(name="prompt", type="plain.prompt", config={"user": "Say hello"}),
        RunLayerSpec(
            name="plugin", type="dify.plugin", config=DifyPluginLayerConfig(tenant_id="tenant-1")
        ),
        RunLayerSpec(name="llm", type="dify.plugin.llm", deps={"plugin": "plugin"}, config=model),
    ]
    return CreateRunRequest(composition=RunComposition(layers=layers))


class _Nowhere:
    """A sink that keeps nothing."""

    async def emit(self, event: RunEvent, /) -> None:
        """Forget an event."""


async def _run_alone(daemon_url: str, number: int) -> None:
    providers = create_default_layer_providers(
        plugin_daemon_url=daemon_url, plugin_daemon_api_key="key"
    )
    async with httpx.AsyncClient(timeout=60, trust_env=False) as http_client:
        runner = AgentRunRunner(
            http_client=http_client, event_sink=_Nowhere(), layer_providers=providers
        )
        await tell_cost(lambda: runner.run("run-1", build_request()), number)


def _build_answer() -> bytes:
    frames: list[str] = []
    for number in range(_DELTAS):
        text = f"The quick brown fox {number} "
        message = {"role": "assistant", "content": text, "tool_calls": []}
        reason = "stop" if number == _DELTAS - 1 else None
        delta = {"index": 0, "message": message, "finish_reason": reason}
        data = {"model": "fake", "prompt_messages": [], "delta": delta}
        frames.append(f"data: {json.dumps({'code': 0, 'message': 'success', 'data': data})}\n\n")
    body = "".join(frames).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a connection's requests, of which each has a length."""
    answer = _build_answer()
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = head.lower().partition(b"content-length:")[2].split()[0]
            await reader.readexactly(int(length))
            writer.write(answer)
            await writer.drain()
    except asyncio.IncompleteReadError:
        writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)  # noqa: T201 - how the parent learns of it
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "daemon":
        asyncio.run(_serve())
    else:
        asyncio.run(_run_alone(sys.argv[2], int(sys.argv[3])))
