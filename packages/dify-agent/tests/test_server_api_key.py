import pytest


@pytest.fixture(scope="module")
def server(share_server):
    with share_server(api_key="open-sesame") as client:
        yield client


@pytest.fixture
def client(server, settle):
    yield server
    settle(server)


@pytest.mark.parametrize(
    "headers", [{"Authorization": "Bearer open-sesame"}, {"X-Api-Key": "open-sesame"}]
)
def test_a_server_with_a_key_answers_who_has_it(client, build_request, headers):
    assert client.post("/runs", json=build_request(), headers=headers).status_code == 202


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic open-sesame"},
        {"X-Api-Key": ""},
    ],
)
def test_a_server_with_a_key_answers_nobody_else(client, headers):
    response = client.get("/health", headers=headers)

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert response.json()["error"]["code"] == "unauthorized"
