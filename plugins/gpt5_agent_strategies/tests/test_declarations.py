"""What the plugin declares: to the daemon, to Dify, and to the person who builds an app."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from agent_policy import check_overrides


PLUGIN = Path(__file__).parent.parent
MANUAL = PLUGIN.parents[1] / "docs/plugins/gpt5-agent-strategies.md"
STRATEGIES = ["gpt5_function_calling", "gpt5_react"]
PARAMETERS = {
    "model": {"type": "model-selector", "required": True, "scope": "tool-call&llm"},
    "tools": {"type": "array[tools]", "required": True},
    "allowed_tools": {"type": "string", "required": False},
    "tool_search": {"type": "boolean", "required": False, "default": False},
    "remember_turns": {"type": "boolean", "required": False, "default": False},
    "instruction": {
        "type": "string",
        "required": True,
        "auto_generate": {"type": "prompt_instruction"},
    },
    "prompt_policy_overrides": {"type": "string", "required": False},
    "context": {"type": "any", "required": False, "scope": "array[object]"},
    "query": {"type": "string", "required": True},
    "files": {"type": "any", "required": False, "scope": "array[file]"},
    "maximum_iterations": {
        "type": "number",
        "required": True,
        "default": 6,
        "min": 1,
        "max": 500,
    },
    "emit_intermediate_thoughts": {"type": "boolean", "required": False, "default": True},
    "max_total_tokens": {"type": "number", "required": False},
    "max_cost": {"type": "number", "required": False},
    "max_seconds": {"type": "number", "required": False},
    "max_tool_calls": {"type": "number", "required": False},
    "fallback_model": {"type": "string", "required": False},
    "fail_on_model_failure": {"type": "boolean", "required": False, "default": False},
    "answer_schema": {"type": "string", "required": False},
    "approval_rules": {"type": "string", "required": False},
}


def read_yaml(path):
    return yaml.safe_load((PLUGIN / path).read_text(encoding="utf-8"))


@pytest.fixture(params=STRATEGIES)
def strategy(request):
    return read_yaml(f"strategies/{request.param}.yaml")


def test_manifest_and_project_have_one_version():
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    manifest = read_yaml("manifest.yaml")
    changelog = (PLUGIN / "CHANGELOG.md").read_text(encoding="utf-8")
    assert manifest["version"] == project["version"]
    newest = re.findall(r"^## (\S+)", changelog, re.MULTILINE)[0]
    assert newest in {"Unreleased", f"[{project['version']}]", project["version"]}


def test_the_manifest_asks_for_what_a_run_needs_and_no_more():
    manifest = read_yaml("manifest.yaml")
    assert manifest["name"] == "gpt5_agent_strategies"
    assert manifest["resource"]["permission"] == {
        "tool": {"enabled": True},
        "model": {"enabled": True, "llm": True},
        "storage": {"enabled": True, "size": 50 * 1024 * 1024},
    }
    assert manifest["plugins"] == {"agent_strategies": ["provider/gpt5_agent_strategies.yaml"]}
    assert manifest["meta"]["runner"] == {
        "language": "python",
        "version": "3.12",
        "entrypoint": "main",
    }
    assert manifest["meta"]["minimum_dify_version"] == "1.10.1"
    assert manifest["meta"]["version"] > "0.0.1"  # otherwise Dify offers no MCP tools


def test_every_description_fits_the_card_that_shows_it():
    provider = read_yaml("provider/gpt5_agent_strategies.yaml")
    told = [
        read_yaml("manifest.yaml")["description"],
        provider["identity"]["description"],
        *(read_yaml(file)["description"] for file in provider["strategies"]),
    ]
    assert {text for one in told for text in one.values() if len(text) > 50} == set()


def test_every_file_that_a_declaration_names_is_there():
    manifest, provider = (
        read_yaml("manifest.yaml"),
        read_yaml("provider/gpt5_agent_strategies.yaml"),
    )
    named = [
        f"_assets/{icons[key]}"
        for icons in (manifest, provider["identity"])
        for key in ("icon", "icon_dark")
    ]
    named += [manifest["privacy"], *manifest["plugins"]["agent_strategies"]]
    named += [*provider["strategies"], provider["extra"]["python"]["source"]]
    assert [name for name in named if not (PLUGIN / name).is_file()] == []


def test_the_provider_offers_both_strategies():
    provider = read_yaml("provider/gpt5_agent_strategies.yaml")
    assert provider["identity"]["name"] == "gpt5_agent_strategies"
    assert [Path(path).stem for path in provider["strategies"]] == STRATEGIES


def test_a_strategy_takes_exactly_the_parameters_of_its_contract(strategy):
    declared = {parameter["name"]: dict(parameter) for parameter in strategy["parameters"]}
    for parameter in declared.values():
        for field in ("name", "label", "help"):
            del parameter[field]
    assert declared == PARAMETERS
    assert strategy["features"] == ["history-messages"]


def test_every_word_to_a_person_is_there_in_three_languages(strategy):
    manifest, provider = (
        read_yaml("manifest.yaml"),
        read_yaml("provider/gpt5_agent_strategies.yaml"),
    )
    texts = [manifest["label"], manifest["description"]]
    texts += [provider["identity"]["label"], provider["identity"]["description"]]
    texts += [strategy["identity"]["label"], strategy["description"]]
    for parameter in strategy["parameters"]:
        texts += [parameter["label"], parameter["help"]]
    assert all(text.keys() == {"en_US", "zh_Hans", "ja_JP"} for text in texts)
    assert all(word.strip() for text in texts for word in text.values())


def test_both_strategies_have_one_form():
    forms = [read_yaml(f"strategies/{name}.yaml")["parameters"] for name in STRATEGIES]
    assert forms[0] == forms[1]


SAID_OF_OVERRIDES = {
    "en_US": ("No tags are needed", "not about data"),
    "zh_Hans": ("无需书写标签", "不用于放数据"),
    "ja_JP": ("タグは不要", "データを書く欄ではありません"),
}


def test_a_help_text_names_the_default_and_what_may_be_written(strategy):
    helps = {parameter["name"]: parameter["help"] for parameter in strategy["parameters"]}
    keys = "persistence context_gathering uncertainty tool_preamble extra"
    for language in ("en_US", "zh_Hans", "ja_JP"):
        assert re.search(r"1\D+500\D+6\b", helps["maximum_iterations"][language])
        overrides = helps["prompt_policy_overrides"][language]
        assert all(f"{key}_policy" in overrides for key in keys.split())
        [example] = re.findall(r"\{.*?\}", overrides)
        assert check_overrides(example) == ()
        for said in SAID_OF_OVERRIDES[language]:
            assert said in overrides
        assert "context_gathering_policy" in helps["context"][language]


def test_the_manual_explains_every_parameter_and_every_setting(strategy):
    manual = MANUAL.read_text(encoding="utf-8")
    labels = [parameter["label"]["en_US"] for parameter in strategy["parameters"]]
    assert [label for label in labels if f"| {label} |" not in manual] == []
    code = (PLUGIN / "agent_adapter" / "_settings.py").read_text(encoding="utf-8")
    settings = re.findall(r'"(GPT5_AGENT_[A-Z_]+|MAX_[A-Z_]+)"', code)
    assert len(settings) == 14
    assert [name for name in settings if f"| `{name}` |" not in manual] == []


@pytest.mark.parametrize("page", [PLUGIN / "README.md", MANUAL], ids=["README", "manual"])
def test_the_example_of_overrides_is_what_it_says(page):
    readme = page.read_text(encoding="utf-8")
    [example] = re.findall(r"```json\n(.*?)```", readme, re.DOTALL)
    keys = "persistence_policy context_gathering_policy uncertainty_policy tool_preamble_policy extra_policy"
    assert json.loads(example).keys() <= set(keys.split())
    assert [key for key in keys.split() if key not in readme] == []


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_file_holds_one_strategy_of_the_declared_name(name):
    strategy = read_yaml(f"strategies/{name}.yaml")
    assert strategy["identity"]["name"] == name
    assert strategy["extra"]["python"]["source"] == f"strategies/{name}.py"
