"""The settings of `dify-agent serve`, on top of those of every server."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from pydantic import (
    Field,
    JsonValue,
    SecretStr,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import SettingsConfigDict

from agent_server.settings import DEFAULT_TENANT, LOOPBACK_HOSTS, ServerSettings

from ._headers import is_header_text
from ._limits import MAX_MODEL_REQUESTS
from .dify_versions import DifyVersion


RENAMED_SETTINGS: Final = {
    "DATABASE_URL": "DATABASE",
    "STORAGE_KEY": "STORAGE_KEYS",
    "API_KEY": "API_KEYS",
    "RETENTION_HOURS": "KEEP_DAYS",
    "DRAIN_SECONDS": "STOP_SECONDS",
}
"""Earlier names of settings, without their prefix, and the present ones."""

_DAY: Final = 24 * 60 * 60
_BY_MODEL: Final = TypeAdapter(dict[str, dict[str, JsonValue]])
# What can stand among the keys, and means itself there.
_TOKEN: Final = re.compile(r"(?![\s\S]*:(?:start|answer)\Z)[!-+\--~]+")


class DifyAgentSettings(ServerSettings):
    """The settings of `dify-agent serve`.

    Attributes:
        plugin_daemon_url: Where the plugin daemon listens.
        plugin_daemon_api_key: The daemon's key, sent as `X-Api-Key`.
        inner_api_url: Where Dify's API is, for its own tools, knowledge and models with its own credentials; None if runs have none of these.
        inner_api_key: The key of Dify's inner API, sent as `X-Inner-Api-Key`.
        model_silence_seconds: How long a model's reply may be silent before the run fails.
        keep_alive_silence_seconds: The same for a model that has shown that it sends keep-alives.
        tool_silence_seconds: How long a tool's reply may be silent before the tool counts as failed.
        max_model_requests: The most model requests of a run.
        model_parameters: Additional parameters for models of Dify's agents, as JSON: `{"gpt-5*": {"reasoning_effort": "medium"}}`.
        repeat_shown: Whether to repeat a model request that broke off even if part of the answer was shown.
        run_timeout_seconds: How long a run may be executed without interruption before it fails; None for as long as it takes.
        store_plain: Whether requests, which hold credentials, may be stored unencrypted by a server that other machines can reach.
        dify_version: The version of the Dify that calls `/runs`, which decides what it is sent; by default inferred from requests.
        replay_requests: Whether a request of Dify that comes again, with the same `idempotency_key` and the same body,
            returns the run created the first time.
        api_token: Dify's name for a key of the tenant `default`, in addition to those in `api_keys`.
        run_retention_seconds: Dify's name for `keep_days`, in seconds.
        shutdown_grace_seconds: Dify's name for `stop_seconds`.
    """

    model_config = SettingsConfigDict(
        env_prefix="DIFY_AGENT_",
        env_ignore_empty=True,  # What `${NAME:-}` in a compose file leaves is no setting.
        extra="ignore",
        hide_input_in_errors=True,
    )

    port: int = Field(default=8081, ge=0, le=65535)
    concurrency: int = Field(default=64, ge=1, le=1000)  # A run mostly waits for its model.
    # Two pictures of 10 MB, the most that Dify takes, in base64: while one such request is read and run, memory rises by 100 MB at most.
    max_request_bytes: int = Field(default=28 * 1024 * 1024, ge=1024)
    plugin_daemon_url: str = "http://localhost:5002"
    plugin_daemon_api_key: SecretStr = SecretStr("")
    inner_api_url: str | None = None
    inner_api_key: SecretStr = SecretStr("")
    model_silence_seconds: float = Field(default=600, gt=0)
    keep_alive_silence_seconds: float = Field(default=60, gt=0)
    tool_silence_seconds: float = Field(default=600, gt=0)
    max_model_requests: int = Field(default=MAX_MODEL_REQUESTS, ge=1)
    model_parameters: str | None = None
    repeat_shown: bool = True
    run_timeout_seconds: float | None = Field(default=None, gt=0)
    store_plain: bool = False
    dify_version: str | None = None
    replay_requests: bool = False
    api_token: SecretStr | None = None
    run_retention_seconds: float | None = Field(default=None, ge=0)
    shutdown_grace_seconds: float | None = Field(default=None, ge=0)

    @property
    def parameters_by_model(self) -> Mapping[str, Mapping[str, JsonValue]]:
        """The parameters in `model_parameters`, by the names of models."""
        return _BY_MODEL.validate_json(self.model_parameters or "{}")

    @model_validator(mode="before")
    @classmethod
    def _take_dify_names(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Take what has another name in Dify's own server, unless it is given by ours as well."""
        named = dict(values)
        if (token := values.get("api_token")) is not None:
            text = _reveal(token)
            if _TOKEN.fullmatch(text):  # Its own check says so.
                keys = [f"{DEFAULT_TENANT}:{text}"]
                if (given := values.get("api_keys")) is not None:
                    keys.append(_reveal(given))
                named["api_keys"] = ",".join(keys)
        if (seconds := values.get("run_retention_seconds")) is not None:
            with suppress(ValueError):  # Its own check says so.
                named.setdefault("keep_days", float(seconds) / _DAY)
        if (seconds := values.get("shutdown_grace_seconds")) is not None:
            named.setdefault("stop_seconds", seconds)
        return named

    @field_validator("store_plain")
    @classmethod
    def _validate_store_plain(cls, value: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - pydantic's signature
        # Settings that were refused themselves are not in the data.
        is_open = info.data.get("host", "localhost") not in LOOPBACK_HOSTS
        if is_open and not value and info.data.get("storage_keys", "refused") is None:
            raise ValueError(
                "expected storage_keys where other machines can reach the server, since requests hold credentials; or this, to store them unencrypted"
            )
        return value

    @field_validator("api_token")
    @classmethod
    def _validate_api_token(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not _TOKEN.fullmatch(value.get_secret_value()):
            raise ValueError(
                "expected printable characters without spaces and commas, that do not end with :start or :answer"
            )
        return value

    @field_validator("model_parameters")
    @classmethod
    def _validate_model_parameters(cls, value: str | None) -> str | None:
        try:
            _BY_MODEL.validate_json("{}" if value is None else value)
        except ValidationError:
            raise ValueError(
                'expected a JSON object of models and their parameters, as {"gpt-5*": {"reasoning_effort": "medium"}}'
            ) from None
        return value

    @field_validator("dify_version")
    @classmethod
    def _validate_dify_version(cls, value: str | None) -> str | None:
        if value is not None:
            DifyVersion.parse(value)
        return value

    @field_validator("plugin_daemon_url", "inner_api_url")
    @classmethod
    def _validate_url(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"https?://\S+", value):
            raise ValueError("expected an address that begins with http:// or https://")
        return value

    @field_validator("plugin_daemon_api_key", "inner_api_key")
    @classmethod
    def _validate_key(cls, value: SecretStr) -> SecretStr:
        if not is_header_text(value.get_secret_value()):
            raise ValueError("expected one line of text without spaces around it")
        return value


def _reveal(value: SecretStr | str) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else value
