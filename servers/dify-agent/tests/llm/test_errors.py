import json
from contextlib import suppress

import httpx
import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UserError,
)
from pydantic_ai.messages import ModelRequest, TextPart
from pydantic_ai.models import ModelRequestParameters, override_allow_model_requests
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.test import TestModel


QUESTION = [ModelRequest.user_text_prompt("hi")], None, ModelRequestParameters()
HTTP_ERRORS = [
    ("PluginDaemonUnauthorizedError", 401, ModelAuthenticationError),
    ("InvokeAuthorizationError", 401, ModelAuthenticationError),
    ("PluginPermissionDeniedError", 403, ModelAuthenticationError),
    ("PluginDaemonBadRequestError", 400, ModelRequestRejectedError),
    ("InvokeBadRequestError", 400, ModelRequestRejectedError),
    ("CredentialsValidateFailedError", 400, ModelRequestRejectedError),
    ("PluginUniqueIdentifierError", 400, ModelRequestRejectedError),
    ("PluginDaemonNotFoundError", 404, ModelNotFoundError),
    ("PluginNotFoundError", 404, ModelNotFoundError),
    ("InvokeRateLimitError", 429, ModelRateLimitError),
    ("PluginDaemonInternalServerError", 500, ModelServerError),
    ("PluginDaemonInnerError", 500, ModelServerError),
    ("InvokeConnectionError", 503, ModelUnavailableError),
    ("InvokeServerUnavailableError", 503, ModelUnavailableError),
]


@pytest.mark.parametrize(("error_type", "status", "category"), HTTP_ERRORS)
async def test_an_error_of_the_plugin_has_a_status(daemon, error_type, status, category):
    daemon.reply(daemon.error(error_type, "it says why"))

    with pytest.raises(ModelHTTPError) as caught:
        await daemon.ask()

    assert isinstance(caught.value, category)
    assert caught.value.status_code == status
    assert caught.value.model_name == "gpt-5"
    assert caught.value.body == {"error_type": error_type, "message": "it says why"}
    assert not caught.value.in_stream


@pytest.mark.parametrize(
    "error_type", ["EndpointSetupFailedError", "TriggerProviderCredentialValidationError"]
)
async def test_a_plugin_that_is_not_set_up_is_the_users_error(daemon, error_type):
    daemon.reply(daemon.error(error_type, "no endpoint"))

    with pytest.raises(UserError, match=f"{error_type}: no endpoint"):
        await daemon.ask()


@pytest.mark.parametrize("error_type", ["ZeroDivisionError", "PluginInvokeError", "InvokeError"])
async def test_any_other_error_of_the_plugin_is_told_by_its_type(daemon, error_type):
    daemon.reply(daemon.error(error_type, "it says why"))

    with pytest.raises(ModelAPIError, match=f"{error_type}: it says why") as caught:
        await daemon.ask()

    assert not isinstance(caught.value, ModelHTTPError)
    assert caught.value.provider_error_type == error_type


async def test_an_error_after_text_keeps_the_text(daemon):
    daemon.reply(daemon.chunk("Half an "), daemon.error("InvokeRateLimitError", "slow down"))

    async with daemon.model().request_stream(*QUESTION) as response:
        with pytest.raises(ModelRateLimitError) as caught:
            await read(response)

    assert caught.value.in_stream
    assert response.get().parts == [TextPart("Half an ")]
    assert response.get().state == "incomplete"


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, {"error_type": "PluginDaemonUnauthorizedError", "message": "no"}, 401),
        (429, {"error_type": "PluginDaemonInternalServerError", "message": "no"}, 429),
        (502, "<html>bad gateway</html>", 502),
        (418, "teapot", 418),
    ],
)
async def test_a_status_of_the_daemon_counts_before_the_type(daemon, status, body, expected):
    text = body if isinstance(body, str) else json.dumps(body)
    daemon.answers.append(httpx.Response(status, text=text))

    with pytest.raises(ModelHTTPError) as caught:
        await daemon.ask()

    assert caught.value.status_code == expected


async def test_an_empty_stream_is_an_error(daemon):
    daemon.reply()

    with pytest.raises(ModelAPIError, match=r"PluginDaemonProtocolError: .* without an LLM chunk"):
        await daemon.ask()


@pytest.mark.parametrize(
    ("chunk", "problem"),
    [
        ("text", "chunk: Input should be a valid dictionary"),
        ({"model": "m"}, "delta: Field required"),
        ({"delta": {"message": {"content": 5}}}, "delta.message.content"),
        ({"delta": {"message": {"content": [{"type": "smell"}]}}}, "delta.message.content"),
        ({"delta": {"message": {"tool_calls": [{"id": "c"}]}}}, "tool_calls.0.function"),
        ({"delta": {"message": {}, "usage": {"prompt_tokens": "many"}}}, "usage.prompt_tokens"),
        (
            {"delta": {"message": {"content": [{"type": "image", "base64_data": "a"}]}}},
            "base64_data",
        ),
    ],
)
async def test_a_chunk_of_a_wrong_shape_is_the_daemons_error(daemon, chunk, problem):
    daemon.reply(daemon.chunk("fine"), chunk)

    with pytest.raises(ModelAPIError, match=r"PluginDaemonProtocolError: .* LLM chunk") as caught:
        await daemon.ask()

    assert problem in caught.value.message
    assert caught.value.in_stream


async def test_a_wrong_value_is_not_shown(daemon):
    daemon.reply({"delta": {"message": {"content": {"key": "very-private"}}}})

    with pytest.raises(ModelAPIError) as caught:
        await daemon.ask()

    assert "very-private" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "category", "message"),
    [
        (httpx.ConnectError("refused"), ModelConnectionError, "refused"),
        (httpx.RemoteProtocolError("cut"), ModelConnectionError, "cut"),
        (httpx.ReadTimeout(""), ModelTimeoutError, "ReadTimeout"),
    ],
)
async def test_a_daemon_that_cannot_be_reached_is_a_connection_error(
    daemon, error, category, message
):
    daemon.answers.append(error)

    with pytest.raises(category, match=message) as caught:
        await daemon.ask()

    assert repr(caught.value.__cause__) == repr(error)


async def test_another_model_can_step_in(daemon):
    daemon.reply(daemon.error("InvokeServerUnavailableError", "down"))
    agent = Agent(FallbackModel(daemon.model(), TestModel(custom_output_text="from the other")))

    assert (await agent.run("hi")).output == "from the other"


async def test_no_error_shows_credentials(daemon):
    model = daemon.model()
    key = model.provider.client.plugin_daemon_api_key
    leaks = f"refused {key} and sk-model-key-0123456789"
    daemon.reply(daemon.error("InvokeAuthorizationError", leaks))
    daemon.answers.append(httpx.Response(500, text=leaks))

    for _ in range(2):
        with pytest.raises(ModelHTTPError) as caught:
            await daemon.ask(model=model)

        error: BaseException | None = caught.value
        while error is not None:
            shown = f"{error!s} {error!r}"
            assert "0123456789" not in shown
            error = error.__cause__


async def test_requests_that_tests_forbid_are_not_made(daemon):
    with override_allow_model_requests(allow_model_requests=False), suppress(RuntimeError):
        await daemon.ask()

    assert daemon.requests == []


async def read(response):
    async for _ in response:
        pass
