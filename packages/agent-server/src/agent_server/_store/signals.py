"""What servers tell each other to look at."""

from typing import Final


QUEUED: Final = "queued"
"""A run waits."""

CANCELLED: Final = "cancelled"
"""The end of a run was asked for."""

TOLD: Final = "told"
"""A run has new events."""

ALL_SIGNALS: Final = frozenset({QUEUED, CANCELLED, TOLD})

CHANNEL: Final = "agent_server"
"""Of NOTIFY, on PostgreSQL. The payload is the name of who notifies, a space, and a signal."""
