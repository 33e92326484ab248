"""A smoke test of an installed plugin: load its declarations with its SDK, start it, and call its model or each strategy once.

A plugin that exits, or streams an object that the platform refuses, would break when used. One that answers with an error of its own is not
broken as far as we can tell: it may need other parameters, or a better model.
"""

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dify_plugin_host._errors import PluginInvokeError
from dify_plugin_host._platform.model_server import open_server
from dify_plugin_host._platform.models import LLMRequest
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._platform.scripted_peer import ANSWER, answer_scripted
from dify_plugin_host._plugin.declarations import Strategy
from dify_plugin_host._process.plugin_process import PluginProcess
from dify_plugin_host._settings import HostSettings
from dify_plugin_packager.declarations import PluginFolder
from dify_plugin_packager.json_access import JsonObject, object_at
from dify_plugin_packager.packaging import run_program, search_path
from dify_plugin_packager.rules import Finding

from . import load_with_sdk as program
from .made_up_calls import strategy_data, takes


_SETTINGS = HostSettings(call_timeout_seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeTestResult:
    """The result of a plugin's start and calls.

    Attributes:
        start_seconds: The time until the first heartbeat.
        calls: The models and strategies that were called and answered.
        findings: The findings about wrong or odd answers.
    """

    start_seconds: float
    calls: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def smoke_test(folder: Path) -> SmokeTestResult:
    """Start a plugin, call its model or each of its strategies once, and end it.

    A model is answered by the simulator, if its credentials can name such a server; a strategy gets a model that calls one tool and then
    answers. Other plugins are only started.

    Raises:
        PluginHostError: If it does not start, or ends in a call.
    """
    plugin = PluginFolder.read(folder)
    # Without OPENAI_API_KEY and OPENAI_BASE_URL, so that the simulator answers.
    with open_server({"PATH": os.environ.get("PATH", os.defpath)}) as server:
        return asyncio.run(_try(plugin, server.credentials, server.environment))


def find_load_problems(folder: Path, *, python: Path | None = None) -> list[str] | None:
    """Return the SDK's problems with the declarations of a package, a sentence for each file and field.

    Args:
        folder: The package's files.
        python: The Python whose environment holds the SDK; by default the one that was installed for the package.

    Returns:
        The problems; None if the environment has no SDK, or its loader cannot be run, which starting the plugin shows as well.
    """
    interpreter = python or folder / ".venv" / "bin" / "python"
    # Isolated, so that Python looks for modules neither in the plugin's folder nor in this one.
    command = (str(interpreter), "-I", str(program.__file__))
    done = run_program(*command, cwd=folder, environment={"PATH": search_path()})
    try:
        # Importing the SDK may print lines before it.
        return json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return None


async def _try(
    plugin: PluginFolder, credentials: Mapping[str, str], environment: Mapping[str, str]
) -> SmokeTestResult:
    started = time.monotonic()
    host = PluginHost(
        plugin,
        credentials=credentials,
        settings=_SETTINGS,
        environment=environment,
        answers=answer_scripted,
    )
    async with host:
        seconds = time.monotonic() - started
        if plugin.has("models") and takes(plugin, credentials):
            called = [await _ask_model(host)]
        else:
            called = [await _run(host.plugins[0], strategy) for strategy in host.strategies]
    findings = [one for one in called if isinstance(one, Finding)]
    names = [one for one in called if isinstance(one, str)]
    return SmokeTestResult(start_seconds=seconds, calls=tuple(names), findings=tuple(findings))


async def _ask_model(host: PluginHost) -> str | Finding:
    model = host.model_providers[0].models[0]
    message = {"role": "user", "content": "hello"}
    chunks = host.invoke_llm(LLMRequest(model=model, messages=[message]))
    text = "".join([_chunk_text(chunk) async for chunk in chunks])
    return model if text else Finding("broken", f"{model}: expected an answer with text, got none")


def _chunk_text(chunk: JsonObject) -> str:
    return str(object_at(object_at(chunk, "delta"), "message").get("content") or "")


async def _run(process: PluginProcess, strategy: Strategy) -> str | Finding:
    context: JsonObject = {"credentials": {"tool_credentials": {}}}
    data = strategy_data(strategy)
    answer = process.invoke("agent_strategy", "invoke_agent_strategy", data, context=context)
    try:
        text = "".join([_message_text(message) async for message in answer])
    except PluginInvokeError as error:
        return Finding("advice", f"{strategy.name}: expected an answer, got the error {error}")
    expected = "".join(ANSWER)
    if expected in text:
        return strategy.name
    text = f"expected {expected!r} in the answer, got {text[:200]!r}"
    return Finding("advice", f"{strategy.name}: {text}")


def _message_text(message: JsonObject) -> str:
    return str(object_at(message, "message").get("text") or "")
