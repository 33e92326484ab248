"""The settings of a server, from environment variables."""

import re
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet
from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from dify_agent._headers import is_header_text


LOOPBACK_HOSTS: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_DEFAULT_DATABASE: Final = Path("~/.dify-agent/runs.sqlite")

_DATABASE_KINDS: Final = "expected sqlite:///path or postgresql://user:password@host/name"


class ServerSettings(BaseSettings):
    """The settings of a server, each read from the environment variable `DIFY_AGENT_` + its name.

    Attributes:
        plugin_daemon_url: Where the plugin daemon listens.
        plugin_daemon_api_key: The daemon's key, sent as `X-Api-Key`.
        model_silence_seconds: How long a model's reply may say nothing before the run ends.
        keep_alive_silence_seconds: The same for a model that has shown that it sends keep-alives.
        tool_silence_seconds: How long a tool's reply may say nothing before the tool counts as failed.
        database_url: Where runs are stored: `sqlite:///path` for one machine, `postgresql://…` for several. Default: a file in
            `~/.dify-agent`.
        storage_key: A Fernet key. Where it is set, requests, results and events are stored encrypted.
        api_key: What clients of this server must send as `Authorization: Bearer` or `X-Api-Key`; without one the server
            listens on the loopback interface only.
        host: The address to listen on.
        port: The port to listen on.
        concurrency: How many runs this server works on at a time.
        max_request_bytes: How large a request's body may be.
        keep_alive_seconds: After how long a silence a stream of events carries a comment, so that proxies keep it open.
        retention_hours: How long a finished run can still be read.
        lease_seconds: After how long a silence other servers take over a server's runs.
        drain_seconds: How long a server that is told to stop lets its runs go on before it leaves them to the next one.
    """

    model_config = SettingsConfigDict(
        env_prefix="DIFY_AGENT_", extra="ignore", hide_input_in_errors=True
    )

    plugin_daemon_url: str = "http://localhost:5002"
    plugin_daemon_api_key: SecretStr = SecretStr("")
    model_silence_seconds: float = Field(default=600, gt=0)
    keep_alive_silence_seconds: float = Field(default=60, gt=0)
    tool_silence_seconds: float = Field(default=600, gt=0)
    database_url: SecretStr = SecretStr("")
    storage_key: SecretStr | None = None
    api_key: SecretStr | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=5050, ge=0, le=65535)
    concurrency: int = Field(default=8, ge=1)
    max_request_bytes: int = Field(default=8 * 1024 * 1024, ge=1)
    keep_alive_seconds: float = Field(default=15, gt=0)
    retention_hours: float = Field(default=24, gt=0)
    lease_seconds: float = Field(default=15, gt=0)
    drain_seconds: float = Field(default=5, ge=0)

    @field_validator("plugin_daemon_url")
    @classmethod
    def _validate_daemon_url(cls, value: str) -> str:
        if not re.fullmatch(r"https?://\S+", value):
            raise ValueError("expected an address that begins with http:// or https://")
        return value

    @field_validator("plugin_daemon_api_key")
    @classmethod
    def _validate_daemon_key(cls, value: SecretStr) -> SecretStr:
        if not is_header_text(value.get_secret_value()):
            raise ValueError("expected one line of text without spaces around it")
        return value

    @field_validator("database_url")
    @classmethod
    def _validate_database_url(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value() or f"sqlite:///{_DEFAULT_DATABASE.expanduser()}"
        try:
            url = make_url(text)
        except ArgumentError as error:
            raise ValueError(_DATABASE_KINDS) from error
        backend = url.get_backend_name()
        if backend == "sqlite" and url.database in {None, "", ":memory:"}:
            raise ValueError("expected a file, since runs must survive a restart")
        if backend not in {"sqlite", "postgresql"}:
            raise ValueError(_DATABASE_KINDS)
        return SecretStr(text)

    @field_validator("storage_key")
    @classmethod
    def _validate_storage_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            try:
                Fernet(value.get_secret_value())
            except ValueError:
                raise ValueError("expected a Fernet key: 32 bytes in URL-safe base64") from None
        return value

    @field_validator("api_key")
    @classmethod
    def _validate_api_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value():
            raise ValueError("expected a key; leave the variable out for none")
        return value

    @field_validator("host")
    @classmethod
    def _validate_host(cls, value: str, info: ValidationInfo) -> str:
        if value not in LOOPBACK_HOSTS and info.data.get("api_key") is None:
            raise ValueError("expected a loopback address unless DIFY_AGENT_API_KEY is set")
        return value
