"""The durable engine, which accepts and executes runs whatever happens to servers."""

from ._engine.engine import open_engine
from ._engine.heartbeat import ServerNameTakenError
from ._engine.service import RunService
from ._store.database import state_folder
from ._store.errors import StorageError


__all__ = ["RunService", "ServerNameTakenError", "StorageError", "open_engine", "state_folder"]
