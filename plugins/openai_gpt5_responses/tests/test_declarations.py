"""The declarations that Dify reads: YAML, checked by reading it as plain YAML and once by the plugin SDK's own models.

The SDK patches the process that imports it, so its part runs in a process of its own.
"""

import re
import tomllib
from dataclasses import fields
from datetime import date, datetime, timedelta
from pathlib import Path
from types import UnionType
from typing import Literal, TypeAliasType, Union, get_args, get_origin

import pytest
import yaml

from gpt5_messages import ToolUsage
from gpt5_payloads import RequestParameters, build_request, profile_for
from gpt5_prices import PRICES, ToolRates, price_of


ROOT = Path(__file__).parent.parent
MANUAL = ROOT.parents[1] / "docs/plugins/openai-gpt5-responses.md"
SEED_MODELS = [
    "gpt-5.2",
    "gpt-5.2-pro",
    "gpt-5",
    "gpt-5-mini",
    "gpt-5-nano",
    "gpt-5-codex",
    "gpt-5.1-codex",
    "gpt-5.3-codex",
]
# A12, name: type, default, options
IN_EVERY_FORM = {
    "max_output_tokens": ("int", 8192, None),
    "reasoning_effort": ("string", "medium", None),
    "reasoning_summary": ("string", "auto", ["auto", "concise", "detailed", "off"]),
    "verbosity": ("string", "medium", ["low", "medium", "high"]),
    "image_detail": ("string", None, None),
    "response_format": ("string", "text", ["text", "json_schema"]),
    "json_schema": ("text", None, None),
    "tool_choice": ("string", "auto", None),
    "parallel_tool_calls": ("boolean", True, None),
    "enable_stream": ("boolean", True, None),
    "background": ("boolean", False, None),
}
# What a request takes and no form offers: these models refuse it.
NOT_OFFERED = {"temperature", "top_p"}
# Parameters whose options, or whose place in the form, are the model's: the field of its profile that says so.
BY_PROFILE = {
    "reasoning_effort": "efforts",
    "image_detail": "image_details",
    "service_tier": "service_tiers",
    "reasoning_mode": "reasoning_modes",
    "reasoning_context": "reasoning_contexts",
    "prompt_cache_ttl": "cache_ttls",
}
# What some models lack, and the models that are known to.
LACKING = {
    "reasoning_mode": {"gpt-5.5", "gpt-5.5-pro", "gpt-5.4", "gpt-5.2", "gpt-5"},
    "reasoning_context": {"gpt-5.3-codex", "gpt-5.2", "gpt-5.2-pro", "gpt-5.1", "gpt-5"},
    "prompt_cache_ttl": {"gpt-5.5", "gpt-5.4", "gpt-5.2", "gpt-5"},
    "service_tier": {"gpt-5.2-pro"},
    "flex_fallback": {"gpt-6.2-sol", "gpt-6.2-astra", "gpt-5.2-pro"},
}
CREDENTIALS = {
    "openai_api_key": ("secret-input", True, None),
    "openai_api_base": ("text-input", False, ""),
    "openai_organization": ("text-input", False, None),
    "extra_headers": ("secret-input", False, None),
    "mcp_tokens": ("secret-input", False, None),
    "request_timeout_seconds": ("text-input", False, "300"),
    "max_retries": ("text-input", False, "1"),
    "compatibility": ("select", False, "auto"),
}
# What the SDK's enumeration of features knows; any other word stops the plugin from loading.
KNOWN_FEATURES = {
    *("tool-call", "multi-tool-call", "agent-thought", "vision", "stream-tool-call"),
    *("document", "video", "audio", "structured-output", "polling"),
}


def load(path):
    # In C it takes a tenth of the time.
    return yaml.load((ROOT / path).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


MANIFEST = load("manifest.yaml")
PROVIDER = load("provider/openai_gpt5.yaml")
POSITION = load("models/llm/_position.yaml")
CATALOG = load("catalog.yaml")["models"]
RELEASE_DATE = date.fromisoformat(load("catalog.yaml")["release_date"])
MODELS = {name: load(f"models/llm/{name}.yaml") for name in POSITION}

ALL = [rule["name"] for rule in load("parameter_rules.yaml")]

each_model = pytest.mark.parametrize("name", POSITION)
each_row = pytest.mark.parametrize("row", CATALOG, ids=lambda row: row["name"])


def is_retired(row):
    return profile_for(row["name"]).retired


def rules_of(name):
    return {rule["name"]: rule for rule in MODELS[name]["parameter_rules"]}


def texts_of(value):
    """Yield every mapping of texts by language that `value` holds."""
    if isinstance(value, dict):
        if "en_US" in value:
            yield value
        for child in value.values():
            yield from texts_of(child)
    elif isinstance(value, list):
        for child in value:
            yield from texts_of(child)


def test_the_manifest_says_who_we_are():
    assert MANIFEST["name"] == "openai_gpt5_responses"
    assert re.fullmatch(r"[a-z0-9_-]{1,64}", MANIFEST["author"])
    assert re.fullmatch(r"[a-z0-9_-]{1,128}", MANIFEST["name"])


def test_the_manifest_has_the_version_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert MANIFEST["version"] == project["version"]
    assert re.fullmatch(r"\d{1,4}(\.\d{1,4}){2}", MANIFEST["version"])


def test_the_manifest_says_how_to_run():
    assert MANIFEST["type"] == "plugin"
    assert MANIFEST["resource"]["memory"] == 268435456
    assert MANIFEST["meta"] == {
        "version": "0.0.2",
        "arch": ["amd64", "arm64"],
        "runner": {"language": "python", "version": "3.12", "entrypoint": "main"},
        "minimum_dify_version": "1.10.1",
    }


def test_the_description_is_short_enough_to_be_shown_whole():
    for text in MANIFEST["description"].values():
        assert len(text) < 75


def test_the_manifest_has_a_date_that_go_can_read():
    assert datetime.fromisoformat(MANIFEST["created_at"]).tzinfo is not None


def test_every_file_that_is_named_exists():
    named = [
        MANIFEST["privacy"],
        *MANIFEST["plugins"]["models"],
        *(f"_assets/{MANIFEST[icon]}" for icon in ("icon", "icon_dark")),
        *(
            f"_assets/{icon}"
            for size in ("icon_small", "icon_small_dark", "icon_large", "icon_large_dark")
            for icon in PROVIDER[size].values()
        ),
        PROVIDER["models"]["llm"]["position"],
    ]

    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_the_provider_offers_predefined_and_customizable_models():
    assert PROVIDER["provider"] == "openai_gpt5_responses"
    assert PROVIDER["supported_model_types"] == ["llm"]
    assert PROVIDER["configurate_methods"] == ["predefined-model", "customizable-model"]
    assert PROVIDER["models"]["llm"]["predefined"] == ["models/llm/*.yaml"]
    assert PROVIDER["extra"]["python"] == {
        "provider_source": "provider/openai_gpt5.py",
        "model_sources": ["models/llm/llm.py"],
    }


@pytest.mark.parametrize("schema", ["provider_credential_schema", "model_credential_schema"])
def test_both_forms_ask_for_the_seven_credentials(schema):
    fields = PROVIDER[schema]["credential_form_schemas"]

    assert {
        field["variable"]: (field["type"], field["required"], field.get("default"))
        for field in fields
        if field["variable"] != "base_model"
    } == CREDENTIALS


@pytest.mark.parametrize("schema", ["provider_credential_schema", "model_credential_schema"])
def test_each_credential_is_explained_in_three_languages(schema):
    for field in PROVIDER[schema]["credential_form_schemas"]:
        for texts in (field["label"], field["help"], field["placeholder"]):
            assert texts.keys() == {"en_US", "ja_JP", "zh_Hans"}
        for text in field["help"].values():
            assert str(field.get("default") or "").removeprefix("by-name") in text


@pytest.mark.parametrize(
    ("variable", "bounds"),
    [("request_timeout_seconds", ["30", "900"]), ("max_retries", ["0", "5"])],
)
def test_bounds_stand_where_dify_shows_them(variable, bounds):
    """It drops helps, and a default hides the placeholder."""
    fields = PROVIDER["provider_credential_schema"]["credential_form_schemas"]
    [field] = [field for field in fields if field["variable"] == variable]

    for text in field["label"].values():
        assert re.findall(r"\d+", text) == bounds


def test_the_form_of_a_model_also_asks_for_the_model_behind_its_name():
    of_all, (*of_one, base_model) = (
        PROVIDER[schema]["credential_form_schemas"]
        for schema in ("provider_credential_schema", "model_credential_schema")
    )
    by_name, *options = [(row["value"], row["label"]["en_US"]) for row in base_model["options"]]

    assert of_all == of_one
    words = [option["value"] for option in of_all[-1]["options"]]
    assert words == ["auto", "openai", "compatible"]
    assert (base_model["variable"], base_model["required"]) == ("base_model", False)
    assert (base_model["default"], base_model["placeholder"]) == (
        by_name[0],
        base_model["options"][0]["label"],
    )
    assert options == [(row["name"], row["label"]) for row in CATALOG if not is_retired(row)]
    assert all("0" in text and "max_cost" in text for text in base_model["label"].values())


@pytest.mark.parametrize(
    "declaration", [MANIFEST, PROVIDER, *MODELS.values()], ids=["manifest", "provider", *MODELS]
)
def test_texts_are_texts_in_languages_that_dify_knows(declaration):
    texts = list(texts_of(declaration))

    assert texts
    assert all(text.keys() <= {"en_US", "ja_JP", "zh_Hans", "pt_BR"} for text in texts)
    assert all(isinstance(word, str) and word.strip() for text in texts for word in text.values())


def test_the_list_has_the_models_of_the_contract_and_the_newest_line():
    assert set(SEED_MODELS) <= set(POSITION)
    assert {name for name in POSITION if name.startswith("gpt-6")} == {
        *("gpt-6-astra", "gpt-6-luna", "gpt-6-sol", "gpt-6.1-sol", "gpt-6.1-terra"),
        *("gpt-6.2-astra", "gpt-6.2-sol"),
    }
    assert len(set(POSITION)) == len(POSITION)


def test_the_list_begins_with_a_cheap_model_and_the_newest_and_ends_with_what_ends():
    days = [profile_for(name).shutdown_date or "9999" for name in POSITION]

    cheapest = min(POSITION[:7], key=lambda name: PRICES[name].rates.output)
    assert POSITION[0] == cheapest  # which Dify takes where nobody has chosen
    assert POSITION[1].startswith("gpt-6.2")
    assert days == sorted(days, reverse=True)
    assert [row["name"] for row in CATALOG if is_retired(row)] == POSITION[-2:]


def test_every_model_file_is_in_the_list():
    files = {path.stem for path in (ROOT / "models" / "llm").glob("*.yaml")}

    assert files - {"_position"} == set(POSITION)


@each_model
def test_a_model_is_a_chat_model_of_its_own_name(name):
    model = MODELS[name]

    assert (model["model"], model["model_type"]) == (name, "llm")
    assert model["model_properties"].keys() == {"mode", "context_size"}
    assert model["model_properties"]["mode"] == "chat"


@each_model
def test_a_model_declares_what_it_can_do(name):
    features = [
        "tool-call",
        "multi-tool-call",
        "agent-thought",
        "stream-tool-call",
        "structured-output",
        "vision",
        "document",
    ]
    if name == "gpt-5.5-pro":
        features.remove("stream-tool-call")

    assert MODELS[name]["features"] == features
    assert set(features) <= KNOWN_FEATURES


def alternatives(kind):
    """Yield the types and the texts that a type stands for."""
    if isinstance(kind, TypeAliasType):
        yield from alternatives(kind.__value__)
    elif get_origin(kind) is Literal:
        yield from get_args(kind)
    elif get_origin(kind) in {Union, UnionType}:
        for one in get_args(kind):
            yield from alternatives(one)
    else:
        yield kind


@each_model
def test_a_model_has_the_parameters_of_every_form(name):
    rules, profile = rules_of(name), profile_for(name)

    for parameter, (kind, default, options) in IN_EVERY_FORM.items():
        rule = rules[parameter]
        field = BY_PROFILE.get(parameter)
        expected = options if field is None else list(getattr(profile, field))
        assert (rule["type"], rule.get("default"), rule.get("options")) == (kind, default, expected)
    assert {"extra_tools", "allowed_tools", "max_tool_calls", "compact_threshold"} <= rules.keys()


@each_model
def test_a_form_has_the_parameters_that_the_request_takes_in_one_order(name):
    rules = rules_of(name)

    for parameter, rule in rules.items():
        if parameter == "background":  # of the plugin alone
            continue
        taken = list(alternatives(RequestParameters.__annotations__[parameter]))
        words = [one for one in taken if isinstance(one, str)]
        kinds = {"int": int in taken, "boolean": bool in taken, "text": str in taken}
        assert rule["type"] == "string" or kinds[rule["type"]]
        assert ("options" in rule) == bool(words)
        if parameter in BY_PROFILE:
            assert rule["options"] == list(getattr(profile_for(name), BY_PROFILE[parameter]))
        assert set(rule.get("options", ())) <= set(words)
        for bound in (rule[key] for key in ("min", "max") if key in rule):
            assert build_request(model=name, input="hi", parameters={parameter: bound})
    # In the order of all, whatever is missing.
    assert list(rules) == [parameter for parameter in ALL if parameter in rules]


def test_a_form_has_nothing_that_its_model_lacks():
    for parameter, names in LACKING.items():
        assert {name for name in names if parameter in rules_of(name)} == set()
    assert {parameter for name in POSITION for parameter in rules_of(name)} == set(ALL)
    assert set(ALL) == RequestParameters.__annotations__.keys() - NOT_OFFERED | {"background"}
    assert "ultrafast" in rules_of("gpt-6.2-sol")["service_tier"]["options"]
    assert "ultrafast" not in rules_of("gpt-5.5")["service_tier"]["options"]


@each_model
def test_a_tool_of_the_server_stands_in_the_form_of_every_model_that_has_it(name):
    has = profile_for(name).hosted_tools
    tools = {
        "web_search": ("web_search", "web_search_domains"),
        "file_search": ("file_search_stores",),
        "code_interpreter": ("code_interpreter",),
        "image_generation": ("image_generation",),
        "mcp": ("mcp_servers",),
    }
    for tool, parameters in tools.items():
        assert [parameter in rules_of(name) for parameter in parameters] == [tool in has] * len(
            parameters
        )


@each_model
def test_every_rule_can_be_read_by_both_of_dify_s_readers(name):
    for rule in MODELS[name]["parameter_rules"]:
        assert "use_template" not in rule
        assert rule["required"] is False
        assert rule["label"].keys() == rule["help"].keys() == {"en_US", "ja_JP", "zh_Hans"}
        assert all(isinstance(option, str) for option in rule.get("options", []))
        # Without a choice of one's own nothing is sent: the detail of an image is the node's, the tier the project's.
        is_open = "options" not in rule or "default" not in rule
        assert is_open or rule["default"] in rule["options"]


@each_model
def test_every_help_says_what_the_options_mean_and_which_is_the_default(name):
    for rule in MODELS[name]["parameter_rules"]:
        # What the effort's levels are, the list itself says: from least to most.
        options = [] if rule["name"] == "reasoning_effort" else rule.get("options", [])
        default = rule.get("default", "")
        for text in rule["help"].values():
            assert all(option in text for option in options)
            assert isinstance(default, bool) or str(default) in text
        if isinstance(default, bool):
            said = ("On by default",) if default else ("Off by default", "off, the default")
            assert any(words in rule["help"]["en_US"] for words in said)


def test_a_form_says_where_its_model_has_nothing_to_choose_from():
    def said(name, parameter):
        return rules_of(name)[parameter]["help"]["en_US"].partition("This model")[2]

    assert (
        said("gpt-5.5-pro", "enable_stream") == " always answers in one piece, whatever you choose."
    )
    assert said("gpt-5.3-codex", "verbosity") == " always answers at medium, whatever you choose."
    assert said("gpt-5-codex", "verbosity") == " has no such setting: your choice has no effect."
    assert said("gpt-6.2-sol", "verbosity") == said("gpt-6.2-sol", "enable_stream") == ""


@each_model
def test_max_output_tokens_range_from_one_to_what_the_model_can_do(name):
    rule = rules_of(name)["max_output_tokens"]

    assert (rule["min"], rule["max"]) == (1, 128000)


@each_model
def test_no_response_format_makes_the_sdk_rewrite_prompts(name):
    assert {"JSON", "XML"}.isdisjoint(rules_of(name)["response_format"]["options"])


@each_model
def test_the_defaults_of_the_form_are_the_defaults_of_the_request(name):
    defaults = {rule["name"]: rule.get("default") for rule in MODELS[name]["parameter_rules"]}

    assert build_request(model=name, input="hi", parameters=defaults) == build_request(
        model=name, input="hi", parameters={}
    )


@each_model
def test_the_price_is_that_of_the_list_and_quoted(name):
    pricing, rates = MODELS[name]["pricing"], PRICES[name].rates

    assert pricing == {
        "input": str(rates.input),
        "output": str(rates.output),
        "unit": "0.000001",
        "currency": "USD",
    }
    assert all(isinstance(value, str) for value in pricing.values())


def test_every_model_has_a_price_and_every_priced_model_is_offered():
    assert set(POSITION) == PRICES.keys()


@each_row
def test_a_long_input_fits_where_it_has_a_price(row):
    price, profile = PRICES[row["name"]], profile_for(row["name"])
    assert price.long_rates is None or price.long_above_tokens < profile.context_size


@each_model
@pytest.mark.parametrize(
    "form",
    ["{}-2026-11-17", "{}-latest", "ft:{}:org::id", "openai/{}", "openai.{}", " {} ", "{}-x"],
)
def test_a_name_has_the_price_of_its_family(name, form):
    model = form.format(name)

    assert price_of(model) is PRICES.get(profile_for(model).family)


def test_every_use_of_a_tool_that_a_response_tells_has_a_price():
    assert [use.name for use in fields(ToolUsage)] == [rate.name for rate in fields(ToolRates)]


@each_model
def test_a_model_of_the_catalog_has_a_profile_of_its_own_and_sees(name):
    profile = profile_for(name)

    assert profile.family == name
    assert {"vision", "document"} <= set(MODELS[name]["features"])
    assert profile.images
    assert profile.files


@each_row
def test_a_model_that_ends_says_so_in_its_label_and_its_form(row):
    model = MODELS[row["name"]]
    label, help_text = model["label"]["en_US"], rules_of(row["name"])["max_output_tokens"]["help"]
    profile = profile_for(row["name"])
    ends = profile.shutdown_date is not None

    assert label.startswith(row["label"])
    assert ("; retired " in label, "; ends " in label) == (
        profile.retired,
        ends and not profile.retired,
    )
    # Dify offers a marked model to nobody, and most of these are served for months.
    left = date.fromisoformat(profile.shutdown_date or "9999-12-31") - RELEASE_DATE
    assert model.get("deprecated", False) is (left <= timedelta(days=60))
    for text in (*model["label"].values(), *help_text.values()) if ends else ():
        assert profile.shutdown_date in text
        assert profile.replacement in text
    assert not ends or label.startswith(f"{row['label']} (use {profile.replacement}; ")
    assert ends or not any("OpenAI" in text for text in help_text.values())


@each_model
def test_the_manual_has_the_figures_of_each_model(name):
    profile, rates = profile_for(name), PRICES[name].rates
    prices = f"{rates.input} / {rates.cached_input} / {rates.output}"
    ends = "retired" if profile.retired else "ends"
    note = profile.shutdown_date and f"{ends} {profile.shutdown_date}, use {profile.replacement}"
    line = re.escape(f"| {name} | {profile.context_size:,} | {prices} | ")

    assert re.search(rf"{line}.*{note or ''} \|\n", MANUAL.read_text(encoding="utf-8"))


LOAD_WITH_THE_SDK = """
import json
from dify_plugin.core.entities.plugin.setup import PluginConfiguration
from dify_plugin.core.utils.yaml_loader import load_yaml_file
from dify_plugin.entities.model.provider import ModelProviderConfiguration

manifest = PluginConfiguration(**load_yaml_file("manifest.yaml"))
provider = ModelProviderConfiguration(**load_yaml_file(manifest.plugins.models[0]))
print(json.dumps({
    "plugin": f"{manifest.author}/{manifest.name}:{manifest.version}",
    "position": provider.position.llm,
    "models": {
        model.model: {
            "rules": [rule.name for rule in model.parameter_rules],
            "free_choice": [r.name for r in model.parameter_rules if r.type.value == "string" and not r.options],
            "input": str(model.pricing.input),
            "features": [feature.value for feature in model.features],
        }
        for model in provider.models
    },
    "labels": {model.model: model.label.ja_jp for model in provider.models},
}))
"""


@pytest.fixture(scope="module")
def seen_by_the_sdk(run_inside):
    return run_inside(LOAD_WITH_THE_SDK)


def test_the_sdk_reads_the_manifest_and_the_list(seen_by_the_sdk):
    assert seen_by_the_sdk["plugin"] == f"gpt5-agent/openai_gpt5_responses:{MANIFEST['version']}"
    assert seen_by_the_sdk["position"] == POSITION


def test_the_sdk_reads_every_model_as_declared(seen_by_the_sdk):
    assert seen_by_the_sdk["models"] == {
        name: {
            "rules": list(rules_of(name)),
            "free_choice": ["tool_choice"],
            "input": model["pricing"]["input"],
            "features": model["features"],
        }
        for name, model in MODELS.items()
    }


def test_the_sdk_has_a_japanese_label_for_every_model(seen_by_the_sdk):
    assert all(seen_by_the_sdk["labels"][name] for name in POSITION)
