"""The apps of examples/dify name what the plugins declare, and nothing else; packages of JavaScript are pinned, and the list of examples is whole."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tracked import ROOT, list_files


APPS = sorted((ROOT / "examples/dify").glob("*.yml"))
MODEL, STRATEGIES = (
    ROOT / "plugins" / name for name in ("openai_gpt5_responses", "gpt5_agent_strategies")
)
# Of each what the user sets, and what the model fills in.
# Source: `time/tools/weekday.yaml` in `api/core/tools/builtin_tool/providers` of langgenius/dify at 7f8b4664, and its neighbours.
TOOLS = {
    ("time", "current_time"): ({"format", "timezone"}, set()),
    ("time", "weekday"): (set(), {"year", "month", "day"}),
    ("code", "simple_code"): (set(), {"language", "code"}),
}

each_app = pytest.mark.parametrize("path", APPS, ids=lambda path: path.stem)


def load(path: Any) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def identifier(plugin: Any) -> str:
    """Return how Dify names a plugin, with its version and without the checksum."""
    manifest = load(plugin / "manifest.yaml")
    return f"{manifest['author']}/{manifest['name']}:{manifest['version']}"


def plugin_id(plugin: Any) -> str:
    return identifier(plugin).partition(":")[0]


def nodes(app: dict[str, Any]) -> dict[str, Any]:
    return {node["id"]: node["data"] for node in app["workflow"]["graph"]["nodes"]}


def models(app: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Iterate over the models that an app uses: provider, name, parameters."""
    for node in nodes(app).values():
        if node["type"] == "llm":
            yield (
                node["model"]["provider"],
                node["model"]["name"],
                node["model"]["completion_params"],
            )
        if node["type"] == "agent":
            value = node["agent_parameters"]["model"]["value"]
            yield value["provider"], value["model"], value["completion_params"]


def references(value: Any) -> Iterator[str]:
    """Iterate over the nodes that the texts and selectors of a value name."""
    if isinstance(value, str):
        yield from re.findall(r"\{\{#(\w+)\.", value)
    elif isinstance(value, dict):
        yield from (node for child in value.values() for node in references(child))
        if isinstance(value.get("value_selector"), list):
            yield value["value_selector"][0]
    elif isinstance(value, list):
        yield from (node for child in value for node in references(child))


def test_there_is_a_chatflow_and_a_workflow() -> None:
    assert {load(path)["app"]["mode"] for path in APPS} == {"advanced-chat", "workflow"}


@each_app
def test_an_app_needs_the_plugins_that_it_uses_in_their_version(path: Any) -> None:
    app = load(path)
    named = [entry["value"]["plugin_unique_identifier"] for entry in app["dependencies"]]
    has_agent = any(data["type"] == "agent" for data in nodes(app).values())

    assert [name.partition("@")[0] for name in named] == [
        identifier(MODEL),
        *([identifier(STRATEGIES)] if has_agent else []),
    ]
    assert [entry["value"]["version"] for entry in app["dependencies"]] == [
        name.partition(":")[2].partition("@")[0] for name in named
    ]
    # A checksum that no build has: one of an old build would look like the right one.
    assert {name.partition("@")[2] for name in named} == {"0" * 64}


@each_app
def test_an_app_uses_models_that_live_with_values_that_they_take(path: Any) -> None:
    provider = load(MODEL / "provider/openai_gpt5.yaml")["provider"]
    used = list(models(load(path)))

    assert used
    for name, model, parameters in used:
        assert name == f"{plugin_id(MODEL)}/{provider}"
        declared = load(MODEL / f"models/llm/{model}.yaml")
        assert not declared.get("deprecated")
        rules = {rule["name"]: rule for rule in declared["parameter_rules"]}
        assert all(value in rules[key]["options"] for key, value in parameters.items())


@each_app
def test_the_nodes_of_an_app_are_joined_and_name_each_other(path: Any) -> None:
    app = load(path)
    edges = app["workflow"]["graph"]["edges"]
    known = nodes(app)

    assert [
        known[edges[0]["source"]]["type"],
        *(known[edge["target"]]["type"] for edge in edges),
    ] in (
        ["start", "agent", "answer"],
        ["start", "llm", "end"],
    )
    for edge in edges:
        ends = [known[edge["source"]]["type"], known[edge["target"]]["type"]]
        assert [edge["data"]["sourceType"], edge["data"]["targetType"]] == ends
    assert set(references(app)) <= known.keys() | {"sys"}


def test_the_agent_has_all_parameters_of_the_strategy_and_no_other() -> None:
    [agent] = [
        data for path in APPS for data in nodes(load(path)).values() if data["type"] == "agent"
    ]
    provider = load(STRATEGIES / "provider/gpt5_agent_strategies.yaml")
    strategy = load(STRATEGIES / f"strategies/{agent['agent_strategy_name']}.yaml")
    declared = {parameter["name"]: parameter for parameter in strategy["parameters"]}

    assert agent["agent_strategy_provider_name"] == (
        f"{plugin_id(STRATEGIES)}/{provider['identity']['name']}"
    )
    assert agent["agent_strategy_label"] == strategy["identity"]["label"]["en_US"]
    assert agent["plugin_unique_identifier"].partition("@")[0] == identifier(STRATEGIES)
    assert agent["tool_node_version"] == "2"
    given = agent["agent_parameters"]
    assert given.keys() <= declared.keys()
    assert {name for name, one in declared.items() if one["required"]} <= given.keys()
    assert {one["type"] for one in given.values()} == {"constant"}


def test_the_agent_has_three_tools_that_every_dify_has() -> None:
    [agent] = [
        data for path in APPS for data in nodes(load(path)).values() if data["type"] == "agent"
    ]
    tools = agent["agent_parameters"]["tools"]["value"]

    assert {(tool["provider_name"], tool["tool_name"]) for tool in tools} == TOOLS.keys()
    for tool in tools:
        settings, parameters = TOOLS[tool["provider_name"], tool["tool_name"]]
        assert (tool["enabled"], tool["type"]) == (True, "builtin")
        assert (tool["settings"].keys(), tool["parameters"].keys()) == (settings, parameters)


def test_the_packages_of_an_example_in_javascript_are_pinned() -> None:
    for file in (ROOT / "examples").glob("*/package.json"):
        package = json.loads(file.read_text(encoding="utf-8"))
        versions = package["dependencies"] | package["devDependencies"]
        loose = [name for name, one in versions.items() if not re.fullmatch(r"\d+\.\d+\.\d+", one)]
        assert not loose, file


def test_each_example_is_in_the_list() -> None:
    listed = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    names = {one.parts[1] for one in list_files() if one.parts[0] == "examples"} - {"README.md"}
    assert not [name for name in names if f"]({name})" not in listed]
