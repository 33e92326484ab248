"""Contract D, as far as it concerns what is sent."""

import copy
from types import SimpleNamespace

import pytest

from gpt5_messages import MessageItem, ReasoningItem, ToolCallItem, ToolOutputItem
from gpt5_payloads import PayloadError, mcp_tool, web_search_tool
from gpt5_responses import Request, ResponsesScheme


QUESTION = MessageItem.of_text("user", "Hello")
TOOL = {"name": "lookup", "description": "Look up", "parameters": {"type": "object"}}


def body(
    *items: object, model: str = "gpt-5", scheme: ResponsesScheme | None = None, **wanted: object
):
    request = Request(items=items or (QUESTION,), **wanted)
    return (scheme or ResponsesScheme()).build_body(request, model=model)


def test_requirement_2_a_request_is_item_based_and_stateless() -> None:
    assert body(instructions="Be brief.") == {
        "model": "gpt-5",
        "instructions": "Be brief.",
        "input": [QUESTION.to_wire()],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "stream": True,
        "tool_choice": "auto",
        "parallel_tool_calls": True,
    }


IMAGE = {"type": "input_image", "image_url": "https://example.org/a.png"}
LINK = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
SAID = {"type": "output_text", "text": "Hi"}
CALL = {"type": "function_call", "call_id": "c1", "name": "lookup", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c1"}


@pytest.mark.parametrize(
    "wanted",
    [
        {"items": [{"role": "user", "content": [IMAGE]}, {"role": "assistant", "content": [SAID]}]},
        {"items": [CALL, {**RESULT, "output": [{"type": "input_text", "text": "x"}, IMAGE]}]},
        {
            "items": [
                MessageItem(role="assistant", content=(SAID,)),
                MessageItem.of_text("user", "?"),
            ]
        },
        {"items": [MessageItem.of_text("assistant", "Hi"), CALL, {**RESULT, "output": [SAID]}]},
        {
            "messages": [
                {"role": "system", "content": ["Logo:", LINK]},
                {"role": "user", "content": "?"},
            ]
        },
        {"messages": [{"role": "assistant", "content": ["Look:", LINK]}]},
        {"items": [QUESTION], "verbosity": "low"},
    ],
)
def test_strict_servers_find_types_details_and_plain_answers_in_every_body(
    wanted: dict[str, object],
) -> None:
    sent = ResponsesScheme().build_body(Request(**wanted), model="gpt-5")

    assert "format" in sent.get("text", {"format": None})
    for item in sent["input"]:
        assert item["type"]
        assert item.get("role") != "assistant" or isinstance(item["content"], str)
        for parts in (item.get("content"), item.get("output")):
            for part in parts if isinstance(parts, list) else ():
                assert part["type"] in {"input_text", "input_image"}
                assert part["type"] == "input_text" or part["detail"] == "auto"


def test_requirement_2_the_fixed_values_go_out_without_tools_too() -> None:
    assert (body()["tool_choice"], body()["parallel_tool_calls"]) == ("auto", True)


@pytest.mark.parametrize(
    "key",
    [
        "previous_response_id",
        "service_tier",
        "prompt_cache_key",
        "text",
        "instructions",
        "tools",
        "reasoning",
        "max_output_tokens",
        "temperature",
        "top_p",
        "max_tool_calls",
        "prompt_cache_options",
        "stream_options",
    ],
)
def test_requirement_2_what_nobody_asked_for_is_not_sent(key: str) -> None:
    assert key not in body()


def test_all_that_can_be_asked_of_the_server_s_tools_goes_out_where_it_is_asked_for() -> None:
    mcp = mcp_tool("docs", url="https://mcp.example.com")
    request = Request(
        items=[QUESTION],
        tools=[web_search_tool(context_size="low"), TOOL, mcp],
        allowed_tools=["lookup", "docs"],
        max_tool_calls=3,
        reasoning_mode="pro",
        reasoning_context="all_turns",
    )
    scheme = ResponsesScheme(prompt_cache_ttl="12h", include_obfuscation=False, summary=None)
    tokens = {"docs": {"token": "t", "host": "mcp.example.com"}, "other": "u"}
    sent = scheme.build_body(request, model="gpt-6-luna", mcp_tokens=tokens)

    assert [tool["type"] for tool in sent["tools"]] == ["web_search", "function", "mcp"]
    assert sent["tools"][2]["authorization"] == "t"
    assert [tool["type"] for tool in sent["tool_choice"]["tools"]] == ["function", "mcp"]
    assert (sent["max_tool_calls"], sent["prompt_cache_options"]) == (3, {"ttl": "12h"})
    assert sent["stream_options"] == {"include_obfuscation": False}
    assert sent["reasoning"] == {"mode": "pro", "context": "all_turns"}
    assert sent["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]


def test_what_tools_brought_is_told_also_where_no_reasoning_is() -> None:
    open_scheme = ResponsesScheme(include_encrypted_content=False)
    sent = body(tools=[web_search_tool()], model="gpt-5.2", scheme=open_scheme)

    assert sent["include"] == ["web_search_call.action.sources"]
    assert "include" not in body(model="gpt-5.2", scheme=open_scheme)


def test_a_tool_that_the_model_lacks_is_refused_by_its_name() -> None:
    with pytest.raises(PayloadError, match="tool_search"):
        body(tools=[{"type": "tool_search"}], model="gpt-5.4-nano")


def test_requirement_2_tools_are_flat_and_not_strict() -> None:
    assert body(tools=[TOOL])["tools"] == [
        {
            "type": "function",
            "name": "lookup",
            "description": "Look up",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]


def test_a_tool_of_another_kind_goes_out_as_it_is() -> None:
    custom = {"type": "custom", "name": "shell"}

    assert body(tools=[custom])["tools"] == [custom]


def test_a_tool_may_be_an_object() -> None:
    tool = SimpleNamespace(name="lookup", description=None, parameters=None)

    assert body(tools=[tool])["tools"][0]["name"] == "lookup"


def test_a_tool_without_a_name_is_refused() -> None:
    with pytest.raises(PayloadError, match="tool name is required"):
        body(tools=[{"description": "?"}])


@pytest.mark.parametrize(
    ("model", "reasoning"),
    [("gpt-5.5", {"context": "all_turns"}), ("gpt-5.4", {"context": "all_turns"}), ("gpt-5", None)],
)
def test_a_model_that_would_pass_over_the_reasoning_sent_back_is_told_to_read_it(
    model: str, reasoning: dict[str, str] | None
) -> None:
    carried = ReasoningItem(text="", summary=(), encrypted_content="kept")
    answer = MessageItem.of_text("assistant", "Hi")

    assert body(QUESTION, carried, answer, QUESTION, model=model).get("reasoning") == reasoning
    assert "reasoning" not in body(QUESTION, answer, QUESTION, model=model)


def test_requirement_5_reasoning_goes_back_with_all_its_parts() -> None:
    reasoning = ReasoningItem(
        text="raw", summary=("A",), encrypted_content="e", extra={"id": "rs_1"}
    )
    call = ToolCallItem(call_id="c1", name="lookup", arguments="{}")
    output = ToolOutputItem(call_id="c1", output="x")

    assert body(QUESTION, reasoning, call, output)["input"][1:] == [
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "A"}],
            "content": [{"type": "reasoning_text", "text": "raw"}],
            "encrypted_content": "e",
        },
        {"type": "function_call", "call_id": "c1", "name": "lookup", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "x"},
    ]


def test_custom_tool_calls_and_their_outputs_keep_their_kind() -> None:
    call = ToolCallItem(type="custom_tool_call", call_id="c1", name="shell", arguments="ls")
    output = ToolOutputItem(type="custom_tool_call_output", call_id="c1", output="x")

    assert [item["type"] for item in body(QUESTION, call, output)["input"][1:]] == [
        "custom_tool_call",
        "custom_tool_call_output",
    ]


def test_items_of_the_wire_are_taken_as_they_are() -> None:
    wire = {"type": "web_search_call", "id": "ws_1"}

    assert body(QUESTION, wire)["input"][1] == wire


def test_a_call_that_nobody_answered_is_not_sent() -> None:
    call = ToolCallItem(call_id="c1", name="lookup", arguments="{}")

    assert len(body(QUESTION, call)["input"]) == 1


@pytest.mark.parametrize("call_id", [{"a": 1}, ["a"], 7])
def test_a_call_whose_id_is_no_text_is_answered_by_nobody(call_id: object) -> None:
    call = {"type": "function_call", "call_id": call_id, "name": "lookup", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": call_id, "output": "4"}

    assert body(QUESTION, call, output)["input"][1:] == [output]


def test_requirement_8_an_effort_is_projected_for_models_that_reason() -> None:
    assert body(effort="low")["reasoning"] == {"effort": "low", "summary": "auto"}
    assert body(effort="low", model="o4-mini")["reasoning"]["effort"] == "low"
    assert "reasoning" not in body(effort="low", model="gpt-4o")


def test_a_summary_is_asked_for_as_the_scheme_says() -> None:
    quiet = ResponsesScheme(summary=None)

    assert body(effort="low", scheme=quiet)["reasoning"] == {"effort": "low"}


def test_design_point_1_the_scheme_can_be_told_to_store() -> None:
    kept = body(scheme=ResponsesScheme(store=True, include_encrypted_content=False))

    assert kept["store"] is True
    assert "include" not in kept


def test_design_point_2_reserved_options_go_out_once_they_are_set() -> None:
    scheme = ResponsesScheme(
        service_tier="flex", prompt_cache_key="conversation-1", text={"verbosity": "low"}
    )

    sent = body(scheme=scheme)

    assert (sent["service_tier"], sent["prompt_cache_key"], sent["text"]) == (
        "flex",
        "conversation-1",
        {"format": {"type": "text"}, "verbosity": "low"},
    )


def test_what_a_server_refuses_can_be_switched_off() -> None:
    scheme = ResponsesScheme(send_max_output_tokens=False, send_sampling_params=False)
    wanted = {"max_output_tokens": 100, "temperature": 0.5, "top_p": 0.9}

    assert wanted.items() <= body(**wanted).items()
    assert not wanted.keys() & body(**wanted, scheme=scheme).keys()


@pytest.mark.parametrize("role", ["developer", "system"])
def test_system_messages_go_out_under_the_role_that_the_server_takes(role: str) -> None:
    system = MessageItem.of_text("system", "Be brief.")

    assert body(system, scheme=ResponsesScheme(system_role=role))["input"][0]["role"] == role


def test_building_a_body_changes_nothing() -> None:
    wire = {"type": "reasoning", "encrypted_content": "e"}
    items = (wire, {"role": "assistant", "content": "Hi"})
    before = copy.deepcopy(items)

    body(*items, tools=[TOOL])

    assert items == before
