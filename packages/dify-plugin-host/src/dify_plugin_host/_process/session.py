"""One call of a plugin while it runs: what has come for it and not been taken yet."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dify_plugin_host._errors import InvokeTimeoutError, PluginHostError, PluginInvokeError
from dify_plugin_packager.go_types import PLUGIN_ERROR, decode_into, validate
from dify_plugin_packager.json_access import JsonObject


type ItemKind = Literal["stream", "error", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOrigin:
    """What a call of a plugin belongs to; the plugin is told the ids.

    Attributes:
        conversation_id: The conversation.
        message_id: The message in it.
        app_id: The app.
        endpoint_id: The endpoint.
        tenant_id: The tenant in whose name the call is made; the plugin is not told.
        credentials: The credentials for what the plugin calls back, by provider; the plugin never sees them.
    """

    conversation_id: str | None = None
    message_id: str | None = None
    app_id: str | None = None
    endpoint_id: str | None = None
    tenant_id: str = "local"
    credentials: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject], repr=False)

    def ids(self) -> JsonObject:
        """Return what the plugin is told."""
        names = ("conversation_id", "message_id", "app_id", "endpoint_id")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackwardsRequest:
    """A plugin's call back into Dify.

    Attributes:
        type: What is called, such as `"llm"` or `"tool"`.
        caller: The kind of call that it is made in, such as `"agent_strategy"`.
        request: The request as the plugin sent it.
        user_id: The user on whose behalf the plugin was called.
        tenant_id: The tenant in whose name it was.
        context: The context that the plugin's own call was made with.
        credentials: The credentials that came with that call for what it calls back, by provider.
    """

    type: str
    caller: str
    request: JsonObject
    user_id: str = ""
    tenant_id: str = ""
    context: JsonObject | None = None
    credentials: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject], repr=False)


@dataclass(slots=True, kw_only=True)
class Session:
    """One call of a plugin, with what has come for it and waits; by its id alone, one that is over and is still told something."""

    id: str
    kind: str = ""
    user_id: str = ""
    context: JsonObject | None = None
    timeout_seconds: float = 0
    deadline: float = 0
    origin: CallOrigin = field(default_factory=CallOrigin)
    answers: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    _queue: asyncio.Queue[tuple[ItemKind, Any] | PluginHostError] = field(
        default_factory=asyncio.Queue[tuple[ItemKind, Any] | PluginHostError]
    )

    def put(self, kind: ItemKind, data: Any) -> None:
        """Take what the plugin sent; never blocks, so that the reader never does."""
        self._queue.put_nowait((kind, data))

    def fail(self, error: PluginHostError) -> None:
        """End the call from outside, after what has come already."""
        self._queue.put_nowait(error)

    async def get(self) -> tuple[ItemKind, Any]:
        """Return the next thing the plugin sent.

        Raises:
            InvokeTimeoutError: If the call's time is over.
            PluginHostError: If the call was ended from outside.
        """
        try:
            async with asyncio.timeout_at(self.deadline):
                item = await self._queue.get()
        except TimeoutError:
            raise InvokeTimeoutError("the call", self.timeout_seconds) from None
        if isinstance(item, PluginHostError):
            raise item
        return item

    def close(self) -> None:
        """Stop what still works on answers to this call."""
        for task in self.answers:
            task.cancel()


def to_invoke_error(data: Any) -> PluginInvokeError:
    """Turn the data of an `error` message into the error that it reports.

    Raises:
        ShapeError: If it is malformed; then the daemon passes over it.
    """
    fields = decode_into(PLUGIN_ERROR, data)
    validate(PLUGIN_ERROR, fields)
    return PluginInvokeError(fields["error_type"], fields["message"], fields["args"])
