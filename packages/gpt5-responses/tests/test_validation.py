import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from wire import Wire, whole

from gpt5_responses import (
    AuthenticationError,
    Connection,
    ConnectionFailedError,
    InvalidRequestError,
    ModelNotFoundError,
    NotFoundError,
    PermissionDeniedError,
    ResponseFailedError,
    ResponsesError,
    ServerError,
    Transport,
    UnexpectedResponseError,
    find_shutdown_date,
    validate_model,
    validate_server,
)
from gpt5_simulator import HttpError, Recording, ResponsesSimulator


def connection(server: ResponsesSimulator, key: str = "good") -> Connection:
    return Connection(api_key=key, base_url=server.base_url, max_retries=0)


def test_a_server_that_lists_its_models_is_asked_nothing_more(transport: Transport) -> None:
    with ResponsesSimulator(api_keys=["good"]) as server:
        validate_server(connection(server), transport=transport)

    assert [(request.method, request.path) for request in server.requests] == [
        ("GET", "/v1/models")
    ]


@pytest.mark.parametrize("status", [403, 404, 405, 410, 501])
def test_a_gateway_that_lists_no_models_is_asked_for_the_smallest_answer(
    status: int, transport: Transport
) -> None:
    with ResponsesSimulator(models_status=status) as server:
        validate_server(connection(server), transport=transport)

    body = server.requests[-1].body
    assert (body["max_output_tokens"], body["store"], body["stream"]) == (16, False, False)


def test_a_gateway_that_only_misses_the_model_passes(transport: Transport) -> None:
    with ResponsesSimulator(models=["my-model"], models_status=404) as server:
        validate_server(connection(server), transport=transport)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, {"message": "The model `gpt-6-luna` has been deprecated", "code": None}),
        (404, {"message": "The model `gpt-6-luna` does not exist.", "code": 404}),
        (400, {"message": "gone", "code": "model_not_found"}),
        (403, {"message": "not yours", "code": "no_access", "param": "model"}),
        (404, {"message": "No models loaded.", "code": "model_not_found", "param": "model"}),
        (404, {"message": "no such deployment", "code": "DeploymentNotFound"}),
        (410, {"message": "The model 'gpt-6-luna' is gone"}),
        (403, {"message": "Your organization must be verified.", "code": "model_not_found"}),
    ],
)
def test_a_gateway_whose_model_has_ended_passes(
    status: int, error: dict[str, object], transport: Transport
) -> None:
    body = json.dumps({"error": error}).encode()
    recording = Recording(name="x", body=body, is_stream=False, status=status)
    with ResponsesSimulator(models_status=404, replay=[recording]) as server:
        validate_server(connection(server), transport=transport)


@pytest.mark.parametrize(
    ("status", "kind"), [(403, PermissionDeniedError), (400, InvalidRequestError)]
)
def test_a_key_that_may_not_ask_does_not_pass(
    transport: Transport, status: int, kind: type[ResponsesError]
) -> None:
    with (
        ResponsesSimulator(models_status=403, faults=[HttpError(status=status)]) as server,
        pytest.raises(kind),
    ):
        validate_server(connection(server), transport=transport)


LISTS = [
    {"data": [{"id": "gpt-5.2", "shutdown_date": "2026-11-30"}]},
    {"data": []},
    {"data": None},
    {"data": [None, 7, {"shutdown_date": "2026-11-30"}, {"id": 7, "shutdown_date": "2026-11-30"}]},
    {"data": [{"id": "gpt-5.2", "shutdown_date": day} for day in ("soon", 7, "", "2026-13-01", "2026-W48-1", [])]},
    {"object": "list"},
]  # fmt: skip


@pytest.mark.parametrize("models", LISTS)
def test_no_list_fails_because_of_what_ends_in_it(
    models: dict[str, object], transport: Transport
) -> None:
    with Wire(whole(json.dumps(models).encode())) as wire:
        validate_server(wire.connection(), transport=transport)
        day = find_shutdown_date(wire.connection(), "gpt-5.2", transport=transport)

    assert len(wire.requests) == 1
    assert day == ("2026-11-30" if models is LISTS[0] else None)


def test_days_come_from_the_server_s_list_and_else_from_openai_s_calendar(
    transport: Transport,
) -> None:
    models = {
        "data": [
            {"id": "gpt-5", "shutdown_date": None},
            {"id": "gpt-6-sol", "shutdown_date": "2027-05-01"},
            {"id": "gpt-5-mini"},
        ]
    }
    names = ("gpt-5", "gpt-6-sol", "gpt-5-mini", "gpt-5.1-2025-11-13", "my-model")

    def days(connection: Connection) -> list[str | None]:
        return [find_shutdown_date(connection, name, transport=transport) for name in names]

    with Wire(whole(json.dumps(models).encode())) as wire:
        before = days(wire.connection())
        validate_server(wire.connection(), transport=transport)
        other = wire.connection(api_key="other")
        after, others = days(wire.connection()), days(other)

    assert before == others == ["2026-12-11", None, "2026-12-11", "2027-04-01", None]
    assert after == [None, "2027-05-01", "2026-12-11", "2027-04-01", None]


def test_what_a_server_has_told_goes_with_its_client() -> None:
    pool = Transport(max_clients=1)
    first, second = Connection(api_key="a"), Connection(api_key="b")
    for each in (first, second):
        with pool.lend(each):
            pool.learn_shutdown_dates(each, {"gpt-5.2": "2027-01-01"})
    pool.learn_shutdown_dates(first, {"gpt-5.2": "2027-01-01"})

    assert find_shutdown_date(first, "gpt-5.2", transport=pool) is None
    assert find_shutdown_date(second, "gpt-5.2", transport=pool) == "2027-01-01"
    pool.close()


def test_a_server_without_any_of_the_routes_does_not_pass(transport: Transport) -> None:
    with (
        ResponsesSimulator(
            models_status=404, faults=[HttpError(status=404, code="unknown_url", times=None)]
        ) as server,
        pytest.raises(NotFoundError),
    ):
        validate_server(connection(server), transport=transport)


def test_a_wrong_key_is_told(transport: Transport) -> None:
    with (
        ResponsesSimulator(api_keys=["good"]) as server,
        pytest.raises(AuthenticationError) as caught,
    ):
        validate_server(connection(server, "bad"), transport=transport)

    assert "bad" not in str(caught.value)


def test_a_server_that_is_not_there_is_told(transport: Transport) -> None:
    nowhere = Connection(api_key="k", base_url="http://127.0.0.1:9/v1", max_retries=0)

    with pytest.raises(ConnectionFailedError):
        validate_server(nowhere, transport=transport)


def test_a_failing_server_is_told(transport: Transport) -> None:
    with ResponsesSimulator(models_status=500) as server, pytest.raises(ServerError):
        validate_server(connection(server), transport=transport)


def test_a_model_is_tried_with_the_smallest_request(transport: Transport) -> None:
    with ResponsesSimulator() as server:
        validate_model(connection(server), "gpt-5.2", transport=transport)
        with pytest.raises(ModelNotFoundError):
            validate_model(connection(server), "gpt-none", transport=transport)

    assert server.requests[0].body["max_output_tokens"] == 16


@pytest.mark.parametrize(
    ("error", "status", "kind", "told"),
    [
        ({"message": "internal host db-7"}, 400, InvalidRequestError, "Check its name"),
        ({"message": "db-7: organization must be verified"}, 400, InvalidRequestError, "not verified"),
        ({"message": "db-7: organization must be verified"}, 403, PermissionDeniedError, "not verified"),
        ({"message": "not on db-7", "code": "model_not_found"}, 404, ModelNotFoundError, "has no model"),
        ({"message": "db-7: no models loaded", "code": "model_not_found"}, 404, InvalidRequestError, "has not loaded"),
        ({"message": "db-7", "code": "no"}, 403, PermissionDeniedError, "permissions"),
        ({"message": "db-7"}, 500, ServerError, "status 500"),
        ({"message": "db-7"}, 200, ResponseFailedError, "Check its name"),
    ],
)  # fmt: skip
def test_a_refused_ping_is_told_without_the_server_s_words(
    error: dict[str, str],
    status: int,
    kind: type[ResponsesError],
    told: str,
    transport: Transport,
) -> None:
    body = json.dumps({"status": "failed", "error": error}).encode()
    recording = Recording(name="x", body=body, is_stream=False, status=status)
    with ResponsesSimulator(replay=[recording]) as server, pytest.raises(kind) as caught:
        validate_model(connection(server), "gpt-5.2", transport=transport)

    assert "db-7" not in str(caught.value)
    assert told in str(caught.value)
    assert ("'gpt-5.2'" in str(caught.value)) == (told not in ("permissions", "status 500"))
    assert caught.value.explanation == error["message"]  # for a log


def test_a_list_that_is_an_error_is_told_without_the_key(transport: Transport) -> None:
    with Wire(
        whole(b'{"error": {"message": "no", "code": "no key like Sesame0pen+42/x"}}')
    ) as wire:
        asked = wire.connection(api_key="Sesame0pen+42/x")
        with pytest.raises(ResponseFailedError) as caught:
            validate_server(asked, transport=transport)

    assert caught.value.code is not None
    assert "Sesame0pen" not in f"{caught.value} {caught.value.code}"
    assert caught.value.explanation == "no"


def test_a_refused_list_is_told_without_the_server_s_words(transport: Transport) -> None:
    with (
        ResponsesSimulator(models_status=400) as server,
        pytest.raises(InvalidRequestError) as caught,
    ):
        validate_server(connection(server), transport=transport)

    assert "base_url" in str(caught.value)


def test_a_web_page_in_place_of_the_list_is_no_list(transport: Transport) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<html>Welcome</html>"
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        wrong = Connection(
            api_key="k", base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0
        )
        with pytest.raises(UnexpectedResponseError, match=r"Check base_url\."):
            validate_server(wrong, transport=transport)
        server.shutdown()


@pytest.mark.parametrize(
    ("base_url", "day"),
    [
        ("https://api.openai.com/v1", "2026-12-11"),
        ("https://gateway.example/v1", "2026-12-11"),
        ("https://x.openai.azure.com/openai/v1", None),
        ("https://bedrock-mantle.us-east-1.amazonaws.com/v1", None),
    ],
)
def test_openais_calendar_is_not_that_of_other_clouds(base_url: str, day: str | None) -> None:
    connection = Connection(api_key="k", base_url=base_url)
    assert find_shutdown_date(connection, "gpt-5-mini") == day
