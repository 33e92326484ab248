"""Headers of a user's own: what is sent, what is refused, and that their values stay secret."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire import REQUEST, SILENT, WHOLE, Wire, whole

from gpt5_responses import (
    AsyncResponsesClient,
    Connection,
    InvalidRequestError,
    ModelConfig,
    Request,
    ResponsesClient,
    ResponsesError,
    SettingsError,
    Transport,
    create,
    find_secrets,
    open_stream,
    validate_model,
    validate_server,
)
from gpt5_simulator import RecordedRequest, ResponsesSimulator


SECRET = "gate/way secret-1"


def connect(headers: object, **credentials: object) -> Connection:
    given = {"openai_api_key": "key", "extra_headers": headers, **credentials}
    return Connection.from_credentials(given, environ={})


def text(**headers: object) -> str:
    return json.dumps({name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("none", [None, "", "  \n", "{}", {}])
def test_there_are_none_by_default(none: object) -> None:
    assert connect(none) == Connection(api_key="key")
    assert dict(connect(none).extra_headers) == {}


def test_they_are_read_from_json_text_or_a_mapping() -> None:
    from_text = connect(' {"X-Team": " blue ", "a": ""}')

    assert from_text.extra_headers == {"X-Team": "blue", "a": ""}
    assert from_text == connect({"a": "", "X-Team": "blue"})
    assert from_text == Connection(api_key="key", extra_headers={"X-Team": "blue", "a": ""})


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("X-Team: teal", "must be a JSON object, as in .*: Expecting value at line 1 column 1"),
        ('{"X-Team": "teal",}', "must be a JSON object, as in .*line 1"),
        ('{"X-Team": NaN}', "NaN is not JSON"),
        ('["X-Team", "teal"]', "must be a JSON object of header names and values, as in"),
        ('"X-Team"', "must be a JSON object of header names and values"),
        (7, "must be a JSON object of header names and values"),
        ('{"X-Team": 7}', "value that is no text for X-Team. Put it in quotation marks"),
        ('{"X-Team": null}', "value that is no text for X-Team"),
        ('{"X-Team": ["teal"]}', "value that is no text for X-Team"),
        ('{"X-Team": {"a": "b"}}', "value that is no text for X-Team"),
        ('{"": "teal"}', r"name that is not a header's \(header 1\)"),
        ('{"a": "b", "X Team": "teal"}', r"name that is not a header's \(header 2\)"),
        ('{"X-Team:": "teal"}', "name that is not a header's"),
        ('{"X-Téam": "teal"}', "name that is not a header's"),
        ('{"X-Team\\r\\nHost": "teal"}', "name that is not a header's"),
        ({7: "teal"}, "name that is not a header's"),
        ('{"X-Team": "teal\\nX-Role: admin"}', "value for X-Team that no header can hold"),
        ('{"X-Team": "teal\\r"}', "value for X-Team that no header can hold"),
        ('{"X-Team": "\\u0000"}', "value for X-Team that no header can hold"),
        ('{"X-Team": "blé"}', "value for X-Team that no header can hold. It may hold ASCII"),
        ('{"X-Team": "青"}', "value for X-Team that no header can hold"),
        ('{"X-Team": "\\ud800"}', "value for X-Team that no header can hold"),
        ('{"X-Team": "a", "x-team": "b"}', "names x-team twice"),
        ('{"X-Team": "a", "X-Team": "a"}', "names X-Team twice"),
        ('{"X-Team": "teal", "X-Team": {"a": 1, "a": 2}}', "names X-Team twice"),
        ('{"Authorization": "Bearer x"}', "must not set Authorization. Use openai_api_key for it"),
        ('{"OPENAI-organization": "o"}', "must not set .* Use openai_organization for it"),
        ('{"hOsT": "elsewhere"}', "must not set hOsT, which the connection sets by itself"),
        ('{"Content_Length": "0"}', "must not set Content_Length, which the connection sets"),
        ('{"OpenAI_Organization": "o"}', "must not set .* Use openai_organization for it"),
        (json.dumps({"X-Team": "teal" * 20_000}), "must hold at most 65536 characters"),
        (json.dumps({f"X-{n}": "teal" for n in range(100_000)}), "at most 100 headers, got 100000"),
        ("[" * 100_000, "must be a JSON object"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_refused_by_name_without_showing_it(
    typed: object, told: str
) -> None:
    with pytest.raises(SettingsError, match=f"^extra_headers .*{told}") as caught:
        connect(typed)

    assert caught.value.field == "extra_headers"
    assert str(caught.value).endswith(".")
    assert not any(word in str(caught.value) for word in ("teal", "Bearer", "admin"))


@pytest.mark.parametrize(
    "name",
    [
        *("Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length"),
        *(
            "Content-Type",
            "Cookie",
            "Cookie2",
            "Expect",
            "Host",
            "Keep-Alive",
            "Proxy-Authorization",
        ),
        *(
            "HTTP2-Settings",
            "Proxy-Connection",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "Upgrade",
            "X-Stainless-Raw-Response",
        ),
    ],
)
def test_what_the_connection_needs_cannot_be_set(name: str) -> None:
    for written in (name, name.upper(), name.lower()):
        with pytest.raises(SettingsError, match=f"must not set {written}, which the connection"):
            Connection(api_key="key", extra_headers={written: "x"})


def test_a_name_is_shown_shortened() -> None:
    with pytest.raises(SettingsError) as caught:
        connect({"x" * 10_000: 1})

    assert len(str(caught.value)) < 200


@given(
    st.text() | st.dictionaries(st.text(), st.text() | st.none() | st.integers()).map(json.dumps)
)
def test_any_text_is_read_or_refused_by_name(typed: str) -> None:
    field = ""
    try:
        assert hash(connect(typed)) == hash(connect(typed))
    except SettingsError as error:
        field = error.field

    assert field in ("", "extra_headers")


def sent(server: ResponsesSimulator) -> list[RecordedRequest]:
    assert server.requests
    return server.requests


async def test_they_go_along_with_every_request(transport: Transport) -> None:
    headers = {"X-Team": "blue", "api-key": "k2", "User-Agent": "gateway/1"}
    settings: dict[str, Any] = {"api_key": "key", "extra_headers": headers}
    request = Request(items=[{"role": "user", "content": "Hello"}])
    with ResponsesSimulator() as server:
        connection = Connection(base_url=server.base_url, **settings)
        validate_server(connection, transport=transport)
        validate_model(connection, "gpt-5.2", transport=transport)
        with open_stream(connection, REQUEST, transport=transport) as stream:
            list(stream)
        create(connection, WHOLE, transport=transport)
        config = ModelConfig(model_id="gpt-5.2", base_url=server.base_url, **settings)
        ResponsesClient(config, transport=transport).complete(request)
        async with AsyncResponsesClient(config) as client:
            await client.complete(request)

    assert len(sent(server)) == 6
    assert {request.headers["x-team"] for request in sent(server)} == {"blue"}
    assert {request.headers["user-agent"] for request in sent(server)} == {"gateway/1"}
    assert len({request.headers["authorization"] for request in sent(server)}) == 1


def test_the_query_of_a_base_url_goes_along_with_every_request(transport: Transport) -> None:
    asked: list[bytes] = []

    def answer(peer: Any) -> None:
        whole(json.dumps(SILENT).encode())(peer)

    with Wire(answer) as wire:
        url = f"{wire.base_url}?api-version=preview&tenant=blue"
        connection = Connection.from_settings(
            {"api_key": "key", "base_url": url, "max_retries": 0}, environ={}
        )
        validate_server(connection, transport=transport)
        create(connection, WHOLE, transport=transport)
        asked += [request.partition(b"\r\n")[0] for request in wire.requests]

    assert asked == [
        b"GET /v1/models?api-version=preview&tenant=blue HTTP/1.1",
        b"POST /v1/responses?api-version=preview&tenant=blue HTTP/1.1",
    ]


def test_they_keep_credentials_apart(transport: Transport) -> None:
    connections = [
        connect(headers) for headers in (None, text(x_team="blue"), text(x_team="red"), text(x="blue"))
    ]  # fmt: skip

    assert len({connection.fingerprint for connection in connections}) == 4
    assert len(set(connections)) == 4
    assert connect(text(a="b", c="d")) == connect(text(c="d", a="b"))
    clients: set[int] = set()
    for connection in connections:
        with transport.lend(connection) as client:
            clients.add(id(client))
    assert len(clients) == 4


def test_their_values_stand_in_no_repr_and_no_fingerprint() -> None:
    connection = connect(text(x_key=SECRET))
    config = ModelConfig(model_id="m", api_key="k", extra_headers={"x-key": SECRET})

    for shown in (repr(connection), connection.fingerprint, repr(config)):
        assert SECRET not in shown
    assert "x-key" in repr(connection.extra_headers)
    assert SECRET not in repr(connection.extra_headers)


@pytest.mark.parametrize("said", [SECRET, "secret-1", "gate%2Fway%20secret-1"])
def test_a_server_that_sends_a_value_back_does_not_make_it_known(
    said: str, transport: Transport
) -> None:
    body = json.dumps(
        {"error": {"message": f"{said} is bad", "code": f"c-{said}", "param": said}}
    ).encode()
    errors: list[ResponsesError] = []
    with Wire(whole(body, "400 Bad Request", x_request_id=said)) as wire:
        connection = wire.connection(extra_headers={"X-Key": f"Bearer {SECRET}", "X-2": "secret-1"})
        for request in (WHOLE, REQUEST):
            with pytest.raises(InvalidRequestError) as caught:
                create(connection, request, transport=transport)
            errors.append(caught.value)

    for error in errors:
        assert said not in "".join(map(str, (error, error.code, error.param, error.request_id)))


@pytest.mark.parametrize(
    "credentials",
    [
        {"openai_api_key": f" {SECRET}\n"},
        {"extra_headers": text(x_key=SECRET)},
        {"extra_headers": text(x_key=f"Basic {SECRET}")},
        {"extra_headers": {"x-key": SECRET}},
        {"extra_headers": f"{SECRET}"},
        {"extra_headers": f'{{"x": "{SECRET}", "x": "b"}}'},
        {"extra_headers": text(x_key=SECRET, host="x", number=1)},
        {"openai_api_base": f"https://gateway.example?subscription-key={SECRET}"},
        SECRET,
    ],
)
def test_the_secrets_of_credentials_are_found_whether_they_are_usable_or_not(
    credentials: object,
) -> None:
    assert SECRET not in find_secrets(credentials).redact(f"It says {SECRET}.")


@pytest.mark.parametrize(
    "credentials", [None, {}, {"openai_api_base": "https://[::1"}, {"extra_headers": [SECRET]}]
)
def test_credentials_without_secrets_have_none(credentials: object) -> None:
    assert find_secrets(credentials).redact("as it is") == "as it is"
