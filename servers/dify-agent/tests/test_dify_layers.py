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


def knowledge(mode, **query):
    config = {
        "id": "set-1",
        "name": "News",
        "datasets": [{"id": "d1"}],
        "query": {"mode": mode, **query},
        "retrieval": {"mode": "multiple", "top_k": 2},
    }
    return {"name": "knowledge", "type": "dify.knowledge_base", "config": {"sets": [config]}}


ASKED_BY_THE_APP = knowledge("user_query", value="What is new?")
FOUND = {"results": [{"title": "News", "content": "Much.", "metadata": {}}]}


async def test_what_the_app_asks_is_searched_once_in_the_life_of_a_run(run, daemon):
    daemon.api = answers(503, FOUND)

    _, execution = await run(ASKED_BY_THE_APP)
    for key in [key for key in execution.recorded if key.startswith("model:")]:
        del execution.recorded[key]
    await run(execution=execution.again())

    assert len(daemon.api_requests) == 2
    for asked in daemon.model_requests:
        [said] = [m["content"] for m in asked["prompt_messages"] if m["role"] == "user"]
        assert "Much." in str(said)


async def test_what_was_found_follows_what_the_user_says(run, daemon, build_dify_request):
    daemon.api = answers(FOUND)
    request = build_dify_request(ASKED_BY_THE_APP)
    layers = request["composition"]["layers"]
    layers.append(layers.pop(0))  # the user's words come last

    await run(request=request)

    said, found = daemon.model_requests[0]["prompt_messages"][-1]["content"]
    assert said["data"] == "Hi"
    assert found["data"].startswith("Knowledge base search results:")


async def test_what_the_app_asked_is_kept_for_the_next_run(run, daemon, build_dify_request):
    daemon.api = answers(FOUND)
    result, _ = await run(ASKED_BY_THE_APP)
    request = build_dify_request(ASKED_BY_THE_APP)

    await run(request=request | {"session_snapshot": result.details["session_snapshot"]})

    assert len(daemon.api_requests) == 1


async def test_a_run_goes_on_without_knowledge_that_cannot_be_searched_now(run, daemon):
    daemon.api = answers(503)

    result, _ = await run(ASKED_BY_THE_APP)

    assert (result.status, len(daemon.api_requests)) == ("succeeded", 4)


async def test_a_run_fails_with_dify_s_word_where_knowledge_is_gone(run, daemon):
    daemon.api = answers((404, {"code": "dataset_not_found", "message": "No such dataset."}))

    result, _ = await run(ASKED_BY_THE_APP)

    assert (result.error, result.error_type) == ("No such dataset.", "dataset_not_found")
    assert daemon.model_requests == []


async def test_a_search_of_the_model_is_made_again_where_it_may_pass(run, daemon, chunks):
    calls(daemon, chunks, "knowledge_base_search", {"set_name": "News", "query": "q"})
    daemon.api = answers(503, FOUND)

    _, execution = await run(knowledge("generated_query"))

    assert "Much." in told(execution, "tool_result")[0]["content"]


async def test_a_search_of_the_model_that_never_goes_well_fails_the_run(run, daemon, chunks):
    calls(daemon, chunks, "knowledge_base_search", {"set_name": "News", "query": "q"})
    daemon.api = answers(404)

    result, _ = await run(knowledge("generated_query"))

    assert (result.status, result.error_type) == ("failed", "InnerApiError")
    assert len(daemon.api_requests) == 1


async def test_what_the_user_of_an_app_says_reaches_the_model_with_its_files(run, daemon):
    file = {
        "type": "image",
        "mime_type": "image/png",
        "base64_data": "iVBORw0KGgo=",
        "format": "png",
    }
    config = {"text": "What is on it?", "files": [file | {"filename": "chart.png"}]}

    await run({"name": "user", "type": "dify.user_prompt", "deps": {}, "config": config})

    [asked] = daemon.model_requests
    hi, text, image = asked["prompt_messages"][-1]["content"]
    assert (hi["data"], text["data"]) == ("Hi", "What is on it?")
    assert (image["base64_data"], image["filename"]) == ("iVBORw0KGgo=", "chart.png")


def through_the_api(request):
    """Return a request with a model that Dify's API calls."""
    for layer in request["composition"]["layers"]:
        if layer["name"] == "llm":
            layer |= {"type": "dify.gateway.llm", "deps": {"execution_context": "plugin"}}
    return request


def answers_by_the_api(daemon, chunks, *before):
    """Let the API answer a model's request with these, then as a model that calls a tool once."""
    left = list(before)

    def api(_operation, body):
        if left:
            return left.pop(0)
        if not chunks.tool_results(body["target"]):
            return [chunks.call(("c1", "search", {"q": "a"}))]
        return [chunks.text("It is.", finish_reason="stop")]

    daemon.api = api


def numbers(daemon):
    return [body["caller"]["call_index"] for _, body in daemon.api_requests]


async def test_a_model_may_be_called_by_dify(run, daemon, chunks, build_dify_request):
    answers_by_the_api(daemon, chunks)

    result, _ = await run(request=through_the_api(build_dify_request()))

    assert result.output == "It is."
    assert numbers(daemon) == [1, 2]
    assert {body["caller"]["agent_run_id"] for _, body in daemon.api_requests} == {"run-1"}
    assert daemon.model_requests == []
    assert "s3cret-model-key" not in str(daemon.api_requests)


async def test_a_request_has_the_same_number_in_a_later_attempt(
    run, daemon, chunks, build_dify_request
):
    answers_by_the_api(daemon, chunks)
    _, execution = await run(request=through_the_api(build_dify_request()))
    del execution.recorded["model:2"]

    await run(execution=execution.again())

    assert numbers(daemon) == [1, 2, 2]


async def test_a_request_has_the_same_number_when_it_is_made_again(
    run, daemon, chunks, build_dify_request
):
    answers_by_the_api(daemon, chunks, 503)

    result, _ = await run(request=through_the_api(build_dify_request()))

    assert (result.output, numbers(daemon)) == ("It is.", [1, 1, 2])


async def test_the_numbers_of_a_later_run_of_the_conversation_begin_anew(
    run, daemon, chunks, build_dify_request, build_execution
):
    history = {"name": "history", "type": "pydantic_ai.history", "deps": {}}
    request = through_the_api(build_dify_request(history))
    answers_by_the_api(daemon, chunks)
    result, _ = await run(request=request)
    snapshot = {"session_snapshot": result.details["session_snapshot"]}

    later = build_execution(request | snapshot)
    later.run_id = "run-2"
    await run(execution=later)

    assert numbers(daemon) == [1, 2, 1]


@pytest.mark.parametrize(
    "refusal",
    [
        (429, {"code": "agent_llm_quota_exceeded", "message": "Used up."}),
        [type("AgentLLMQuotaExceededError", (Exception,), {})("Used up.")],
    ],
)
async def test_a_workspace_that_has_used_up_what_it_may_is_not_asked_again(
    run, daemon, chunks, build_dify_request, refusal
):
    answers_by_the_api(daemon, chunks, refusal)

    result, _ = await run(request=through_the_api(build_dify_request()))

    assert (result.status, result.error) == ("failed", "Used up.")
    assert len(daemon.api_requests) == 1


async def test_a_run_with_a_shell_goes_without_it_and_tells_its_model(run, daemon):
    config = {"cli_tools": [{"name": "ffmpeg"}]}
    shell = {"name": "shell", "type": "dify.shell", "config": config}

    result, _ = await run(shell)

    assert result.status == "succeeded"
    [asked] = daemon.model_requests
    assert "there is no shell" in str(asked["prompt_messages"][0])


MEMORY_TOOL = {
    "plugin_id": "acme/memory",
    "provider": "memory",
    "credential_type": "api-key",
    "credentials": {"token": "s3cret-memory-token"},
}
MEMORY = {
    "name": "external_memory",
    "type": "dify.external_memory",
    "config": {
        "prepare": MEMORY_TOOL | {"tool_name": "prepare"},
        "observe": MEMORY_TOOL | {"tool_name": "observe"},
    },
}


def remembers(daemon, content):
    def tool(data):
        answer = {"status": "accepted"}
        if data["tool"] == "prepare":
            answer = {"status": "ready", "content": content}
        return [{"type": "json", "message": {"json_object": answer}}]

    daemon.tool = tool


async def test_a_memory_is_asked_and_told_once_in_the_life_of_a_run(run, daemon):
    remembers(daemon, "Likes tea.")

    result, execution = await run(MEMORY)
    again, _ = await run(execution=execution.again())

    assert result.output == again.output == "Hello!"
    assert "Likes tea." in daemon.model_requests[0]["prompt_messages"][0]["content"]
    told = [data["tool_parameters"]["request"] for data in daemon.tool_requests]
    assert [each.get("event") for each in told] == [None, "user_prompt", "model_response"]
    assert [each.get("payload") for each in told[1:]] == [{"text": "Hi"}, {"text": "Hello!"}]
    assert execution.told[0][0] == "model_request_started"


async def test_a_memory_that_is_away_fails_nothing_and_is_not_asked_again(run, daemon):
    daemon.tool = lambda _data: 503

    result, _ = await run(MEMORY)

    assert (result.output, len(daemon.tool_requests)) == ("Hello!", 1)


async def test_no_event_shows_the_credentials_of_a_memory(run, daemon, chunks):
    remembers(daemon, "")
    daemon.model = lambda _data: [chunks.text("It is s3cret-memory-token.")]

    result, execution = await run(MEMORY)

    assert "s3cret-memory-token" not in f"{result.output}{execution.told}"
