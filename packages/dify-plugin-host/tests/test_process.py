import asyncio
import contextlib
import sys
from pathlib import Path

import pytest
from dify_plugin_host import (
    PluginHostError,
    PluginInvokeError,
    PluginProcess,
)


ANSWER_AND_FAIL = """
wire.ready()
for request in wire.requests():
    wire.stream(request, {"text": "half an"})
    wire.error(request, "InvokeRateLimitError", "slow down", {"description": "429"})
    wire.end(request)
"""


async def collect(plugin, **data):
    return [item async for item in plugin.invoke("model", "invoke_llm", data)]


def run(folder, **options):
    """Start the plugin, call it once, and return what came."""

    async def main():
        async with PluginProcess(folder, **options) as plugin:
            return await collect(plugin)

    return asyncio.run(main())


def is_running(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_call_carries_type_action_and_user_beside_its_data(echo):
    async def main():
        async with PluginProcess(echo) as plugin:
            return await plugin.call("model", "invoke_llm", {"model": "m"}, user_id="u")

    expected = {"model": "m", "user_id": "u", "type": "model", "action": "invoke_llm"}
    assert asyncio.run(main()) == expected


def test_the_request_line_has_every_field_of_the_protocol(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.messages():
            wire.stream(request, request)
            wire.end(request)
        """
    )

    async def main():
        async with PluginProcess(folder) as plugin:
            context = {"credentials": {"tool_credentials": {"p": "c"}}}
            return [line async for line in plugin.invoke("model", "x", {}, context=context)]

    (line,) = asyncio.run(main())
    assert list(line) == [
        "session_id",
        "conversation_id",
        "message_id",
        "app_id",
        "endpoint_id",
        "context",
        "event",
        "data",
    ]
    assert line["event"] == "request"
    assert line["context"] == {"credentials": {"tool_credentials": {"p": "c"}}}


def test_calls_that_run_at_the_same_time_get_their_own_answers(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        waiting = []
        for request in wire.requests():
            waiting.append(request)
            if len(waiting) == 20:
                for request in reversed(waiting):
                    wire.stream(request, {"n": request["data"]["n"]})
                for request in waiting:
                    wire.end(request)
        """
    )

    async def main():
        async with PluginProcess(folder) as plugin:
            return await asyncio.gather(*(collect(plugin, n=n) for n in range(20)))

    assert asyncio.run(main()) == [[{"n": n}] for n in range(20)]


def test_the_plugin_runs_in_its_folder_with_the_local_install_method(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, {"cwd": os.getcwd(), "env": os.environ["INSTALL_METHOD"]})
            wire.end(request)
        """
    )
    assert run(folder) == [{"cwd": str(folder), "env": "local"}]


def test_the_plugins_own_environment_is_preferred(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, {"own": os.environ.get("OWN")})
            wire.end(request)
        """
    )
    own = folder / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text(f'#!/bin/sh\nOWN=yes exec {sys.executable} "$@"\n')
    own.chmod(0o755)
    assert run(folder) == [{"own": "yes"}]


def test_an_error_is_raised_after_what_came_before_it(make_plugin):
    folder = make_plugin(ANSWER_AND_FAIL)

    async def main():
        async with PluginProcess(folder) as plugin:
            answer = plugin.invoke("model", "invoke_llm", {})
            first = await anext(answer)
            with pytest.raises(PluginInvokeError) as caught:
                await anext(answer)
        return first, caught.value

    first, error = asyncio.run(main())
    assert first == {"text": "half an"}
    assert error.error_type == "InvokeRateLimitError"
    assert error.message == "slow down"
    assert error.details == {"description": "429"}


def test_the_plugin_serves_the_next_call_after_an_error(make_plugin):
    folder = make_plugin(ANSWER_AND_FAIL)

    async def main():
        async with PluginProcess(folder) as plugin:
            for _ in range(2):
                with pytest.raises(PluginInvokeError):
                    await collect(plugin)

    asyncio.run(main())


def test_an_action_without_an_answer_is_an_error(make_plugin):
    folder = make_plugin("wire.ready()\nfor request in wire.requests(): wire.end(request)")

    async def main():
        async with PluginProcess(folder) as plugin:
            await plugin.call("model", "get_ai_model_schemas", {})

    with pytest.raises(PluginHostError, match="no answer to model 'get_ai_model_schemas'"):
        asyncio.run(main())
