import copy
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from agent_tooling import DeclarationError
from dify_agent.layers.dify_plugin import DifyPluginToolConfig, DifyPluginToolParameter
from dify_agent.preparation import prepare_tool_config


FIXTURES = Path(__file__).parent / "fixtures"
CONFIG = DifyPluginToolConfig(
    plugin_id="langgenius/search",
    provider="search",
    tool_name="web_search",
    credential_type="api-key",
    credentials={"api_key": "secret"},
    runtime_parameters={"site": {"hosts": ["docs"]}},
    name="search",
    strict=True,
)
QUERY = {
    "name": "query",
    "type": "string",
    "form": "llm",
    "required": True,
    "llm_description": "What to look for",
    "label": {"en_US": "Query"},
}
SITE = {"name": "site", "type": "object", "form": "form", "required": True}
REGION = {
    "name": "region",
    "type": "select",
    "form": "llm",
    "options": [{"value": 1, "label": {}}, {"value": "eu"}],
}
PHOTO = {"name": "photo", "type": "file", "form": "llm", "required": True}


def test_declarations_become_parameters_and_the_schema_of_those_the_model_sees():
    prepared = prepare_tool_config(CONFIG, declared=[QUERY, SITE, REGION, PHOTO])

    assert [parameter.name for parameter in prepared.parameters] == [
        "query",
        "site",
        "region",
        "photo",
    ]
    assert prepared.parameters_json_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for"},
            "region": {"type": "string", "description": "", "enum": ["1", "eu"]},
        },
        "required": ["query"],
    }


def test_everything_else_of_the_configuration_stays():
    prepared = prepare_tool_config(CONFIG, declared=[QUERY])

    kept = prepared.model_copy(
        update={
            "parameters": CONFIG.parameters,
            "parameters_json_schema": CONFIG.parameters_json_schema,
        }
    )
    assert kept == CONFIG


def test_a_runtime_parameter_replaces_the_declared_one_or_is_appended():
    replaced = {"name": "query", "type": "number", "form": "llm"}
    prepared = prepare_tool_config(CONFIG, declared=[QUERY, SITE], runtime=[REGION, replaced])

    assert [parameter.name for parameter in prepared.parameters] == ["query", "site", "region"]
    assert prepared.parameters[0] == DifyPluginToolParameter.model_validate(replaced)
    assert prepared.parameters_json_schema["properties"]["query"] == {
        "type": "number",
        "description": "",
    }
    assert prepared.parameters_json_schema["required"] == []


# What the daemon adds to a parameter where its declaration says nothing.
ABSENT = dict.fromkeys(
    ["scope", "auto_generate", "template", "default", "min", "max", "precision", "options"]
)


@pytest.mark.parametrize("as_declared", [dict, lambda fields: SimpleNamespace(**fields)])
def test_null_counts_as_left_out(as_declared):
    nulls = ABSENT | dict.fromkeys(
        ["required", "multiple", "llm_description", "input_schema", "human_description", "label"]
    )
    declared = {"name": "query", "type": "string", "form": "llm"}
    bare = prepare_tool_config(CONFIG, declared=[declared])

    assert prepare_tool_config(CONFIG, declared=[as_declared(nulls | declared)]) == bare


def test_what_the_daemon_tells_of_a_tool_prepares_it():
    """The answer of a real daemon's `management/tools`; see the fixture."""
    answer = json.loads((FIXTURES / "management_tools.json").read_text())
    [provider] = answer["data"]
    [tool] = provider["declaration"]["tools"]
    prepared = prepare_tool_config(CONFIG, declared=tool["parameters"])

    assert [(each.name, each.default) for each in prepared.parameters] == [
        ("text", None),
        ("ending", "space"),
    ]
    assert [option.value for option in prepared.parameters[1].options] == ["space", "newline"]
    assert prepared.parameters_json_schema == {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text."}},
        "required": ["text"],
    }
    sent = DifyPluginToolConfig.model_validate_json(prepared.model_dump_json())
    assert sent == prepared


@pytest.mark.parametrize("portable", [True, False])
def test_a_kind_of_parameter_that_nobody_knows_yet_is_text(portable):
    declared = [ABSENT | {"name": "x", "type": "hologram", "form": "llm"}]
    prepared = prepare_tool_config(CONFIG, declared=declared, portable=portable)

    assert prepared.parameters[0].type == "string"
    assert prepared.parameters_json_schema["properties"] == {
        "x": {"type": "string", "description": ""}
    }


def test_several_choices_and_dates_are_shown_and_kept():
    options = [{"value": "a", "label": {}, "icon": ""}]
    declared = [
        ABSENT | {"name": "day", "type": "date", "form": "llm"},
        ABSENT | {"name": "stay", "type": "date-range", "form": "llm"},
        ABSENT | {"name": "tags", "type": "select", "form": "llm", "multiple": True, "options": options},
    ]  # fmt: skip
    prepared = prepare_tool_config(CONFIG, declared=declared)

    assert [(each.type, each.multiple) for each in prepared.parameters] == [
        ("date", False),
        ("date-range", False),
        ("select", True),
    ]
    shown = prepared.parameters_json_schema["properties"]
    assert [shown[name]["type"] for name in ("day", "stay", "tags")] == [
        "string",
        "object",
        "array",
    ]
    assert shown["tags"]["items"] == {"type": "string", "enum": ["a"]}


def test_a_tool_without_parameters_has_an_empty_schema():
    prepared = prepare_tool_config(CONFIG, declared=None)

    assert prepared.parameters == []
    assert prepared.parameters_json_schema == {"type": "object", "properties": {}, "required": []}


def test_declarations_may_be_objects():
    declared = SimpleNamespace(
        name="query", type="string", form="llm", required=True, default=None,
        llm_description="d", input_schema=None, options=[SimpleNamespace(value=True)],
    )  # fmt: skip
    [parameter] = prepare_tool_config(CONFIG, declared=[declared]).parameters

    assert parameter.required is True
    assert parameter.options[0].value == "True"


def test_a_portable_schema_has_no_types_of_difys_own():
    declared = [{"name": "value", "type": "any", "form": "llm"}]

    assert prepare_tool_config(CONFIG, declared=declared).parameters_json_schema["properties"] == {
        "value": {"type": "any", "description": ""}
    }
    assert prepare_tool_config(CONFIG, declared=declared, portable=True).parameters_json_schema[
        "properties"
    ] == {"value": {"description": ""}}


def test_the_result_shares_nothing_with_what_it_was_made_of():
    declared = [QUERY | {"input_schema": {"type": "string", "enum": ["a"]}, "default": ["d"]}]
    before = copy.deepcopy((declared, CONFIG.model_dump()))
    prepared = prepare_tool_config(CONFIG, declared=declared)

    prepared.parameters[0].input_schema["enum"].append("b")
    prepared.parameters[0].default.append("e")
    prepared.parameters_json_schema["properties"]["query"]["enum"].append("c")
    prepared.runtime_parameters["site"]["hosts"].append("web")

    assert (declared, CONFIG.model_dump()) == before


def test_a_declaration_that_cannot_be_read_is_refused():
    with pytest.raises(DeclarationError, match="parameter name"):
        prepare_tool_config(CONFIG, declared=[{"type": "string", "form": "llm"}])
    with pytest.raises(ValidationError, match="default"):
        prepare_tool_config(CONFIG, declared=[QUERY | {"default": object()}])
