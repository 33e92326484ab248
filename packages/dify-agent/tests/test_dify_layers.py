"""Compositions with layers that only Dify has, as an executor of an agent server runs them."""

import pytest

from dify_agent.server import DifyAgentExecutor, DifyAgentSettings


CORE_TOOLS = {
    "name": "core_tools",
    "type": "dify.core.tools",
    "config": {
        "tools": [
            {
                "provider_type": "builtin",
                "provider_id": "time",
                "tool_name": "clock",
                "runtime_parameters": {"token": "s3cret-clock-token"},
            }
        ]
    },
}


@pytest.fixture
def run(daemon, build_dify_request, build_execution):
    """Return a function that runs a composition of these layers, or executes an attempt that was made before."""

    async def execute(*layers, execution=None, request=None, **settings):
        known = {
            "plugin_daemon_url": daemon.url,
            "plugin_daemon_api_key": "s3cret-daemon-key",
            "inner_api_url": daemon.url,
            "inner_api_key": "s3cret-inner-key",
        }
        executor = DifyAgentExecutor(DifyAgentSettings.model_validate(known | settings))
        request = request or build_dify_request(*layers)
        execution = execution or build_execution(executor.check("composition", request))
        async with executor.opened():
            return await executor.execute(execution), execution

    return execute


def calls(daemon, chunks, name, arguments):
    def model(data):
        if not chunks.tool_results(data):
            return [chunks.call(("c1", name, arguments))]
        return [chunks.text("It is.", finish_reason="stop")]

    daemon.model = model


def answers(*answers):
    """Return an API that gives these answers one after the other, the last one again and again."""
    left = list(answers)
    return lambda _operation, _body: left.pop(0) if len(left) > 1 else left[0]


def told(execution, type_):
    return [data for kind, data in execution.told if kind == type_]


async def test_a_core_tool_is_invoked_once_in_the_life_of_a_run(run, daemon, chunks):
    calls(daemon, chunks, "clock", {"zone": "UTC"})
    daemon.api = answers({"observation": "noon, by s3cret-clock-token"})

    result, execution = await run(CORE_TOOLS)
    again, _ = await run(execution=execution.again())

    assert result.output == again.output == "It is."
    assert [operation for operation, _ in daemon.api_requests] == ["agent/tools/invoke"]
    assert told(execution, "tool_result")[0]["content"] == "noon, by [redacted]"
    assert daemon.headers[1]["X-Inner-Api-Key"] == "s3cret-inner-key"


async def test_a_core_tool_that_cannot_be_invoked_now_is_invoked_again(run, daemon, chunks):
    calls(daemon, chunks, "clock", {})
    daemon.api = answers(503, [ConnectionResetError()], {"observation": "noon"})

    _, execution = await run(CORE_TOOLS)

    assert len(daemon.api_requests) == 3
    assert told(execution, "tool_result")[0]["content"] == "noon"


async def test_of_a_core_tool_that_cannot_be_invoked_at_all_the_model_is_told(run, daemon, chunks):
    calls(daemon, chunks, "clock", {})
    daemon.api = answers(503)

    result, execution = await run(CORE_TOOLS)

    assert (result.output, len(daemon.api_requests)) == ("It is.", 4)
    assert told(execution, "tool_result")[0]["outcome"] == "failed"


async def test_a_core_tool_that_fails_for_good_is_not_invoked_again(run, daemon, chunks):
    calls(daemon, chunks, "clock", {})
    daemon.api = answers(422)

    await run(CORE_TOOLS)

    assert len(daemon.api_requests) == 1


async def test_a_run_with_core_tools_fails_where_the_server_does_not_know_the_api(run, daemon):
    result, _ = await run(CORE_TOOLS, inner_api_url=None)

    assert (result.status, result.error_type) == ("failed", "AgentRunValidationError")
    assert "--inner-api-url" in result.error
    assert daemon.model_requests == []


async def test_a_core_tool_s_name_must_be_its_own(run, build_dify_request):
    config = {"provider_type": "api", "provider_id": "p", "tool_name": "search"}
    tools = CORE_TOOLS | {"config": {"tools": [config]}}

    result, _ = await run(request=build_dify_request(tools, tools=["search"]))

    assert "duplicates: search" in result.error
