"""The settings of `dify-agent serve`, on top of those of every server."""

import re
from typing import Final

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import SettingsConfigDict

from agent_server.settings import ServerSettings
from dify_agent._headers import is_header_text
from dify_agent.runtime.runner import MAX_MODEL_REQUESTS


__all__ = [
    "RENAMED_SETTINGS",
    "DifyAgentSettings",
]

RENAMED_SETTINGS: Final = {
    "DATABASE_URL": "DATABASE",
    "STORAGE_KEY": "STORAGE_KEYS",
    "API_KEY": "API_KEYS",
    "RETENTION_HOURS": "KEEP_DAYS",
    "DRAIN_SECONDS": "STOP_SECONDS",
}
"""Earlier names of settings, without their prefix, and the present ones."""


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
        repeat_shown: Whether to repeat a model request that broke off even if part of the answer was shown.
    """

    model_config = SettingsConfigDict(
        env_prefix="DIFY_AGENT_", extra="ignore", hide_input_in_errors=True
    )

    port: int = Field(default=8081, ge=0, le=65535)
    plugin_daemon_url: str = "http://localhost:5002"
    plugin_daemon_api_key: SecretStr = SecretStr("")
    inner_api_url: str | None = None
    inner_api_key: SecretStr = SecretStr("")
    model_silence_seconds: float = Field(default=600, gt=0)
    keep_alive_silence_seconds: float = Field(default=60, gt=0)
    tool_silence_seconds: float = Field(default=600, gt=0)
    max_model_requests: int = Field(default=MAX_MODEL_REQUESTS, ge=1)
    repeat_shown: bool = True

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
