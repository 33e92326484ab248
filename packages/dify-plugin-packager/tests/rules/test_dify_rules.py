"""What the daemon takes and the plugin SDK loads, and Dify's API or its web editor cannot use, is told with the versions."""

import pytest
from damages import base, pack, swap


MODEL, AGENT, TOOL = "echo_model", "small_agent", "demo_tools"
MANIFEST, STEPS, WORDS = "manifest.yaml", "strategies/steps.yaml", "tools/words.yaml"
PROVIDER, ECHO, DEMO = "provider/echo.yaml", "models/llm/echo-1.yaml", "provider/demo.yaml"
BASE_URL = "variable: openai_api_base, label: { en_US: Base URL }, type: text-input"
BREAKS = "would break in Dify 1.10.1 to 1.14.1"

BROKEN = [
    # The faults that stopped every run, and the editor
    (AGENT, STEPS, "type: any, required", "type: model-selector, scope: llm, required", "'parameters.6': expected a type and a default with which it can be left empty", "The selector must be a dictionary."),
    (AGENT, STEPS, "type: any, required", "type: select, options: [{ value: a, label: { en_US: A } }], required", "'parameters.6.type': expected boolean or string", "the workflow editor crashes"),
    # Strategies
    (AGENT, STEPS, "required: true, default: 3", "required: true, default: 0", "'parameters.4'", "tool parameter maximum_iterations not found in tool config"),
    (AGENT, STEPS, "required: true, default: 3", "required: false, default: three", "'parameters.4'", "invalid literal for int()"),
    (AGENT, STEPS, "required: false, default: 1", "required: true", "'parameters.5.required': expected false", "false cannot be chosen"),
    (AGENT, STEPS, "type: any, required", "type: object, required", "expected a type that Dify knows, got 'object'", "whole list of strategies"),
    (AGENT, STEPS, "type: any, required: false", "type: files, required: true", "expected any with the scope array[file]", "nothing is drawn"),
    (AGENT, STEPS, 'type: "array[tools]"', "type: any", "expected array[tools] for the name tools", "every run fails"),
    (AGENT, STEPS, "scope: tool-call&llm, ", "", "'parameters.0.scope': expected a kind of model", "the workflow editor crashes"),
    (AGENT, STEPS, "scope: tool-call&llm", "scope: tool-call & llm", "'parameters.0.scope': expected a kind of model", "no model can be chosen"),
    (AGENT, "provider/small.yaml", "icon: icon.svg", "icon: icon.svg, tags: [trigger]", "'identity.tags.0': expected one of search", "it cannot be uploaded"),
    (AGENT, STEPS, "extra:", "output_schema: { properties: { a: { type: [string] }, b: { type: string } } }\nextra:", "'output_schema.properties.a.type': expected one type", "the editor crashes"),
    # Tools
    (TOOL, WORDS, "type: string", "type: model-selector", "'parameters.0.scope': expected a kind of model", "the workflow editor crashes"),
    (TOOL, DEMO, "required: false", "required: false\n    scope: tool-call&llm", "'credentials_for_provider.token.scope': expected one of all", "it cannot be uploaded"),
    (TOOL, DEMO, "tags: [utilities]", "tags: [other, agent]", "provider/demo.yaml: 'identity.tags.1': expected one of search, image", "it cannot be uploaded"),
    # Models
    (MODEL, PROVIDER, "[llm]", "[llm, text2img]", "'supported_model_types': expected no text2img", "it cannot be uploaded"),
    (MODEL, PROVIDER, "[predefined-model]", "[predefined-model, customizable-model]", "'model_credential_schema': expected one", "its form is empty"),
    (MODEL, PROVIDER, BASE_URL, BASE_URL.replace("text-input", "switch"), "credential_form_schemas.1.type': expected select or radio", "nothing is drawn"),
    (MODEL, ECHO, "model_type: llm", "model_type: text2img", "'model_type': expected another type", "it cannot be uploaded"),
    (MODEL, ECHO, "context_size: 1000", 'context_size: "1000"', "'model_properties.context_size': expected a whole number", "calls fail"),
    # Manifests
    (MODEL, MANIFEST, "entrypoint: main }", 'entrypoint: main }, minimum_dify_version: "1.10"', "'meta.minimum_dify_version': expected x.y.z, got '1.10'", "its web page fails"),
]  # fmt: skip

ADVICE = [
    (AGENT, STEPS, "type: any, required", "type: file, required", "for this type Dify draws nothing"),
    (AGENT, STEPS, "required: true, default: 3", "required: false, min: 0, max: 9", "Dify shows 1 and sends nothing"),
    (AGENT, STEPS, "type: any, required", 'type: "array[tools]", required', "Dify sends the credentials of no others"),
    (AGENT, "provider/small.yaml", "name: small_agent", "name: small", "'identity.name': expected 'small_agent'"),
    (TOOL, WORDS, "default: space", "default: comma", "in agents' apps of Dify calls fail"),
    (MODEL, PROVIDER, "icon_small: { en_US: icon.svg }", "", "'icon_small': expected an icon"),
    (MODEL, PROVIDER, BASE_URL, BASE_URL.replace("text-input", "switch, required: false"), "in Dify nothing is drawn"),
    (MODEL, PROVIDER, BASE_URL, BASE_URL.replace("text-input", "select, default: b, options: [{ value: a, label: { en_US: A } }]"), "expected one of the options, got 'b'"),
    (MODEL, PROVIDER, BASE_URL, f"{BASE_URL}, show_on: [{{ variable: other, value: a }}, {{ variable: __model_type, value: llm }}]", "expected a field of this form, got 'other'"),
    (MODEL, ECHO, "mode: chat, ", "", "expected chat or completion"),
]  # fmt: skip

NEWER = [
    ("type: string", "type: date", None, "at least 1.14.2, the first version of Dify that may know dates"),
    ("default: space", "multiple: true\n    default: [space]", "1.10.1", "at least 1.13.2, the first version of Dify that takes such a default"),
    ("default: space", "multiple: true\n    default: [space]", "1.13.2", None),
]  # fmt: skip


@pytest.fixture
def findings(findings_of):
    """Change a text in a plugin's file; return what is found then as (kind, text)."""

    def run(plugin, *changes):
        files = base(plugin)
        for path, old, new in changes:
            swap(path, old, new)(files)
        return [(kind, text) for kind, _, text in findings_of(pack(files))]

    return run


@pytest.mark.parametrize("fault", BROKEN, ids=lambda fault: f"{fault[3]}: {fault[4]}")
def test_what_dify_cannot_use_would_break(findings, fault):
    plugin, *change, told, effect = fault
    broken = [text for kind, text in findings(plugin, change) if kind == "broken"]
    assert any(told in text and BREAKS in text and effect in text for text in broken), broken


@pytest.mark.parametrize("fault", ADVICE, ids=lambda fault: f"{fault[3]}: {fault[4]}")
def test_what_dify_makes_little_of_is_advice(findings, fault):
    plugin, *change, told = fault
    found = findings(plugin, change)
    assert any(kind == "advice" and told in text for kind, text in found), found
    assert not any(BREAKS in text for _, text in found)


@pytest.mark.parametrize(("old", "new", "version", "told"), NEWER)
def test_what_older_versions_do_not_know_is_kept_from_them(findings, old, new, version, told):
    oldest = f"minimum_dify_version: {version}\n  " if version else ""
    found = findings(TOOL, (WORDS, old, new), (MANIFEST, "runner:", f"{oldest}runner:"))
    about = [text for _, text in found if "'meta.minimum_dify_version'" in text]
    assert [told is not None and told in text for text in about] == [True] * bool(told)


def test_a_tool_provider_without_tags_takes_those_of_the_manifest(findings):
    without = (DEMO, "  tags: [utilities]\n", "")
    assert not [text for _, text in findings(TOOL, without) if BREAKS in text]
    found = findings(TOOL, without, (MANIFEST, "tags: [utilities]", "tags: [rag, agent]"))
    ((kind, text),) = [one for one in found if BREAKS in one[1]]
    assert kind == "broken"
    assert text.startswith("manifest.yaml: 'tags.1': expected one of search, image")
    assert "as provider/demo.yaml has none and takes these, got 'agent'" in text


@pytest.mark.parametrize("plugin", [MODEL, AGENT, TOOL])
def test_what_works_in_dify_is_not_spoken_of(findings, plugin):
    assert not [text for _, text in findings(plugin) if "Dify" in text]
