"""Limits on how long a reply of the daemon may be silent.

When a plugin's process dies, the daemon sends nothing until its own limit for a whole call, ten minutes by default.

Source: docs/contracts/dify-agent.md, C49; docs/evidence/dify-platform.md, P3.
"""

import math
from collections.abc import Awaitable
from dataclasses import dataclass, fields
from typing import Final

import anyio

from ._daemon_errors import PluginDaemonError


SILENCE_ERROR_TYPE: Final = "PluginDaemonSilenceError"
"""The error type of a reply that was given up because it had been silent for too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceLimits:
    """The seconds for which a reply may be silent; `math.inf` for no limit.

    Attributes:
        model_seconds: For a model.
        keep_alive_seconds: For a model that has shown that it sends keep-alives, that is, chunks without content. The first chunk of an answer
            counts only if a sixth of this time had passed before it came.
        tool_seconds: For a tool.

    Raises:
        ValueError: If one of them is not over 0.
    """

    model_seconds: float = 600
    keep_alive_seconds: float = 60
    tool_seconds: float = 600

    def __post_init__(self) -> None:
        for field in fields(self):
            seconds: float = getattr(self, field.name)
            if math.isnan(seconds) or seconds <= 0:
                raise ValueError(f"{field.name}: expected more than 0 seconds, got {seconds!r}")


class Silence:
    """Clock for the silence of one reply, which runs only while somebody waits for it.

    Args:
        seconds: How long it may last.
        peer: The service that replies, for the error.
        cause: What may be the reason, for the error.

    Attributes:
        lasted: Seconds of silence before the latest data.
    """

    def __init__(
        self,
        seconds: float,
        *,
        peer: str = "The plugin daemon",
        cause: str = "the plugin's process may have died",
    ) -> None:
        self.lasted = 0.0
        self._peer, self._cause = peer, cause
        self._seconds = seconds
        self._waited = 0.0
        self._expects_keep_alives = False

    def expect_keep_alives(self, seconds: float) -> None:
        """Expect data all the time, so that silence may last this long at most."""
        # Only ever shortened, even if the settings have the two limits the other way round.
        self._seconds = min(self._seconds, seconds)
        self._expects_keep_alives = True

    def end(self) -> None:
        """Note that data has come."""
        self.lasted, self._waited = self._waited, 0.0

    async def wait[Result](self, step: Awaitable[Result]) -> Result:
        """Wait for the next step of the reply.

        Raises:
            PluginDaemonError: If the silence lasts too long.
        """
        # Steps add up until `end`, since a step may bring a comment, which breaks no silence.
        since = anyio.current_time()
        with anyio.move_on_after(max(0.0, self._seconds - self._waited)):
            result = await step
            self._waited += anyio.current_time() - since
            return result
        promise = ", though this model sends keep-alives" if self._expects_keep_alives else ""
        raise PluginDaemonError(
            f"{self._peer} has sent nothing for {self._seconds:g} seconds{promise}: {self._cause}.",
            error_type=SILENCE_ERROR_TYPE,
        )
