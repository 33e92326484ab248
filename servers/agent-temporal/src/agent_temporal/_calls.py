"""How workflows call activities.

What writes to the database does so at once, in the worker that plays the workflow; what takes long goes through the
task queue.
"""

from datetime import timedelta
from typing import Any, Final

from temporalio import workflow
from temporalio.common import RetryPolicy

from ._messages import Execute, Executed, MakeStep
from ._names import EXECUTE, MAKE_STEP
from ._players import Player


# Whether an activity is alive is known by its heartbeats; how long it may take, by what it does.
_LONGEST: Final = timedelta(days=30)
_WRITING: Final = timedelta(seconds=60)
_FIRST_PAUSE: Final = timedelta(seconds=0.2)
_LONGEST_PAUSE: Final = timedelta(seconds=10)


async def write[Result](name: str, asked: object, result_type: type[Result]) -> Result:
    """Call an activity that reads or writes the database, again until that works."""
    return await workflow.execute_local_activity(
        name,
        asked,
        result_type=result_type,
        start_to_close_timeout=_WRITING,
        retry_policy=_try_again(),
    )


async def make_step(step: MakeStep, request: bytes, player: Player) -> bytes:
    """Have a step made, and return its result."""
    return await workflow.execute_activity(
        MAKE_STEP,
        # Apart from each other, since JSON within JSON grows.
        args=[step, request],
        result_type=bytes,
        # A run that is cancelled ends now, and the activity hears of it with its next heartbeat.
        cancellation_type=workflow.ActivityCancellationType.TRY_CANCEL,
        **_long(player, tries=player.max_attempts),
    )


async def execute(run_id: str, player: Player) -> Executed:
    """Have a run executed as a whole, and return what has become of it."""
    return await workflow.execute_activity(
        EXECUTE,
        Execute(run_id=run_id),
        result_type=Executed,
        # An executor may have more to do, or may have succeeded.
        cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        **_long(player, tries=0),
    )


def _long(player: Player, *, tries: int) -> dict[str, Any]:
    """Return the options of an activity that takes as long as it takes, and may be begun so often; 0 for any number."""
    return {
        "start_to_close_timeout": _LONGEST,
        "heartbeat_timeout": timedelta(seconds=player.lease_seconds),
        "retry_policy": _try_again(tries),
    }


def _try_again(tries: int = 0) -> RetryPolicy:
    return RetryPolicy(
        initial_interval=_FIRST_PAUSE, maximum_interval=_LONGEST_PAUSE, maximum_attempts=tries
    )
