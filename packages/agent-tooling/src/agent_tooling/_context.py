"""The context of a tool call, which a run passes to a function besides the model's arguments."""

from collections.abc import Callable
from dataclasses import dataclass


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Context[Deps]:
    """The context of one tool call, for a function whose first parameter is annotated with `Context[...]`. The model never sees that parameter.

    Attributes:
        deps: The dependencies that the run was given: a connection, a client, the current user.
        call_id: The id of the call.
        tool: The name by which the model called the tool.
        attempt: How often the call has been tried, including this time; over 1 only if the tool has `retries`.
        is_cancelled: Whether nobody waits for the call any more, so that a long function can end early.
    """

    deps: Deps
    call_id: str = ""
    tool: str = ""
    attempt: int = 1
    is_cancelled: Callable[[], bool] = _never
