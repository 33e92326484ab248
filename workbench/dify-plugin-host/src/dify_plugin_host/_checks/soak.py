"""A soak of an installed plugin: it runs for a while, idle and then called, and what it uses is measured from outside."""

import asyncio
import contextlib
import math
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from dify_plugin_host._errors import (
    InvokeTimeoutError,
    PluginInvokeError,
    PluginProcessError,
    StreamRejectedError,
)
from dify_plugin_host._platform.model_server import open_server
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._platform.rules import answer_decoder
from dify_plugin_host._platform.scripted_peer import answer_scripted
from dify_plugin_host._process.connection import Notice
from dify_plugin_host._process.plugin_process import require_object
from dify_plugin_host._settings import HostSettings, PlatformRules
from dify_plugin_packager.declarations import ANSWERS, PluginFolder

from .made_up_calls import MadeUpCall, MadeUpCalls
from .process_usage import MarkedProcesses, Usage


_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_QUARTERS = 4
_AT_A_TIME = 4  # because many calls wait most of their time, to try again what has failed


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakSettings:
    """The length of a soak.

    Attributes:
        seconds: Its time in all, besides the plugin's start; less if the calls are made sooner.
        calls: The most calls that are made.
    """

    seconds: float = 60
    calls: int = 200

    @property
    def idle_seconds(self) -> float:
        """The time without calls over which CPU time is measured."""
        return self.seconds / 3

    @property
    def calling_seconds(self) -> float:
        """The time for calls."""
        return self.seconds * 0.6

    @property
    def pause_seconds(self) -> float:
        """The time that the plugin gets to settle after its start, and what it has started to end with it."""
        return self.seconds / 30

    @property
    def call_seconds(self) -> float:
        """The time after which a call counts as slow and is not waited for."""
        return self.seconds / 6


@dataclass(slots=True, kw_only=True)
class SoakResult:
    """The measurements of a soak, as far as it came.

    Attributes:
        start_seconds: The time until the first heartbeat.
        idle_cpu: The share of one core that was used without calls.
        before: The usage before the first call; None if the plugin ended before.
        quarters: The usage after each quarter of the calls, of which the first is the warm-up, with the number of calls so far.
        made: The number of calls.
        call_seconds: The seconds of each call that was answered.
        error_answers: The number of calls that were answered with an error.
        slow: The calls that were not answered in time, by name.
        rejected: The answers that the platform refuses, by the name of the call.
        strange_lines: The lines on stdout that are no message of the protocol.
        failure: The reason why the plugin ended by itself; None if it did not.
        is_hung: Whether it no longer answers what it has answered before.
        left: The commands of the processes that live on after the plugin was killed.
    """

    start_seconds: float = 0
    idle_cpu: float = 0
    before: Usage | None = None
    quarters: list[tuple[int, Usage]] = field(default_factory=list[tuple[int, Usage]])
    made: int = 0
    call_seconds: list[float] = field(default_factory=list[float])
    error_answers: int = 0
    slow: list[str] = field(default_factory=list[str])
    rejected: dict[str, str] = field(default_factory=dict[str, str])
    strange_lines: list[str] = field(default_factory=list[str])
    failure: PluginProcessError | None = None
    is_hung: bool = False
    left: list[str] = field(default_factory=list[str])


def soak(folder: Path, settings: SoakSettings) -> SoakResult:
    """Run an installed plugin for a while, idle and then called, and end it.

    The calls have made-up arguments and credentials, and the plugin is shown a proxy that refuses to connect, so that nobody outside is called.

    Raises:
        PluginHostError: If it does not start.
    """
    plugin = PluginFolder.read(folder)
    # Without OPENAI_API_KEY and OPENAI_BASE_URL, so that the simulator answers.
    with open_server({"PATH": os.environ.get("PATH", os.defpath)}) as server, _no_proxy() as proxy:
        calls = [*MadeUpCalls(plugin, server.credentials)]
        # Of very many, so few that the warm-up has all of them.
        every = math.ceil(_QUARTERS * len(calls) / settings.calls) or 1
        environment = {**server.environment, **proxy}
        return asyncio.run(_Soak(plugin, settings, environment).run(calls[::every]))


class _Soak:
    """One soak of a plugin."""

    def __init__(
        self, plugin: PluginFolder, settings: SoakSettings, environment: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._result = SoakResult()
        self._answered: MadeUpCall | None = None  # the last one
        self._processes = MarkedProcesses()
        self._host = PluginHost(
            plugin,
            settings=HostSettings(call_timeout_seconds=settings.call_seconds),
            answers=answer_scripted,
            on_notice=self._note,
            environment={**environment, **self._processes.environment},
        )
        self._plugin = self._host.plugins[0]

    async def run(self, calls: Iterable[MadeUpCall]) -> SoakResult:
        started = time.monotonic()
        try:
            async with self._host:
                self._result.start_seconds = time.monotonic() - started
                try:
                    await self._idle()
                    await self._call_by_quarters(deque(calls))
                    self._kill()
                except PluginProcessError as error:
                    self._result.failure = error
        finally:
            for process in self._processes.find():
                with contextlib.suppress(psutil.Error):
                    process.kill()
        return self._result

    async def _idle(self) -> None:
        await asyncio.sleep(self._settings.pause_seconds)
        began, before = time.monotonic(), self._measure()
        await asyncio.sleep(self._settings.idle_seconds)
        after = self._measure()
        used = after.cpu_seconds - before.cpu_seconds
        self._result.idle_cpu = used / (time.monotonic() - began)
        self._result.before = after

    async def _call_by_quarters(self, calls: deque[MadeUpCall]) -> None:
        """Make the calls in turn, again and again, several at a time; measure whenever a quarter is done and none is under way."""
        began = time.monotonic()
        for quarter in range(1, _QUARTERS + 1):
            share = quarter / _QUARTERS
            most = math.ceil(share * self._settings.calls)
            until = began + share * self._settings.calling_seconds
            callers = (self._call_in_turn(calls, most, until) for _ in range(_AT_A_TIME))
            await asyncio.gather(*callers)
            self._result.quarters.append((self._result.made, self._measure()))
        if self._answered and not calls:
            # Alone, because it may have been slow only among others.
            self._result.is_hung = not await self._is_answered(self._answered)

    async def _call_in_turn(self, calls: deque[MadeUpCall], most: int, until: float) -> None:
        while calls and self._result.made < most and time.monotonic() < until:
            self._result.made += 1
            call = calls[0]
            calls.rotate(-1)
            # One that is not answered in time is not repeated: the plugin still works on it.
            if not await self._is_answered(call) and call in calls:
                calls.remove(call)

    async def _is_answered(self, call: MadeUpCall) -> bool:
        decode = require_object
        if call.action in ANSWERS:
            decode = answer_decoder(call.action, PlatformRules())
        answer = self._plugin.invoke(call.kind, call.action, call.data, context={}, decode=decode)
        began = time.monotonic()
        try:
            async with contextlib.aclosing(answer):
                async for _ in answer:
                    pass
        except PluginInvokeError:
            self._result.error_answers += 1
        except StreamRejectedError as error:
            self._result.rejected.setdefault(call.name, str(error))
        except InvokeTimeoutError:
            self._result.slow.append(call.name)
            return False
        self._result.call_seconds.append(time.monotonic() - began)
        self._answered = call
        return True

    def _measure(self) -> Usage:
        if self._plugin.failure:
            raise self._plugin.failure
        return self._processes.measure()

    def _kill(self) -> None:
        """Kill the plugin's own process alone, as the daemon does, and see what lives on.

        Source: `StartStdout` in `internal/core/local_runtime/instance.go` of langgenius/dify-plugin-daemon at bdb5642a.
        """
        assert self._plugin.pid  # noqa: S101 - it was started
        os.kill(self._plugin.pid, signal.SIGKILL)
        # The loop stands still meanwhile, because this host ends the others as soon as it hears of the end of this one.
        time.sleep(self._settings.pause_seconds)
        for process in self._processes.find():
            with contextlib.suppress(psutil.Error):
                self._result.left.append(" ".join(process.cmdline()))

    def _note(self, notice: Notice) -> None:
        if notice.kind == "protocol_error":
            self._result.strange_lines.append(notice.text)


@contextlib.contextmanager
def _no_proxy() -> Generator[dict[str, str]]:
    """Return variables that name a proxy where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        yield {each: address for name in _PROXIES for each in (name, name.lower())}
