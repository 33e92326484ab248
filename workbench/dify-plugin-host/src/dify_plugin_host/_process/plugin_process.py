"""The process of a plugin folder, started and called in the way of the daemon."""

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any

from dify_plugin_host._errors import (
    BackwardsError,
    PluginExitedError,
    PluginHostError,
    PluginInvokeError,
    PluginProcessError,
    StreamRejectedError,
)
from dify_plugin_host._plugin.declarations import Declarations
from dify_plugin_host._plugin.source import PluginSource
from dify_plugin_host._running import Running
from dify_plugin_host._settings import HostSettings
from dify_plugin_packager import PluginFolderError
from dify_plugin_packager.declarations import PluginFolder, ShapeError
from dify_plugin_packager.json_access import JsonObject, is_object
from stream_text import redact_text

from .blobs import BlobAssembler
from .child import Child
from .connection import BackwardsHandler, Connection, Notice, NoticeHandler, NoticeKind
from .debugger import Debugger, without_time_limits
from .reload_text import describe_failure, describe_reload
from .session import BackwardsRequest, CallOrigin, Session, to_invoke_error


# At a `breakpoint()` in a plugin pdb would read the protocol as its commands, and the call would
# hang until its time is up.
_BREAKPOINT = "PYTHONBREAKPOINT"
_ON_PLUGIN_PATH = Path(__file__).with_name("_on_plugin_path")


async def refuse_backwards(request: BackwardsRequest) -> AsyncGenerator[JsonObject]:
    """Refuse every backwards call, for a plugin that is started without a handler."""
    raise BackwardsError(f"this host does not answer {request.type!r} calls")
    yield {}


def require_object(item: Any) -> JsonObject:
    """Return a plugin's streamed value as it came.

    Raises:
        StreamRejectedError: If it is not an object.
    """
    if not is_object(item):
        raise StreamRejectedError("unmarshal json failed: expected an object")
    return item


def ignore_notice(notice: Notice) -> None:
    """Drop a notice."""


class PluginProcess(Running):
    """The process of a plugin folder, started in the way of the daemon, that can be called.

    Use it as an asynchronous context manager; leaving it ends the process and everything that it started. Several calls may
    run at once.

    Args:
        folder: The plugin folder, as a path or already read, or the source of a plugin, which is restarted before a call once its
            files have changed, while running calls continue to their end.
        settings: The platform's limits.
        backwards: Answers the plugin's calls back into Dify with the objects of the reply. The text of a `PluginHostError`
            that it raises goes to the plugin. Without it every such call is refused.
        on_notice: Gets the plugin's notices, which come outside of any call.
        environment: The environment of the process, `os.environ` by default. `INSTALL_METHOD` is always added, and unless it has `PYTHONBREAKPOINT`,
            variables that make `breakpoint()` an error.
        restarts: Whether a plugin that ended by itself is started again for the next call.
        debugger: The debugger that the process waits for whenever it starts; limits of time do not hold with one.

    Raises:
        PluginFolderError: If the folder is not a plugin.
    """

    def __init__(  # noqa: PLR0913 - a process has these settings
        self,
        folder: PluginFolder | PluginSource | Path | str,
        *,
        settings: HostSettings | None = None,
        backwards: BackwardsHandler = refuse_backwards,
        on_notice: NoticeHandler = ignore_notice,
        environment: Mapping[str, str] | None = None,
        restarts: bool = False,
        debugger: Debugger | None = None,
    ) -> None:
        self._source, self.folder = _source_of(folder)
        self.declarations = Declarations(self.folder)
        """The plugin's declarations."""
        self.settings = settings or HostSettings()
        if debugger:
            self.settings = without_time_limits(self.settings)
        self._debugger = debugger
        self._backwards = backwards
        self._on_notice = on_notice
        self._environment = os.environ if environment is None else environment
        # A plugin that somebody works on comes back as well: it may have ended by the last change.
        self._restarts = restarts or self._source is not None
        # Calls that find the plugin changed or gone at the same time start it once.
        self._starting = asyncio.Lock()
        self._is_stopped = False
        self._connection: Connection | None = None
        # Every process that lives: the present one, and those that end their calls after a reload.
        self._running: set[Connection] = set()
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        """The process id; None before the first start."""
        return self._connection.pid if self._connection else None

    @property
    def protocol_errors(self) -> int:
        """The number of lines on the plugin's stdout that were not a message of the protocol."""
        return self._connection.protocol_errors if self._connection else 0

    @property
    def failure(self) -> PluginProcessError | None:
        """The reason why the process is gone; None while it runs and before the first start."""
        return self._connection.failure if self._connection else None

    async def start(self) -> None:
        """Start the process and wait for its first heartbeat.

        Raises:
            PluginStartError: If it ends before, or takes longer than the limit.
        """
        self._is_stopped = False
        await self._start()

    async def _start(self) -> None:
        self._connection = await self._open(self.folder)
        await self._wait_ready(self._connection)

    async def _open(self, folder: PluginFolder) -> Connection:
        command = [folder.python, "-m", folder.entrypoint]
        child = await Child.start(
            self._debugger.command(folder) if self._debugger else command,
            cwd=folder.path,
            environment={
                **self._environment,
                **_refusing_breakpoints(self._environment),
                "INSTALL_METHOD": "local",
            },
            on_stderr=lambda line: self._report("stderr", "INFO", line),
        )
        connection = Connection(
            child,
            plugin=folder,
            settings=self.settings,
            backwards=self._backwards,
            on_notice=self._on_notice,
        )
        self._running.add(connection)
        return connection

    async def _wait_ready(self, connection: Connection) -> None:
        # `stop` was called while the process was being made, which no test can time.
        if self._is_stopped:  # pragma: no cover
            await connection.stop()
        try:
            await connection.wait_ready()
        # Also if the start is cancelled, so that no process is left behind.
        except BaseException:
            await self._end(connection)
            raise

    async def _end(self, connection: Connection) -> None:
        self._running.discard(connection)
        await connection.stop()

    async def stop(self) -> None:
        """End the process and everything that it started; do nothing if it does not run."""
        self._is_stopped = True
        for task in self._retiring:
            task.cancel()
        await asyncio.gather(*(self._end(connection) for connection in tuple(self._running)))
        await asyncio.gather(*self._retiring, return_exceptions=True)

    async def refresh(self) -> None:
        """Restart the plugin if its files have changed; running calls continue to their end in the old process."""
        if self._source and self._connection:
            async with self._starting:
                await self._reload_changes(self._source, self._connection)

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
        decode: Callable[[Any], JsonObject] = require_object,
    ) -> AsyncGenerator[JsonObject]:
        """Call the plugin and yield the objects of its answer.

        Stopping early is allowed; the plugin does not learn it, since the protocol has no message for that.

        Args:
            kind: The kind of action (the protocol's `type`), such as `"model"`.
            action: The action, such as `"invoke_llm"`.
            data: The action's fields.
            user_id: The user on whose behalf the call is made.
            context: The call's context, such as `{"credentials": {"tool_credentials": {}}}`.
            timeout_seconds: The limit for the whole call; that of the settings by default.
            origin: The conversation, app and tenant that the call belongs to.
            joins_blobs: Whether to put blobs together that come in chunks.
            decode: Converts each streamed value to the object for the caller; may raise StreamRejectedError.

        Raises:
            PluginInvokeError: If the plugin answers with an error, after the objects before it.
            PluginProcessError: If the plugin ends meanwhile or has ended before.
            StreamRejectedError: If the answer breaks a rule of the protocol.
            InvokeTimeoutError: If it takes too long.
        """
        connection = await self._connect()
        limit = self.settings.call_timeout_seconds if timeout_seconds is None else timeout_seconds
        session = Session(
            id=str(uuid.uuid4()),
            kind=kind,
            user_id=user_id,
            context=context,
            timeout_seconds=limit,
            deadline=asyncio.get_running_loop().time() + limit,
            origin=origin or CallOrigin(),
        )
        named = {"user_id": user_id, "type": kind, "action": action}
        # Sorted, as Go writes a map.
        request = dict(sorted({**data, **named}.items()))
        try:
            await connection.open(session, request)
            blobs = BlobAssembler(self.settings) if joins_blobs else None
            async with contextlib.aclosing(_objects(session, decode, blobs)) as objects:
                async for item in objects:
                    yield item
        except PluginHostError as error:
            if not self._is_stopped:
                self._report("failed_call", "ERROR", _describe_call(action, error))
            raise
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
        """Return the connection to the plugin; restart the plugin if it has changed or ended by itself."""
        if self._connection is None:
            raise PluginExitedError(self.folder.name, "was never started")
        if not self._restarts:
            return self._connection
        async with self._starting:
            if self._source:
                await self._reload_changes(self._source, self._connection)
            if self._connection.is_lost and not self._is_stopped:
                await self._end(self._connection)
                await self._start()
            return self._connection

    async def _reload_changes(self, source: PluginSource, old: Connection) -> None:
        """Replace the old process by a new one if something has changed, and report the outcome."""
        changed = () if self._is_stopped else source.find_changes()
        if not changed:
            return
        try:
            await self._reload(source, old)
        except PluginHostError as error:
            level, text = "ERROR", describe_failure(changed, error, source.folder.path)
        else:
            level, text = "INFO", describe_reload(changed, source.folder.setup_command)
        self._report("reload", level, text)

    def advise(self, text: str) -> None:
        """Report as a notice what a call has done that its author may not mean."""
        self._report("advice", "WARNING", text)

    def _report(self, kind: NoticeKind, level: str, text: str) -> None:
        self._on_notice(Notice(plugin=self.folder.name, kind=kind, level=level, text=text))

    async def _reload(self, source: PluginSource, old: Connection) -> None:
        # In a thread, because a package is installed by it.
        folder = await asyncio.to_thread(source.read)
        # Checked before anything is started: a plugin's callers know it by this name.
        if (folder.author, folder.name) != (self.folder.author, self.folder.name):
            problem = "author and name in manifest.yaml: expected the same while the plugin runs"
            raise PluginFolderError(folder.path, problem)
        declarations = Declarations(folder)
        declarations.validate()
        # The old process stays in use until the new one is ready, so that a bad change breaks
        # nothing.
        new = await self._open(folder)
        await self._wait_ready(new)
        self.folder, self.declarations, self._connection = folder, declarations, new
        task = asyncio.create_task(self._retire(old))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _retire(self, connection: Connection) -> None:
        """End a process once its calls are over, or have taken longer than a call may."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.settings.call_timeout_seconds):
                await connection.wait_idle()
        await self._end(connection)


def _describe_call(action: str, error: PluginHostError) -> str:
    """Return the text about a failed call: the error, and its traceback or the end of stderr, without anything that looks like a secret."""
    match error:
        case PluginInvokeError(details={"traceback": str(ending)}):
            pass
        case PluginProcessError(stderr_tail=ending):
            pass
        case _:
            ending = ""
    return redact_text(f"{action} failed: {error}\n{ending}".rstrip())


def _source_of(
    plugin: PluginFolder | PluginSource | Path | str,
) -> tuple[PluginSource | None, PluginFolder]:
    match plugin:
        case PluginFolder():
            return None, plugin
        case Path() | str():
            return None, PluginFolder.read(plugin)
        case _:
            return plugin, plugin.folder


async def _objects(
    session: Session, decode: Callable[[Any], JsonObject], blobs: BlobAssembler | None
) -> AsyncGenerator[JsonObject]:
    while True:
        kind, data = await session.get()
        if kind == "end":
            return
        if kind == "error":
            # A malformed error is ignored, as by the daemon.
            with contextlib.suppress(ShapeError):
                raise to_invoke_error(data)
            continue
        item = decode(data)
        if (seen := blobs.feed(item) if blobs else item) is not None:
            yield seen


def _refusing_breakpoints(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make `breakpoint()` an error with an explanation; none if the environment names a debugger."""
    if environment.get(_BREAKPOINT):
        return {}
    path = filter(None, [str(_ON_PLUGIN_PATH), environment.get("PYTHONPATH")])
    return {_BREAKPOINT: "dify_host_breakpoint.refuse", "PYTHONPATH": os.pathsep.join(path)}
