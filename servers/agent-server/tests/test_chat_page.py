import re
from pathlib import Path

import pytest
from talking import Talker
from web import client_of, executor, fields, settings_of

import agent_server
from agent_server.http import build_app


FILES = Path(agent_server.__file__).with_name("_chat") / "static"


def _app(tmp_path, agents=None, **changes):
    return build_app(settings_of(tmp_path, **changes), agents or Talker(), None)


@pytest.mark.parametrize("keys", [None, "k"])
async def test_everybody_gets_the_files_of_the_page_and_they_load_nothing_from_elsewhere(
    tmp_path, keys
):
    async with client_of(_app(tmp_path, api_keys=keys)) as client:
        page = await client.get("/v1/chat", follow_redirects=True)
        names = [*(path.name for path in FILES.iterdir()), "elements.js", "base.css"]
        files = [await client.get(f"/v1/chat/static/{name}") for name in names]
        models = await client.get("/v1/models")

    assert page.url.path == "/v1/chat/"
    assert page.headers["content-type"].startswith("text/html")
    assert not re.search(r"<script(?![^>]* src=)|<style| on\w+=| style=", page.text)
    for answer in (page, *files):
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
        assert policy.endswith("base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert not re.search(r"(?:https?:)?//(?!www\.w3\.org)[\w.]+\.\w+/", answer.text)
    assert models.status_code == (200 if keys is None else 401)


async def test_the_page_is_told_what_its_server_has(tmp_path):
    told = []
    for changes in ({}, {"api_keys": "k", "run_logs": tmp_path / "logs"}):
        async with client_of(_app(tmp_path, **changes)) as client:
            told.append((await client.get("/v1/chat/about.json")).json())

    assert told == [
        {"has_keys": False, "has_run_logs": False},
        {"has_keys": True, "has_run_logs": True},
    ]


async def test_there_is_nothing_else_beside_the_page(tmp_path):
    async with client_of(_app(tmp_path, api_keys="k")) as client:
        unknown = [
            await client.get(f"/v1/chat/{path}")
            for path in ("x", "static/x", "static/..%2fpages.py", "static/%2e%2e/pages.py")
        ]
        acting = await client.post("/v1/chat/")
        beside = await client.get("/v1/chats")

    assert [fields(answer, 404) for answer in unknown] == [[]] * 4
    assert fields(acting, 401) == fields(beside, 401) == []


async def test_only_names_of_this_machine_are_answered_to_without_keys(tmp_path):
    async with client_of(_app(tmp_path), host="example.com") as client:
        assert fields(await client.get("/v1/chat/"), 400) == []


@pytest.mark.parametrize(("agents", "responses"), [(executor(), True), (Talker(), False)])
async def test_there_is_no_page_where_nobody_can_be_talked_to(tmp_path, agents, responses):
    async with client_of(_app(tmp_path, agents, responses=responses)) as client:
        assert fields(await client.get("/v1/chat"), 404) == []
        assert fields(await client.get("/v1/chat/"), 404) == []
