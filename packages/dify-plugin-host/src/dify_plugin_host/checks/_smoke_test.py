"""A smoke test of an installed plugin: one start, and one call of its model or of each strategy."""

import asyncio
import functools
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dify_plugin_host._errors import PluginHostError
from dify_plugin_host._json import JsonObject, object_at
from dify_plugin_host._settings import HostSettings
from dify_plugin_host.platform import (
    ANSWER,
    MODEL_VALUE,
    LLMRequest,
    PluginHost,
    answer_scripted,
    build_strategy_parameters,
    open_server,
)
from dify_plugin_host.plugin import PluginFolder, Strategy, strategies
from dify_plugin_host.process import PluginProcess
from dify_plugin_host.tools import builtin_tools


_SETTINGS = HostSettings(call_timeout_seconds=60)
_VALUES: dict[str, Callable[[], Any]] = {
    "model-selector": lambda: MODEL_VALUE,
    "array[tools]": lambda: [tool.to_entity() for tool in builtin_tools()],
    "string": lambda: "hello",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeTestResult:
    """A plugin's start and calls, all of which went well.

    Attributes:
        start_seconds: How long the first heartbeat took.
        calls: What was called and answered.
    """

    start_seconds: float
    calls: tuple[str, ...]


def smoke_test(folder: Path) -> SmokeTestResult:
    """Start a plugin, call its model or each of its strategies once, and end it.

    A model is asked for through the simulator, a strategy gets a model that calls one tool and then answers.

    Raises:
        PluginHostError: If it does not start, or a call fails or comes to nothing.
    """
    plugin = PluginFolder.read(folder)
    with open_server({"PATH": os.environ.get("PATH", os.defpath)}) as server:
        return asyncio.run(_try(plugin, server.credentials, server.environment))


async def _try(
    plugin: PluginFolder, credentials: Mapping[str, str], environment: Mapping[str, str]
) -> SmokeTestResult:
    started = time.monotonic()
    if plugin.has("models"):
        host = PluginHost(
            plugin, credentials=credentials, settings=_SETTINGS, environment=environment
        )
        async with host:
            seconds = time.monotonic() - started
            calls = [await _ask_model(host)]
    else:
        backwards = functools.partial(answer_scripted, plugin)
        process = PluginProcess(
            plugin, settings=_SETTINGS, backwards=backwards, environment=environment
        )
        async with process:
            seconds = time.monotonic() - started
            calls = [await _run(process, strategy) for strategy in strategies(plugin)]
    return SmokeTestResult(start_seconds=seconds, calls=tuple(calls))


async def _ask_model(host: PluginHost) -> str:
    models = host.model_providers[0].models
    if not models:
        raise PluginHostError("expected at least one predefined model, to call it")
    message = {"role": "user", "content": "hello"}
    chunks = host.invoke_llm(LLMRequest(model=models[0], messages=[message]))
    text = [_chunk_text(chunk) async for chunk in chunks]
    return _answered(models[0], "".join(text), expected="")


def _chunk_text(chunk: JsonObject) -> str:
    return str(object_at(object_at(chunk, "delta"), "message").get("content") or "")


async def _run(process: PluginProcess, strategy: Strategy) -> str:
    given = {
        name: _VALUES[str(parameter.get("type"))]()
        for name, parameter in strategy.parameters.items()
        if parameter.get("required") and str(parameter.get("type")) in _VALUES
    }
    data = {
        "agent_strategy_provider": strategy.provider,
        "agent_strategy": strategy.name,
        "agent_strategy_params": build_strategy_parameters(strategy, given),
    }
    context: JsonObject = {"credentials": {"tool_credentials": {}}}
    answer = process.invoke("agent_strategy", "invoke_agent_strategy", data, context=context)
    text = [_message_text(message) async for message in answer]
    return _answered(strategy.name, "".join(text), expected="".join(ANSWER))


def _message_text(message: JsonObject) -> str:
    return str(object_at(message, "message").get("text") or "")


def _answered(name: str, text: str, *, expected: str) -> str:
    if not text:
        raise PluginHostError(f"{name}: expected an answer with text, got none")
    if expected not in text:
        raise PluginHostError(f"{name}: expected {expected!r} in the answer, got {text[:200]!r}")
    return name
