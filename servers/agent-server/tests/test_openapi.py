import pytest
from openapi_spec_validator import validate
from starlette.testclient import TestClient
from talking import Talker
from web import executor, settings_of

from agent_server.http import build_app


def describe(app):
    """Return what an application says of itself."""
    with TestClient(app, base_url="http://127.0.0.1") as client:
        return client.get("/openapi.json").json()


def test_the_description_names_the_agents(tmp_path):
    description = describe(build_app(settings_of(tmp_path), executor(), None))
    request = description["components"]["schemas"]["RunRequest"]
    assert request["required"] == ["agent"]
    assert request["properties"]["agent"]["enum"] == ["echo", "slow", "waiting", "failing"]


@pytest.mark.parametrize("agents", [executor(), Talker()])
def test_the_description_is_valid_and_has_every_route_and_method(tmp_path, agents):
    app = build_app(settings_of(tmp_path), agents, None)
    validate(description := describe(app))
    routed = {
        (route.path, method)
        for route in app.routes
        if not route.path.startswith("/v1/chat")  # which is for people
        for method in route.methods - {"HEAD"}
    }
    described = {
        (path, method.upper())
        for path, item in description["paths"].items()
        for method in item
        if method != "parameters"
    }

    assert described == routed - {("/openapi.json", "GET")}


def test_the_description_says_within_what_a_page_may_be_asked_for(tmp_path):
    paths = describe(build_app(settings_of(tmp_path), Talker(), None))["paths"]
    limits = {
        path: one["schema"]
        for path, item in paths.items()
        for one in item.get("get", {}).get("parameters", [])
        if one["name"] == "limit"
    }

    assert limits == {
        path: {"type": "integer", "minimum": 1, "maximum": most, "default": default}
        for path, most, default in (
            ("/v1/runs", 100, 20),
            ("/v1/runs/{run_id}/events", 1000, 100),
            ("/v1/responses/{response_id}/input_items", 100, 20),
        )
    }
