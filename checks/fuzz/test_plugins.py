"""Both plugins as processes: whatever Dify, a server, a model or a tool sends, a known error or an answer, and no secret in either."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire import Wire

from peers import (
    KEY,
    Answering,
    Caller,
    Reply,
    answering_server,
    assert_secret_kept,
    replies,
    running_plugin,
)
from scripted_dify import (
    DifyError,
    ScriptedDify,
    build_parameters,
    call,
    chunk,
    parameter,
    text_message,
    tool,
    usage,
)
from shapes import LEAVES, TEXTS, VALUES, mutated
from stream_text import ThinkFilter
from test_texts import JSON_TEXTS, TAGGED


pytestmark = pytest.mark.long

INVOKE_ERRORS = {
    "InvokeAuthorizationError",
    "InvokeBadRequestError",
    "InvokeConnectionError",
    "InvokeRateLimitError",
    "InvokeServerUnavailableError",
}
ACTIONS = st.sampled_from(
    [
        "invoke_llm",
        "get_llm_num_tokens",
        "validate_provider_credentials",
        "validate_model_credentials",
        "get_ai_model_schemas",
    ]
)
SECRET = "Sesame0penHidden"


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Wire, Answering]]:
    with answering_server() as running:
        yield running


@pytest.fixture(scope="module")
def plugin() -> Iterator[Caller]:
    with running_plugin("openai_gpt5_responses", OPENAI_GPT5_AUDIT_LOG="true") as running:
        yield running


@pytest.fixture(scope="module")
def agent() -> Iterator[Caller]:
    with running_plugin("gpt5_agent_strategies") as running:
        yield running


def assert_balanced(text: str) -> None:
    tags = re.findall("</?think>", text, re.IGNORECASE)
    assert tags == ["<think>", "</think>"] * (len(tags) // 2)


def request_for(wire: Wire, **changed: Any) -> dict[str, Any]:
    return {
        "user_id": "user",
        "provider": "openai_gpt5_responses",
        "model_type": "llm",
        "model": "gpt-5.2",
        "credentials": {
            "openai_api_key": KEY,
            "openai_api_base": wire.base_url,
            "max_retries": "0",
        },
        "prompt_messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "tool_calls": [call("f")]},
            {"role": "tool", "content": "4", "tool_call_id": "c1"},
            {"role": "user", "content": [{"type": "text", "data": "And?"}]},
        ],
        "model_parameters": {"max_output_tokens": 100},
        "tools": [
            {"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}
        ],
        "stop": ["END"],
        "stream": True,
        **changed,
    }


@given(replies(), st.booleans())
def test_any_answer_of_a_server_is_an_answer_or_an_error_that_dify_knows(
    plugin: Caller, server: tuple[Wire, Answering], reply: Reply, stream: bool
) -> None:
    wire, answering = server
    answering.reply = reply

    called = plugin.call("model", "invoke_llm", request_for(wire, stream=stream))

    assert_secret_kept(called.told, plugin.notices)
    if (
        b"think>" not in b"".join(reply.pieces).lower()
    ):  # what an answer says of tags stays as it is
        assert_balanced("".join(map(text_of, called.items)))
    if called.error is None:
        ends = [bool(item["delta"]["usage"]) for item in called.items]
        assert ends == [False] * (len(ends) - 1) + [True]
    else:
        assert called.error.error_type in INVOKE_ERRORS


def text_of(item: dict[str, Any]) -> str:
    content = item["delta"]["message"]["content"]
    return content if isinstance(content, str) else content[0]["data"]


@given(st.data(), ACTIONS)
def test_any_request_of_dify_is_answered_or_refused(
    plugin: Caller, server: tuple[Wire, Answering], data: st.DataObject, action: str
) -> None:
    request = data.draw(mutated(request_for(server[0])))

    called = plugin.call(
        "model", action, request if isinstance(request, dict) else {"model": request}
    )

    assert_secret_kept(called.error and called.told, plugin.notices)


TOOLS = [
    tool(
        "add",
        parameter("a", "number", required=True),
        parameter("key", "secret-input", form="form", default=SECRET),
    ),
    tool(
        "find", parameter("q"), provider="someone/other/tools", runtime_parameters={"token": SECRET}
    ),
]
CALLS = st.builds(
    call,
    st.sampled_from(["add", "find", "none"]) | TEXTS,
    JSON_TEXTS,
    id_=st.sampled_from(["c1", "c2", ""]) | TEXTS,
)
CHUNKS = st.builds(
    chunk,
    TAGGED | TEXTS,
    calls=st.lists(CALLS, max_size=2),
    usage=st.none() | st.builds(usage),
    finish=st.none() | st.sampled_from(["stop", "length", "tool_calls"]) | TEXTS,
    opaque=st.none() | VALUES,
)
FAILURES = st.builds(DifyError, TEXTS.map(lambda text: f"it broke {SECRET} {text}"))
ANSWERS = st.lists(CHUNKS | CHUNKS.flatmap(mutated) | FAILURES, max_size=4)
RESULT_MESSAGES = st.one_of(
    TEXTS.map(text_message),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                [
                    "text",
                    "json",
                    "link",
                    "image",
                    "image_link",
                    "blob",
                    "file",
                    "variable",
                    "log",
                    "new",
                ]
            ),
            "message": VALUES
            | st.fixed_dictionaries({"text": TEXTS | st.just("/files/x"), "json_object": VALUES}),
        },
        optional={"meta": VALUES},
    ),
)
STRATEGIES = st.sampled_from(["gpt5_function_calling", "gpt5_react"])
RESULTS = st.lists(RESULT_MESSAGES | FAILURES, max_size=3)
PARAMETERS = st.dictionaries(
    st.sampled_from(
        [
            "instruction",
            "query",
            "maximum_iterations",
            "tools",
            "context",
            "prompt_policy_overrides",
            "emit_intermediate_thoughts",
            "model",
        ]
    ),
    LEAVES | VALUES,
    max_size=2,
)


@given(st.lists(ANSWERS, max_size=4), RESULTS, RESULTS, PARAMETERS, STRATEGIES)
def test_any_model_and_tools_leave_a_run_that_ends_in_good_order(
    agent: Caller,
    script: list[Any],
    added: list[Any],
    found: list[Any],
    changed: dict[str, Any],
    strategy: str,
) -> None:
    agent.dify = ScriptedDify()
    agent.dify.model = list(script)
    agent.dify.tools = {"add": added, "find": found}
    parameters = build_parameters(tools=TOOLS, maximum_iterations=3) | changed

    called = agent.call(
        "agent_strategy", "invoke_agent_strategy", run_request(strategy, parameters)
    )

    texts = [item["message"]["text"] for item in called.items if item["type"] == "text"]
    logs = [item for item in called.items if item["type"] == "log"]
    if "emit_intermediate_thoughts" not in changed:
        thoughts = ThinkFilter(show=True)
        assert thoughts.feed("".join(texts)) + thoughts.close() == "".join(texts)
    if "tools" not in changed:
        assert SECRET not in repr((logs, called.error and called.told, agent.notices))
    assert called.error is None or called.error.error_type == "InvokeBadRequestError"
    assert any(item["type"] == "json" for item in called.items)


@given(st.data())
def test_any_request_of_a_run_is_run_or_refused(agent: Caller, data: st.DataObject) -> None:
    agent.dify = ScriptedDify()
    agent.dify.model = [[chunk("", calls=[call("add", '{"a": 1}')])], [chunk("Done.")]]
    agent.dify.tools = {"add": [text_message("2")]}
    request = data.draw(mutated(run_request("gpt5_react", build_parameters(tools=TOOLS))))

    called = agent.call(
        "agent_strategy", "invoke_agent_strategy", request if isinstance(request, dict) else {}
    )

    assert SECRET not in repr((called.error and called.told, agent.notices))


def run_request(strategy: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "user_id": "user",
        "agent_strategy_provider": "gpt5_agent_strategies",
        "agent_strategy": strategy,
        "agent_strategy_params": parameters,
    }
