"""A running call of a plugin, with the messages that have come for it and wait."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dify_plugin_host._errors import InvokeTimeoutError, PluginHostError, PluginInvokeError
from dify_plugin_packager.declarations import PLUGIN_ERROR, decode_into, validate
from dify_plugin_packager.json_access import JsonObject


type ItemKind = Literal["stream", "error", "end"]

type FindAnswer = Callable[["BackwardsRequest"], AsyncGenerator[JsonObject] | None]
"""A function that returns the answer to a plugin's call back, piece by piece, or None if it has none."""


@dataclass(slots=True, kw_only=True)
class CallBack:
    """A record of a plugin's call back into Dify.

    Attributes:
        type: The kind of call, such as `"llm"` or `"tool"`.
        request: The request as the plugin sent it.
        answers: The objects that it was answered with so far.
        error: The text with which it was refused or has failed; None if it was not.
    """

    type: str
    request: JsonObject
    answers: list[JsonObject] = field(default_factory=list[JsonObject])
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOrigin:
    """The conversation, app and tenant that a call belongs to; the plugin gets the ids.

    Attributes:
        conversation_id: The conversation.
        message_id: The message in it.
        app_id: The app.
        endpoint_id: The endpoint.
        tenant_id: The tenant in whose name the call is made; the plugin does not get it.
        credentials: The credentials for the plugin's calls back, by provider; the plugin never sees them.
        answers: Answers the plugin's calls back before the host's models and tools do; None leaves them all to those.
        calls_back: A list for a record of each call back, in the order in which they begin; None for no records.
    """

    conversation_id: str | None = None
    message_id: str | None = None
    app_id: str | None = None
    endpoint_id: str | None = None
    tenant_id: str = "local"
    credentials: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject], repr=False)
    answers: FindAnswer | None = None
    calls_back: list[CallBack] | None = field(default=None, repr=False)

    def ids(self) -> JsonObject:
        """Return the ids for the plugin."""
        names = ("conversation_id", "message_id", "app_id", "endpoint_id")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackwardsRequest:
    """A plugin's call back into Dify.

    Attributes:
        type: The kind of call, such as `"llm"` or `"tool"`.
        caller: The kind of the plugin's own call, such as `"agent_strategy"`.
        request: The request as the plugin sent it.
        user_id: The user on whose behalf the plugin was called.
        tenant_id: The tenant in whose name it was called.
        context: The context of the plugin's own call.
        credentials: The credentials that came with that call for calls back, by provider.
        answers: The function that came with that call to answer calls back.
    """

    type: str
    caller: str
    request: JsonObject
    user_id: str = ""
    tenant_id: str = ""
    context: JsonObject | None = None
    credentials: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject], repr=False)
    answers: FindAnswer | None = None


@dataclass(slots=True, kw_only=True)
class Session:
    """One call of a plugin, with the messages that wait; with nothing but an id, a call that has ended and still gets a reply."""

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
        """Take a message of the plugin, without ever blocking the reader."""
        self._queue.put_nowait((kind, data))

    def fail(self, error: PluginHostError) -> None:
        """End the call from outside, after the messages that have already come."""
        self._queue.put_nowait(error)

    async def get(self) -> tuple[ItemKind, Any]:
        """Return the next message of the plugin.

        Raises:
            InvokeTimeoutError: If the call's time is up.
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
        """Cancel the answers to this call that are still being made."""
        for task in self.answers:
            task.cancel()


def to_invoke_error(data: Any) -> PluginInvokeError:
    """Return the error that the data of an `error` message reports.

    Raises:
        ShapeError: If it is malformed; the daemon then ignores it.
    """
    fields = decode_into(PLUGIN_ERROR, data)
    validate(PLUGIN_ERROR, fields)
    return PluginInvokeError(fields["error_type"], fields["message"], fields["args"])
