"""Tokens of MCP servers among the settings: read, refused by name, shown nowhere, and what keeps connections apart."""

import asyncio
import json
from collections import UserDict
from typing import Any

import pytest
from wire import SILENT, Wire, body_of, whole

from gpt5_payloads import mcp_tool
from gpt5_responses import (
    AsyncResponsesClient,
    Connection,
    ModelConfig,
    Request,
    ResponsesClient,
    SettingsError,
    Transport,
    find_secrets,
)


TOKEN = "ghp_hidden-value"
HOST = "api.example.com"


class Mapped(UserDict[str, str]):
    """A mapping that is no dict."""


def connect(tokens: object = None, **settings: Any) -> Connection:
    credentials = {"openai_api_key": "key", "mcp_tokens": tokens, **settings}
    return Connection.from_credentials(credentials, environ={})


@pytest.mark.parametrize(
    "given",
    [
        json.dumps({" github ": {"token": f" {TOKEN} ", "host": f" {HOST} "}, "b": " c d "}),
        {"github": {"token": TOKEN, "host": HOST}, "b": "c d"},
        {"github": Mapped({"host": HOST, "token": TOKEN}), "b": "c d"},
    ],
)
def test_tokens_are_a_json_object_or_a_mapping(given: object) -> None:
    assert connect(given).mcp_tokens == {"b": "c d", "github": {"token": TOKEN, "host": HOST}}


@pytest.mark.parametrize("given", [None, "", "  ", "{}", {}])
def test_there_may_be_none(given: object) -> None:
    assert dict(connect(given).mcp_tokens) == {}


@pytest.mark.parametrize(
    "given",
    [
        TOKEN,
        f'["{TOKEN}"]',
        f'"{TOKEN}"',
        "7",
        7,
        [TOKEN],
        f'{{"{TOKEN}": 7}}',
        f'{{"{TOKEN}": null}}',
        f'{{"{TOKEN}": ""}}',
        f'{{"": "{TOKEN}"}}',
        {7: TOKEN},
        {"github": ["a"]},
        {"github": f"a\n{TOKEN}"},
        f'{{"github": "{TOKEN}", "github": "other-{TOKEN}"}}',
        f'{{"github": "{TOKEN}", " github": "other-{TOKEN}"}}',
        {str(number): TOKEN for number in range(101)},
        {"github": TOKEN * 5_000},
        {"github": {"token": TOKEN, "host": "a." * 40_000}},
        {"github": {"token": TOKEN}},
        {"github": {"host": TOKEN}},
        {"github": {"token": TOKEN, "host": ""}},
        {"github": {"token": TOKEN, "host": 7}},
        {"github": {"token": TOKEN, "host": f"https://{HOST}"}},
        {"github": {"token": TOKEN, "host": f"{HOST}/mcp"}},
        {"github": {"token": TOKEN, "host": f"user@{HOST}"}},
        {"github": {"token": TOKEN, "host": "b\xfccher.example"}},
        {"github": {"token": TOKEN, "host": [HOST]}},
        {"github": {"token": "", "host": HOST}},
        {"github": {"token": f"a\n{TOKEN}", "host": HOST}},
        {"github": {"token": TOKEN, "host": HOST, "url": "a"}},
        f'{{"github": {{"token": "{TOKEN}", "host": "{HOST}", "host": "b.example"}}}}',
        f'{{"github": {{"token": "{TOKEN}", "token": "b", "host": "{HOST}"}}}}',
    ],
    ids=lambda value: repr(value)[:90],
)
def test_what_cannot_be_used_is_refused_by_the_name_of_the_field_and_not_shown(
    given: object,
) -> None:
    with pytest.raises(SettingsError, match=r"^mcp_tokens ") as told:
        connect(given)

    assert told.value.field == "mcp_tokens"
    assert TOKEN not in str(told.value)


@pytest.mark.parametrize(
    "token", [f"Bearer {TOKEN}", {"token": f"Bearer {TOKEN}", "host": HOST}], ids=["text", "host"]
)
def test_a_token_stands_in_no_text(token: object) -> None:
    credentials = {"openai_api_key": "key", "mcp_tokens": json.dumps({"github": token})}
    connection = Connection.from_credentials(credentials, environ={})

    assert TOKEN not in repr(connection)
    for secrets in (connection.secrets, find_secrets(credentials)):
        assert TOKEN not in secrets.redact(f"The server said: {TOKEN}, {credentials}.")
        assert secrets.redact(f"{HOST} is away") == f"{HOST} is away"


@pytest.mark.parametrize(
    "half",
    [
        TOKEN,
        f'{{"github": {{"token": "{TOKEN}"}}}}',
        f'{{"github": {{"token": "{TOKEN}", "token": "other", "host": "{HOST}"}}}}',
    ],
)
def test_a_token_of_tokens_that_cannot_be_used_stands_in_no_text(half: str) -> None:
    credentials = {"openai_api_key": "key", "mcp_tokens": half}

    assert TOKEN not in find_secrets(credentials).redact(f"got {TOKEN}")


def test_tokens_keep_connections_apart() -> None:
    connections = [
        connect(),
        connect({"github": TOKEN}),
        connect({"github": "another-token"}),
        connect({"gitlab": TOKEN}),
        connect({"github": {"token": TOKEN, "host": HOST}}),
        connect({"github": {"token": TOKEN, "host": "b.example"}}),
        connect(extra_headers={"github": TOKEN}),
    ]

    assert len({connection.fingerprint for connection in connections}) == len(connections)
    assert len(set(connections)) == len(connections)
    assert connect({"a": "b", "c": "d"}) == connect({"c": "d", "a": "b"})


@pytest.mark.parametrize("is_async", [False, True])
def test_a_client_sends_each_token_to_no_server_but_its_own(*, is_async: bool) -> None:
    tools = [mcp_tool(label, url=f"https://{HOST}/{label}") for label in ("github", "other")]
    tokens = {"github": {"token": TOKEN, "host": HOST}}
    request = Request(items=[{"role": "user", "content": "Hello"}], tools=tools)
    with Wire(whole(json.dumps(SILENT).encode())) as wire:
        config = ModelConfig(
            model_id="gpt-5.2", api_key="key", base_url=wire.base_url, mcp_tokens=tokens
        )
        if is_async:
            asyncio.run(_complete(config, request))
        else:
            transport = Transport()
            ResponsesClient(config, transport=transport).complete(request)
            transport.close()

    github, other = body_of(wire.requests[0])["tools"]
    assert github["authorization"] == TOKEN
    assert "authorization" not in other


async def _complete(config: ModelConfig, request: Request) -> None:
    async with AsyncResponsesClient(config) as client:
        await client.complete(request)


def test_a_declared_model_has_tokens_of_its_own() -> None:
    config = ModelConfig(model_id="gpt-5.2", api_key="key", mcp_tokens={"github": TOKEN})

    assert dict(config.connect().mcp_tokens) == {"github": TOKEN}
    assert TOKEN not in repr(config)
    assert Connection(api_key="key", mcp_tokens={"github": TOKEN}).mcp_tokens == {"github": TOKEN}
    with pytest.raises(SettingsError, match="mcp_tokens"):
        Connection(api_key="key", mcp_tokens={"github": ""})
