from types import SimpleNamespace

import pytest
from pydantic import ValidationError

import dify_agent.layers.dify_plugin as client_surface
from dify_agent.layers.dify_plugin import (
    DIFY_PLUGIN_LAYER_TYPE_ID,
    DIFY_PLUGIN_LLM_LAYER_TYPE_ID,
    DIFY_PLUGIN_TOOLS_LAYER_TYPE_ID,
    DifyPluginLayerConfig,
    DifyPluginLLMLayerConfig,
    DifyPluginToolConfig,
    DifyPluginToolOption,
    DifyPluginToolParameter,
    DifyPluginToolParameterForm,
    DifyPluginToolParameterType,
    DifyPluginToolsLayerConfig,
)


TOOL = {
    "plugin_id": "langgenius/search",
    "provider": "search",
    "tool_name": "web_search",
    "credential_type": "api-key",
}
LLM = {"plugin_id": "langgenius/openai", "model_provider": "openai", "model": "gpt-4o-mini"}


def test_a_client_gets_these_names_in_this_order_and_no_more():
    """Source: docs/contracts/dify-agent.md, C15."""
    assert client_surface.__all__ == [
        "DIFY_PLUGIN_LAYER_TYPE_ID",
        "DIFY_PLUGIN_LLM_LAYER_TYPE_ID",
        "DIFY_PLUGIN_TOOLS_LAYER_TYPE_ID",
        "DifyPluginCredentialValue",
        "DifyPluginLLMLayerConfig",
        "DifyPluginLayerConfig",
        "DifyPluginToolCredentialType",
        "DifyPluginToolConfig",
        "DifyPluginToolOption",
        "DifyPluginToolParameter",
        "DifyPluginToolParameterForm",
        "DifyPluginToolParameterType",
        "DifyPluginToolsLayerConfig",
        "DifyPluginToolValue",
    ]
    assert all(hasattr(client_surface, name) for name in client_surface.__all__)


def test_the_client_surface_has_no_implementation_layer():
    assert not hasattr(client_surface, "DifyPluginLLMLayer")
    assert not hasattr(client_surface, "DifyPluginLayer")
    assert not hasattr(client_surface, "DifyPluginToolsLayer")


def test_the_type_ids_are_what_requests_name():
    assert (
        DIFY_PLUGIN_LAYER_TYPE_ID,
        DIFY_PLUGIN_LLM_LAYER_TYPE_ID,
        DIFY_PLUGIN_TOOLS_LAYER_TYPE_ID,
    ) == ("dify.plugin", "dify.plugin.llm", "dify.plugin.tools")


@pytest.mark.parametrize(
    "field", ["plugin_id", "daemon_url", "daemon_api_key", "plugin_daemon_url", "anything"]
)
def test_the_plugin_context_refuses_what_is_not_tenant_and_user(field):
    with pytest.raises(ValidationError) as caught:
        DifyPluginLayerConfig.model_validate({"tenant_id": "t", field: "x"})
    assert [(error["loc"], error["type"]) for error in caught.value.errors()] == [
        ((field,), "extra_forbidden")
    ]


def test_the_user_may_be_left_out():
    assert DifyPluginLayerConfig(tenant_id="tenant-1").user_id is None


def test_the_model_refuses_the_old_provider_field():
    with pytest.raises(ValidationError, match="provider\n  Extra inputs are not permitted"):
        DifyPluginLLMLayerConfig.model_validate(LLM | {"provider": "openai"})


def test_model_settings_are_pydantic_ais():
    config = DifyPluginLLMLayerConfig.model_validate(
        LLM | {"model_settings": {"temperature": 0.5, "extra_body": {"verbosity": "low"}}}
    )
    assert config.model_settings == {"temperature": 0.5, "extra_body": {"verbosity": "low"}}


@pytest.mark.parametrize("value", ["text", 1, 1.5, True, None])
def test_credentials_keep_scalars_as_they_are(value):
    config = DifyPluginLLMLayerConfig.model_validate(LLM | {"credentials": {"field": value}})
    assert config.credentials["field"] is value


@pytest.mark.parametrize("value", [{"nested": "secret"}, ["secret"], object()])
def test_credentials_refuse_anything_but_scalars_without_quoting_it(value):
    with pytest.raises(ValidationError) as caught:
        DifyPluginToolConfig.model_validate(TOOL | {"credentials": {"field": value}})
    assert "credentials.field" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("credential_type", ["api-key", "oauth2", "unauthorized"])
def test_a_tool_says_how_its_credentials_travel(credential_type):
    config = DifyPluginToolConfig.model_validate(TOOL | {"credential_type": credential_type})
    assert config.credential_type == credential_type


def test_a_tool_without_a_credential_type_is_refused():
    with pytest.raises(ValidationError, match="credential_type\n  Field required"):
        DifyPluginToolConfig.model_validate(
            {name: value for name, value in TOOL.items() if name != "credential_type"}
        )


def test_an_unknown_credential_type_is_refused():
    with pytest.raises(ValidationError, match="'api-key', 'oauth2' or 'unauthorized'"):
        DifyPluginToolConfig.model_validate(TOOL | {"credential_type": "basic"})


def test_a_tool_needs_four_fields_and_has_defaults_for_the_rest():
    config = DifyPluginToolConfig.model_validate(TOOL)
    assert config.model_dump() == TOOL | {
        "name": None,
        "description": None,
        "credentials": {},
        "runtime_parameters": {},
        "parameters": [],
        "parameters_json_schema": {"type": "object", "properties": {}, "required": []},
        "strict": None,
    }


def test_two_tools_never_share_a_default_schema():
    one, other = (DifyPluginToolConfig.model_validate(TOOL) for _ in range(2))
    one.parameters_json_schema["properties"] = {"changed": {}}
    assert other.parameters_json_schema["properties"] == {}


@pytest.mark.parametrize("field", ["runtime_parameters", "parameters_json_schema"])
def test_values_that_are_not_json_are_refused(field):
    with pytest.raises(ValidationError, match=field):
        DifyPluginToolConfig.model_validate(TOOL | {field: {"x": object()}})


def test_a_layer_of_no_tools_is_valid():
    assert DifyPluginToolsLayerConfig().tools == []


def test_a_parameter_takes_names_of_types_and_forms():
    parameter = DifyPluginToolParameter.model_validate(
        {"name": "q", "type": "secret-input", "form": "schema"}
    )
    assert parameter.type is DifyPluginToolParameterType.SECRET_INPUT
    assert parameter.form is DifyPluginToolParameterForm.SCHEMA
    assert parameter.required is False
    assert parameter.default is None


def test_a_parameter_leaves_aside_what_an_invocation_does_not_need():
    parameter = DifyPluginToolParameter.model_validate(
        {
            "name": "q",
            "type": "select",
            "form": "llm",
            "label": {"en_US": "Query"},
            "human_description": {"en_US": "What to look for"},
            "placeholder": None,
            "options": [{"value": "a", "label": {"en_US": "A"}, "icon": None}],
        }
    )
    assert parameter.options == [DifyPluginToolOption(value="a")]
    assert not hasattr(parameter, "label")


def test_a_tool_takes_declarations_as_plain_objects():
    declaration = SimpleNamespace(
        name="q",
        type="select",
        form="llm",
        required=True,
        default="1",
        llm_description="Which",
        input_schema=None,
        options=[SimpleNamespace(value=1, label="one")],
        label="ignored",
    )
    config = DifyPluginToolConfig.model_validate(TOOL | {"parameters": [declaration]})
    assert config.parameters == [
        DifyPluginToolParameter(
            name="q",
            type=DifyPluginToolParameterType.SELECT,
            form=DifyPluginToolParameterForm.LLM,
            required=True,
            default="1",
            llm_description="Which",
            options=[DifyPluginToolOption(value="1")],
        )
    ]


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), (1, "1"), (1.5, "1.5"), (True, "True"), (None, "None")]
)
def test_the_value_of_an_option_becomes_text(value, text):
    assert DifyPluginToolOption.model_validate({"value": value}).value == text


def test_every_kind_but_secrets_selections_checkboxes_and_dates_is_shown_as_itself():
    shown = {kind: kind.as_normal_type() for kind in DifyPluginToolParameterType}
    as_text = {kind for kind, name in shown.items() if name == "string"}
    assert as_text == {
        DifyPluginToolParameterType.STRING,
        DifyPluginToolParameterType.SECRET_INPUT,
        DifyPluginToolParameterType.SELECT,
        DifyPluginToolParameterType.CHECKBOX,
        DifyPluginToolParameterType.DATE,
    }
    assert shown.pop(DifyPluginToolParameterType.DATE_RANGE) == "object"
    assert all(shown[kind] == kind.value for kind in shown.keys() - as_text)


@pytest.mark.parametrize("kind", [None, 5, ["string"], {}])
def test_what_is_no_name_of_a_kind_is_refused(kind):
    with pytest.raises(ValidationError, match="type"):
        DifyPluginToolParameter.model_validate({"name": "q", "type": kind, "form": "llm"})


def test_a_configuration_does_not_show_its_secrets():
    secrets = {"credentials": {"api_key": "hunter2"}}
    tool = DifyPluginToolConfig.model_validate(
        TOOL | secrets | {"runtime_parameters": {"token": "hunter2"}}
    )
    llm = DifyPluginLLMLayerConfig.model_validate(LLM | secrets)
    assert "hunter2" not in repr([tool, llm])
