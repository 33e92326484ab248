"""The settings of a server, from flags and environment variables, under one naming."""

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServerSettings(BaseSettings):
    """The settings that every server has; each is a flag `--name-with-hyphens` and an environment variable `<PREFIX>_NAME`.

    Attributes:
        host: Address to listen on; other machines may reach it only where there is a key.
        port: Port to listen on, 0 for any.
        api_keys: Who may ask: `tenant:key` pairs with commas between; a key alone is the tenant `default`. None: this machine only, no key.
        state: Folder of the server's own, for its database, logs and lock.
        database: `sqlite:///path` or `postgresql://…`; by default a file in `state`.
        server_name: Tells this server from the others of its database; made up if left out. One that a living server has is refused.
        storage_keys: Fernet keys with commas between: the first seals what is stored, all can open it. None stores it as it is.
        concurrency: Runs at a time.
        max_queued: Runs that may wait, of all tenants.
        max_active_per_tenant: Runs of one tenant that may wait or run.
        max_watchers: Streams of events at a time.
        max_request_bytes: Of a request's body.
        max_events: Of one run.
        max_event_bytes: Of one run's events together.
        max_attempts: How often a run is begun if servers die under it.
        retries: How often a step is tried again after a transient fault.
        keep_runs: Finished runs that are kept.
        keep_days: Days for which a finished run is kept.
        keep_bytes: What the database may hold; the oldest finished runs go first.
        keep_alive_seconds: After how long a silence a stream of events carries a comment.
        lease_seconds: After how long a silence other servers take over a server's runs.
        stop_seconds: How long a server that is told to stop lets its runs go on.
        run_logs: Folder for a log of each run, as `gpt5-run-log` writes them; None for none.
    """

    model_config = SettingsConfigDict(extra="ignore", hide_input_in_errors=True)

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    api_keys: SecretStr | None = None
    state: Path | None = None
    database: SecretStr | None = None
    server_name: str | None = None
    storage_keys: SecretStr | None = None
    concurrency: int = Field(default=8, ge=1, le=1000)
    max_queued: int = Field(default=10_000, ge=1)
    max_active_per_tenant: int = Field(default=1000, ge=1)
    max_watchers: int = Field(default=2000, ge=1)
    max_request_bytes: int = Field(default=8 * 1024 * 1024, ge=1024)
    max_events: int = Field(default=100_000, ge=10)
    max_event_bytes: int = Field(default=64 * 1024 * 1024, ge=1024)
    max_attempts: int = Field(default=5, ge=1)
    retries: int = Field(default=4, ge=0)
    keep_runs: int = Field(default=10_000, ge=0)
    keep_days: float = Field(default=7, ge=0)
    keep_bytes: int = Field(default=10 * 1024**3, ge=1024**2)
    keep_alive_seconds: float = Field(default=15, gt=0)
    lease_seconds: float = Field(default=15, gt=0)
    stop_seconds: float = Field(default=5, ge=0)
    run_logs: Path | None = None
