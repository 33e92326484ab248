import asyncio
import base64

import httpx
from web import client_of, executor, fields, listening, settings_of

from agent_server.http import build_app
from run_log import RunLog


def _basic(key):
    return {"Authorization": f"Basic {base64.b64encode(f'me:{key}'.encode()).decode()}"}


def _app(tmp_path, **changes):
    return build_app(settings_of(tmp_path, **changes), executor(), None)


async def test_the_page_shows_each_tenant_the_logs_of_its_own_runs(tmp_path):
    settings = settings_of(tmp_path, run_logs=tmp_path / "logs", api_keys="ada:k1,bob:k2")
    for tenant in ("ada", "bob"):
        writer = RunLog(settings.tenant_logs(tenant), about={"agent": tenant}).begin()
        writer.close()
    app = build_app(settings, executor(), None)

    async with client_of(app) as client:
        page = await client.get("/v1/view", headers=_basic("k1"), follow_redirects=True)
        listed = {
            key: (await client.get("/v1/view/api/runs", headers=_basic(key))).json()
            for key in ("k1", "k2")
        }
        other = listed["k2"]["runs"][0]["run"]
        hidden = await client.get(f"/v1/view/api/runs/{other}", headers=_basic("k1"))
        own = await client.get(f"/v1/view/api/runs/{other}", headers={"X-Api-Key": "k2"})

    assert page.url.path == "/v1/view/"
    assert "text/html" in page.headers["content-type"]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert [one["about"]["agent"] for one in listed["k1"]["runs"]] == ["ada"]
    assert [one["about"]["agent"] for one in listed["k2"]["runs"]] == ["bob"]
    assert listed["k1"]["folder"] == "ada"
    assert (hidden.status_code, own.status_code) == (404, 200)


async def test_a_browser_is_asked_for_the_key_as_a_password_for_reading_alone(tmp_path):
    app = _app(tmp_path, run_logs=tmp_path / "logs", api_keys="ada:k1")
    again = "/v1/view/api/runs/x/again"

    async with client_of(app) as client:
        asking, acting = (
            [
                await client.get("/v1/view/"),
                await client.get("/v1/view/", headers=_basic("k2")),
                await client.get("/v1/view/", headers={"Authorization": "Basic %"}),
            ],
            await client.post(again, headers=_basic("k1"), json={}),
        )

    assert [fields(answer, 401) for answer in asking] == [[]] * 3
    assert {one.headers["www-authenticate"][:12] for one in asking} == {"Basic realm="}
    assert fields(acting, 401) == []


async def test_there_is_no_page_where_no_logs_are_written(tmp_path):
    async with client_of(_app(tmp_path)) as client:
        answer = await client.get("/v1/view")

    assert fields(answer, 404) == []


async def test_the_pages_of_many_tenants_are_not_kept_for_ever(tmp_path):
    tenants = [f"t{number}" for number in range(40)]
    keys = ",".join(f"{tenant}:key-{tenant}" for tenant in tenants)
    app = _app(tmp_path, run_logs=tmp_path / "logs", api_keys=keys)

    async with client_of(app) as client:
        listed = [
            (await client.get("/v1/view/api/runs", headers=_basic(f"key-{tenant}"))).json()
            for tenant in [*tenants, tenants[0]]
        ]

    assert [one["folder"] for one in listed] == [*tenants, tenants[0]]


async def test_a_page_that_follows_a_run_does_not_hold_up_the_stop_of_the_server(
    tmp_path, capfd, caplog, monkeypatch
):
    # How long answers may take that nobody ends.
    monkeypatch.setattr("agent_server._http.server._LAST_ANSWERS_SECONDS", 600)
    logs = tmp_path / "logs"
    writer = RunLog(logs / "default", about={}).begin()
    path = f"/v1/view/api/runs/{writer.path.stem}/events"

    async with httpx.AsyncClient(timeout=600, verify=False) as client:
        async with listening(tmp_path, run_logs=logs) as (port, _):
            request = client.build_request("GET", f"http://127.0.0.1:{port}{path}")
            answer = await client.send(request, stream=True)
            lines = answer.aiter_lines()
            first = await anext(lines)
            began = asyncio.get_running_loop().time()
        rest = [line async for line in lines]
        seconds = asyncio.get_running_loop().time() - began
    writer.close()

    assert first == "event: news"
    assert rest[-1] == ""  # it came to its end, and was not cut off
    assert seconds < 300
    assert (caplog.records, capfd.readouterr().err) == ([], "")
