"""What a server is started with."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """What a server is started with.

    Attributes:
        host: Address to listen on.
        port: Port to listen on, 0 for any.
        api_key: What clients must send as bearer token; not needed where only this machine can call.
        state: Folder of its own.
        database_url: PostgreSQL to keep the runs in, instead of a file in the state folder.
        server_name: Under which a server finds its own runs again; needed where several may share a database.
        concurrency: Runs at a time.
        max_queued: Runs that may wait.
        max_attempts: How often a script is started if servers die under it.
        keep_runs: Finished runs kept.
        keep_days: Days for which a finished run is kept.
        stop_seconds: For which a server that is asked to stop waits for its runs.
        poll_seconds: From one look into the queue to the next. Each costs a few milliseconds of CPU, also where nothing waits.
    """

    host: str
    port: int
    api_key: str | None
    state: Path
    database_url: str | None
    server_name: str | None
    concurrency: int
    max_queued: int
    max_attempts: int
    keep_runs: int
    keep_days: float
    stop_seconds: int
    poll_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The settings by which runs are queued and kept.

    Attributes:
        database_url: A SQLAlchemy URL, of SQLite or PostgreSQL.
        server_name: Under which a server finds its own runs again after it died. No two that live may share one.
        concurrency: Runs at a time.
        max_queued: Runs that may wait.
        max_attempts: How often a script is started if servers die under it.
        keep_runs: Finished runs kept.
        keep_days: Days for which a finished run is kept.
        stop_seconds: For which a server that is asked to stop waits for its runs.
        poll_seconds: From one look into the queue to the next. Each costs a few milliseconds of CPU, also where nothing waits.
    """

    database_url: str
    server_name: str
    concurrency: int
    max_queued: int
    max_attempts: int
    keep_runs: int
    keep_days: float
    stop_seconds: int
    poll_seconds: float
