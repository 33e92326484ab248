"""Polling: asking a model again and again until it has its answer, as Dify's LLM node does it.

Source: `LLMPollingConfig` and `nodes/llm/node.py` of graphon 0.8.0, read 2026-11-23.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from dify_plugin_host._errors import PollingError
from dify_plugin_host._settings import PollingLimits
from dify_plugin_packager.json_access import JsonObject, list_at, object_at


class PollingClock(Protocol):
    """A clock, which tells the time and waits."""

    def now(self) -> float:
        """Return a time in seconds that only grows."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""
        ...


class RealClock:
    """The clock of this machine."""

    def now(self) -> float:
        """Return a time in seconds that only grows."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingStep:
    """One answer of a model that is polled.

    Attributes:
        status: `running` before each wait, then once `succeeded`.
        attempt: The number of times that the model has been asked since the start.
        wait_seconds: The length of the wait that follows; 0 at the end.
        result: The model's result at the end, as Dify gets it: `message`, `usage`, and with a schema `structured_output`; else None.
    """

    status: Literal["running", "succeeded"]
    attempt: int
    wait_seconds: float = 0.0
    result: JsonObject | None = None


type Start = Callable[[], Awaitable[JsonObject]]
type Check = Callable[[JsonObject], Awaitable[JsonObject]]


async def poll(
    start: Start, check: Check, *, limits: PollingLimits, clock: PollingClock
) -> AsyncGenerator[PollingStep]:
    """Start an answer and ask for it until it is there; if the caller goes away, the plugin does not learn it, as in Dify.

    Args:
        start: Begins it, and returns the plugin's polling result.
        check: Asks once more with the plugin's state.
        limits: The limits on the number and the length of waits.
        clock: The clock to measure the waits by.

    Raises:
        PollingError: If the model fails, or its answer takes too long or too many questions.
        PluginHostError: If a call fails.
    """
    began = clock.now()
    deadline, most, attempts = began + limits.max_wait_seconds, limits.max_attempts, 0
    answer = await start()
    while True:
        # A plugin may shorten its time and its attempts, but not lengthen them.
        deadline = _deadline(deadline, answer, clock)
        most = max(1, min(most, _number(answer, "max_attempts", most)))
        if clock.now() >= deadline:
            raise PollingError("LLM polling timed out")
        match answer.get("status"):
            case "succeeded":
                result = object_at(answer, "result")
                yield PollingStep(status="succeeded", attempt=attempts, result=result)
                return
            case "failed":
                raise PollingError(str(answer.get("error")))
            case _ if attempts >= most:
                raise PollingError("LLM polling exceeded max attempts")
            case _:
                pass
        wished = _number(answer, "next_check_after_seconds", limits.min_interval_seconds)
        wait = min(max(wished, limits.min_interval_seconds), limits.max_interval_seconds)
        yield PollingStep(status="running", attempt=attempts, wait_seconds=wait)
        await _wait(wait, deadline, limits, clock)
        attempts += 1
        answer = await check(object_at(answer, "plugin_state"))


def _deadline(deadline: float, answer: JsonObject, clock: PollingClock) -> float:
    left = answer.get("expires_after_seconds")
    return deadline if left is None else min(deadline, clock.now() + left)


def _number(answer: JsonObject, key: str, default: float) -> Any:
    found = answer.get(key)
    return default if found is None else found


async def _wait(
    seconds: float, deadline: float, limits: PollingLimits, clock: PollingClock
) -> None:
    end = min(clock.now() + seconds, deadline)
    # In steps, because Dify looks between them whether the user has stopped the run.
    while (left := end - clock.now()) > 0:
        await clock.sleep(min(left, limits.wake_seconds))
    if clock.now() >= deadline:
        raise PollingError("LLM polling timed out")


def is_polled(schema: JsonObject) -> bool:
    """Tell whether Dify's LLM node polls a model with this schema instead of invoking it."""
    return "polling" in list_at(schema, "features")
