"""The tries of tool calls: what a tool is called with, how long it may take, and whether it is called again."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock
from typing import Any, Final, cast

from agent_driver._declare.declaration import find_agent
from agent_driver._declare.tool_options import find_retries, find_timeout
from agent_driver._threads import Threads
from agent_driver._tools.calls import Job, timed_out
from agent_loop import AgentWaiting
from agent_tooling import Context, DeclarationError, ToolError, ToolOutput

from .setup import Setup


_log = logging.getLogger("agent_driver")

# Our choice. A connection that broke is often there again at once, and what is overloaded needs
# longer each time; what is not there after two seconds is better left to the model.
_FIRST_PAUSE_SECONDS: Final = 0.1
_MAX_PAUSE_SECONDS: Final = 2.0
_MAX_DOUBLINGS: Final = 10


class Try:
    """One try of a tool call. It ends once, with an output or because it is given up, whichever comes first.

    Args:
        setup: The run.
        job: The call.
        threads: Where tools without `async` run.
        number: Which try of the call it is, from 1.

    Attributes:
        job: As given.
        seconds: How long it may take; None for any time, also of an agent, which ends by its own clock.
    """

    def __init__(self, setup: Setup, job: Job, threads: Threads, number: int = 1) -> None:
        self.job = job
        is_agent = find_agent(job.tool) is not None
        self.seconds = None if is_agent else find_timeout(job.tool, setup.settings)
        self._setup = setup
        self._threads = threads
        self._number = number
        self._open = Lock()  # Taken for good by whatever ends the try.
        # Only what may be given up needs it, and it costs as much as all the rest.
        self._given_up: Future[None] | None = None if self.seconds is None else Future()

    @property
    def context(self) -> Context[Any] | None:
        """The context that the tool is called with; None where it takes none."""
        if self.job.tool.deps_type is None:
            return None
        return Context(
            deps=self._setup.settings.deps,
            call_id=self.job.call.call_id,
            tool=self.job.call.name,
            attempt=self._number,
            is_cancelled=self.is_cancelled,
        )

    @property
    def pause(self) -> float:
        """Seconds between the try before and this one."""
        doublings = min(self._number - 2, _MAX_DOUBLINGS)
        return min(_FIRST_PAUSE_SECONDS * 2**doublings, _MAX_PAUSE_SECONDS)

    def begin(self) -> None:
        """Record that the tool has started; may be called from any thread."""
        self._setup.begin(self.job)

    def end(self) -> bool:
        """End the try; return False if it has ended already."""
        return self._open.acquire(blocking=False)

    def give_up(self) -> bool:
        """End the try and tell the tool, if it listens, to stop; return False if the try has ended already."""
        if self._given_up is None or not self.end():
            return False
        self._given_up.set_result(None)
        return True

    def is_over(self) -> bool:
        """Return whether nobody waits for the tool any more."""
        is_given_up = self._given_up is not None and self._given_up.done()
        return is_given_up or self._threads.is_abandoned()

    def is_cancelled(self) -> bool:
        """Return whether nobody wants the result any more, which a run that is cancelled notices a moment later."""
        return self.is_over() or self._setup.clock.is_cancelled

    def on_over(self, stop: Callable[[], Any]) -> None:
        """Register a callback for when nobody waits for the tool any more; it may be called twice, and even if the tool has ended by then."""
        self._threads.on_abandon(stop)
        if self._given_up is not None:
            self._given_up.add_done_callback(lambda _: stop())

    def time_out(self, *, may_go_on: bool = True) -> ToolOutput:
        """Return the output of a try that took longer than it may.

        Args:
            may_go_on: Whether the tool could not be stopped.
        """
        return timed_out(self.job, cast("float", self.seconds), may_go_on=may_go_on)

    def follow(self, output: ToolOutput | AgentWaiting) -> "Try | None":
        """Return the try that follows one with this output, of which nobody else is told; None if the output is the call's."""
        if isinstance(output, AgentWaiting) or not self._may_follow(output):
            return None
        following = Try(self._setup, self.job, self._threads, self._number + 1)
        left = self._setup.clock.seconds_for_tools(self._setup.run)
        if left is not None and left <= following.pause:
            return None
        # Somebody else's code: what says whether a run is cancelled, and the handlers of the log.
        with suppress(Exception):
            if following.is_cancelled():
                return None
            text, name = "tool %s, try %d, which is followed by another: %s", self.job.call.name
            _log.warning(text, name, self._number, output.error, exc_info=output.cause)
        self._setup.retry(self.job, self._number, output)
        return following

    def _may_follow(self, output: ToolOutput) -> bool:
        """Return whether the call may be tried again: not if the tool has said itself what the model is to read, and never an agent."""
        tool, cause = self.job.tool, output.cause
        return (
            isinstance(cause, Exception)
            and not isinstance(cause, ToolError | DeclarationError)
            and self._number <= find_retries(tool, self._setup.settings)
            and find_agent(tool) is None
        )
