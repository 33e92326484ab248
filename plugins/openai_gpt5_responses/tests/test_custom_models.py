"""The forms of models that are not in the catalog."""

import json
from pathlib import Path

import pytest
import yaml

from gpt5_payloads import profile_for


RULES = Path(__file__).parent.parent / "parameter_rules.yaml"

FORMS = """
import dify_plugin, json, random
from dify_plugin.core.entities.plugin.setup import PluginConfiguration
from dify_plugin.core.utils.yaml_loader import load_yaml_file
from dify_plugin.entities.model.provider import ModelProviderConfiguration
from model_adapter import customizable_schema

manifest = PluginConfiguration(**load_yaml_file("manifest.yaml"))
predefined = ModelProviderConfiguration(**load_yaml_file(manifest.plugins.models[0])).models
orders = [predefined, predefined[::-1], sorted(predefined, key=lambda model: model.model)]
older = next(model for model in predefined if model.model == "gpt-5")
seed = older.parameter_rules[0].model_copy(update={"name": "seed"})
changed = older.model_copy(update={"parameter_rules": [seed, *older.parameter_rules]})
orders.append([changed if model is older else model for model in predefined])
print(json.dumps([
    [json.loads(customizable_schema(name, order, {"base_model": base}).model_dump_json()) for name, base in json.loads(NAMES)]
    for order in orders
]))
"""
NAMES = [
    *("gpt-5.5-2026-04-23", "gpt-5-2025-08-07", "ft:gpt-5-mini:org::id", "openai/gpt-6.2-sol"),
    *("gpt-6.3-terra", "gpt-7", "my-deployment", "gpt-5-pro", "gpt-5.2-chat-latest", "gpt-4o"),
    *("gpt-oss-20b", "o3-mini"),
]


BASE_MODELS = {"prod-chat": "gpt-5.6-terra", "prod-old": "gpt-5-nano", "gpt-5.2": "gpt-6.2-sol"}


@pytest.fixture(scope="module")
def forms(run_inside):
    asked = [(name, None) for name in NAMES] + list(BASE_MODELS.items())
    listed = "NAMES = " + repr(json.dumps(asked)) + "\n"
    first, *others, with_seed = run_inside(listed + FORMS)
    assert others == [first, first]  # the order of the files on disk makes no difference
    names = [name for name, _ in asked]
    seeded = {f"{name} with seed": form for name, form in zip(names, with_seed, strict=True)}
    return dict(zip(names, first, strict=True)) | seeded


@pytest.mark.parametrize(("name", "base_model"), BASE_MODELS.items())
def test_a_name_has_the_form_of_the_model_that_is_said_to_be_behind_it(forms, name, base_model):
    form, profile = forms[name], profile_for(base_model)
    rules = {rule["name"]: rule for rule in form["parameter_rules"]}

    assert (form["model"], form["label"]["en_US"]) == (name, name)
    assert rules["reasoning_effort"]["options"] == list(profile.efforts)
    assert form["model_properties"]["context_size"] == profile.context_size
    assert form["pricing"] is not None


@pytest.mark.parametrize("name", NAMES)
def test_a_custom_model_s_form_offers_what_its_family_takes(forms, name):
    form, profile = forms[name], profile_for(name)
    rules = {rule["name"]: rule for rule in form["parameter_rules"]}

    assert (form["model"], form["label"]["en_US"], form["deprecated"]) == (name, name, False)
    assert form["model_properties"]["context_size"] == profile.context_size
    assert rules["max_output_tokens"]["max"] == profile.max_output_tokens
    if profile.efforts:
        assert rules["reasoning_effort"]["options"] == list(profile.efforts)
        assert rules["reasoning_effort"]["default"] in profile.efforts
    assert ("stream-tool-call" in form["features"]) == profile.streaming
    assert ("vision" in form["features"]) == profile.images
    assert ("document" in form["features"]) == profile.files
    assert rules["image_detail"]["options"] == list(profile.image_details)
    for parameter, accepted in (
        ("reasoning_mode", profile.reasoning_modes),
        ("prompt_cache_ttl", profile.cache_ttls),
    ):
        offered = rules.get(parameter, {}).get("options", [])
        assert offered == (list(accepted) if len(accepted) > 1 else [])
    assert ("flex_fallback" in rules) == ("flex" in profile.service_tiers)
    assert ("image_generation" in rules) == ("image_generation" in profile.hosted_tools)


def test_a_name_of_no_family_is_offered_everything(forms):
    every = [rule["name"] for rule in yaml.safe_load(RULES.read_text(encoding="utf-8"))]

    for name in ("gpt-7", "my-deployment"):
        assert [rule["name"] for rule in forms[name]["parameter_rules"]] == every


def test_a_parameter_of_an_older_model_is_offered_to_names_of_every_family(forms):
    for name in ("gpt-7", "gpt-5.5-2026-04-23", "gpt-5-2025-08-07"):
        rules, expected = (forms[key]["parameter_rules"] for key in (f"{name} with seed", name))
        assert [rule for rule in rules if rule["name"] != "seed"] == expected
        assert len(rules) == len(expected) + 1


def test_only_a_family_of_the_catalog_has_prices(forms):
    assert forms["gpt-5.5-2026-04-23"]["pricing"]["input"] == "5.00"
    assert forms["openai/gpt-6.2-sol"]["pricing"]["output"] == "10.00"
    assert {name for name in NAMES if forms[name]["pricing"] is None} == {
        *("gpt-6.3-terra", "gpt-7", "my-deployment", "gpt-5-pro", "gpt-5.2-chat-latest", "gpt-4o"),
        *("gpt-oss-20b", "o3-mini"),
    }


def test_a_model_that_stays_is_not_told_to_end(forms):
    for name in ("gpt-6.3-terra", "gpt-7", "my-deployment"):
        assert "OpenAI shuts" not in forms[name]["parameter_rules"][0]["help"]["en_US"]
