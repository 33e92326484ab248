"""The signals between servers about what to look at."""

from typing import Final


QUEUED: Final = "queued"
"""A run waits."""

CANCELLED: Final = "cancelled"
"""The end of a run was asked for."""

EMITTED: Final = "told"
"""A run has new events."""

ALL_SIGNALS: Final = frozenset({QUEUED, CANCELLED, EMITTED})

CHANNEL: Final = "agent_server"
"""Of NOTIFY, on PostgreSQL. The payload is the name of who notifies, a space, and a signal."""
