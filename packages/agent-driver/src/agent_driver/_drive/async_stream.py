"""A run of an agent as an asynchronous iterator of its events, with its result at the end."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Self

from agent_driver._declare.models import RunModels
from agent_loop import Event, ShowText

from .async_drive import adrive
from .async_side import async_call, async_end_sessions
from .play import Play
from .result import Result


class AsyncRunStream[Answer]:
    """Events of a run as they happen. Close it to let go of the run: it is an asynchronous context manager.

    It ends without an exception whatever the model or a tool raises: `result` says so.

    Args:
        play: The run.
    """

    def __init__(self, play: Play) -> None:
        self._play = play
        self._events: AsyncGenerator[Event] | None = None
        self._last: Event | None = None
        self._result: Result[Any] | None = None

    @property
    def result(self) -> Result[Answer]:
        """The result of the run, once all events have been read.

        Raises:
            RuntimeError: If they have not.
        """
        if self._result is None:
            raise RuntimeError("the run has no result before all its events have been read")
        return self._result

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._result is not None:
            raise StopAsyncIteration
        if self._events is None:
            self._events = await self._begin()
            if (notice := self._play.shown_notice) is not None:
                return ShowText(text=f"{notice}\n\n")
        try:
            self._last = await anext(self._events)
        except StopAsyncIteration:
            await self._end()
            raise
        # `KeyboardInterrupt` and the like are for whoever reads.
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the model's client raises
            await self._end(error)
            raise StopAsyncIteration from None
        return self._last

    def steer(self, message: object) -> None:
        """Say something to the run while it is under way; may be called from any thread.

        It is read before the next round, as `AgentRun.steer` says; `result.unread` has what is not.

        Args:
            message: A text, or a user message.

        Raises:
            MessageError: If it is neither, or says nothing.
            SnapshotError: If steps are recorded, and JSON cannot express it.
            LocalProtocolError: If the run has ended, or waits for a person's decision.
        """
        self._play.steer(message)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Let go of the run, if it has not ended."""
        if self._events is not None:
            self._play.end()
            await self._events.aclose()

    async def _begin(self) -> AsyncGenerator[Event]:
        play, session = self._play, self._play.session
        conversation = None if session is None else await async_call(session.load)
        play.begin(conversation)
        declared = play.declared
        # Whatever is wrong with it is told here, before the calls that wait are taken out of the session.
        models = declared.models.begin()
        events = adrive(play.run, models.call, declared.tools, **play.settings)
        if session is not None and (claimed := play.claim()) is not None:
            play.take_up(await async_call(session.save, claimed))
        return _hold(events, models) if models.sessions else events

    async def _end(self, cause: BaseException | None = None) -> None:
        play, session = self._play, self._play.session
        result = play.read(self._last, cause)
        if (conversation := play.to_conversation(result)) is not None and session is not None:
            try:
                await async_call(session.save, conversation)
            except Exception as error:  # noqa: BLE001 - whatever a store raises, there is a result
                result = play.unsaved(result, error)
        self._result = result


async def _hold(events: AsyncGenerator[Event], models: RunModels) -> AsyncGenerator[Event]:
    """Yield the events of a run, and end its sessions with it."""
    try:
        async with aclosing(events):
            async for event in events:
                yield event
    finally:
        await async_end_sessions(models)
