"""The command `agent-runner`, and what it shows to people and machines."""

from .cli import main


__all__ = ["main"]
