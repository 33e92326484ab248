"""A plugin folder, started and called as the daemon does it."""

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from dify_plugin_host._errors import (
    BackwardsError,
    PluginExitedError,
    PluginHostError,
    PluginInvokeError,
    StreamRejectedError,
)
from dify_plugin_host._json import JsonObject, is_object
from dify_plugin_host._running import Running
from dify_plugin_host._settings import HostSettings
from dify_plugin_host.plugin import PluginFolder

from ._blobs import BlobAssembler
from ._child import Child
from ._connection import BackwardsHandler, Connection, Notice, NoticeHandler
from ._session import BackwardsRequest, CallOrigin, Session, to_invoke_error


async def refuse_backwards(request: BackwardsRequest) -> AsyncGenerator[JsonObject]:
    """Refuse every backwards call, for a plugin that is started without a handler."""
    raise BackwardsError(f"this host does not answer {request.type!r} calls")
    yield {}


def ignore_notice(notice: Notice) -> None:
    """Drop a notice."""


class PluginProcess(Running):
    """A plugin folder, started as the daemon does it, that can be called.

    Use it as an asynchronous context manager; leaving it ends the process and everything that it started. Several calls may
    run at once.

    Args:
        folder: The plugin folder, as a path or already read.
        settings: The platform's limits.
        backwards: Answers the plugin's calls back into Dify with the objects of the reply. The text of a `PluginHostError`
            that it raises goes to the plugin. Without it every such call is refused.
        on_notice: Told of what the plugin says outside of any call.
        environment: The environment of the process, `os.environ` by default. `INSTALL_METHOD` is always added.
        restarts: Whether a plugin that ended by itself is started again for the next call.

    Raises:
        PluginFolderError: If the folder is no plugin.
    """

    def __init__(  # noqa: PLR0913 - a process has these settings
        self,
        folder: PluginFolder | Path | str,
        *,
        settings: HostSettings | None = None,
        backwards: BackwardsHandler = refuse_backwards,
        on_notice: NoticeHandler = ignore_notice,
        environment: Mapping[str, str] | None = None,
        restarts: bool = False,
    ) -> None:
        self.folder = folder if isinstance(folder, PluginFolder) else PluginFolder.read(folder)
        self.settings = settings or HostSettings()
        self.pid: int | None = None
        """The process id; None before the first start."""
        self._backwards = backwards
        self._on_notice = on_notice
        self._environment = os.environ if environment is None else environment
        self._restarts = restarts
        self._starting = asyncio.Lock()
        self._is_stopped = False
        self._connection: Connection | None = None

    @property
    def protocol_errors(self) -> int:
        """How many lines on the plugin's stdout were no message of the protocol."""
        return self._connection.protocol_errors if self._connection else 0

    async def start(self) -> None:
        """Start the process and wait for its first heartbeat.

        Raises:
            PluginStartError: If it ends before, or takes longer than the limit.
        """
        self._is_stopped = False
        await self._start()

    async def _start(self) -> None:
        child = await Child.start(
            [self.folder.python, "-m", self.folder.entrypoint],
            cwd=self.folder.path,
            environment={**self._environment, "INSTALL_METHOD": "local"},
        )
        self.pid = child.pid
        self._connection = Connection(
            child,
            plugin=self.folder.name,
            settings=self.settings,
            backwards=self._backwards,
            on_notice=self._on_notice,
        )
        # Stopped while the process was made, which no test can time.
        if self._is_stopped:  # pragma: no cover
            await self._connection.stop()
        try:
            await self._connection.wait_ready()
        except BaseException:
            await self._connection.stop()
            raise

    async def stop(self) -> None:
        """End the process and everything that it started; do nothing if it does not run."""
        self._is_stopped = True
        if self._connection:
            await self._connection.stop()

    async def invoke(  # noqa: PLR0913 - a call has these parts
        self,
        kind: str,
        action: str,
        data: Mapping[str, Any],
        *,
        user_id: str = "host",
        context: JsonObject | None = None,
        timeout_seconds: float | None = None,
        origin: CallOrigin | None = None,
        joins_blobs: bool = True,
    ) -> AsyncGenerator[JsonObject]:
        """Call the plugin and iterate over the objects of its answer.

        Walking away early is allowed; the plugin is not told, since the protocol has no message for it.

        Args:
            kind: The kind of action (the protocol's `type`), such as `"model"`.
            action: The action, such as `"invoke_llm"`.
            data: The action's fields.
            user_id: The user on whose behalf the call is made.
            context: The call's context, such as `{"credentials": {"tool_credentials": {}}}`.
            timeout_seconds: How long all of it may take; the settings' limit by default.
            origin: What the call belongs to.
            joins_blobs: Whether blobs that come in chunks are put together.

        Raises:
            PluginInvokeError: If the plugin answers with an error, after what came before it.
            PluginProcessError: If the plugin ends meanwhile or has ended before.
            StreamRejectedError: If the answer breaks a rule of the protocol.
            InvokeTimeoutError: If it takes too long.
        """
        connection = await self._connect()
        limit = self.settings.call_timeout_seconds if timeout_seconds is None else timeout_seconds
        session = Session(
            id=str(uuid.uuid4()),
            kind=kind,
            context=context,
            timeout_seconds=limit,
            deadline=asyncio.get_running_loop().time() + limit,
            origin=origin or CallOrigin(),
        )
        request = {**data, "user_id": user_id, "type": kind, "action": action}
        try:
            await connection.open(session, request)
            blobs = BlobAssembler(self.settings) if joins_blobs else None
            async with contextlib.aclosing(_objects(session, blobs)) as objects:
                async for item in objects:
                    yield item
        finally:
            connection.close(session)

    async def call(
        self, kind: str, action: str, data: Mapping[str, Any], *, user_id: str = "host"
    ) -> JsonObject:
        """Call the plugin for an action that answers with one object, and return that.

        Raises:
            PluginHostError: If `invoke` raises one, or no object comes.
        """
        async with contextlib.aclosing(self.invoke(kind, action, data, user_id=user_id)) as objects:
            async for item in objects:
                return item
        raise PluginHostError(f"plugin {self.folder.name!r} sent no answer to {kind} {action!r}")

    async def _connect(self) -> Connection:
        """Return the connection to the plugin, started again if it has ended by itself and shall come back."""
        if self._connection is None:
            raise PluginExitedError(self.folder.name, "was never started")
        if not self._restarts:
            return self._connection
        async with self._starting:
            if self._connection.is_lost and not self._is_stopped:
                await self._connection.stop()
                await self._start()
            return self._connection


async def _objects(session: Session, blobs: BlobAssembler | None) -> AsyncGenerator[JsonObject]:
    error: PluginInvokeError | None = None
    while True:
        try:
            kind, data = await session.get()
        except PluginHostError as failure:
            raise error or failure from None
        if kind == "end":
            break
        if kind == "error":
            error = error or to_invoke_error(data)
        elif not is_object(data):
            raise StreamRejectedError("unmarshal json failed: expected an object")
        elif error is None and (item := blobs.feed(data) if blobs else data) is not None:
            yield item
    if error:
        raise error
    if blobs:
        blobs.close()
