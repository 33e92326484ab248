"""An engine for agent servers: Temporal executes their runs, and agents of agent-driver run as workflows."""

from ._engine import open_temporal


__all__ = ["open_temporal"]
