"""The sink that hands a run's events to the server that executes it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agent_server.executor import Execution, JsonObject
from dify_agent.protocol import (
    ModelRequestStartedEvent,
    RunCancelledEvent,
    RunEvent,
    RunFailedEvent,
    RunStartedEvent,
    RunSucceededEvent,
    TerminalRunEvent,
    TextDeltaEvent,
)

from ._coalescing import TextCoalescer
from ._recorder import RunRecorder


# Fields that the server adds to each event itself.
_ENVELOPE = {"run_id", "sequence", "created_at", "type"}


class ExecutionSink:
    """The sink for one attempt to execute a run, which emits each event once in the life of the run.

    A model's text is emitted inside the step of its request, which is recorded together with it. Any other event is a step of its own,
    because after a crash the run reaches it again.
    """

    def __init__(self, run: Execution, recorder: RunRecorder) -> None:
        self._run = run
        self._recorder = recorder
        self._emitted = 0
        self._is_in_request = False
        self._started: ModelRequestStartedEvent | None = None
        self._terminal: TerminalRunEvent | None = None
        self._text = TextCoalescer(self._tell_text)

    async def emit(self, event: RunEvent) -> None:
        """Emit the event; the server itself emits the beginning and the end."""
        if isinstance(event, TerminalRunEvent):
            self._terminal = event
        elif self._is_in_request:
            self._recorder.hear(event)
            await self.tell_started()
            if isinstance(event, TextDeltaEvent):
                await self._text.add(event.text)
                return
            await self._text.end()
            await self._run.tell(event.type, _data(event))
        elif not isinstance(event, RunStartedEvent):
            await self._emit_once(event)

    @asynccontextmanager
    async def in_request(self, started: ModelRequestStartedEvent) -> AsyncGenerator[None]:
        """Emit the events in the context as a model's; `started` goes before the first of them.

        It does not go earlier, because a request that has shown nothing may be repeated as if it were the first.
        """
        self._is_in_request, self._started = True, started
        try:
            try:
                yield
            finally:
                await self._text.end()
        finally:
            self._is_in_request, self._started = False, None

    async def tell_started(self) -> None:
        """Emit that the model request has started, unless that was emitted already."""
        if self._started is not None:
            started, self._started = self._started, None
            await self._run.tell(started.type, _data(started))

    def take_end(self) -> RunSucceededEvent | RunFailedEvent | RunCancelledEvent:
        """Return the event that ended the run.

        Raises:
            RuntimeError: If it has not ended.
        """
        if not isinstance(self._terminal, RunSucceededEvent | RunFailedEvent | RunCancelledEvent):
            raise RuntimeError("The runner returned without a result.")  # noqa: TRY004 - not a wrong type, but a missing call
        return self._terminal

    async def _tell_text(self, text: str) -> None:
        event = TextDeltaEvent(run_id=self._run.run_id, text=text)
        await self._run.tell(event.type, _data(event))

    async def _emit_once(self, event: RunEvent) -> None:
        # These events come in the same order in every attempt, so a number names them.
        self._emitted += 1

        async def tell() -> bytes:
            await self._run.tell(event.type, _data(event))
            # The step records only that it was done.
            return b""

        await self._run.step(f"event:{self._emitted}", tell)


def _data(event: RunEvent) -> JsonObject:
    return event.model_dump(mode="json", exclude=_ENVELOPE)
