"""The rows about agent runs: both plugins of a pair, a scripted model behind them, and tools that do as told."""

import asyncio
import time

from dify_plugin_host import AgentRequest, PluginHost, PythonTool, ToolParameter
from gpt5_simulator import FunctionCall, Reasoning, ResponsesSimulator, ScriptedModel, Text, Turn

from ._pairs import MODEL, Pair
from ._requests import share_of_extending, share_of_reasoning_kept
from ._table import Figures
from ._usage import cpu_seconds


_PARALLEL_CALLS = 4
_TOOL_SECONDS = 0.5
_ROUNDS = 30  # the most that our strategies allow
_RESULT_CHARACTERS = 20_000
_SENTENCE = "The quick brown fox jumps over the lazy dog. "


async def measure_runs(pair: Pair) -> Figures:
    """Make a run with parallel calls and a long one, and then the long one again where `opaque_body` is lost."""
    turns = [*_parallel_turns(), *_long_turns()]
    with ResponsesSimulator(model=ScriptedModel(turns)) as simulator:
        async with pair.host(simulator.base_url, _TOOLS) as host:
            parallel_seconds = await _time_tools(pair, host)
            before = len(simulator.requests)
            cpu = await _measure_run(pair, host)
            bodies = [request.body for request in simulator.requests[before:]]
    return {
        "parallel_tools": parallel_seconds,
        "run_cpu": cpu,
        "reasoning_kept": share_of_reasoning_kept(bodies),
        "reasoning_kept_without": await _measure_without_opaque_body(pair),
        "extending": share_of_extending(bodies),
    }


async def _measure_without_opaque_body(pair: Pair) -> float:
    with ResponsesSimulator(model=ScriptedModel(_long_turns())) as simulator:
        async with pair.host(simulator.base_url, _TOOLS, drops_opaque_body=True) as host:
            await _measure_run(pair, host)
        return share_of_reasoning_kept([request.body for request in simulator.requests])


async def _time_tools(pair: Pair, host: PluginHost) -> float:
    """Make a run and return the seconds from the end of the first thought to the end of its round."""
    ends: dict[str, float] = {}
    async for message in host.run(_request(pair)):
        content = message["message"]
        if message["type"] == "log" and content["status"] == "success":
            ends.setdefault(content["label"], time.perf_counter())
    return ends["ROUND 1"] - ends[f"{MODEL} Thought"]


async def _measure_run(pair: Pair, host: PluginHost) -> float:
    """Make a run to its end and return the processor seconds of both plugins."""
    before = _cpu_of_all(host)
    async for _ in host.run(_request(pair)):
        pass
    return _cpu_of_all(host) - before


def _cpu_of_all(host: PluginHost) -> float:
    return sum(cpu_seconds(plugin.pid) for plugin in host.plugins)


def _request(pair: Pair) -> AgentRequest:
    return AgentRequest(
        query="Look everything up.",
        strategy=pair.strategy,
        model=MODEL,
        parameters={"maximum_iterations": _ROUNDS},
    )


def _parallel_turns() -> list[Turn]:
    calls = [FunctionCall(name="wait", arguments={"turn": n}) for n in range(_PARALLEL_CALLS)]
    return [[Reasoning(summary=(_SENTENCE,)), *calls], [Text(text=_SENTENCE)]]


def _long_turns() -> list[Turn]:
    rounds: list[Turn] = [
        [
            Reasoning(summary=(_SENTENCE,)),
            FunctionCall(name="look_up", arguments={"page": page}),
        ]
        for page in range(1, _ROUNDS)
    ]
    return [*rounds, [Text(text=_SENTENCE)]]


async def _wait(turn: int) -> str:
    await asyncio.sleep(_TOOL_SECONDS)
    return f"It was turn {turn}."


def _look_up(page: int) -> str:
    repeated = _RESULT_CHARACTERS // len(_SENTENCE) + 1
    return f"Page {page}. {_SENTENCE * repeated}"[:_RESULT_CHARACTERS]


_TOOLS = (
    PythonTool(
        name="wait",
        description="Waits for half a second.",
        parameters=(ToolParameter(name="turn", hint=int, type="number"),),
        function=_wait,
    ),
    PythonTool(
        name="look_up",
        description="Returns a page.",
        parameters=(ToolParameter(name="page", hint=int, type="number"),),
        function=_look_up,
    ),
)
