"""What the daemon's dispatch API can be asked, and one answer of it: a request in, envelopes out, with no HTTP.

Source: `internal/server/http_server.gen.go`, `internal/core/io_tunnel` and `internal/service` of langgenius/dify-plugin-daemon at
bdb5642a, read 2026-11.
"""

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import from_json

from dify_plugin_host._errors import PluginHostError
from dify_plugin_host._json import JsonObject, is_object, object_at
from dify_plugin_host._settings import PlatformRules
from dify_plugin_host.platform import (
    through_go,
    to_dify_chunk,
    to_dify_message,
    without_opaque_body,
)
from dify_plugin_host.process import CallOrigin, PluginProcess

from ._dispatch_requests import (
    DispatchBody,
    DispatchData,
    LLMData,
    ModelData,
    PassedModelData,
    PollingData,
    ProviderData,
    RuntimeParametersData,
    StrategyData,
    TokensData,
    ToolData,
    ToolProviderData,
)


type Convert = Callable[[JsonObject, PlatformRules], JsonObject]

_CREDENTIALS = "provider_credentials"


class RequestError(PluginHostError):
    """A dispatch request with a wrong field, and what was expected."""


def _pass(item: JsonObject, _: PlatformRules) -> JsonObject:
    return item


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One path of the dispatch API.

    Attributes:
        kind: The protocol's `type`.
        action: The protocol's `action`.
        data: The shape of the request's `data`.
        convert: What the daemon makes of each object of the answer.
        joins_blobs: Whether the daemon puts blobs together; it does so for strategies, and leaves it to Dify for tools.
        is_streamed: Whether the answer is a stream of events; else one JSON object.
    """

    kind: str
    action: str
    data: type[DispatchData]
    convert: Convert = _pass
    joins_blobs: bool = False
    is_streamed: bool = True


def _model(action: str, data: type[DispatchData] = PassedModelData) -> Route:
    return Route(kind="model", action=action, data=data)


def _tool(action: str, data: type[DispatchData]) -> Route:
    return Route(kind="tool", action=action, data=data)


ROUTES: Mapping[str, Route] = {
    "agent_strategy/invoke": Route(
        kind="agent_strategy",
        action="invoke_agent_strategy",
        data=StrategyData,
        convert=to_dify_message,
        joins_blobs=True,
    ),
    "llm/invoke": Route(kind="model", action="invoke_llm", data=LLMData, convert=to_dify_chunk),
    "llm/num_tokens": _model("get_llm_num_tokens", TokensData),
    "model/polling/check": Route(
        kind="model", action="check_polling", data=PollingData, is_streamed=False
    ),
    "model/polling/start": Route(
        kind="model", action="start_polling", data=LLMData, is_streamed=False
    ),
    "model/schema": _model("get_ai_model_schemas", ModelData),
    "model/validate_model_credentials": _model("validate_model_credentials", ModelData),
    "model/validate_provider_credentials": _model("validate_provider_credentials", ProviderData),
    "moderation/invoke": _model("invoke_moderation"),
    "multimodal_embedding/invoke": _model("invoke_multimodal_embedding"),
    "multimodal_rerank/invoke": _model("invoke_multimodal_rerank"),
    "rerank/invoke": _model("invoke_rerank"),
    "speech2text/invoke": _model("invoke_speech2text"),
    "text_embedding/invoke": _model("invoke_text_embedding"),
    "text_embedding/num_tokens": _model("get_text_embedding_num_tokens"),
    "tool/get_runtime_parameters": _tool("get_tool_runtime_parameters", RuntimeParametersData),
    "tool/invoke": Route(kind="tool", action="invoke_tool", data=ToolData, convert=to_dify_message),
    "tool/validate_credentials": _tool("validate_tool_credentials", ToolProviderData),
    "tts/invoke": _model("invoke_tts"),
    "tts/model/voices": _model("get_tts_model_voices"),
}
"""The paths below `/plugin/{tenant}/dispatch/`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchRequest:
    """A request that is well formed.

    Attributes:
        data: The fields for the plugin.
        user_id: The user on whose behalf the call is made.
        context: The call's context, without what is for the host alone.
        origin: What the call belongs to.
    """

    data: JsonObject
    user_id: str
    context: JsonObject | None
    origin: CallOrigin


def parse_request(route: Route, body: bytes, rules: PlatformRules) -> DispatchRequest:
    """Parse the body of a dispatch.

    Of `context.credentials` the key `provider_credentials` is this host's own: objects of credentials by provider name, for what
    the plugin calls back. The plugin does not get to see it.

    Raises:
        RequestError: If a field is missing or is not what was expected.
    """
    try:
        envelope = DispatchBody.model_validate(from_json(body, allow_inf_nan=False))
    except ValidationError as error:
        raise RequestError(_first_problem(error, "")) from None
    except ValueError as error:
        raise RequestError(f"the body: expected a JSON object: {error}") from None
    try:
        fields = route.data.model_validate(envelope.data).to_fields()
    except ValidationError as error:
        raise RequestError(_first_problem(error, "data.")) from None
    context, credentials = _split_context(envelope.context)
    return DispatchRequest(
        data=_convert_fields(fields, rules),
        user_id=envelope.user_id,
        context=context,
        origin=CallOrigin(
            conversation_id=envelope.conversation_id,
            message_id=envelope.message_id,
            app_id=envelope.app_id,
            endpoint_id=envelope.endpoint_id,
            credentials=credentials,
        ),
    )


async def iter_answer(
    process: PluginProcess, route: Route, request: DispatchRequest
) -> AsyncGenerator[JsonObject]:
    """Call the plugin and iterate over its answer as the daemon hands it on.

    Raises:
        PluginHostError: If the call fails, or the daemon would end it.
    """
    answer = process.invoke(
        route.kind,
        route.action,
        request.data,
        user_id=request.user_id,
        context=request.context,
        origin=request.origin,
        joins_blobs=route.joins_blobs,
    )
    async with contextlib.aclosing(answer) as items:
        async for item in items:
            yield route.convert(item, process.settings.rules)


def _first_problem(error: ValidationError, prefix: str) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    field = prefix + ".".join(str(part) for part in first["loc"])
    return f"{field.rstrip('.') or 'the body'}: {first['msg'].removeprefix('Value error, ')}"


def _convert_fields(fields: JsonObject, rules: PlatformRules) -> JsonObject:
    """Send numbers through float64 where Go has no types of its own for them."""
    messages = fields.get("prompt_messages")
    if rules.float_numbers:
        fields = _through_go(fields)
    if messages is None:
        return fields
    return {
        **fields,
        "prompt_messages": without_opaque_body(messages) if rules.drop_opaque_body else messages,
    }


def _through_go(fields: JsonObject) -> JsonObject:
    try:
        return through_go(fields)
    except OverflowError:
        raise RequestError("data: expected numbers that fit into 64 bits") from None


def _split_context(
    context: JsonObject | None,
) -> tuple[JsonObject | None, Mapping[str, JsonObject]]:
    """Separate what the plugin is told from the credentials that are for the host.

    Raises:
        RequestError: If the credentials are no objects.
    """
    if context is None or _CREDENTIALS not in (given := object_at(context, "credentials")):
        return context, {}
    field = f"context.credentials.{_CREDENTIALS}"
    credentials = given[_CREDENTIALS]
    if not is_object(credentials) or not all(map(is_object, credentials.values())):
        raise RequestError(f"{field}: expected an object of objects, by provider name")
    rest = {name: value for name, value in given.items() if name != _CREDENTIALS}
    return {**context, "credentials": rest}, credentials
