"""The second turn of a conversation whose agent has called tools in the first, with and without the parameter `remember_turns`."""

import asyncio
import statistics
import time
from typing import Any

from dify_plugin_host import AgentRequest, CallOrigin, PluginHost, PythonTool, ToolParameter
from gpt5_simulator import (
    FunctionCall,
    ModelRequest,
    Reasoning,
    ResponsesSimulator,
    Text,
    Turn,
)

from ._pairs import MODEL, OURS


_PAGES = 4
_CHARACTERS = 20_000
_SECONDS = 0.5
_SENTENCE = "The quick brown fox jumps over the lazy dog. "
_QUERIES = ("Look everything up.", "And what does it come to?")


class _Reader:
    """A model that looks a page up unless it has it before it."""

    def respond(self, request: ModelRequest) -> Turn:
        known = sum(item.get("type") == "function_call_output" for item in request.items)
        if known < _PAGES:
            call = FunctionCall(name="look_up", arguments={"page": known + 1})
            return [Reasoning(summary=(_SENTENCE,)), call]
        return [Reasoning(summary=(_SENTENCE,)), Text(text=_SENTENCE)]


async def _look_up(page: int) -> str:
    await asyncio.sleep(_SECONDS)
    return f"Page {page}. {_SENTENCE * (_CHARACTERS // len(_SENTENCE))}"


_TOOL = PythonTool(
    name="look_up",
    description="Returns a page.",
    parameters=(ToolParameter(name="page", hint=int, type="number"),),
    function=_look_up,
)


def measure_memory(repetitions: int) -> str:
    """Return the table: the second turn without the memory and with it, as medians."""
    rows = asyncio.run(_measure(repetitions))
    lines = ["| second turn | without | with |", "|---|---|---|"]
    for name in rows[False][0]:
        without, kept = (
            statistics.median(one[name] for one in rows[is_on]) for is_on in (False, True)
        )
        lines.append(f"| {name} | {_write(without)} | {_write(kept)} |")
    return "\n".join(lines)


def _write(figure: float) -> str:
    return f"{figure:,.0f}" if figure == int(figure) else f"{figure:.2g}"


async def _measure(repetitions: int) -> dict[bool, list[dict[str, float]]]:
    rows: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    for repetition in range(repetitions):
        for is_on in (False, True):
            with ResponsesSimulator(model=_Reader()) as simulator:
                async with OURS.host(simulator.base_url, [_TOOL]) as host:
                    name = f"{repetition} {is_on}"
                    rows[is_on].append(await _converse(host, name, remembers=is_on))
    return rows


async def _converse(host: PluginHost, conversation: str, *, remembers: bool) -> dict[str, float]:
    history: list[dict[str, Any]] = []
    row: dict[str, float] = {}
    for query in _QUERIES:
        request = AgentRequest(
            query=query,
            strategy=OURS.strategy,
            model=MODEL,
            history=history,
            parameters={"maximum_iterations": 10, "remember_turns": remembers},
            origin=CallOrigin(conversation_id=conversation, app_id="app"),
        )
        began, calls, cached, text = time.perf_counter(), 0, 0, ""
        told: dict[str, Any] = {}
        async for message in host.run(request):
            content = message["message"]
            match message["type"]:
                case "text":
                    text += content["text"]
                case "json":
                    told = content["json_object"]["execution_metadata"]
                case "log" if (
                    content["label"] == f"{MODEL} Thought" and content["status"] == "success"
                ):
                    calls += 1
                    cached += content["data"]["output"]["prompt_cache"]["read_from_cache"]
                case _:
                    pass
        row = {
            "model calls": calls,
            "input tokens": told["prompt_tokens"],
            "of them from the prompt cache": cached,
            "output tokens": told["completion_tokens"],
            "price, US dollars": float(told["total_price"]),
            "seconds": time.perf_counter() - began,
        }
        history += [{"role": "user", "content": query}, {"role": "assistant", "content": text}]
    return row
