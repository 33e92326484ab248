"""Serves agents durably: by HTTP, on SQLite or PostgreSQL, through crashes and over the days that a person takes to decide."""

from ._executor import AgentExecutor
from ._serving import EndpointSettings, serve


__all__ = ["AgentExecutor", "EndpointSettings", "serve"]
