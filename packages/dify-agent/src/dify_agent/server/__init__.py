"""The server of agent runs: HTTP in front, DBOS behind. Needs the extra `server`."""

from .app import build_app
from .settings import ServerSettings


__all__ = ["ServerSettings", "build_app"]
