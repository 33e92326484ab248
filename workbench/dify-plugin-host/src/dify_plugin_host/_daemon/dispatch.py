"""The routes of the daemon's dispatch API, and one call by them: a request in, the plugin's objects out, without HTTP.

Source: `internal/server/http_server.gen.go`, `internal/core/io_tunnel` and `internal/service` of langgenius/dify-plugin-daemon at
bdb5642a, read 2026-11.
"""

import json
import math
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._platform.rules import answer_decoder, without_opaque_body
from dify_plugin_host._process.plugin_process import PluginProcess
from dify_plugin_host._process.session import CallOrigin
from dify_plugin_host._settings import PlatformRules
from dify_plugin_packager.declarations import REQUESTS, parse_first_json, read_request
from dify_plugin_packager.json_access import JsonObject, is_object, object_at


_CREDENTIALS = "provider_credentials"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One path of the dispatch API.

    Attributes:
        kind: The protocol's `type`.
        action: The protocol's `action`.
        request: The daemon's name for the request.
        joins_blobs: Whether the daemon puts blobs together; it does so for strategies, and leaves it to Dify for tools.
        is_streamed: Whether the answer is a stream of events; else it is one JSON object, for which the daemon waits without limit.
    """

    kind: str
    action: str
    request: str
    joins_blobs: bool = False
    is_streamed: bool = True


_TABLE = json.loads(Path(__file__).with_name("routes.json").read_text(encoding="utf-8"))
ROUTES: Mapping[str, Route] = {path: Route(**row) for path, row in _TABLE.items()}
"""The paths below `/plugin/{tenant}/dispatch/`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchRequest:
    """A request that keeps the daemon's rules.

    Attributes:
        data: The fields for the plugin.
        user_id: The user on whose behalf the call is made.
        context: The call's context, without the parts that are only for the host.
        origin: The conversation, app and tenant that the call belongs to.
    """

    data: JsonObject
    user_id: str
    context: JsonObject | None
    origin: CallOrigin


def parse_request(
    route: Route, body: bytes, host: PluginHost, *, tenant_id: str
) -> DispatchRequest:
    """Parse the body of a dispatch as the daemon does: anything that is not JSON, or of a wrong type, counts as not sent.

    The key `provider_credentials` in `context.credentials` may hold credentials for the plugin's calls back: objects by provider name. The
    plugin does not see those of the providers that this host runs.

    Raises:
        ShapeError: If a field breaks a rule; the text is the daemon's.
    """
    fields = read_request(REQUESTS[route.request], parse_body(body), tenant_id=tenant_id)
    context, credentials = _split_context(fields["context"], host)
    return DispatchRequest(
        data=_without_bodies(fields["data"], host.settings.rules),
        user_id=fields["user_id"],
        context=context,
        origin=CallOrigin(
            conversation_id=fields["conversation_id"],
            message_id=fields["message_id"],
            app_id=fields["app_id"],
            endpoint_id=fields["endpoint_id"],
            tenant_id=tenant_id,
            credentials=credentials,
        ),
    )


def parse_body(body: bytes) -> Any:
    """Parse a body as the daemon does: None if it is not JSON, and whatever follows the first value is ignored."""
    try:
        return parse_first_json(body)
    except ValueError:
        return None


def iter_answer(
    process: PluginProcess, route: Route, request: DispatchRequest
) -> AsyncGenerator[JsonObject]:
    """Call the plugin and yield its answer as the daemon hands it on.

    Raises:
        PluginHostError: If the call fails, or the daemon would end it.
    """
    return process.invoke(
        route.kind,
        route.action,
        request.data,
        user_id=request.user_id,
        context=request.context,
        origin=request.origin,
        timeout_seconds=None if route.is_streamed else math.inf,
        joins_blobs=route.joins_blobs,
        decode=answer_decoder(route.action, process.settings.rules),
    )


def _without_bodies(data: JsonObject, rules: PlatformRules) -> JsonObject:
    messages = data.get("prompt_messages")
    if messages is None or not rules.drop_opaque_body:
        return data
    return {**data, "prompt_messages": without_opaque_body(messages)}


def _split_context(
    context: JsonObject | None, host: PluginHost
) -> tuple[JsonObject | None, Mapping[str, JsonObject]]:
    """Separate the plugin's context from the credentials for the providers of this host."""
    given = object_at(context or {}, "credentials")
    by_provider = given.get(_CREDENTIALS)
    if context is None or not is_object(by_provider):
        return context, {}
    credentials = {name: value for name, value in by_provider.items() if is_object(value)}
    known = {name for name in by_provider if host.has_provider(name)}
    if not known or host.settings.rules.share_credentials:
        return context, credentials
    rest = {name: value for name, value in by_provider.items() if name not in known}
    shown = {name: value for name, value in given.items() if name != _CREDENTIALS}
    return {**context, "credentials": {**shown, _CREDENTIALS: rest} if rest else shown}, credentials
