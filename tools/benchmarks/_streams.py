"""The rows about model calls: many streams at once, through one model plugin."""

import asyncio
import time
from statistics import median

from dify_plugin_host import PluginProcess

from ._pairs import MODEL, Pair, build_credentials
from ._server import DELTAS
from ._table import Figures
from ._usage import cpu_seconds, resident_bytes


_STREAMS = 50
_PAUSE_MILLISECONDS = 20
_PREPARATION_SECONDS = 2  # Dify seldom calls a plugin in the moment in which it has started


async def measure_streams(pair: Pair, server: str) -> Figures:
    """Start the model plugin and measure one call, then many streams at full speed, then as many paced ones.

    It has had time to prepare before the first.
    """
    started = time.perf_counter()
    async with pair.model_plugin() as plugin:
        start_seconds = time.perf_counter() - started
        await asyncio.sleep(_PREPARATION_SECONDS)
        caller = _Caller(pair, plugin)
        first_call_seconds = await caller.first_chunk_seconds(f"{server}/0/v1")
        fast = await caller.measure_many(f"{server}/0/v1")
        memory = resident_bytes(plugin.pid)
        paced = await caller.measure_many(f"{server}/{_PAUSE_MILLISECONDS}/v1")
    return {
        "fast_cpu": fast.cpu_per_delta,
        "paced_cpu": paced.cpu_per_delta,
        "fast_first_chunk": fast.first_chunk_seconds,
        "paced_first_chunk": paced.first_chunk_seconds,
        "first_call": first_call_seconds,
        "start": start_seconds,
        "memory": memory,
    }


class _Measured:
    """What many streams came to."""

    def __init__(self, cpu: float, first_chunks: list[float]) -> None:
        self.cpu_per_delta = cpu / (_STREAMS * DELTAS)
        self.first_chunk_seconds = median(first_chunks)


class _Caller:
    """A caller of one running model plugin."""

    def __init__(self, pair: Pair, plugin: PluginProcess) -> None:
        self._pair = pair
        self._plugin = plugin

    async def measure_many(self, base_url: str) -> _Measured:
        """Read many streams at the same time."""
        before = cpu_seconds(self._plugin.pid)
        calls = (self.first_chunk_seconds(base_url) for _ in range(_STREAMS))
        first_chunks = await asyncio.gather(*calls)
        return _Measured(cpu_seconds(self._plugin.pid) - before, first_chunks)

    async def first_chunk_seconds(self, base_url: str) -> float:
        """Read one stream to its end and return how long its first words took."""
        started = time.perf_counter()
        first = None
        words = 0
        async for chunk in self._plugin.invoke("model", "invoke_llm", self._request(base_url)):
            text = chunk["delta"]["message"]["content"]
            if text and first is None:
                first = time.perf_counter() - started
            words += text.count("word")
        if first is None or words != DELTAS:
            raise RuntimeError(f"{self._pair.owner}: expected {DELTAS} words, got {words}")
        return first

    def _request(self, base_url: str) -> dict[str, object]:
        return {
            "provider": self._pair.provider,
            "model_type": "llm",
            "model": MODEL,
            "credentials": build_credentials(base_url),
            "prompt_messages": [{"role": "user", "content": "Say it."}],
            "model_parameters": {},
            "tools": [],
            "stop": None,
            "stream": True,
        }
