import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from gpt5_responses import (
    AuthenticationError,
    Connection,
    ConnectionFailedError,
    InvalidRequestError,
    ModelNotFoundError,
    NotFoundError,
    ResponseFailedError,
    ResponsesError,
    ServerError,
    Transport,
    UnexpectedResponseError,
    validate_model,
    validate_server,
)
from gpt5_simulator import HttpError, Recording, ResponsesSimulator


@pytest.fixture
def transport() -> Iterator[Transport]:
    pool = Transport()
    yield pool
    pool.close()


def connection(server: ResponsesSimulator, key: str = "good") -> Connection:
    return Connection(api_key=key, base_url=server.base_url, max_retries=0)


def test_a_server_that_lists_its_models_is_asked_nothing_more(transport: Transport) -> None:
    with ResponsesSimulator(api_keys=["good"]) as server:
        validate_server(connection(server), transport=transport)

    assert [(request.method, request.path) for request in server.requests] == [
        ("GET", "/v1/models")
    ]


@pytest.mark.parametrize("status", [403, 404, 405])
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
    ("body", "status", "kind"),
    [
        (b'{"error": {"message": "internal host db-7"}}', 400, InvalidRequestError),
        (b'{"status": "failed", "error": {"message": "db-7"}}', 200, ResponseFailedError),
    ],
    ids=["refused", "failed"],
)
def test_a_refused_ping_is_told_without_the_server_s_words(
    body: bytes, status: int, kind: type[ResponsesError], transport: Transport
) -> None:
    recording = Recording(name="x", body=body, is_stream=False, status=status)
    with ResponsesSimulator(replay=[recording]) as server, pytest.raises(kind) as caught:
        validate_model(connection(server), "gpt-5.2", transport=transport)

    assert "db-7" not in str(caught.value)
    assert "'gpt-5.2'" in str(caught.value)


def test_a_refused_list_is_told_without_the_server_s_words(transport: Transport) -> None:
    with (
        ResponsesSimulator(models_status=400) as server,
        pytest.raises(InvalidRequestError) as caught,
    ):
        validate_server(connection(server), transport=transport)

    assert "openai_api_base" in str(caught.value)


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
        with pytest.raises(UnexpectedResponseError, match="openai_api_base"):
            validate_server(wrong, transport=transport)
        server.shutdown()
