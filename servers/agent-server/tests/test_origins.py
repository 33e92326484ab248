import pytest
from talking import Talker, created, talking
from test_responses import error_of
from web import client_of, executor, fields, settings_of

from agent_server.http import build_app


FRIEND = "https://chat.example.com"


def _app(tmp_path, **changes):
    return build_app(settings_of(tmp_path, **changes), Talker(), None)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:81",
        "http://127.0.0.1.evil.example",
        "127.0.0.1",
        "",
    ],
)
@pytest.mark.parametrize("keys", [None, "k"])
async def test_a_page_of_another_origin_cannot_act(tmp_path, origin, keys):
    async with client_of(_app(tmp_path, api_keys=keys), key=keys) as client:
        sent = {"Origin": origin}
        told = [
            await client.post("/v1/runs", json={}, headers=sent),
            await client.post("/v1/runs/x/cancel", headers=sent),
            await client.request("TRACE", "/v1/runs", headers=sent),
        ]
        faces = [
            await client.post("/v1/responses", json={}, headers=sent),
            await client.delete("/v1/responses/x", headers=sent),
        ]

    assert [fields(answer, 403) for answer in told] == [[]] * 3
    assert [error_of(answer, 403) for answer in faces] == [(None, "insufficient_permissions")] * 2
    assert not any("access-control-allow-origin" in one.headers for one in (*told, *faces))


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1:8080"),
        ("http://localhost", "LOCALHOST:80"),
        ("https://localhost", "localhost"),  # behind a proxy that speaks TLS
        ("http://[::1]:8080", "[::1]:8080"),
    ],
)
async def test_the_servers_own_page_acts_with_a_header_that_no_form_can_send(
    tmp_path, origin, host
):
    sent = {"Origin": origin, "Host": host}
    async with talking(tmp_path) as (client, _):
        body = {"model": "greet", "input": "hi"}
        answer = await client.post("/v1/responses", json=body, headers=sent)
        cancel = f"/v1/responses/{answer.json()['id']}/cancel"
        forms = [
            await client.post(cancel, headers=sent),
            await client.post(cancel, data={"a": "b"}, headers=sent),
            await client.post(
                cancel, content=b"{}", headers={**sent, "Content-Type": "text/plain"}
            ),
        ]
        ended = await client.post(cancel, json={}, headers=sent)

    assert answer.json()["status"] == ended.json()["status"] == "completed"
    assert [one.status_code for one in forms] == [415] * 3


async def test_a_program_which_is_no_page_needs_no_origin(tmp_path):
    async with talking(tmp_path) as (client, _):
        response = await created(client)
        answer = await client.post(f"/v1/responses/{response['id']}/cancel")

    assert answer.status_code == 200


async def test_pages_of_allowed_origins_call_the_server(tmp_path):
    settings = {"api_keys": "k", "allow_origin": f"{FRIEND}, http://Other.example:80/"}
    sent = {"Origin": FRIEND}
    asked = {
        **sent,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,x-stainless-os",
    }
    async with talking(tmp_path, **settings) as (client, _):
        flight = await client.options("/v1/responses", headers=asked)
        keyless = await client.get("/v1/models", headers=sent)
        sent["Authorization"] = "Bearer k"
        answer = await client.post(
            "/v1/responses", json={"model": "greet", "input": "hi"}, headers=sent
        )
        other = await client.get("/v1/models", headers=sent | {"Origin": "http://other.example"})
        outside = [
            await client.get("/v1/models", headers=sent | {"Origin": "https://evil.example"}),
            await client.get("/metrics", headers=sent),
        ]
        refused = await client.options(
            "/v1/responses", headers=asked | {"Origin": "http://chat.example.com"}
        )

    assert (flight.status_code, flight.content) == (204, b"")
    assert flight.headers["access-control-allow-origin"] == FRIEND
    assert flight.headers["access-control-allow-methods"] == "GET, POST, DELETE"
    assert flight.headers["access-control-allow-headers"].endswith("x-stainless-os")
    assert (keyless.status_code, answer.status_code) == (401, 200)
    for one in (flight, keyless, answer):
        assert one.headers["access-control-allow-origin"] == FRIEND
        assert one.headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in one.headers
    assert other.headers["access-control-allow-origin"] == "http://other.example"
    assert not any("access-control-allow-origin" in one.headers for one in (*outside, refused))
    assert refused.status_code == 401


async def test_without_keys_an_allowed_origin_still_has_to_name_this_machine(tmp_path):
    app = build_app(settings_of(tmp_path, allow_origin=FRIEND), executor(), None)
    sent = {"Origin": FRIEND, "Host": "example.com"}
    async with client_of(app) as client:
        answer = await client.post("/v1/runs", json={}, headers=sent)

    assert fields(answer, 400) == []
