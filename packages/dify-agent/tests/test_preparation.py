import copy
import subprocess
import sys
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from agent_tooling import DeclarationError
from dify_agent.layers.dify_plugin import DifyPluginToolConfig, DifyPluginToolParameter
from dify_agent.preparation import prepare_tool_config


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


def test_preparing_a_tool_loads_nothing_of_the_server():
    server_side = [
        "dify_agent.plugin_daemon_transport",
        "dify_agent.runtime",
        "starlette",
        "gevent",
    ]
    script = (
        "import sys, dify_agent.preparation;"
        f"print([name for name in {server_side} if name in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout

    assert printed.strip() == "[]"


def test_a_declaration_that_cannot_be_read_is_refused():
    with pytest.raises(DeclarationError, match="parameter name"):
        prepare_tool_config(CONFIG, declared=[{"type": "string", "form": "llm"}])
    with pytest.raises(ValidationError, match="type"):
        prepare_tool_config(CONFIG, declared=[{"name": "x", "type": "hologram", "form": "llm"}])
