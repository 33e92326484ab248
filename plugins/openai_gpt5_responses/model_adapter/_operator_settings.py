"""Settings that an operator gives by environment variable."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


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


def is_on(environ: Mapping[str, str], name: str) -> bool:
    """Read a switch, which is off unless it says `1`, `true`, `yes` or `on`."""
    return environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def read_seconds(environ: Mapping[str, str], name: str, *, default: int) -> int:
    """Read a number of seconds, brought within 60 to 3600; the default where it is missing or no number."""
    return int(_read(environ, name, default=default, lowest=60, highest=3600))


def _read(
    environ: Mapping[str, str], name: str, *, default: float, lowest: float, highest: float
) -> float:
    try:
        number = float(environ.get(name, ""))
    except ValueError:
        return default
    return default if math.isnan(number) else max(lowest, min(highest, number))
