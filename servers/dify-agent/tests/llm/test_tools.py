from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ToolOutput
from pydantic_ai.exceptions import UnsupportedSettingWarning, UserError
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.tools import ToolDefinition


SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


def tool(name: str, **rest: Any) -> ToolDefinition:
    return ToolDefinition(name=name, parameters_json_schema=SCHEMA, **rest)


SEARCH, ADD, FINAL = tool("search", description="Search."), tool("add"), tool("final_result")


async def ask(daemon, settings=None, **parameters: Any) -> dict[str, Any]:
    """Ask with these settings and parameters, and return the data that was sent."""
    daemon.reply(daemon.chunk("ok"))
    await daemon.ask(settings=settings, parameters=ModelRequestParameters(**parameters))
    return daemon.sent


async def test_function_tools_and_output_tools_are_offered(daemon):
    sent = await ask(daemon, function_tools=[SEARCH, ADD], output_tools=[FINAL], output_mode="tool")

    assert sent["tools"] == [
        {"name": "search", "description": "Search.", "parameters": SCHEMA},
        {"name": "add", "description": "", "parameters": SCHEMA},
        {"name": "final_result", "description": "", "parameters": SCHEMA},
    ]


async def test_without_tools_none_are_sent(daemon):
    sent = await ask(daemon, {"tool_choice": "none"})

    assert (sent["tools"], sent["model_parameters"]) == (None, {})


async def test_a_tool_that_is_not_loaded_yet_is_not_offered(daemon):
    sent = await ask(daemon, function_tools=[SEARCH, tool("later", defer_loading=True)])

    assert [tool["name"] for tool in sent["tools"]] == ["search"]


async def test_an_agent_with_structured_output_offers_its_output_tool(daemon):
    class Sum(BaseModel):
        value: int

    daemon.reply(daemon.chunk("", tool_calls=[daemon.call("c1", "final_result", '{"value": 4}')]))

    result = await Agent(daemon.model(), output_type=ToolOutput(Sum)).run("2+2?")

    assert result.output == Sum(value=4)
    assert [tool["name"] for tool in daemon.sent["tools"]] == ["final_result"]


@pytest.mark.parametrize(
    ("choice", "sent_choice", "names"),
    [
        ("auto", "auto", ["search", "add", "final_result"]),
        ("none", "none", ["search", "add", "final_result"]),
        ("required", "required", ["search", "add", "final_result"]),
        ([], "none", ["search", "add", "final_result"]),
        (["add"], "required", ["add"]),
        (["add", "final_result"], "required", ["add", "final_result"]),
        (ToolOrOutput(function_tools=["search"]), "auto", ["search", "final_result"]),
    ],
)
async def test_a_choice_of_tools_is_a_parameter_and_leaves_the_others_out(
    daemon, choice, sent_choice, names
):
    sent = await ask(
        daemon,
        {"tool_choice": choice},
        function_tools=[SEARCH, ADD],
        output_tools=[FINAL],
        output_mode="tool",
    )

    assert sent["model_parameters"] == {"tool_choice": sent_choice}
    assert [tool["name"] for tool in sent["tools"]] == names


async def test_a_tool_is_required_where_text_is_no_output(daemon):
    sent = await ask(
        daemon,
        {"tool_choice": ToolOrOutput(function_tools=["add"])},
        function_tools=[ADD],
        output_tools=[FINAL],
        output_mode="tool",
        allow_text_output=False,
    )

    assert sent["model_parameters"] == {"tool_choice": "required"}


async def test_a_choice_that_names_no_tool_is_refused(daemon):
    with pytest.raises(
        UserError, match=r"tool_choice: expected names among \['add'\], got \['x'\]"
    ):
        await ask(daemon, {"tool_choice": ["x"]}, function_tools=[ADD])


async def test_settings_become_model_parameters(daemon):
    sent = await ask(
        daemon,
        {
            "temperature": 0.2,
            "max_tokens": 100,
            "top_p": None,
            "stop_sequences": ["END"],
            "extra_body": {"reasoning_effort": "low", "max_tokens": 200},
        },
    )

    assert sent["model_parameters"] == {
        "temperature": 0.2,
        "max_tokens": 200,
        "reasoning_effort": "low",
    }
    assert sent["stop"] == ["END"]


async def test_the_models_own_settings_come_first(daemon):
    daemon.reply(daemon.chunk("ok"))
    model = daemon.model(model_settings={"temperature": 0.2, "seed": 1})

    await daemon.ask(settings={"temperature": 0.9}, model=model)

    assert daemon.sent["model_parameters"] == {"temperature": 0.9, "seed": 1}


async def test_without_settings_there_is_neither_parameter_nor_stop(daemon):
    sent = await ask(daemon, {"stop_sequences": []})

    assert (sent["model_parameters"], sent["stop"]) == ({}, None)


async def test_what_the_library_applies_itself_is_not_sent(daemon):
    sent = await ask(daemon, {"request_timeout": 30.0, "framing_announcement": "never"})

    assert sent["model_parameters"] == {}


async def test_a_setting_that_would_be_ignored_is_warned_of(daemon):
    with pytest.warns(UnsupportedSettingWarning, match="timeout"):
        sent = await ask(daemon, {"timeout": 5})

    assert sent["model_parameters"] == {}


async def test_an_extra_body_must_be_a_mapping(daemon):
    with pytest.raises(
        UserError, match="extra_body: expected a mapping of model parameters, got list"
    ):
        await ask(daemon, {"extra_body": [1]})
