"""Plays an agent run to its end: calls the model, runs the tools of a round at once, gives every event out as it happens."""

from ._async import adrive
from ._sync import drive


__all__ = ["adrive", "drive"]
