"""Knowledge that Dify searches, with the model's questions and with the app's."""

import json

import httpx
import pytest
from pydantic import ValidationError
from pydantic_ai import Agent, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from dify_agent.compositor import NoLayerDeps, RunStart
from dify_agent.exceptions import AgentRunValidationError, DifyAgentError
from dify_agent.layers.execution_context import (
    DifyExecutionContextLayer,
    DifyExecutionContextLayerConfig,
)
from dify_agent.layers.knowledge import (
    DifyKnowledgeLayer,
    DifyKnowledgeLayerConfig,
)


CALLER = {
    "tenant_id": "tenant-1",
    "user_id": "user-1",
    "app_id": "app-1",
    "user_from": "account",
    "invoke_from": "debugger",
}
MODEL = {"provider": "p", "name": "m", "mode": "chat", "completion_params": {"temperature": 0}}
LAWS = {
    "id": "set-1",
    "name": "Laws",
    "description": "All laws.",
    "datasets": [{"id": "d1", "name": "Civil"}, {"id": "d2"}],
    "query": {"mode": "generated_query"},
    "retrieval": {"mode": "multiple", "top_k": 4},
}
NEWS = {
    "id": "set-2",
    "name": "News",
    "datasets": [{"id": "d3"}],
    "query": {"mode": "user_query", "value": " What is new? "},
    "retrieval": {"mode": "single", "model": MODEL},
}
FOUND = {
    "results": [
        {
            "title": "Contracts",
            "content": "Contracts bind.",
            "summary": "unused",
            "files": None,
            "metadata": {
                "_source": "knowledge",
                "dataset_name": "Civil",
                "document_name": "code.pdf",
                "score": 0.75,
            },
        },
        {"title": None, "summary": "In short.", "metadata": {"document_name": "b.txt"}},
        {"metadata": {}},
    ],
    "usage": {"total_tokens": 1},
}


def layer_of(*sets, caller=CALLER, state=None, inner_api_url="http://api", **limits):
    context = DifyExecutionContextLayer.from_config_with_settings(
        DifyExecutionContextLayerConfig.model_validate({"agent_mode": "agent_app", **caller}),
        daemon_url="http://daemon",
        daemon_api_key="",
        inner_api_url=inner_api_url,
        inner_api_key="key",
    )
    context.bind(deps=NoLayerDeps())
    config = DifyKnowledgeLayerConfig.model_validate({"sets": sets} | limits)
    layer = DifyKnowledgeLayer.from_config(config)
    layer.bind(deps=layer.deps_type(execution_context=context), runtime_state=state)
    return layer


class Api:
    """An API that gives one answer, and keeps what it was asked."""

    def __init__(self, answer=FOUND, *, status=200):
        self.asked = []
        self._response = httpx.Response(status, json=answer)

    async def __aenter__(self):
        self._client = httpx.AsyncClient(transport=httpx.MockTransport(self._serve))
        return await self._client.__aenter__()

    async def __aexit__(self, *failure):
        await self._client.__aexit__(*failure)

    def _serve(self, request):
        assert request.url.path == "/inner/api/knowledge/retrieve"
        self.asked.append(json.loads(request.content))
        return self._response


async def search(layer, api, **arguments):
    """Run an agent whose model searches once; return the call's result and the model's offer."""
    offered = []

    def model(messages, info):
        offered[:] = info.function_tools
        call = ToolCallPart("knowledge_base_search", arguments)
        return ModelResponse(parts=[call if len(messages) == 1 else TextPart("done")])

    async with api as http_client:
        tools = await layer.get_tools(http_client=http_client)
        result = await Agent(FunctionModel(model), tools=tools).run("go")
    messages = [each for each in result.all_messages() if isinstance(each, ModelRequest)]
    [returned] = [p for each in messages for p in each.parts if isinstance(p, ToolReturnPart)]
    return returned, offered[0]


async def start(layer, api):
    async with api as http_client:
        await layer.on_start(RunStart(run_id="run-1", http_client=http_client))
    return layer


async def test_the_model_searches_one_set_with_its_own_question():
    api = Api()
    returned, offered = await search(layer_of(LAWS, NEWS), api, set_name="Laws", query=" binding ")

    assert api.asked == [
        {
            "caller": CALLER,
            "dataset_ids": ["d1", "d2"],
            "query": "binding",
            "retrieval": {
                "mode": "multiple",
                "top_k": 4,
                "score_threshold": 0.0,
                "reranking_mode": "reranking_model",
                "reranking_enable": True,
                "reranking_model": None,
                "weights": None,
            },
            "metadata_filtering": {"mode": "disabled"},
            "attachment_ids": [],
        }
    ]
    assert returned.content == (
        "1. Contracts\n   Dataset: Civil\n   Document: code.pdf\n   Score: 0.75\n   Content: Contracts bind.\n\n"
        "2. b.txt\n   Document: b.txt\n   Content: In short.\n\n3. Untitled"
    )
    assert returned.metadata is None
    assert offered.description.endswith("The sets are:\n- Laws: All laws.")
    assert offered.parameters_json_schema["properties"]["set_name"]["enum"] == ["Laws"]


async def test_a_set_without_a_description_is_named_only():
    bare = {name: value for name, value in LAWS.items() if name != "description"}
    _, offered = await search(layer_of(bare), Api(), set_name="Laws", query="x")
    assert offered.description.endswith("The sets are:\n- Laws")


async def test_only_what_the_ways_of_searching_need_is_sent():
    condition = {"name": "year", "comparison_operator": ">", "value": 1999}
    sets = [
        LAWS
        | {
            "retrieval": {"mode": "single", "model": MODEL},
            "metadata_filtering": {"mode": "automatic", "model_config": MODEL},
        },
        LAWS
        | {
            "retrieval": {"mode": "multiple", "top_k": 1, "weights": {"vector": 1}},
            "metadata_filtering": {"mode": "manual", "conditions": {"conditions": [condition]}},
        },
    ]
    asked = []
    for knowledge in sets:
        api = Api()
        await search(layer_of(knowledge), api, set_name="Laws", query="x")
        asked += api.asked

    assert asked[0]["retrieval"] == {
        "mode": "single",
        "score_threshold": 0.0,
        "reranking_mode": "reranking_model",
        "reranking_enable": True,
        "model": MODEL,
    }
    assert asked[0]["metadata_filtering"] == {"mode": "automatic", "model_config": MODEL}
    assert asked[1]["metadata_filtering"] == {
        "mode": "manual",
        "conditions": {"logical_operator": "and", "conditions": [condition]},
    }


async def test_long_contents_and_long_lists_are_cut():
    limits = {"max_result_content_chars": 10, "max_observation_chars": 40}
    long = {"results": [{"title": "T", "content": "x" * 50, "metadata": {}}] * 3}
    returned, _ = await search(layer_of(LAWS, **limits), Api(long), set_name="Laws", query="x")

    assert returned.content.startswith("1. T\n   Content: xxxxxxxxx…\n\n2. T")
    assert len(returned.content) == 40


async def test_nothing_found_is_said():
    returned, _ = await search(layer_of(LAWS), Api({"results": []}), set_name="Laws", query="x")
    assert returned.content == "Nothing relevant was found in the knowledge base."


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"set_name": "News", "query": "x"}, "there is no set named 'News'"),
        ({"query": "x"}, "there is no set named None"),
        ({"set_name": "Laws", "query": " "}, "expected a query"),
        ({"set_name": "Laws"}, "expected a query"),
    ],
)
async def test_a_search_that_cannot_be_made_may_be_mended(arguments, problem):
    api = Api()
    returned, _ = await search(layer_of(LAWS, NEWS), api, **arguments)

    assert problem in returned.content
    assert returned.metadata["dify_tool_failure"]["error_type"] == "invalid_arguments"
    assert api.asked == []


async def test_of_a_search_that_may_go_well_another_time_the_model_is_told():
    body = {"code": "knowledge_rate_limited", "message": "too often"}
    returned, _ = await search(layer_of(LAWS), Api(body, status=429), set_name="Laws", query="x")

    assert returned.content == "tool invoke error: too often"
    assert returned.metadata["dify_tool_failure"]["is_transient"]


@pytest.mark.parametrize("api", [Api({"code": "dataset_not_found"}, status=404), Api({"odd": 1})])
async def test_a_search_that_never_goes_well_ends_the_run(api):
    with pytest.raises(DifyAgentError):
        await search(layer_of(LAWS), api, set_name="Laws", query="x")


async def test_without_questions_of_the_model_there_is_no_tool():
    async with Api() as http_client:
        assert await layer_of(NEWS).get_tools(http_client=http_client) == []


async def test_the_app_s_question_is_answered_before_the_model_is_asked():
    api = Api({"results": [{"title": "T", "content": "Much.", "metadata": {}}]})
    layer = await start(layer_of(LAWS, NEWS), api)

    assert [body["query"] for body in api.asked] == ["What is new?"]
    assert layer.found_prompts == [
        "Knowledge base search results:\n\nSet: News\nQuery: What is new?\nResults:\n1. T\n   Content: Much."
    ]
    assert layer.runtime_state.eager_results[0].status == "success"


async def test_the_same_question_is_not_asked_again_in_a_later_run():
    first = await start(layer_of(NEWS), Api())
    api = Api()
    later = await start(layer_of(NEWS, state=first.runtime_state), api)
    other = NEWS | {"query": {"mode": "user_query", "value": "And now?"}}
    await start(layer_of(other, state=first.runtime_state), api)

    assert later.found_prompts == first.found_prompts
    assert [body["query"] for body in api.asked] == ["And now?"]


async def test_what_was_answered_before_is_dropped_once_it_is_not_asked():
    first = await start(layer_of(NEWS), Api())
    later = await start(layer_of(LAWS, state=first.runtime_state), Api())
    assert later.found_prompts == []


async def test_where_the_api_is_away_the_prompt_says_so_and_the_next_run_asks_again():
    away = await start(layer_of(NEWS), Api(status=503))
    api = Api({"results": []})
    later = await start(layer_of(NEWS, state=away.runtime_state), api)

    assert "could not be searched just now" in away.found_prompts[0]
    assert "Nothing relevant" in later.found_prompts[0]
    assert later.runtime_state.eager_results[0].status == "empty"


async def test_a_question_of_the_app_that_never_goes_well_fails():
    with pytest.raises(DifyAgentError, match="no such dataset"):
        await start(
            layer_of(NEWS),
            Api({"code": "dataset_not_found", "message": "no such dataset"}, status=404),
        )


def test_the_state_of_dify_s_own_server_is_taken():
    result = {"set_id": "set-2", "set_name": "News", "query": "q", "observation": "o"}
    result |= {"status": "empty", "retriever_resources": []}
    state = {"eager_config_fingerprint": "f", "eager_results": [result]}

    assert (
        DifyKnowledgeLayer.runtime_state_type.model_validate(state).eager_results[0].observation
        == "o"
    )


async def test_it_needs_a_caller_and_an_api():
    nobody = layer_of(LAWS, caller={"tenant_id": "t", "invoke_from": "debugger"})
    async with Api() as http_client:
        with pytest.raises(AgentRunValidationError, match="must have user_id"):
            await nobody.get_tools(http_client=http_client)
        with pytest.raises(AgentRunValidationError, match="--inner-api-url"):
            await layer_of(LAWS, inner_api_url=None).get_tools(http_client=http_client)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": " "}, "at least 1 character"),
        ({"datasets": []}, "at least 1 item"),
        ({"datasets": [{"id": "a"}, {"id": "a"}]}, "expected datasets to be unique, got a twice"),
        ({"query": {"mode": "user_query", "value": " "}}, "expected a value where"),
        ({"retrieval": {"mode": "multiple"}}, "expected top_k where"),
        ({"retrieval": {"mode": "single"}}, "expected a model where"),
        ({"metadata_filtering": {"mode": "automatic"}}, "expected a model_config where"),
        ({"metadata_filtering": {"mode": "manual"}}, "expected conditions where"),
        (
            {"metadata_filtering": {"mode": "manual", "conditions": {"conditions": []}}},
            "expected conditions where",
        ),
        ({"unknown": 1}, "Extra inputs"),
    ],
)
def test_a_set_that_cannot_be_searched_is_refused(change, problem):
    with pytest.raises(ValidationError, match=problem):
        layer_of(LAWS | change)


@pytest.mark.parametrize(
    ("sets", "limits", "problem"),
    [
        ([], {}, "at least 1 item"),
        ([LAWS, NEWS | {"id": "set-1"}], {}, "expected set ids to be unique, got set-1 twice"),
        ([LAWS, NEWS | {"name": "laws"}], {}, "expected set names to be unique, got laws twice"),
        ([LAWS], {"max_observation_chars": 1_999}, "at least max_result_content_chars"),
    ],
)
def test_knowledge_that_cannot_be_told_apart_is_refused(sets, limits, problem):
    with pytest.raises(ValidationError, match=problem):
        layer_of(*sets, **limits)
