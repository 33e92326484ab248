"""What a user is told who types credentials into Dify's forms."""

import pytest

from gpt5_simulator import (
    FunctionCall,
    HttpError,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)
from model_plugin import ModelPlugin, credentials_for


def test_good_credentials_pass_both_forms(plugin: ModelPlugin, server: ResponsesSimulator) -> None:
    assert plugin.validate(server).chunks[0]["result"] is True
    assert plugin.validate(server, model="gpt-5.2").chunks[0]["result"] is True


@pytest.mark.parametrize("seconds", ["30", " 900 ", "", " "])
def test_a_timeout_within_its_bounds_passes_both_forms(
    plugin: ModelPlugin, server: ResponsesSimulator, seconds: str
) -> None:
    for model in (None, "gpt-5.2"):
        assert plugin.validate(server, model=model, request_timeout_seconds=seconds).error is None


def test_a_timeout_that_was_saved_before_counts_as_the_nearest_bound(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    saved = {**credentials_for(server, "key"), "request_timeout_seconds": "5"}

    assert plugin.invoke(server, credentials=saved).error is None


def test_a_gateway_without_a_model_list_passes_by_a_minimal_call(plugin: ModelPlugin) -> None:
    with ResponsesSimulator(models_status=404) as gateway:
        assert plugin.validate(gateway).chunks[0]["result"] is True


@pytest.mark.parametrize("model", [None, "gpt-5.2"])
@pytest.mark.parametrize(
    ("credentials", "sentence"),
    [
        (
            {"openai_api_key": "very-secret-key"},
            "does not accept the API key. Check API Key (openai_api_key) and API Base URL (openai_api_base).",
        ),
        ({"openai_api_key": " "}, "openai_api_key is required"),
        ({"openai_api_base": "ftp://x"}, "openai_api_base must use http or https"),
        *[
            (
                {"request_timeout_seconds": seconds},
                "request_timeout_seconds must be a whole number from 30 to 900.",
            )
            for seconds in ("29", "901", "-60", "5 minutes", "60.5")
        ],
        ({"max_retries": "many"}, "max_retries must be a whole number from 0 to 5."),
        ({"compatibility": "all"}, "compatibility must be auto, openai or compatible"),
        (
            {"openai_api_base": "http://127.0.0.1:9"},
            "Check the network and API Base URL (openai_api_base).",
        ),
    ],
)
def test_a_failure_is_one_sentence_with_its_likely_cause_and_no_secret(
    plugin: ModelPlugin, model: str | None, credentials: dict[str, str], sentence: str
) -> None:
    with ResponsesSimulator(api_keys=["key"]) as server:
        error = plugin.validate(server, model=model, **credentials).error

    assert error.error_type == "CredentialsValidateFailedError"
    assert sentence in str(error)
    assert "very-secret-key" not in str(error)


def test_a_model_that_the_server_does_not_have_is_named(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    assert "'gpt-none'" in str(plugin.validate(server, model="gpt-none").error)


def test_a_failing_server_is_told_from_a_wrong_key(plugin: ModelPlugin) -> None:
    with ResponsesSimulator(
        faults=[HttpError(status=500, times=None)], models_status=500
    ) as server:
        assert "Try again later" in str(plugin.validate(server).error)


@pytest.mark.parametrize("model", [None, "gpt-5.2"])
def test_a_check_tells_where_requests_go_and_the_log_why_they_fail(
    plugin: ModelPlugin, model: str | None
) -> None:
    fault = HttpError(status=503, message="db-7 is down. very-secret-key", times=None)
    plugin.notices.clear()
    with ResponsesSimulator(faults=[fault], models_status=404) as server:
        pasted = f"<{server.base_url.removeprefix('http://')}/responses?team=t-42>"
        used = f"{server.base_url}?team=..."
        said = {"openai_api_key": "very-secret-key", "openai_api_base": pasted}
        error = plugin.validate(server, model=model, **said).error
    [logged] = [notice.text for notice in plugin.notices if "check of" in notice.text]
    with ResponsesSimulator() as server:
        plugin.validate(server, model=model, openai_api_base=f"{server.base_url}?team=t-42")
        address = f"{server.base_url}?team=..."
    [passed] = [notice.text for notice in plugin.notices if "check of" in notice.text][1:]

    assert (
        error.message
        == f"The server failed to answer (status 503). Try again later. Requests go to {used}."
    )
    assert (
        logged
        == f"A check of credentials failed: {error.message} The server says: db-7 is down. [redacted]"
    )
    assert passed == f"A check of credentials passed. Requests go to {address}."


def ways(
    plugin: ModelPlugin, server: ResponsesSimulator, **credentials: str
) -> list[tuple[str, str]]:
    """Return the error of both validations and of a call, for the same credentials."""
    complete = {"openai_api_key": "key", "openai_api_base": server.base_url, **credentials}
    answers = (
        plugin.validate(server, **credentials),
        plugin.validate(server, model="gpt-5.2", **credentials),
        plugin.invoke(server, credentials=complete),
    )
    return [(getattr(answer.error, "error_type", ""), str(answer.error)) for answer in answers]


@pytest.mark.parametrize(
    ("base_url", "sentence"),
    [
        ("ftp://host/v1", "openai_api_base must use http or https"),
        ("http://user:word@host/v1", "openai_api_base must not include credentials"),
        ("http:///v1", "openai_api_base host is required"),
        ("http://169.254.169.254/latest", "openai_api_base host is not allowed"),
        ("http://metadata.google.internal", "openai_api_base host is not allowed"),
        ("http://host:port", "openai_api_base must be a URL"),
        ("https://api..openai.com", "not a name that can be looked up. Check API Base URL."),
        ("http://169\u3002254\u3002169\u3002254", "openai_api_base host is not allowed"),
    ],
)
def test_a_base_url_is_refused_alike_wherever_it_is_used(
    plugin: ModelPlugin, server: ResponsesSimulator, base_url: str, sentence: str
) -> None:
    provider, model, call = ways(plugin, server, openai_api_base=base_url)

    assert [kind for kind, _ in (provider, model, call)] == [
        "CredentialsValidateFailedError",
        "CredentialsValidateFailedError",
        "InvokeBadRequestError",
    ]
    assert all(sentence in told for _, told in (provider, model, call))
    assert server.requests == []


def test_an_operator_can_limit_the_hosts(
    configured_plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    elsewhere = server.base_url.replace("127.0.0.1", "localhost")
    refused = ways(configured_plugin, server, openai_api_base=elsewhere)
    assert all("host is not allowed" in told for _, told in refused)
    assert server.requests == []

    assert configured_plugin.validate(server).error is None
    assert configured_plugin.invoke(server).error is None


def test_credentials_are_used_as_they_were_meant(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    meant = {
        "openai_api_key": " key ",
        "openai_organization": " org-1 ",
        "openai_api_base": server.base_url.removesuffix("/v1") + "/",
    }
    assert plugin.validate(server, **meant).error is None
    assert plugin.validate(server, model="gpt-5.2", **meant).error is None
    assert plugin.invoke(server, credentials=meant).error is None

    assert [request.path for request in server.requests] == [
        "/v1/models",
        "/v1/responses",
        "/v1/responses",
    ]
    assert {request.headers["openai-organization"] for request in server.requests} == {"org-1"}
    assert len({request.headers["authorization"] for request in server.requests}) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 422, 429, 500])
def test_no_form_shows_what_the_server_wrote(plugin: ModelPlugin, status: int) -> None:
    fault = HttpError(status=status, message="host db-7 says no", times=None)
    with ResponsesSimulator(faults=[fault], models_status=404) as server:
        for model in (None, "gpt-5.2"):
            told = str(plugin.validate(server, model=model).error)
            assert "db-7" not in told
            assert told.endswith(".")


def test_extra_headers_go_along_with_both_validations_and_a_call(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    assert ways(plugin, server, extra_headers='{"X-Team": "blue", "api-key": "k"}') == [
        ("", "None"),
        ("", "None"),
        ("", "None"),
    ]

    assert [request.headers["x-team"] for request in server.requests] == ["blue"] * 3


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("X-Key: hidden-value", "extra_headers must be a JSON object, as in"),
        ('["hidden-value"]', "extra_headers must be a JSON object of header names and values"),
        ('{"X-Key": ["hidden-value"]}', "value that is no text for X-Key"),
        ('{"X-Key": "hidden-value\\n"}', "value for X-Key that no header can hold"),
        ('{"hidden-value x": "X-Key"}', "name that is not a header's (header 1)"),
        ('{"Authorization": "hidden-value"}', "must not set Authorization. Use openai_api_key"),
        ('{"host": "hidden-value"}', "must not set host, which the connection sets by itself"),
    ],
)
def test_extra_headers_that_cannot_be_used_are_refused_alike_and_never_shown(
    plugin: ModelPlugin, server: ResponsesSimulator, typed: str, sentence: str
) -> None:
    plugin.notices.clear()
    told = ways(plugin, server, extra_headers=typed)

    assert [kind for kind, _ in told] == [
        "CredentialsValidateFailedError",
        "CredentialsValidateFailedError",
        "InvokeBadRequestError",
    ]
    assert all(sentence in text and "hidden-value" not in text for _, text in told)
    assert "hidden-value" not in str(plugin.notices)
    assert server.requests == []


def test_the_value_of_an_extra_header_that_comes_back_is_not_shown(
    configured_plugin: ModelPlugin,
) -> None:
    configured_plugin.notices.clear()
    fault = HttpError(status=400, message="hidden-value is no key", code="hidden-value", times=None)
    headers = '{"X-Key": "Token hidden-value"}'
    with ResponsesSimulator(faults=[fault], models_status=404) as server:
        told = ways(configured_plugin, server, extra_headers=headers)

    assert "[redacted] is no key" in told[2][1]
    assert "hidden-value" not in str(told) + str(configured_plugin.notices)


def test_reasoning_is_not_shared_between_extra_headers(plugin: ModelPlugin) -> None:
    tool = {"name": "lookup", "description": "Looks up", "parameters": {"type": "object"}}
    done = [Text(text="done")]
    call = FunctionCall(name="lookup", arguments={})
    script = [[Reasoning(summary=("why",)), call], done, done]
    asked = {"role": "user", "content": "look it up"}
    with ResponsesSimulator(model=ScriptedModel(script)) as server:
        blue = {**credentials_for(server, "key"), "extra_headers": '{"X-Team": "blue"}'}
        red = {**blue, "extra_headers": '{"X-Team": "red"}'}
        answer = plugin.invoke(server, [asked], credentials=blue, tools=[tool])
        message = {**answer.last["message"], "opaque_body": None}
        result = {
            "role": "tool",
            "content": "42",
            "name": "lookup",
            "tool_call_id": answer.calls[0][0],
        }
        for credentials in (blue, red):
            assert (
                plugin.invoke(
                    server, [asked, message, result], credentials=credentials, tools=[tool]
                ).error
                is None
            )

    kinds = [[item.get("type") for item in request.body["input"]] for request in server.requests]
    assert "reasoning" in kinds[1]
    assert "reasoning" not in kinds[2]
