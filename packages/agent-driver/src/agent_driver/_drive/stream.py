# Generated from async_stream.py by tools/repository/blocking.py (nox -s blocking).
"""A run of an agent as an iterator of its events, with its result at the end."""

from collections.abc import Generator
from contextlib import closing
from typing import Any, Self

from agent_driver._declare.models import RunModels
from agent_loop import Event, ShowText

from .drive import drive
from .play import Play
from .result import Result
from .side import call, end_sessions


class RunStream[Answer]:
    """Events of a run as they happen. Close it to let go of the run: it is a context manager.

    It ends without an exception whatever the model or a tool raises: `result` says so.

    Args:
        play: The run.
    """

    def __init__(self, play: Play) -> None:
        self._play = play
        self._events: Generator[Event] | None = None
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

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        if self._result is not None:
            raise StopIteration
        if self._events is None:
            self._events = self._begin()
            if (notice := self._play.shown_notice) is not None:
                return ShowText(text=f"{notice}\n\n")
        try:
            self._last = next(self._events)
        except StopIteration:
            self._end()
            raise
        # `KeyboardInterrupt` and the like are for whoever reads.
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the model's client raises
            self._end(error)
            raise StopIteration from None
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the run, if it has not ended."""
        if self._events is not None:
            self._play.end()
            self._events.close()

    def _begin(self) -> Generator[Event]:
        play, session = self._play, self._play.session
        conversation = None if session is None else call(session.load)
        play.begin(conversation)
        declared = play.declared
        # Whatever is wrong with it is told here, before the calls that wait are taken out of the session.
        models = declared.models.begin()
        events = drive(play.run, models.call, declared.tools, **play.settings)
        if session is not None and (claimed := play.claim()) is not None:
            play.take_up(call(session.save, claimed))
        return _hold(events, models) if models.sessions else events

    def _end(self, cause: BaseException | None = None) -> None:
        play, session = self._play, self._play.session
        result = play.read(self._last, cause)
        if (conversation := play.to_conversation(result)) is not None and session is not None:
            try:
                call(session.save, conversation)
            except Exception as error:  # noqa: BLE001 - whatever a store raises, there is a result
                result = play.unsaved(result, error)
        self._result = result


def _hold(events: Generator[Event], models: RunModels) -> Generator[Event]:
    """Yield the events of a run, and end its sessions with it."""
    try:
        with closing(events):
            yield from events
    finally:
        end_sessions(models)
