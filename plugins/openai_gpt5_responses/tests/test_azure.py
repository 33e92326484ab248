"""Azure OpenAI by base URL and key, on a server that differs from OpenAI's as Azure's does. Nothing here has met Azure itself."""

import pytest

from azure_server import AzureServer
from model_plugin import Answer, ModelPlugin


def credentials(server: AzureServer, **more: str) -> dict[str, str]:
    return {
        "openai_api_key": server.key,
        "openai_api_base": server.base_url,
        "max_retries": "0",
        **more,
    }


def ask(plugin: ModelPlugin, server: AzureServer, text: str = "Hello", **request: object) -> Answer:
    given = {"model": "prod-chat", "credentials": credentials(server), **request}
    return plugin.invoke(server, text, **given)


def validate(
    plugin: ModelPlugin, server: AzureServer, model: str | None = None, **more: str
) -> Answer:
    given = credentials(server, **more)
    if model is None:
        return plugin.call("validate_provider_credentials", credentials=given)
    return plugin.call("validate_model_credentials", model=model, credentials=given)


@pytest.mark.parametrize("lists_models", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_a_deployment_is_called_by_its_name_with_base_url_and_key(
    plugin: ModelPlugin, *, stream: bool, lists_models: bool
) -> None:
    with AzureServer("prod-chat", lists_models=lists_models) as server:
        assert validate(plugin, server).error is None
        assert validate(plugin, server, "prod-chat").error is None
        answer = ask(plugin, server, stream=stream)

    assert (answer.error, answer.text) == (None, "It works.")
    assert answer.last["finish_reason"] == "stop"
    assert server.requests[-1].body["model"] == "prod-chat"
    assert {asked.headers["authorization"] for asked in server.requests} == {"Bearer resource-key"}


def test_a_query_such_as_api_version_goes_along(plugin: ModelPlugin) -> None:
    with AzureServer("prod-chat", api_version="preview") as server:
        url = f"{server.base_url}?api-version=preview"
        given = credentials(server, openai_api_base=url)
        assert validate(plugin, server, openai_api_base=url).error is None
        assert validate(plugin, server, "prod-chat", openai_api_base=url).error is None
        answer = ask(plugin, server, credentials=given)
        without = ask(plugin, server)

    assert answer.text == "It works."
    assert "API version not supported" in str(without.error)


def test_a_key_may_also_go_as_api_key(plugin: ModelPlugin) -> None:
    with AzureServer("prod-chat") as server:
        headers = f'{{"api-key": "{server.key}"}}'
        given = credentials(server, openai_api_key="unused", extra_headers=headers)
        answer = ask(plugin, server, credentials=given)

    assert answer.text == "It works."


def test_the_model_behind_a_deployment_decides_what_is_sent_and_what_it_costs(
    plugin: ModelPlugin,
) -> None:
    with AzureServer("prod-chat") as server:
        given = credentials(server, base_model="gpt-6.1-sol")
        parameters = {"reasoning_effort": "none"}
        known = ask(plugin, server, credentials=given, model_parameters=parameters)
        unknown = ask(plugin, server, model_parameters=parameters)
        by_name = credentials(server, base_model="by-name")
        named = ask(plugin, server, credentials=by_name, model_parameters=parameters)

    efforts = [asked.body["reasoning"]["effort"] for asked in server.requests]
    prices = [answer.last["usage"]["total_price"] for answer in (known, unknown, named)]
    assert efforts == ["low", "none", "none"]
    assert [float(price) for price in prices] == [0.003, 0, 0]
    assert {asked.body["model"] for asked in server.requests} == {"prod-chat"}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("text", "model", "key", "kind", "told"),
    [
        ("Hi", "gpt-5-codex", None, "InvokeBadRequestError", "no deployment 'gpt-5-codex'. On Azure"),
        ("Hi", "prod-chat", "other", "InvokeAuthorizationError", "does not accept the API key"),
        ("forbidden", "prod-chat", None, "InvokeBadRequestError", "'content_filter', param 'prompt'"),
        ("too much", "prod-chat", None, "InvokeRateLimitError", "Too many requests"),
    ],
)  # fmt: skip
def test_its_errors_are_told_as_what_they_are(
    plugin: ModelPlugin,
    *,
    text: str,
    model: str,
    key: str | None,
    kind: str,
    told: str,
    stream: bool,
) -> None:
    with AzureServer("prod-chat") as server:
        given = credentials(server, openai_api_key=key or server.key)
        error = ask(plugin, server, text, model=model, credentials=given, stream=stream).error

    assert error is not None
    assert error.error_type == kind
    assert told in str(error)


def test_an_address_without_the_api_is_told_by_the_form(plugin: ModelPlugin) -> None:
    with AzureServer("prod-chat") as server:
        url = server.base_url.removesuffix("openai/v1/")
        told = str(validate(plugin, server, "prod-chat", openai_api_base=url).error)

    assert "no such address (status 404). Check API Base URL" in told


def test_a_deployment_that_is_missing_is_told_by_the_form(plugin: ModelPlugin) -> None:
    with AzureServer("prod-chat", lists_models=False) as server:
        assert validate(plugin, server).error is None
        told = str(validate(plugin, server, "gpt-5.2").error)
        wrong = str(validate(plugin, server, openai_api_key="other").error)

    assert "no deployment 'gpt-5.2'" in told
    assert "does not accept the API key" in wrong


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_its_filter_has_cut_says_so(plugin: ModelPlugin, *, stream: bool) -> None:
    with AzureServer("prod-chat") as server:
        answer = ask(plugin, server, "cut me", stream=stream)

    assert answer.error is None
    assert (answer.text, answer.last["finish_reason"]) == ("It works.", "content_filter")
