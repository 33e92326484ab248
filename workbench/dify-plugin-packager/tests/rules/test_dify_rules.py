"""What the daemon takes and the plugin SDK loads, and Dify's API or its web editor cannot use, is told with the versions."""

import pytest
from damages import base, pack, put, swap
from packaging.version import Version

from dify_plugin_packager.rules import (
    DIFY_RELEASES,
    PackageRules,
    find_release,
    nearest_sdks,
    newest_of_each_line,
    read_sdk,
)


MODEL, AGENT, TOOL = "echo_model", "small_agent", "demo_tools"
MANIFEST, STEPS, WORDS = "manifest.yaml", "strategies/steps.yaml", "tools/words.yaml"
PROVIDER, ECHO, DEMO = "provider/echo.yaml", "models/llm/echo-1.yaml", "provider/demo.yaml"
OTHER = "provider/other.yaml"
BASE_URL = "variable: openai_api_base, label: { en_US: Base URL }, type: text-input"
BREAKS = "would break in Dify 1.10.0 to 1.17.0"

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
    (AGENT, STEPS, 'type: "array[tools]"', "type: any", "expected array[tools] for a parameter named tools", "every run fails"),
    (AGENT, STEPS, "scope: tool-call&llm, ", "", "'parameters.0.scope': expected a kind of model", "the workflow editor crashes"),
    (AGENT, STEPS, "scope: tool-call&llm", "scope: tool-call & llm", "'parameters.0.scope': expected a kind of model", "no model can be chosen"),
    (AGENT, "provider/small.yaml", "icon: icon.svg", "icon: icon.svg, tags: [trigger]", "'identity.tags.0': expected one of search", "it cannot be uploaded"),
    (AGENT, STEPS, "extra:", "output_schema: { properties: { a: { type: [string] }, b: { type: string } } }\nextra:", "'output_schema.properties.a.type': expected one type", "the editor crashes"),
    # Tools
    (TOOL, WORDS, "type: string", "type: model-selector", "'parameters.0.scope': expected a kind of model", "the workflow editor crashes"),
    (TOOL, DEMO, "required: false", "required: false\n    scope: tool-call&llm", "'credentials_for_provider.token.scope': expected one of all", "it cannot be uploaded"),
    (TOOL, DEMO, "tags: [utilities]", "tags: [other, agent]", "provider/demo.yaml: 'identity.tags.1': expected one of search, image", "it cannot be uploaded"),
    (TOOL, DEMO, "credentials_for_provider:", "oauth_schema: {}\ncredentials_for_provider:", "'oauth_schema.client_schema': expected a list, which may be empty", "it cannot be uploaded"),
    (TOOL, DEMO, "type: secret-input", "type: any", "'credentials_for_provider.token.type': expected one of app-selector", "it cannot be uploaded"),
    # Data sources and triggers
    ("datasources", OTHER, "provider_type:", "oauth_schema: { client_schema: [] }\nprovider_type:", "'oauth_schema.credentials_schema': expected a list", "it cannot be uploaded"),
    ("triggers", OTHER, "constructor: {", "constructor: { oauth_schema: null,", "'subscription_constructor.oauth_schema.client_schema': expected a list", "it cannot be uploaded"),
    ("triggers", OTHER, "constructor: {", "constructor: { oauth_schema: { credentials_schema: [], client_schema: [{ name: a, type: number }] },", "'subscription_constructor.oauth_schema.client_schema.0.type': expected one of app-selector", "it cannot be uploaded"),
    ("triggers", OTHER, "subscription_schema: { key: {", "subscription_schema: { key: { type: number }, other: {", "'subscription_schema.key.type': expected one of app-selector", "it cannot be uploaded"),
    ("triggers", OTHER, "parameters: [{", "parameters: [{ name: secret, type: secret-input, label: { en_US: S } }, {", "'subscription_constructor.parameters.0.type': expected a type that Dify knows, got 'secret-input'", "it cannot be uploaded"),
    ("triggers", OTHER, "parameters: [{", "parameters: [{ default: {}, ", "'subscription_constructor.parameters.0.default': expected no object", "it cannot be uploaded"),
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
    (AGENT, STEPS, "extra:", "output_schema: { properties: { usage: { type: object } } }\nextra:", "'output_schema.properties.usage': expected another name: a variable of this one replaces the usage"),
    (AGENT, STEPS, "extra:", "output_schema: { properties: { text: { type: string } } }\nextra:", "'output_schema.properties.text': expected another name"),
    (TOOL, WORDS, "extra:", "output_schema: { properties: { json: { type: object }, usage: { type: object } } }\nextra:", "'output_schema.properties.json': expected another name: the node has this output anyway"),
    (AGENT, "provider/small.yaml", "name: small_agent", "name: small", "'identity.name': expected 'small_agent'"),
    (TOOL, WORDS, "default: space", "default: comma", "in agents' apps of Dify calls fail"),
    (TOOL, WORDS, "name: words", "name: count words", "'identity.name': expected 1 to 128 letters, digits, underscores or hyphens, or models are not sent the tool"),
    (TOOL, WORDS, "name: words", f"name: {'w' * 129}", "or models are not sent the tool, got 'www"),
    (MODEL, PROVIDER, "icon_small: { en_US: icon.svg }", "", "'icon_small': expected an icon"),
    (MODEL, PROVIDER, BASE_URL, BASE_URL.replace("text-input", "switch, required: false"), "in Dify nothing is drawn"),
    (MODEL, PROVIDER, BASE_URL, BASE_URL.replace("text-input", "select, default: b, options: [{ value: a, label: { en_US: A } }]"), "expected one of the options, got 'b'"),
    (MODEL, PROVIDER, BASE_URL, f"{BASE_URL}, show_on: [{{ variable: other, value: a }}, {{ variable: __model_type, value: llm }}]", "expected a field of this form, got 'other'"),
    (MODEL, ECHO, "mode: chat, ", "", "expected chat or completion"),
]  # fmt: skip

# What newer releases take: the change, the field, and the first release that takes it.
NEWER = [
    (TOOL, WORDS, "    default: space", "    multiple: true\n    default: [space]", "'parameters.1.default'", "1.11.3"),
    (AGENT, STEPS, "required: true, default: 3", "required: false, default: [3]", "'parameters.4.default'", "1.11.3"),
    ("datasources", "datasources/item.yaml", "required: true", "default: [a]", "'parameters.0.default'", "1.11.3"),
    (MODEL, ECHO, "features: [", "features: [polling, ", "'features': expected no polling", "1.15.0"),
    (TOOL, WORDS, "type: string", "type: date", "'parameters.0.type': expected a type that Dify knows, got 'date'", "1.17.0"),
]  # fmt: skip


# What newer releases refuse: the change, and what is told of the first release that refuses it.
OLDER = [
    (TOOL, WORDS, "type: string", "multiple: true\n    type: string", "'parameters.0.multiple': expected false"),
    (TOOL, WORDS, "    default: space", "    default: [space]", "'parameters.1.default': expected a list exactly where multiple is true"),
    (TOOL, WORDS, "    default: space", "    multiple: true\n    default: space", "'parameters.1.default': expected a list exactly where multiple is true"),
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


@pytest.fixture
def against(read_archive, tmp_path):
    """Change texts in a plugin's files; return what is found against a version of Dify as (kind, text)."""

    def run(version, plugin, *changes, files=()):
        changed = base(plugin)
        changed.pop("pyproject.toml", None)  # It names a newer SDK than most versions.
        for change in (*(swap(*one) for one in changes), *(put(*one) for one in files)):
            change(changed)
        rules = PackageRules(read_archive(pack(changed)), tmp_path, judges_use=False)
        return [(found.kind, found.text) for found in rules.check_against(find_release(version))]

    return run


@pytest.mark.parametrize("new", NEWER, ids=lambda new: new[-2])
def test_what_older_versions_do_not_know_breaks_in_them_alone(findings, against, new):
    plugin, *change, told, first = new
    last_before = str(DIFY_RELEASES[DIFY_RELEASES.index(find_release(first)) - 1])
    (text,) = [text for _, text in findings(plugin, change) if "would break in Dify" in text]
    assert told in text
    assert f"or at least {first} in 'meta.minimum_dify_version' of manifest.yaml" in text
    assert f"would break in Dify 1.10.0 to {last_before}: " in text
    ((kind, text),) = against(last_before, plugin, change)
    assert (kind, f"would break in Dify {last_before}: " in text) == ("broken", True)
    assert against(first, plugin, change) == []


@pytest.mark.parametrize("old", OLDER, ids=lambda old: old[3])
def test_what_newer_versions_refuse_breaks_in_them_alone(against, old):
    plugin, *change, told = old
    assert against("1.16.0", plugin, change) == []
    ((kind, text),) = against("1.16.1", plugin, change)
    assert (kind, told in text, "whole list of tools fails" in text) == ("broken", True, True)


def test_a_version_that_the_manifest_rules_out_does_not_break(findings):
    plugin, *change, _, first = NEWER[-1]
    asks = (MANIFEST, "runner:", f"minimum_dify_version: {first}, runner:")
    assert not [text for kind, text in findings(plugin, change, asks) if kind == "broken"]


def test_a_version_that_the_manifest_rules_out_warns_of_it(against):
    asks = (MANIFEST, "runner:", "minimum_dify_version: 1.15.0, runner:")
    ((kind, text),) = against("1.14.2", MODEL, asks)
    assert (
        kind,
        text.startswith("manifest.yaml: 'meta.minimum_dify_version': asks for 1.15.0"),
    ) == (
        "advice",
        True,
    )
    assert against("1.15", MODEL, asks) == []


def test_what_breaks_in_versions_can_be_left_to_them(read_archive, tmp_path):
    files = base(AGENT)
    swap(STEPS, "type: any, required", "type: select, required")(files)
    rules = PackageRules(read_archive(pack(files)), tmp_path, judges_use=False)
    found = [one for _, rule in (*rules.of_archive(), *rules.of_contents()) for one in rule()]
    assert not [one for one in found if one.kind == "broken" and "in Dify" in one.text]
    assert [one for one in rules.check_against(find_release("1.10")) if one.kind == "broken"]


def test_a_slider_from_0_shows_1_only_since_it_is_drawn(findings):
    change = (STEPS, "required: true, default: 3", "required: false, min: 0, max: 9")
    asks = (MANIFEST, "runner:", "minimum_dify_version: 2.0.0, runner:")
    assert [text for _, text in findings(AGENT, change) if "Dify shows 1" in text]
    assert not [text for _, text in findings(AGENT, change, asks) if "Dify shows 1" in text]


@pytest.mark.parametrize(
    ("text", "version"),
    [("1.10", "1.10.1"), ("1.10.0", "1.10.0"), ("1.14", "1.14.2"), ("1.16", "1.16.1")],
)
def test_a_line_of_dify_stands_for_its_newest_known_release(text, version):
    assert str(find_release(text)) == version


@pytest.mark.parametrize("text", ["1.3", "2.0", "1.14.9", "1", "", "1.1"])
def test_an_unknown_version_of_dify_is_not_guessed(text):
    assert find_release(text) is None


def test_each_line_has_one_newest_release():
    newest = [one.line for one in newest_of_each_line()]
    assert newest == list(dict.fromkeys(one.line for one in DIFY_RELEASES))


LOCKED = '[[package]]\nname = "anyio"\n[[package]]\nname = "dify-plugin"\nversion = "0.9.1"\n'


@pytest.mark.parametrize(
    ("files", "version", "told"),
    [
        ({"uv.lock": LOCKED}, "1.14.1", "uv.lock: 'dify-plugin': 0.9.1 was made for Dify 1.14.2"),
        ({"uv.lock": LOCKED}, "1.14.2", None),
        ({"requirements.txt": "dify_plugin~=0.7.4"}, "1.10", "requirements.txt: 'dify-plugin': 0.7.4 was made for Dify 1.11.0"),
        ({"requirements.txt": "dify_plugin>=0.8.1"}, "1.14.1", "requirements.txt: 'dify-plugin': 0.9.0 was made for Dify 1.14.2"),
        ({"requirements.txt": "dify_plugin>=0.7.5,!=0.8.0"}, "1.14.1", "0.9.0 was made for Dify 1.14.2"),
        ({"requirements.txt": "dify_plugin==0.8.1"}, "1.13", "0.8.1 was made for Dify 1.14.0"),
        ({"requirements.txt": "dify_plugin==0.8.*"}, "1.11", None),
        ({"requirements.txt": "dify_plugin>=0.6,<0.8"}, "1.10", None),
        ({"requirements.txt": "dify_plugin<2"}, "1.10", None),
        ({"requirements.txt": "a ==", "uv.lock": LOCKED.replace("0.9.1", "new")}, "1.10", None),
        ({"pyproject.toml": "[project]\ndependencies = ['requests', 'dify-plugin>=0.9']"}, "1.10", "pyproject.toml: 'dify-plugin': 0.9 was made for Dify 1.14.2"),
    ],
)  # fmt: skip
def test_an_sdk_that_was_made_for_a_newer_dify_is_advised_against(against, files, version, told):
    found = against(version, MODEL, files=files.items())
    assert [(kind, str(told) in text) for kind, text in found] == [("advice", True)] * bool(told)


def test_what_a_package_asks_of_the_sdk_is_read(read_archive, tmp_path):
    def read(**files):
        changed = base("triggers") | {name: text.encode() for name, text in files.items()}
        return read_sdk(PackageRules(read_archive(pack(changed)), tmp_path).contents)

    asked = read(**{"uv.lock": LOCKED, "requirements.txt": "dify-plugin>=0.8,<0.10"})
    assert (asked.file, str(asked.oldest), str(asked.specifier)) == (
        "requirements.txt",
        "0.9.1",
        "<0.10,>=0.8",
    )
    assert str(read(**{"uv.lock": LOCKED}).specifier) == ""
    assert read(**{"requirements.txt": "httpx"}) is None


def test_a_tool_provider_without_tags_takes_those_of_the_manifest(findings):
    without = (DEMO, "  tags: [utilities]\n", "")
    assert not [text for _, text in findings(TOOL, without) if BREAKS in text]
    found = findings(TOOL, without, (MANIFEST, "tags: [utilities]", "tags: [rag, agent]"))
    ((kind, text),) = [one for one in found if BREAKS in one[1]]
    assert kind == "broken"
    assert text.startswith("manifest.yaml: 'tags.1': expected one of search, image")
    assert "as provider/demo.yaml has none and takes these, got 'agent'" in text


TWIN = "variable: openai_api_key, show_on: [{ variable: __model_type, value: llm }]"


@pytest.mark.parametrize(
    ("plugin", "changes"),
    [
        # A field for one choice, and one of the same name for others
        (MODEL, [(PROVIDER, "variable: request_timeout_seconds", TWIN)]),
        # A model of another type with the same name
        (MODEL, [(ECHO, "model: echo-1", "model: echo-2"), (ECHO, "model_type: llm", "model_type: rerank")]),
        # Keys of models in a file of tools, which nobody reads there
        (TOOL, [(DEMO, "identity:", "supported_model_types: []\nidentity:")]),
    ],
)  # fmt: skip
def test_what_official_plugins_do_to_good_effect_is_not_spoken_of(findings, plugin, changes):
    found = findings(plugin, *changes)
    assert not [text for _, text in found if "more than once" in text or "at least one" in text]


@pytest.mark.parametrize("plugin", [MODEL, AGENT, TOOL])
def test_what_works_in_dify_is_not_spoken_of(findings, plugin):
    assert not [text for _, text in findings(plugin) if "Dify" in text]


@pytest.mark.parametrize(
    ("version", "near"),
    [("0.0.1", ["0.1.0"]), ("0.2.3", ["0.2.2", "0.2.4"]), ("99", ["0.10.2"])],
)
def test_the_sdks_around_a_version_that_cannot_be_installed_are_found(version, near):
    assert [str(one) for one in nearest_sdks(Version(version))] == near
