"""A run's events on their way to the server that executes it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agent_server.executor import Execution, JsonObject
from dify_agent.protocol import (
    ModelRequestStartedEvent,
    RunEvent,
    RunFailedEvent,
    RunStartedEvent,
    RunSucceededEvent,
    TerminalRunEvent,
)

from .recorder import RunRecorder


__all__ = [
    "ExecutionSink",
]


# What the server tells of each event itself.
_ENVELOPE = {"run_id", "sequence", "created_at", "type"}


class ExecutionSink:
    """What takes the events of one attempt to execute a run, and tells each once in the life of the run.

    What a model says is told inside its step, which is recorded together with it. Any other event is a step of its own: after a
    crash the run comes by it again.
    """

    def __init__(self, run: Execution, recorder: RunRecorder) -> None:
        self._run = run
        self._recorder = recorder
        self._told = 0
        self._is_in_request = False
        self._started: ModelRequestStartedEvent | None = None
        self._terminal: TerminalRunEvent | None = None

    async def emit(self, event: RunEvent) -> None:
        """Tell the event; the beginning and the end are the server's to tell."""
        if isinstance(event, TerminalRunEvent):
            self._terminal = event
        elif self._is_in_request:
            self._recorder.hear(event)
            await self.tell_started()
            await self._run.tell(event.type, _data(event))
        elif not isinstance(event, RunStartedEvent):
            await self._tell_once(event)

    @asynccontextmanager
    async def in_request(self, started: ModelRequestStartedEvent) -> AsyncGenerator[None]:
        """Tell what comes meanwhile as what a model says; `started` goes before the first of it.

        Not earlier, since a request that has shown nothing may be made again, as if it were the first.
        """
        self._is_in_request, self._started = True, started
        try:
            yield
        finally:
            self._is_in_request, self._started = False, None

    async def tell_started(self) -> None:
        """Tell that the model request has started, unless that was told."""
        if self._started is not None:
            started, self._started = self._started, None
            await self._run.tell(started.type, _data(started))

    def take_end(self) -> RunSucceededEvent | RunFailedEvent:
        """Return how the run ended.

        Raises:
            RuntimeError: If it did not.
        """
        if not isinstance(self._terminal, RunSucceededEvent | RunFailedEvent):
            raise RuntimeError("The runner returned without a result.")  # noqa: TRY004 - not a wrong type, but a missing call
        return self._terminal

    async def _tell_once(self, event: RunEvent) -> None:
        self._told += 1

        async def tell() -> bytes:
            await self._run.tell(event.type, _data(event))
            return b""

        await self._run.step(f"event:{self._told}", tell)


def _data(event: RunEvent) -> JsonObject:
    return event.model_dump(mode="json", exclude=_ENVELOPE)
