"""A host that runs on a loop in a thread, for callers who wait."""

import asyncio
import contextlib
import itertools
import threading
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

from dify_plugin_host._errors import PluginHostError
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_packager.json_access import JsonObject

from ._messages import Messages, ModelAnswer


class Caller:
    """A host that runs on an event loop in a thread of its own, and what was answered in the test that runs.

    Args:
        host: The host.

    Attributes:
        host: The host.
        answered: What tools, strategies and models have answered since the test began.
        tenant_id: The tenant in whose name the test calls.
    """

    def __init__(self, host: PluginHost) -> None:
        self.host = host
        self.answered: list[Messages | ModelAnswer] = []
        self.tenant_id = ""
        self._tests = itertools.count(1)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.begin_test()

    def start(self) -> None:
        """Start the host.

        Raises:
            PluginStartError: If a plugin does not start; then nothing is left running.
        """
        self._loop = asyncio.new_event_loop()
        # A daemon, because a test that is interrupted must not keep the program from ending.
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            self.run(self.host.start())
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the host, the loop and its thread."""
        self.run(self.host.stop())
        assert self._loop and self._thread  # noqa: S101, PT018 - it was started
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run[T](self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return its result; may be called from any other thread.

        Raises:
            RuntimeError: If the host was not started.
        """
        __tracebackhide__ = True
        if self._loop is None:
            coroutine.close()
            raise RuntimeError("the plugin does not run; expected it in a `with` block")
        running = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return running.result()
        except PluginHostError as error:
            # Its text says all; the way through the host would only hide the test's own line.
            raise error.with_traceback(None)  # noqa: B904 - it is the same error

    def collect(self, items: AsyncGenerator[JsonObject]) -> list[JsonObject]:
        """Return all objects of an answer; an error tells those that came before it."""
        __tracebackhide__ = True
        return self.run(collect(items))

    def begin_test(self) -> None:
        """Forget the answers of earlier tests, and call in another tenant's name, who has nothing stored."""
        self.answered.clear()
        self.tenant_id = f"test-{next(self._tests)}"


async def collect(items: AsyncGenerator[JsonObject]) -> list[JsonObject]:
    """Return all objects of an answer; an error tells those that came before it."""
    taken: list[JsonObject] = []
    try:
        async with contextlib.aclosing(items):
            async for item in items:
                taken.append(item)  # noqa: PERF401 - an error must not lose them
    except Exception as error:
        if taken:
            error.add_note(f"before it came {Messages(taken)!r}")
        raise
    return taken
