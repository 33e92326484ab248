"""Settings that an operator gives by environment variable."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


_USUAL_SECONDS = 590.0
_HANDING_OVER_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceSettings:
    """The pace at which an answer reaches Dify.

    Attributes:
        window_seconds: Text that arrives within this time leaves as one chunk; 0 to 1.
        keep_alive_seconds: After this long a silence an empty chunk leaves, as a keep-alive; 0.01 to 200.
    """

    window_seconds: float = 0.05
    keep_alive_seconds: float = 15.0

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        """Read `OPENAI_GPT5_CHUNK_WINDOW_SECONDS` and `OPENAI_GPT5_KEEP_ALIVE_SECONDS`."""
        return cls(
            window_seconds=_read(
                environ, "OPENAI_GPT5_CHUNK_WINDOW_SECONDS", default=0.05, lowest=0, highest=1
            ),
            keep_alive_seconds=_read(
                environ, "OPENAI_GPT5_KEEP_ALIVE_SECONDS", default=15, lowest=0.01, highest=200
            ),
        )


def background_seconds(
    environ: Mapping[str, str], total_seconds: float | None, *, has_tools: bool
) -> float:
    """Return after how long an answer that is made in the background is left to the next turn: shortly before the call's time is over.

    Args:
        environ: Environment variables; `OPENAI_GPT5_BACKGROUND_SECONDS` can make it shorter.
        total_seconds: What a call may take in all, as far as it is known; 590 where it is not, for Dify ends calls after 600.
        has_tools: Whether the call has tools, as those of agent strategies have: Dify ends these after `DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT` (milliseconds, 240000 by default).
    """
    limits = [_USUAL_SECONDS if total_seconds is None else total_seconds]
    limits.append(
        _read(
            environ,
            "OPENAI_GPT5_BACKGROUND_SECONDS",
            default=_USUAL_SECONDS,
            lowest=1,
            highest=3600,
        )
    )
    if has_tools:
        name = "DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT"
        limits.append(
            _read(environ, name, default=240_000, lowest=1_000, highest=3.6e6) / 1000 - 10
        )
    shortest = max(min(limits), 1)
    return shortest - min(_HANDING_OVER_SECONDS, shortest / 10)


def is_on(environ: Mapping[str, str], name: str) -> bool:
    """Read a switch, which is off unless it says `1`, `true`, `yes` or `on`."""
    return environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def _read(
    environ: Mapping[str, str], name: str, *, default: float, lowest: float, highest: float
) -> float:
    try:
        number = float(environ.get(name, ""))
    except ValueError:
        return default
    return default if math.isnan(number) else max(lowest, min(highest, number))
