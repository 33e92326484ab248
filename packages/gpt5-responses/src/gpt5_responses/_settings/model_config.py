"""A model and where it is, declared in one value."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, Self

from gpt5_payloads import McpTokens
from gpt5_prices import ModelPrice
from gpt5_responses._errors import SettingsError

from .base_urls import DEFAULT_BASE_URL
from .connection import Compatibility, Connection


_DEFAULT_MODEL = "gpt-5.5"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A model and where it is.

    Attributes:
        model_id: The model's name, such as `gpt-5`.
        api_key: The key; never part of `repr`.
        base_url: The API's address, as people paste it: a host, a root or an endpoint; `/v1` is added where it is missing.
        organization: The organisation to bill, if not the key's own.
        timeout_seconds: Seconds to wait for a connection, and then for each next event, limited to 30 to 900.
        max_retries: How often a request that could not be started is sent again, limited to 0 to 5.
        total_seconds: Seconds that a call may take in all; None for the limit of the environment, if it sets one.
        extra_headers: Extra headers for every request, for gateways; never part of `repr`. See `Connection`.
        mcp_tokens: The tokens of MCP servers by server label: `{"token": ..., "host": ...}` for a server with an
            address, a text alone for a connector or tunnel; never part of `repr`. They are sent for the servers that a
            request names; a request for another host is refused.
        price: The model's price, for the cost of each answer: `listed` for its price in `gpt5_prices`, which applies to
            OpenAI's own server only; a price, such as `price_of("gpt-5.5")`, for a server that bills it; None for no
            price.
        compatibility: What becomes of the parameters that some servers do not know: `auto`, `openai` or `compatible`. See `Connection`.
        transport: What the requests of a session go by: `http`, or `websocket` for one socket that gets only what is
            new. See `ResponsesClient.session`.
    """

    model_id: str
    api_key: str = field(repr=False)
    base_url: str = DEFAULT_BASE_URL
    organization: str | None = None
    timeout_seconds: int = 300
    max_retries: int = 1
    total_seconds: float | None = None
    extra_headers: Mapping[str, str] | None = field(default=None, repr=False, hash=False)
    mcp_tokens: McpTokens | None = field(default=None, repr=False, hash=False)
    price: ModelPrice | Literal["listed"] | None = "listed"
    compatibility: Compatibility = "auto"
    transport: Literal["http", "websocket"] = "http"

    def __post_init__(self) -> None:
        """Refuse a transport that there is not."""
        if self.transport not in ("http", "websocket"):
            shown = repr(self.transport)[:50]
            message = f"transport must be http or websocket, got {shown}"
            raise SettingsError(message, field="transport")

    @classmethod
    def from_env(cls, *, environ: Mapping[str, str] = os.environ, model: str | None = None) -> Self:
        """Read key, server, organisation and model from the environment; `dataclasses.replace` changes the rest.

        Args:
            environ: `OPENAI_API_KEY`, and optionally `OPENAI_BASE_URL`, `OPENAI_ORG_ID` (or `OPENAI_ORGANIZATION`) and
                `OPENAI_MODEL` (default `gpt-5.5`).
            model: The model, in place of `OPENAI_MODEL`.

        Raises:
            SettingsError: If the key is missing, or a variable is not usable; `field` names it.
        """
        connection = Connection.from_env(environ=environ)
        return cls(
            model_id=model or environ.get("OPENAI_MODEL", "").strip() or _DEFAULT_MODEL,
            api_key=connection.api_key,
            # A root without a version would get one when it is read again.
            base_url=connection.base_url
            if connection.base_url.endswith("/v1")
            else environ["OPENAI_BASE_URL"],
            organization=connection.organization,
        )

    def connect(self) -> Connection:
        """Return the connection that this describes.

        Raises:
            SettingsError: If the key is missing, or the key, organisation, base URL, an extra header, a token or `compatibility` is not usable.
        """
        return Connection.from_settings(
            {setting.name: getattr(self, setting.name) for setting in fields(self)}
        )
