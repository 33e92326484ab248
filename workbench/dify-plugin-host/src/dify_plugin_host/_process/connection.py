"""The lines between the host and one plugin process, and the calls that run over them.

Source: langgenius/dify-plugin-daemon at bdb5642a (`internal/core/local_runtime`, `internal/core/io_tunnel`) and
dify-plugin 0.10.2 (`core/server`), both read 2026-10.
"""

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any, Literal

from dify_plugin_host._errors import (
    PluginExitedError,
    PluginHostError,
    PluginKilledError,
    PluginProcessError,
    PluginStartError,
    StreamRejectedError,
)
from dify_plugin_host._settings import HostSettings
from dify_plugin_packager.declarations import (
    CALLS,
    OBJECT,
    PluginFolder,
    ShapeError,
    decode_into,
    dump_json,
    go_print,
    parse_json,
)
from dify_plugin_packager.json_access import JsonObject, is_object, object_at
from stream_text import LineSplitter

from .child import Child
from .session import BackwardsRequest, CallBack, Session


type BackwardsHandler = Callable[[BackwardsRequest], AsyncGenerator[JsonObject]]
"""A function that answers a plugin's call back into Dify, piece by piece."""

type NoticeHandler = Callable[["Notice"], None]
"""A function that takes a plugin's notices."""

type NoticeKind = Literal[
    "log", "protocol_error", "plugin_error", "reload", "stderr", "failed_call", "advice"
]

_NOTICE_TEXT_LENGTH = 200
_UNREAD_SECONDS = 1.0
_OVER = "session not found: the call that this belongs to has ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A message of a plugin outside of any call, or the report of a failed call.

    Attributes:
        plugin: The plugin's name.
        kind: `"log"` is a log record, `"protocol_error"` a line that is not a message, `"plugin_error"` the plugin's
            complaint about a line that it was sent, `"reload"` the outcome of a change of its files, `"stderr"` a line
            of its stderr, `"failed_call"` a call that failed, `"advice"` what a call did that its author may not mean.
        level: The log level, such as `"INFO"`, which a line of stderr has as well; `"ERROR"` for errors.
        text: The message, or the offending line cut at 200 characters. The traceback of a failed call, if there is one, follows on further lines.
    """

    plugin: str
    kind: NoticeKind
    level: str
    text: str


class Connection:
    """The connection to one plugin, which hands its messages to the calls that wait for them, and answers its backwards calls."""

    def __init__(
        self,
        child: Child,
        *,
        plugin: PluginFolder,
        settings: HostSettings,
        backwards: BackwardsHandler,
        on_notice: NoticeHandler,
    ) -> None:
        self._child = child
        self._plugin = plugin.name
        self._setup_command = plugin.setup_command
        self._settings = settings
        self._backwards = backwards
        self._on_notice = on_notice
        self._sessions: dict[str, Session] = {}
        # Calls that the plugin still works on, also those that nobody waits for any more.
        self._unfinished: set[str] = set()
        self._idle = asyncio.Event()
        # Answers for calls that have ended, which no session holds.
        self._refusals: set[asyncio.Task[None]] = set()
        self._write_lock = asyncio.Lock()
        # Set on the first heartbeat, and when the plugin is lost, so that nobody waits in vain.
        self._ready = asyncio.Event()
        self._lost: PluginProcessError | None = None
        self._heart_timer: asyncio.TimerHandle | None = None
        self.protocol_errors = 0
        self._reader = asyncio.create_task(self._read())

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.pid

    @property
    def is_lost(self) -> bool:
        """Whether the plugin is gone."""
        return self._lost is not None

    @property
    def failure(self) -> PluginProcessError | None:
        """The reason why the plugin is gone; None while it runs."""
        return self._lost

    async def wait_ready(self) -> None:
        """Wait for the first heartbeat.

        Raises:
            PluginStartError: If the plugin ends before, or takes longer than the limit.
        """
        limit = self._settings.start_timeout_seconds
        try:
            async with asyncio.timeout(limit):
                await self._ready.wait()
        except TimeoutError:
            problem = f"sent no heartbeat within {limit:g} s of its start"
            tail = self._child.stderr_tail
            raise PluginStartError(self._plugin, problem, stderr_tail=tail) from None
        if self._lost:
            raise self._lost

    async def open(self, session: Session, data: JsonObject) -> None:
        """Register a call, then send its request.

        Raises:
            PluginProcessError: If the plugin is gone.
        """
        if self._lost:
            raise self._lost
        self._sessions[session.id] = session
        self._unfinished.add(session.id)
        await self._send(session, "request", data)

    def close(self, session: Session) -> None:
        """Forget a call, and drop the messages that still come for it. The protocol has no way to tell the plugin."""
        self._sessions.pop(session.id, None)
        session.close()

    async def wait_idle(self) -> None:
        """Wait until the plugin is gone or has ended every call, also those that nobody waits for any more."""
        while self._unfinished and not self._lost:
            self._idle.clear()
            await self._idle.wait()

    async def stop(self) -> None:
        """End the process and every call."""
        # First, so that the exit which follows is not taken for the plugin's own.
        self._lose(PluginExitedError(self._plugin, "was stopped"))
        try:
            await self._child.stop(self._settings.stop_timeout_seconds)
        finally:
            tasks = (self._reader, *self._refusals)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self) -> None:
        """Read lines until stdout ends, which is the end of the plugin."""
        splitter = LineSplitter(max_line_bytes=self._settings.line_limit_bytes)
        async for data in self._child.read():
            if self._lost:
                continue  # Drain what the dying process still writes.
            for line in splitter.feed(data):
                self._take(line)
            if splitter.overflowed:
                limit = self._settings.line_limit_bytes
                self._kill(f"was killed: it wrote a line of more than {limit} bytes to stdout")
        for line in splitter.close():
            self._take(line)
        exit_code = await self._child.reap()
        self._lose(self._exit_error(exit_code), is_silent=self._settings.rules.silent_exit)

    def _exit_error(self, exit_code: int | None) -> PluginProcessError:
        tail = self._child.stderr_tail
        if self._ready.is_set():
            problem = f"ended with exit code {exit_code}"
            return PluginExitedError(self._plugin, problem, stderr_tail=tail)
        problem = f"ended with exit code {exit_code} before its first heartbeat"
        return PluginStartError(
            self._plugin, problem, stderr_tail=tail, setup_command=self._setup_command
        )

    def _beat(self) -> None:
        """Note a heartbeat, and like the daemon kill the plugin if the next one takes too long."""
        self._stop_heart_timer()
        limit = self._settings.heartbeat_timeout_seconds
        problem = f"was killed: it sent no heartbeat for {limit:g} s"
        self._heart_timer = asyncio.get_running_loop().call_later(limit, self._doubt, problem)
        self._ready.set()

    def _doubt(self, problem: str) -> None:
        """Kill the plugin, unless its heartbeats are there and only unread, because the loop itself stood still for so long."""
        loop = asyncio.get_running_loop()
        self._heart_timer = loop.call_later(_UNREAD_SECONDS, self._kill, problem)

    def _stop_heart_timer(self) -> None:
        if self._heart_timer:
            self._heart_timer.cancel()

    def _kill(self, problem: str) -> None:
        tail = self._child.stderr_tail
        error = PluginKilledError(self._plugin, problem, stderr_tail=tail)
        self._lose(error, is_silent=self._settings.rules.silent_exit)
        self._child.kill()

    def _lose(self, error: PluginProcessError, *, is_silent: bool = False) -> None:
        """Fail all calls that wait, or leave them waiting if `is_silent`; only the first error counts."""
        # Such as the exit that follows a kill: the reason for the kill is what callers need to
        # know.
        if self._lost:
            return
        self._lost = error
        self._stop_heart_timer()
        self._ready.set()
        self._idle.set()
        if is_silent:
            return
        for session in self._sessions.values():
            session.fail(error)

    def _take(self, line: bytes) -> None:
        line = line.strip()
        if not line:  # The SDK writes an empty line after each message.
            return
        try:
            message: Any = parse_json(line)
        except ValueError:
            message = None
        match message:
            case {"event": "session", "session_id": str(session_id), "data": data}:
                self._take_session(session_id, data)
            case {"event": "heartbeat"}:
                self._beat()
            case {"event": "log", "data": {"level": level, "message": text}}:
                self._notice("log", str(level), str(text))
            case {"event": "error", "data": data}:
                self._notice("plugin_error", "ERROR", str(data))
            case {**fields} if "event" not in fields and not self._ready.is_set():
                pass  # The manifest, which a plugin prints first.
            case _:
                self.protocol_errors += 1
                text = line[:_NOTICE_TEXT_LENGTH].decode("utf-8", errors="replace")
                problem = f"a line on stdout is not a message of the protocol: {text}"
                self._notice("protocol_error", "ERROR", problem)

    def _notice(self, kind: NoticeKind, level: str, text: str) -> None:
        self._on_notice(Notice(plugin=self._plugin, kind=kind, level=level, text=text))

    def _take_session(self, session_id: str, data: Any) -> None:
        session = self._sessions.get(session_id)
        if is_object(data) and data.get("type") == "end":
            self._unfinished.discard(session_id)
            self._idle.set()
        match data:
            case {"type": "invoke", "data": call}:
                # Also after the call has ended, because the plugin waits for a reply.
                self._take_call(session, session_id, call)
            case {"type": "stream" | "error" | "end" as kind, "data": content} if session:
                session.put(kind, content)
                if kind == "end":
                    del self._sessions[session_id]
            case {"type": str(kind), "data": _} if kind and session:
                problem = f"unknown stream message type: {kind}"
                session.fail(StreamRejectedError(problem, error_type="unknown_stream_message_type"))
            case _:
                pass  # Malformed, or too late for a call that nobody waits for any more.

    def _take_call(self, session: Session | None, session_id: str, data: Any) -> None:
        """Start the answer to a backwards call; a malformed one ends the call in which it is made."""
        try:
            call = _read_call(data)
        except ShapeError as error:
            if session:
                problem = f"invoke dify failed: {error}"
                session.fail(StreamRejectedError(problem, error_type="invoke_dify_error"))
            return
        self._start_answer(session, session_id, call["backwards_request_id"], call)

    def _start_answer(
        self, session: Session | None, session_id: str, request_id: str, call: JsonObject
    ) -> None:
        answers = session.answers if session else self._refusals
        answer = self._answer(session, session_id, request_id, call)
        task = asyncio.create_task(answer)
        answers.add(task)
        task.add_done_callback(functools.partial(self._settle, answers, session_id, request_id))

    def _settle(
        self,
        answers: set[asyncio.Task[None]],
        session_id: str,
        request_id: str,
        task: asyncio.Task[None],
    ) -> None:
        """Forget an answer; if it was cancelled with its call, tell the plugin, which would wait minutes for it."""
        answers.discard(task)
        if task.cancelled() and self._lost is None:
            self._start_answer(None, session_id, request_id, {})

    async def _answer(
        self, session: Session | None, session_id: str, request_id: str, call: JsonObject
    ) -> None:
        """Answer a backwards call with its objects, then `end`; on failure with an `error` before the `end`."""
        to = session or Session(id=session_id)

        async def reply(event: str, message: str, data: JsonObject | None = None) -> None:
            fields = {"backwards_request_id": request_id, "event": event}
            fields |= {"message": message, "data": data}
            await self._send(to, "backwards_response", fields)

        kind = str(call.get("type"))
        record = CallBack(type=kind, request=object_at(call, "request"))
        records = to.origin.calls_back
        if records is not None:
            records.append(record)
        form = "stream" if kind not in CALLS or CALLS[kind].is_streamed else "struct"
        limit = self._settings.backwards_timeout_seconds
        problem: str | None = None
        try:
            async with asyncio.timeout(limit):
                async with contextlib.aclosing(self._objects(session, kind, call)) as objects:
                    async for data in objects:
                        if records is not None:
                            record.answers.append(data)
                        await reply("response", form, data)
        except TimeoutError:
            problem = f"the {kind} invocation took longer than {limit:g} s"
        except PluginHostError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - a fault of the handler must not leave the plugin waiting
            problem = f"internal error: {error!r}"
        record.error = problem
        if problem is not None:
            # It may quote a tool's error, and a lone surrogate in that must not leave the plugin
            # waiting.
            await reply("error", problem.encode(errors="replace").decode())
        await reply("end", "")

    def _objects(
        self, session: Session | None, kind: str, call: JsonObject
    ) -> AsyncGenerator[JsonObject]:
        if session is None:
            return _refuse(_OVER)
        backwards = BackwardsRequest(
            type=kind,
            caller=session.kind,
            request=call["request"],
            user_id=session.user_id,
            tenant_id=session.origin.tenant_id,
            context=session.context,
            credentials=session.origin.credentials,
            answers=session.origin.answers,
        )
        return self._backwards(backwards)

    async def _send(self, session: Session, event: str, data: JsonObject) -> None:
        line = {
            "session_id": session.id,
            **session.origin.ids(),
            "context": session.context,
            "event": event,
            "data": data,
        }
        async with self._write_lock:
            await self._child.write(dump_json(line).encode() + b"\n")


def _read_call(data: Any) -> JsonObject:
    """Return a backwards call with its type, its id and its request.

    Raises:
        ShapeError: If one of them is missing.
    """
    try:
        call = decode_into(OBJECT, data)
    except ShapeError as error:
        raise ShapeError(f"unmarshal invoke request failed: {error}") from None
    if call is None:
        raise ShapeError("invoke request is empty")
    expected = {"type": str, "backwards_request_id": str, "request": dict}
    for key, kind in expected.items():
        if not isinstance(call.get(key), kind):
            name = key.removeprefix("backwards_")
            printed = go_print(call, strings_only=True)
            raise ShapeError(f"invoke request missing {name}: {printed}")
    return call


async def _refuse(problem: str) -> AsyncGenerator[JsonObject]:
    raise PluginHostError(problem)
    yield {}
