import asyncio
import json
import re
from pathlib import Path

import pytest
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from talking import created, post, talking
from test_responses import error_of

from agent_server.http import are_parts


_PAGE = Path(__file__).parents[3] / "docs" / "agent-server" / "responses.md"
_ROWS = {
    name: (use, why)
    for name, use, why in re.findall(
        r"^\| `(\w+)` \| (\w+) \| (.+?) \|$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
}
_FUNCTION = {"type": "function", "name": "mine"}
_LARGE = {**_FUNCTION, "name": "large", "parameters": {"enum": [1] * 2000}}
_OWN = {"type": "mcp", "server_label": "greet"}
_THOUGHT = {"type": "reasoning"}
_PNG = "data:image/png;base64,AA=="


def test_the_page_has_each_field_of_the_openai_client_and_none_besides():
    annotations = {}
    for kind in (ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming):
        for one in (kind, *kind.__orig_bases__):
            annotations |= one.__annotations__

    # The locked client does not have the first yet, 3.54 does; the second others send than OpenAI's own.
    assert sorted(_ROWS) == sorted({*annotations, "background_options", "client_metadata"})


@pytest.mark.parametrize("name", [name for name, (use, _) in _ROWS.items() if use == "refused"])
async def test_what_changes_an_answers_promise_is_refused_by_name(tmp_path, name):
    async with talking(tmp_path) as (client, _):
        refused = await post(client, **{name: "secret"})

        assert error_of(refused) == (name, "unsupported_parameter")
        assert _ROWS[name][1] in refused.json()["error"]["message"]
        assert "secret" not in refused.text
        await created(client, **{name: None})


async def test_a_value_that_promises_nothing_is_taken(tmp_path):
    async with talking(tmp_path) as (client, _):
        await created(client, tool_choice="auto", top_logprobs=0)
        assert error_of(await post(client, top_logprobs=False))[0] == "top_logprobs"


async def test_hints_are_taken_whatever_they_are(tmp_path):
    hints = {name: {"any": "thing"} for name, (use, _) in _ROWS.items() if use == "ignored"}
    async with talking(tmp_path) as (client, _):
        await created(client, **hints, text={"verbosity": "low", "format": {"type": "text"}})


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"secret": 1}, "secret", "unknown_parameter"),
        ({"model": None}, "model", "missing_required_parameter"),
        ({"model": "secret" * 99}, "model", "missing_required_parameter"),
        ({"model": 1}, "model", "invalid_type"),
        ({"input": None}, "input", "invalid_type"),
        ({"input": []}, "input", "invalid_type"),
        ({"input": ["secret"]}, "input[0]", "invalid_type"),
        ({"input": [{"type": "secret"}]}, "input[0].type", "unsupported_value"),
        ({"input": [{"type": ["secret"]}]}, "input[0].type", "unsupported_value"),
        ({"input": [{"type": "item_reference"}]}, "input[0].id", "invalid_type"),
        ({"input": [{"id": "secret"}]}, "input[0].id", "item_not_found"),
        ({"input": [{"role": "secret"}]}, "input[0].role", "invalid_value"),
        ({"input": [{"role": ["user"]}]}, "input[0].role", "invalid_value"),
        ({"input": [{"role": "user"}]}, "input[0].content", "invalid_type"),
        ({"input": [{"type": "function_call"}]}, "input[0].call_id", "invalid_type"),
        ({"input": [{"type": "function_call_output"}]}, "input[0].call_id", "invalid_type"),
        (
            {"input": [{"type": "mcp_approval_response", "approval_request_id": "x"}]},
            "input[0].approve",
            "invalid_type",
        ),
        (
            {
                "input": [
                    {
                        "type": "mcp_approval_response",
                        "approval_request_id": "x",
                        "approve": False,
                        "reason": "secret" * 999,
                    }
                ]
            },
            "input[0].reason",
            "invalid_value",
        ),
        ({"input": [{"type": "mcp_call", "error": []}]}, "input[0].error", "invalid_type"),
        (
            {"input": [{"type": "mcp_call", "error": {"content": 1}}]},
            "input[0].error.content",
            "invalid_type",
        ),
        ({"input": [_THOUGHT | {"summary": ["secret"]}]}, "input[0].summary[0]", "invalid_type"),
        ({"input": [_THOUGHT | {"id": ["secret"]}]}, "input[0].id", "invalid_type"),
        ({"instructions": 1}, "instructions", "invalid_type"),
        ({"max_output_tokens": "secret"}, "max_output_tokens", "invalid_value"),
        ({"max_output_tokens": 0}, "max_output_tokens", "invalid_value"),
        ({"max_output_tokens": True}, "max_output_tokens", "invalid_value"),
        ({"stream": "secret"}, "stream", "invalid_type"),
        ({"metadata": {"a": 1}}, "metadata.a", None),
        ({"text": "secret"}, "text", "invalid_type"),
        ({"text": {"format": "secret"}}, "text.format", "invalid_type"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format", None),
        ({"tools": "secret"}, "tools", "invalid_type"),
        ({"tools": ["secret"]}, "tools[0]", "invalid_type"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type", "unsupported_value"),
        ({"tools": [{"type": "mcp"}]}, "tools[0].type", "unsupported_value"),
        (
            {"tools": [_OWN | {"server_url": "https://secret"}]},
            "tools[0].type",
            "unsupported_value",
        ),
        ({"tools": [_FUNCTION | {"async": True}]}, "tools[0].async", "unsupported_parameter"),
        ({"tools": [_FUNCTION | {"name": "a b"}]}, "tools[0].name", "invalid_value"),
        ({"tools": [_FUNCTION, _FUNCTION]}, "tools[1].name", "invalid_value"),
        ({"tools": [_FUNCTION | {"parameters": 1}]}, "tools[0].parameters", "invalid_type"),
        (
            {"tools": [_FUNCTION, _LARGE, _LARGE | {"name": "b"}]},
            "tools[2].parameters",
            "invalid_value",
        ),
        (
            {"tools": [_FUNCTION | {"parameters": {"enum": ["x" * 300_000]}}]},
            "tools[0].parameters",
            "invalid_value",
        ),
        (
            {"tools": [_FUNCTION | {"parameters": json.loads('{"not":' * 64 + "{}" + "}" * 64)}]},
            "tools[0].parameters",
            "invalid_value",
        ),
        (
            {"tools": [_LARGE], "text": {"format": {"type": "json_schema", "schema": [0] * 3000}}},
            "text.format.schema",
            "invalid_value",
        ),
    ],
)
async def test_a_wrong_field_is_refused_by_name_and_without_its_value(
    tmp_path, changes, field, code
):
    async with talking(tmp_path) as (client, _):
        body = {"model": "greet", "input": "hi"} | changes
        refused = await client.post("/v1/responses", json=body)

        assert error_of(refused) == (field, code)
        assert "secret" not in refused.text.replace(field, "")


async def test_many_tools_are_read_in_no_time(tmp_path):
    tools = [_FUNCTION | {"name": f"mine_{n}"} for n in range(100_000)]
    async with talking(tmp_path) as (client, _):
        async with asyncio.timeout(60):  # A comparison of each with all takes ten minutes.
            refused = await post(client, tools=[*tools, _FUNCTION | {"name": "mine_7"}])

        assert error_of(refused) == ("tools[100000].name", "invalid_value")


async def test_the_agent_may_be_named_as_the_server_of_its_tools(tmp_path):
    async with talking(tmp_path) as (client, _):
        own = _OWN | {"require_approval": "always"}
        assert (await created(client, tools=[own, _FUNCTION]))["tools"][0]["name"] == "mine"


def test_content_is_told_from_other_json():
    text = {"type": "input_text", "text": "a"}

    assert are_parts([text, {"type": "input_image"}])
    assert not any(map(are_parts, ("a", [], [text, 1], [text, {"type": "dog"}], [{"type": []}])))


async def test_a_body_is_an_object(tmp_path):
    async with talking(tmp_path) as (client, _):
        assert error_of(await client.post("/v1/responses", json=[])) == ("body", "invalid_type")


@pytest.mark.parametrize(
    ("part", "field", "code"),
    [
        ("secret", "type", "unsupported_value"),
        ({"type": "input_audio"}, "type", "unsupported_value"),
        ({"type": "input_text"}, "text", "invalid_type"),
        ({"type": "input_image"}, "image_url", "invalid_value"),
        ({"type": "input_image", "image_url": "https://secret"}, "image_url", "invalid_value"),
        ({"type": "input_image", "image_url": _PNG, "detail": "secret"}, "detail", "invalid_value"),
        ({"type": "input_file", "file_data": _PNG, "filename": 1}, "filename", "invalid_type"),
        ({"type": "input_image", "file_id": "secret"}, "file_id", "unsupported_parameter"),
        ({"type": "input_file", "file_url": "secret"}, "file_url", "unsupported_parameter"),
        ({"type": "input_file", "file_data": "secret"}, "file_data", "invalid_value"),
    ],
)
async def test_the_server_fetches_nothing_that_a_client_names(tmp_path, part, field, code):
    async with talking(tmp_path) as (client, _):
        for item, member in (
            ({"role": "user", "content": [part]}, "content"),
            ({"type": "function_call_output", "call_id": "c", "output": [part]}, "output"),
        ):
            refused = await post(client, input=[item])
            assert error_of(refused) == (f"input[0].{member}[0].{field}", code)
            assert "secret" not in refused.text


async def test_data_urls_and_what_a_response_put_out_are_taken(tmp_path):
    image = {"type": "input_image", "image_url": _PNG, "detail": "low", "file_id": None}
    file = {
        "type": "input_file",
        "filename": "a.pdf",
        "file_data": "DATA:application/pdf;base64,AA==",
    }
    async with talking(tmp_path) as (client, _):
        await created(
            client,
            input=[
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": [image, file]},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
                {"type": "mcp_call", "name": "look", "approval_request_id": "mcpr_1"},
                {"type": "mcp_call", "name": "look", "error": {"content": "No.", "code": 3}},
                {"type": "mcp_call", "name": "look", "error": {"type": "gone"}},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "refusal", "refusal": "No."}],
                },
                {"role": "user", "content": "hi"},
            ],
        )
