"""The names by which workflows, activities and queues are known to Temporal. They are in histories, so none of them changes."""

from typing import Final


AGENT_RUN: Final = "agent-run"
WHOLE_RUN: Final = "whole-run"

BEGIN: Final = "begin"
MAKE_STEP: Final = "make-step"
TELL: Final = "tell"
WAIT: Final = "wait"
ANSWER: Final = "answer"
END: Final = "end"
EXECUTE: Final = "execute"

# The type of the error with which a server gives a step to others.
SERVER_STOPPED: Final = "ServerStopped"

# Goes up when workflows decide otherwise than before, so that none is played by what decides otherwise.
_VERSION: Final = 1


def queue_of(executor: str, version: str) -> str:
    """Return the task queue of runs of an executor that were begun under a version, such as `agent-endpoint:1:1 writer 3f…`."""
    return f"{executor}:{_VERSION}:{version}"
