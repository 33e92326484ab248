"""The plugin daemon's HTTP API."""

from ._server import DaemonServer


__all__ = [
    "DaemonServer",
]
