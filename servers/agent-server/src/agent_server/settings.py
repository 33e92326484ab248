"""The settings of a server, from flags and environment variables with the same names."""

import base64
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Annotated, Final, Literal

import httpx
from cryptography.fernet import Fernet
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from stream_text.addresses import is_host, plain_host


__all__ = ["DEFAULT_TENANT", "LOOPBACK_HOSTS", "KeyHolder", "ServerSettings", "Webhook"]

LOOPBACK_HOSTS: Final = frozenset({"127.0.0.1", "::1", "localhost"})
"""The names of this machine that only the machine itself can reach."""

DEFAULT_TENANT: Final = "default"
"""The tenant of requests without a key, or with a key that names no tenant: the operator, who sees the metrics of all."""

_LARGEST_INT: Final = 10**15
_LARGEST_FLOAT: Final = 10**6
_DATABASE_KINDS: Final = "expected sqlite:///path or postgresql://user:password@host/name"
_KEY_FORM: Final = (
    "expected pairs of tenant:key with commas between, of printable characters without spaces"
)
# A tenant's name is also the name of the folder for its run logs.
_TENANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", re.ASCII)
# Printable ASCII without the comma, which separates pairs.
_KEY: Final = re.compile(r"[!-+\--~]+", re.ASCII)
_ORIGIN: Final = re.compile(
    r"(https?)://((?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?)/?", re.ASCII
)
_PORTS: Final = range(1, 65536)
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}
_ENGINE: Final = re.compile(r"tables|[a-z][a-z0-9]*://\S+", re.ASCII)
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what each begins with
_SECRET_BYTES: Final = range(24, 65)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """The webhook that is notified of runs.

    Attributes:
        url: The URL; its query may hold a secret.
        key: The key to sign with.
    """

    url: httpx.URL = field(repr=False)
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHolder:
    """Holder of a key, with what it is good for besides reading.

    Attributes:
        tenant: The tenant.
        may_start: Whether it may start, cancel and delete runs, and give results of the client's own tools.
        may_answer: Whether it may approve calls and answer questions.
    """

    tenant: str
    may_start: bool = True
    may_answer: bool = True


def _validate_host(value: str) -> str:
    if not value or not value.isprintable() or " " in value:
        raise ValueError("expected an address of this machine")
    return value


def _validate_folder(value: str | Path) -> str | Path:
    path = Path(value)
    if not str(value).strip() or (path.exists() and not path.is_dir()):
        raise ValueError("expected a folder")
    return value


def _validate_database(value: SecretStr) -> SecretStr:
    try:
        url = make_url(value.get_secret_value())
    except (ArgumentError, ValueError):
        raise ValueError(_DATABASE_KINDS) from None
    backend = url.get_backend_name()
    if backend == "sqlite" and url.database in {None, "", ":memory:"}:
        raise ValueError("expected a file, since runs must survive a restart")
    if backend not in {"sqlite", "postgresql"}:
        raise ValueError(_DATABASE_KINDS)
    return value


def _validate_engine(value: str) -> str:
    if not _ENGINE.fullmatch(value):
        raise ValueError("expected tables, or a URL such as temporal://HOST:PORT/NAMESPACE")
    return value


def _validate_server_name(value: str) -> str:
    if not (value.isprintable() and 0 < len(value.strip()) <= 100):  # noqa: PLR2004 - our choice
        raise ValueError("expected 1 to 100 characters that can be printed")
    return value


def _validate_storage_keys(value: SecretStr) -> SecretStr:
    for key in value.get_secret_value().split(","):
        try:
            Fernet(key.strip())
        except ValueError:
            raise ValueError(
                "expected Fernet keys, each 32 bytes in URL-safe base64, with commas between"
            ) from None
    return value


def _validate_webhook_url(value: str) -> str:
    url = _parse_url(value)
    is_local = url.scheme == "http" and url.host in LOOPBACK_HOSTS
    if not (url.scheme == "https" or is_local):
        raise ValueError("expected a URL with https; with http only to this machine")
    if url.userinfo or url.fragment:
        raise ValueError("expected a URL without a user, a password and a fragment")
    return value


class ServerSettings(BaseSettings):
    """The settings of every server; each is a flag `--name-with-hyphens` and an environment variable `<PREFIX>_NAME`.

    `<PREFIX>_` is the `env_prefix` of a subclass, and `AGENT_SERVER_` without one.

    Attributes:
        host: Address to listen on; one that other machines can reach needs `api_keys`.
        port: Port to listen on, 0 for any.
        api_keys: `tenant:key` pairs, separated by commas; a key alone belongs to the tenant `default`, who sees the
            metrics of all. `tenant:key:start` may start runs and not answer them, `tenant:key:answer` the reverse.
            Without any, only this machine may call the server.
        allow_origin: Origins of pages elsewhere that may call the server from a browser, such as `https://chat.example.com`, separated by commas.
        state: Folder for the server's own files, such as its database.
        database: `sqlite:///path` or `postgresql://…`; by default a file in `state`.
        engine: What executes runs: `tables`, the servers themselves, using their database; or the URL of an
            engine of another package, such as `temporal://HOST:PORT/NAMESPACE` of gpt5-agent-temporal.
        server_name: Name of this server among those that share its database; generated if left out, and refused if a living server has it.
        storage_keys: Fernet keys, separated by commas: the first encrypts what is stored, all can decrypt it. Without any it is stored unencrypted.
        concurrency: Runs executed at a time.
        max_queued: Runs that may wait, of all tenants.
        max_active_per_tenant: Runs of one tenant that may wait or run.
        max_waiting_per_tenant: Runs of one tenant that may wait for an answer; they do not count as active.
        max_watchers: Streams of events at a time.
        max_watchers_per_tenant: Streams of events of one tenant at a time.
        max_request_bytes: Largest body of a request.
        max_events: Events of one run.
        max_event_bytes: Bytes that the events of one run may take together.
        max_attempts: How many servers may die while they execute a run before it fails; servers that are stopped do not count.
        retries: How often a step is retried after a transient error.
        keep_runs: Finished runs to keep of each tenant.
        keep_days: Days to keep a finished run.
        keep_waiting_days: Days that a run waits for an answer before it fails.
        keep_unstored_seconds: Seconds to keep a run with `store: false` after its end.
        keep_bytes: Size to which the database may grow; beyond it the oldest finished runs of tenants above their share are deleted.
        keep_alive_seconds: Silence after which a stream of events sends a comment.
        client_seconds: How long a client may take to send a request's head, to send its body, and to read what it was
            sent, before it is disconnected.
        lease_seconds: Silence after which other servers take over a server's runs.
        unserved_seconds: How long a run waits while no server has its agent, before it fails.
        unready_seconds: How long `/ready` answers 503 after a signal to stop, before the server takes no more requests;
            a second signal skips the wait.
        stop_seconds: How long runs may continue after the server is asked to stop.
        responses: Whether conversational agents are served at `/v1/responses`.
        log_format: Form of the log on standard error: `text`, or `json` with an object on each line.
        traces: Whether requests and runs are sent as OpenTelemetry spans, over OTLP (HTTP) to the address in the
            variables `OTEL_…`, by default port 4318 of this machine; needs the extra `traces`.
        run_logs: Folder for the logs of runs, as `gpt5-run-log` writes them, with a folder for each tenant; none are written without it.
        webhook_url: URL that gets a message when a run waits or has ended; `https`, or `http` on this machine.
        webhook_secret: Secret that signs the messages to `webhook_url`: `whsec_` and 24 to 64 bytes in base64.
    """

    # Without a prefix it would read `HOST` and `PORT`, which platforms and shells set for others.
    model_config = SettingsConfigDict(
        env_prefix="AGENT_SERVER_", extra="ignore", hide_input_in_errors=True
    )

    host: Annotated[str, AfterValidator(_validate_host)] = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    api_keys: SecretStr | None = None
    allow_origin: str | None = None
    state: Annotated[Path, BeforeValidator(_validate_folder)] | None = None
    database: Annotated[SecretStr, AfterValidator(_validate_database)] | None = None
    engine: Annotated[str, AfterValidator(_validate_engine)] = "tables"
    server_name: Annotated[str, AfterValidator(_validate_server_name)] | None = None
    storage_keys: Annotated[SecretStr, AfterValidator(_validate_storage_keys)] | None = None
    concurrency: int = Field(default=8, ge=1, le=1000)
    max_queued: int = Field(default=10_000, ge=1)
    max_active_per_tenant: int = Field(default=1000, ge=1)
    max_waiting_per_tenant: int = Field(default=1000, ge=1)
    max_watchers: int = Field(default=2000, ge=1)
    max_watchers_per_tenant: int = Field(default=1500, ge=1)
    max_request_bytes: int = Field(default=8 * 1024 * 1024, ge=1024)
    max_events: int = Field(default=100_000, ge=10)
    max_event_bytes: int = Field(default=64 * 1024 * 1024, ge=1024)
    max_attempts: int = Field(default=5, ge=1)
    retries: int = Field(default=4, ge=0)
    keep_runs: int = Field(default=10_000, ge=0)
    keep_days: float = Field(default=7, ge=0)
    keep_waiting_days: float = Field(default=7, ge=0)
    keep_unstored_seconds: float = Field(default=300, ge=0)
    keep_bytes: int = Field(default=10 * 1024**3, ge=1024**2)
    keep_alive_seconds: float = Field(default=15, gt=0)
    client_seconds: float = Field(default=30, gt=0)
    lease_seconds: float = Field(default=15, gt=0)
    unserved_seconds: float = Field(default=600, ge=0)
    unready_seconds: float = Field(default=1, ge=0)
    stop_seconds: float = Field(default=5, ge=0)
    responses: bool = True
    log_format: Literal["text", "json"] = "text"
    traces: bool = False
    run_logs: Annotated[Path, BeforeValidator(_validate_folder)] | None = None
    webhook_url: Annotated[str, AfterValidator(_validate_webhook_url)] | None = None
    webhook_secret: SecretStr | None = None

    @field_validator("*")
    @classmethod
    def _validate_number(cls, value: object) -> object:
        # Beyond these, databases, sockets and clocks fail one after the other, long after the start.
        if isinstance(value, int) and value > _LARGEST_INT:
            raise ValueError(f"expected at most {_LARGEST_INT}")
        if isinstance(value, float) and value > _LARGEST_FLOAT:
            raise ValueError(f"expected at most {_LARGEST_FLOAT}")
        return value

    @field_validator("api_keys")
    @classmethod
    def _validate_api_keys(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if value is not None:
            _parse_api_keys(value.get_secret_value())
        # A host that was refused itself is not in the data.
        elif info.data.get("host", "localhost") not in LOOPBACK_HOSTS:
            raise ValueError(
                "expected at least one key because other machines can reach the server; without keys listen on 127.0.0.1"
            )
        return value

    @field_validator("allow_origin")
    @classmethod
    def _validate_allow_origin(cls, value: str | None) -> str | None:
        if value is not None:
            _parse_origins(value)
        return value

    @field_validator("traces")
    @classmethod
    def _validate_traces(cls, value: bool) -> bool:  # noqa: FBT001 - so a validator gets it
        if value:
            try:
                import_module("agent_server._command.traces")
            except ModuleNotFoundError as error:
                raise ValueError(
                    f"expected OpenTelemetry ({error.name}), which the extra `traces` brings: gpt5-agent-server[traces]"
                ) from None
        return value

    @field_validator("webhook_secret")
    @classmethod
    def _validate_webhook_secret(
        cls, value: SecretStr | None, info: ValidationInfo
    ) -> SecretStr | None:
        if value is not None:
            _parse_webhook_secret(value.get_secret_value())
        elif info.data.get("webhook_url") is not None:
            raise ValueError("expected a secret to sign the webhook with")
        return value

    def keys(self) -> Mapping[str, KeyHolder]:
        """Return who holds each key; empty if no key is needed."""
        return {} if self.api_keys is None else _parse_api_keys(self.api_keys.get_secret_value())

    def origins(self) -> frozenset[str]:
        """Return the origins of pages elsewhere that may call the server, as browsers write them."""
        return frozenset() if self.allow_origin is None else _parse_origins(self.allow_origin)

    def tenant_logs(self, tenant: str) -> Path | None:
        """Return the folder for the run logs of a tenant, which need not exist yet; None if none are written."""
        return None if self.run_logs is None else self.run_logs / tenant

    def webhook(self) -> Webhook | None:
        """Return the webhook that is notified of runs; None if there is none."""
        if self.webhook_url is None or self.webhook_secret is None:
            return None
        key = _parse_webhook_secret(self.webhook_secret.get_secret_value())
        return Webhook(url=httpx.URL(self.webhook_url), key=key)


def _parse_url(text: str) -> httpx.URL:
    """Return the URL in a text.

    Raises:
        ValueError: If it is none, or has a host or a port that nobody can connect to; the error does not name it.
    """
    with suppress(httpx.InvalidURL, ValueError):
        url = httpx.URL(text)
        if is_host(plain_host(url.host)) and (url.port is None or url.port in _PORTS):
            return url
    raise ValueError("expected a URL with a host that can be looked up, and a port from 1 to 65535")


def _parse_webhook_secret(text: str) -> bytes:
    """Return the key in a secret of Standard Webhooks.

    Raises:
        ValueError: If it has another form; the error does not name it.
    """
    encoded = text.removeprefix(_SECRET_PREFIX)
    with suppress(ValueError):
        key = base64.b64decode(encoded, validate=True)
        # Signs that are too many at its end are passed over.
        is_whole = text.startswith(_SECRET_PREFIX) and len(base64.b64encode(key)) == len(encoded)
        if is_whole and len(key) in _SECRET_BYTES:
            return key
    raise ValueError("expected whsec_ and 24 to 64 bytes in base64")


def _parse_origins(text: str) -> frozenset[str]:
    """Return the origins in a text.

    Raises:
        ValueError: If one has another form, such as `*`.
    """
    origins: set[str] = set()
    for one in text.lower().split(","):
        found = _ORIGIN.fullmatch(one.strip())
        if found is None:
            raise ValueError(
                "expected origins such as https://chat.example.com, with commas between"
            )
        _parse_url(found[0])
        # A browser leaves a default port out.
        origins.add(f"{found[1]}://{found[2].removesuffix(_DEFAULT_PORTS[found[1]])}")
    return frozenset(origins)


def _parse_api_keys(text: str) -> Mapping[str, KeyHolder]:
    """Return who holds each key in `tenant:key,tenant:key:start,…`.

    Raises:
        ValueError: If the text has another form; the error names no key.
    """
    holders: dict[str, KeyHolder] = {}
    for pair in text.split(","):
        name, colon, key = pair.strip().partition(":")
        tenant, key = (name, key) if colon else (DEFAULT_TENANT, name)
        rest, _, limit = key.rpartition(":")
        is_limited = bool(rest) and limit in {"start", "answer"}
        if is_limited:
            key = rest
        if not _TENANT.fullmatch(tenant):
            raise ValueError(
                "expected tenants of at most 63 letters, digits, `_`, `.` and `-`, a letter or digit first"
            )
        if not _KEY.fullmatch(key):
            raise ValueError(_KEY_FORM)
        holder = KeyHolder(
            tenant=tenant,
            may_start=not is_limited or limit == "start",
            may_answer=not is_limited or limit == "answer",
        )
        if holders.setdefault(key, holder) != holder:
            raise ValueError("expected each key to belong to one tenant and to have one limit")
    return holders
