"""Both plugins in Dify's console: what is listed of them, and their credentials."""

import pytest

from apps import MODELS, STRATEGIES
from upstream import KEY


CREDENTIALS = f"/workspaces/current/model-providers/{MODELS}/credentials"
LANGUAGES = ("en_US", "zh_Hans", "ja_JP")


@pytest.fixture(params=["openai_gpt5_responses", "gpt5_agent_strategies"])
def plugin(request, console):
    [found] = [one for one in console.plugins() if one["name"] == request.param]
    return found


def test_a_plugin_is_listed_with_a_short_description_in_each_language(plugin):
    description = plugin["declaration"]["description"]
    assert all(0 < len(description[language]) < 75 for language in LANGUAGES)
    assert plugin["declaration"]["meta"]["minimum_dify_version"] == "1.10.1"


def test_a_plugin_has_an_icon_for_light_and_dark_pages(plugin, console):
    for name in ("icon", "icon_dark"):
        query = {"tenant_id": plugin["tenant_id"], "filename": plugin["declaration"][name]}
        assert b"<svg" in console.bytes_of("/workspaces/current/plugin/icon", **query)


def test_the_cheapest_model_of_the_newest_line_is_the_first(console):
    models = console.get("/workspaces/current/models/model-types/llm")["data"]
    [ours] = [one for one in models if one["provider"] == MODELS]
    names = [one["model"] for one in ours["models"]]
    assert names[0] == "gpt-6-luna"
    assert {one["status"] for one in ours["models"]} == {"active"}


def test_the_strategies_are_listed_with_fields_that_the_page_can_draw(console):
    [found] = [
        one
        for one in console.get("/workspaces/current/agent-providers")
        if one["plugin_id"] in STRATEGIES
    ]
    assert found["declaration"]["identity"]["name"] == STRATEGIES
    for strategy in found["declaration"]["strategies"]:
        kinds = {one["type"] for one in strategy["parameters"] if not one["required"]}
        # A `select` takes the editor away, an optional model-selector every run.
        assert not kinds & {"select", "model-selector", "app-selector"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"openai_api_key": "sk-wrong"}, "does not accept the API key"),
        ({"openai_api_base": "ftp://example.org"}, "openai_api_base"),
        ({"openai_api_base": "http://127.0.0.1:9/v1"}, "openai_api_base"),
        ({"extra_headers": "no JSON"}, "extra_headers"),
        ({"request_timeout_seconds": "5"}, "request_timeout_seconds"),
        ({"max_retries": "many"}, "max_retries"),
    ],
)
def test_credentials_that_cannot_be_are_refused_by_name(console, simulator, wrong, told):
    right = {"openai_api_key": KEY, "openai_api_base": simulator.base_url}
    answer = console.post(f"{CREDENTIALS}/validate", credentials={**right, **wrong})
    assert told in answer.get("error", "")
    assert "Traceback" not in answer["error"]
    assert KEY not in answer["error"]


def test_a_key_is_hidden_when_it_is_shown_again(console):
    shown = console.get(CREDENTIALS)["credentials"]["openai_api_key"]
    assert "*" in shown
    assert KEY not in shown
