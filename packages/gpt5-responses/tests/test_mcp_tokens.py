"""Tokens of MCP servers among the settings: read, refused by name, shown nowhere, and what keeps connections apart."""

import asyncio
import json
from typing import Any

import pytest
from wire import Wire, body_of, whole

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


def connect(tokens: object = None, **settings: Any) -> Connection:
    credentials = {"openai_api_key": "key", "mcp_tokens": tokens, **settings}
    return Connection.from_credentials(credentials, environ={})


@pytest.mark.parametrize(
    "given",
    [
        json.dumps({" github ": f" {TOKEN} ", "b": "c d"}),
        {"github": TOKEN, "b": "c d"},
    ],
)
def test_tokens_are_a_json_object_or_a_mapping(given: object) -> None:
    assert dict(connect(given).mcp_tokens) == {"b": "c d", "github": TOKEN}


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
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_cannot_be_used_is_refused_by_the_name_of_the_field_and_not_shown(
    given: object,
) -> None:
    with pytest.raises(SettingsError, match=r"^mcp_tokens ") as told:
        connect(given)

    assert told.value.field == "mcp_tokens"
    assert TOKEN not in str(told.value)


def test_a_token_stands_in_no_text() -> None:
    credentials = {"openai_api_key": "key", "mcp_tokens": json.dumps({"github": f"Bearer {TOKEN}"})}
    connection = Connection.from_credentials(credentials, environ={})

    assert TOKEN not in repr(connection)
    for secrets in (connection.secrets, find_secrets(credentials)):
        assert TOKEN not in secrets.redact(f"The server said: {TOKEN}, {credentials}.")
    half = {"openai_api_key": "key", "mcp_tokens": TOKEN}
    assert TOKEN not in find_secrets(half).redact(f"got {TOKEN}")


def test_tokens_keep_connections_apart() -> None:
    connections = [
        connect(),
        connect({"github": TOKEN}),
        connect({"github": "another-token"}),
        connect({"gitlab": TOKEN}),
        connect(extra_headers={"github": TOKEN}),
    ]

    assert len({connection.fingerprint for connection in connections}) == len(connections)
    assert len(set(connections)) == len(connections)
    assert connect({"a": "b", "c": "d"}) == connect({"c": "d", "a": "b"})


@pytest.mark.parametrize("is_async", [False, True])
def test_a_client_sends_each_token_to_no_server_but_its_own(*, is_async: bool) -> None:
    tools = [mcp_tool(label, url=f"https://{label}.example.com") for label in ("github", "other")]
    request = Request(items=[{"role": "user", "content": "Hello"}], tools=tools)
    with Wire(whole(json.dumps({"status": "completed", "output": []}).encode())) as wire:
        config = ModelConfig(
            model_id="gpt-5.2", api_key="key", base_url=wire.base_url, mcp_tokens={"github": TOKEN}
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
