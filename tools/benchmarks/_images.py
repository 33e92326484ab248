"""The row about images: what the model plugin's process spends on each megabyte that it hands on."""

import base64
import random

from dify_plugin_host import PluginProcess

from ._pairs import MODEL, Pair, build_credentials
from ._server import stream_server
from ._table import Figures
from ._usage import cpu_seconds


_IMAGE_BYTES = 1_000_000
_IMAGES = 4  # in a call
_CALLS = 40
_DELTAS = (
    4  # of an answer: a long one would cost more than the images, and differ by more than they cost
)


async def measure_images(pair: Pair) -> Figures:
    """Start the model plugin, and compare calls with images to as many calls without."""
    with stream_server(_DELTAS) as server:
        async with pair.model_plugin() as plugin:
            caller = _Caller(pair, plugin, f"{server}/0/v1")
            await caller.cpu_of_calls(images=_IMAGES, calls=1)
            without = await caller.cpu_of_calls(images=0, calls=_CALLS)
            cpu = await caller.cpu_of_calls(images=_IMAGES, calls=_CALLS) - without
    return {"image_cpu": cpu / (_CALLS * _IMAGES * _IMAGE_BYTES / 1e6)}


class _Caller:
    """A caller of one running model plugin."""

    def __init__(self, pair: Pair, plugin: PluginProcess, base_url: str) -> None:
        self._pair = pair
        self._plugin = plugin
        self._base_url = base_url

    async def cpu_of_calls(self, *, images: int, calls: int) -> float:
        """Return the processor time of so many calls, one after the other, in seconds."""
        request = self._request(images)
        before = cpu_seconds(self._plugin.pid)
        for _ in range(calls):
            chunks = [chunk async for chunk in self._plugin.invoke("model", "invoke_llm", request)]
            if not chunks:
                raise RuntimeError(f"{self._pair.owner}: no answer")
        return cpu_seconds(self._plugin.pid) - before

    def _request(self, images: int) -> dict[str, object]:
        noise = random.Random(0)  # noqa: S311 - it only has to look like an image's data
        parts = [
            {
                "type": "image",
                "format": "png",
                "mime_type": "image/png",
                "base64_data": base64.b64encode(noise.randbytes(_IMAGE_BYTES)).decode(),
                "url": "",
                "detail": "high",
            }
            for _ in range(images)
        ]
        return {
            "provider": self._pair.provider,
            "model_type": "llm",
            "model": MODEL,
            "credentials": build_credentials(self._base_url),
            "prompt_messages": [
                {"role": "user", "content": [*parts, {"type": "text", "data": "What is this?"}]}
            ],
            "model_parameters": {},
            "tools": [],
            "stop": None,
            "stream": True,
        }
