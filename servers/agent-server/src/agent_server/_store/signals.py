"""Signals between servers about what to look at."""

from typing import Final


QUEUED: Final = "queued"
"""A run waits."""

CANCELLED: Final = "cancelled"
"""A run is to be cancelled."""

STEERED: Final = "steered"
"""A run was told something."""

EMITTED: Final = "told"
"""A run has new events."""

NOTIFIED: Final = "notified"
"""The webhook has something to send. Only this server hears it: it sends the message itself."""

ALL_SIGNALS: Final = frozenset({QUEUED, CANCELLED, STEERED, EMITTED, NOTIFIED})

CHANNEL: Final = "agent_server"
"""The channel of PostgreSQL's NOTIFY. The payload is the name of the sending server, a space, and a signal."""
