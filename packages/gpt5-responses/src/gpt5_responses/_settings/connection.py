"""The connection to a server: settings as people type them, normalised or refused by name."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Self, cast, get_args
from urllib.parse import urlsplit

from gpt5_payloads import McpTokens
from gpt5_responses._errors import SettingsError
from stream_text import KnownSecrets, is_object, iter_header_secrets

from . import base_urls
from .base_urls import AZURE_HOSTS, DEFAULT_BASE_URL
from .extra_headers import read_extra_headers
from .header_settings import SecretTexts
from .mcp_tokens import iter_token_secrets, list_texts, read_mcp_tokens


ALLOWED_HOSTS_VARIABLE = "OPENAI_GPT5_ALLOWED_BASE_URL_HOSTS"
"""Environment variable: a comma-separated list of the hosts that a base URL may name; no limit if it is empty."""

TOTAL_SECONDS_VARIABLE = "OPENAI_GPT5_TOTAL_TIMEOUT_SECONDS"
"""Environment variable: how many seconds a call may take in all; no limit if it is empty or 0."""

PLATFORM_SECONDS_VARIABLE = "PLUGIN_MAX_EXECUTION_TIMEOUT"
"""Environment variable that the plugin daemon passes on: the seconds after which it ends a call, before the plugin can report anything."""

type Compatibility = Literal["auto", "openai", "compatible"]
"""What becomes of the parameters that some servers do not know: left out once refused, never, or from the start."""

# Regions have hosts of their own, such as eu.api.openai.com.
_OPENAI_HOSTS = ".api.openai.com"

_COMPATIBILITIES = get_args(Compatibility.__value__)
_NO_LIMIT = float("inf")
# Seconds. The daemon counts from before the plugin has a call until after its last word.
_PLATFORM_MARGIN = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A server, a key, and how to reach the server with it.

    Attributes:
        api_key: The key; never part of `repr`.
        base_url: The API's root, ending in `/v1` unless the server has another. A query, such as `?api-version=preview`, is sent with every request.
        organization: The organisation to bill, if not the key's own.
        timeout_seconds: Seconds to wait for a connection, and then for each next event, from 30 to 900.
        max_retries: How often a request that could not be started is sent again, from 0 to 5.
        total_seconds: Seconds that a call may take in all, its retries included; None for no limit.
        total_limit: The setting that `total_seconds` comes from, for the error.
        extra_headers: Headers for every request, for gateways; never part of `repr`. They replace what the client says about
            itself, such as `User-Agent`. Headers that the connection needs, such as `Authorization` or `Host`, cannot be set.
        mcp_tokens: The tokens of MCP servers by server label, each `{"token": ..., "host": ...}` or, for connectors and tunnels, a text, for
            `gpt5_payloads.build_request`; never part of `repr`.
        compatibility: What becomes of the parameters that some servers do not know: they are left out once the server
            has refused them (`auto`), never (`openai`), or from the start (`compatible`).

    Raises:
        SettingsError: If the key is missing, the base URL is not usable or names the metadata service of a cloud, the key or organisation cannot
            be sent in a header, an extra header or a token is not usable, or a field has the wrong type, is not above 0 or is none of its words.
    """

    api_key: str = field(repr=False)
    base_url: str = DEFAULT_BASE_URL
    organization: str | None = None
    timeout_seconds: float = 300.0
    max_retries: int = 1
    total_seconds: float | None = None
    total_limit: str = TOTAL_SECONDS_VARIABLE
    extra_headers: Mapping[str, str] = field(default_factory=lambda: SecretTexts({}), repr=False)
    mcp_tokens: McpTokens = field(default_factory=lambda: SecretTexts({}), repr=False)
    compatibility: Compatibility = "auto"

    def __post_init__(self) -> None:
        """Raise now for settings that would fail or do harm when the first request is sent."""
        for name in ("api_key", "base_url", "organization", "total_limit"):
            if name != "organization" or self.organization is not None:
                _validate_text(getattr(self, name), name)
        _validate_header_text(self.api_key, _OWN_NAMES.api_key, required=True)
        _validate_header_text(self.organization or "", _OWN_NAMES.organization)
        base_urls.validate(self.base_url, "", _OWN_NAMES.base_url)
        # Those of `_read` have been validated already. A frozen instance can only be set like this.
        if not isinstance(self.extra_headers, SecretTexts):
            headers = _extra_headers(self.extra_headers, _OWN_NAMES)
            object.__setattr__(self, "extra_headers", headers)
        if not isinstance(self.mcp_tokens, SecretTexts):
            object.__setattr__(self, "mcp_tokens", read_mcp_tokens(self.mcp_tokens))
        _validate_seconds(self.timeout_seconds, _OWN_NAMES.timeout_seconds)
        if self.total_seconds is not None:
            _validate_seconds(self.total_seconds, "total_seconds")
        if type(self.max_retries) is not int or self.max_retries < 0:  # a bool is an int, too
            reason = f"must be a whole number from 0, got {self.max_retries!r:.50}"
            raise _refused("max_retries", reason)
        _validate_text(self.compatibility, "compatibility")
        if self.compatibility not in _COMPATIBILITIES:
            raise _refused("compatibility", "must be auto, openai or compatible")

    @classmethod
    def from_credentials(
        cls,
        credentials: Mapping[str, Any],
        *,
        environ: Mapping[str, str] | None = None,
        platform_seconds: float | None = None,
    ) -> Self:
        """Read the credentials of the plugin's form.

        Args:
            credentials: `openai_api_key`, and optionally `openai_organization`, `openai_api_base`,
                `request_timeout_seconds` (default 300, limited to 30 to 900), `max_retries` (default 1, limited to 0 to 5),
                `extra_headers` and `mcp_tokens` (each a JSON object, or a mapping), and `compatibility` (default `auto`).
            environ: Environment variables; the process's own if None. A call stays under the plugin daemon's limit if that is among them.
            platform_seconds: The daemon's limit, in seconds above 0, where the environment names none; None for no limit.

        Raises:
            SettingsError: If the key is missing, or the key, organisation, base URL, an extra header or a token is not usable.

        Source: docs/contracts/openai-gpt5-responses.md, A4 to A7.
        """
        return cls._read(credentials, _CREDENTIAL_NAMES, environ, platform_seconds)

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, Any], *, environ: Mapping[str, str] | None = None
    ) -> Self:
        """Read settings under this class's own field names, validated the same way.

        Args:
            settings: `api_key`, and optionally the other fields; `extra_headers` and `mcp_tokens` may be mappings.
            environ: Environment variables; the process's own if None.

        Raises:
            SettingsError: If the key is missing, or the key, organisation, base URL, an extra header or a token is not usable.
        """
        return cls._read(settings, _OWN_NAMES, environ)

    @classmethod
    def from_env(cls, *, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the environment variables of OpenAI's own client.

        Args:
            environ: `OPENAI_API_KEY`, and optionally `OPENAI_BASE_URL` and `OPENAI_ORG_ID`, or `OPENAI_ORGANIZATION`, its older name.

        Raises:
            SettingsError: If the key is missing or a variable is not usable; `field` names it.
        """
        organization = "OPENAI_ORG_ID" if environ.get("OPENAI_ORG_ID") else "OPENAI_ORGANIZATION"
        names = _Names("OPENAI_API_KEY", organization, "OPENAI_BASE_URL")
        texts = (names.api_key, names.organization, names.base_url)
        return cls._read({name: environ.get(name) for name in texts}, names, environ)

    @classmethod
    def _read(
        cls,
        values: Mapping[str, Any],
        names: "_Names",
        environ: Mapping[str, str] | None,
        platform_seconds: float | None = None,
    ) -> Self:
        variables = os.environ if environ is None else environ
        url, allowed_hosts = (
            _text(values, names.base_url),
            variables.get(ALLOWED_HOSTS_VARIABLE, ""),
        )
        total_seconds, total_limit = _total_seconds(
            values, names, variables, platform_seconds or _NO_LIMIT
        )
        return cls(
            api_key=_header_text(values, names.api_key, required=True),
            organization=_header_text(values, names.organization) or None,
            base_url=base_urls.complete(url, allowed_hosts, names.base_url),
            timeout_seconds=float(_clamped(values, names.timeout_seconds, 300, 30, 900)),
            max_retries=_clamped(values, "max_retries", 1, 0, 5),
            total_seconds=total_seconds,
            total_limit=total_limit,
            extra_headers=_extra_headers(values.get("extra_headers"), names),
            mcp_tokens=read_mcp_tokens(values.get("mcp_tokens")),
            # Any other word is refused by its name when the connection is made.
            compatibility=cast("Compatibility", _text(values, "compatibility") or "auto"),
        )

    @property
    def secrets(self) -> KnownSecrets:
        """The secrets that no text about a call may contain.

        The key, values of extra headers, tokens of MCP servers, and secrets in the base URL's query.
        """
        return _known(self.api_key, self.base_url, self.extra_headers, self.mcp_tokens)

    @property
    def fingerprint(self) -> str:
        """A digest that tells connections apart without revealing their secrets: 32 hexadecimal digits."""
        headers = (text for pair in self.extra_headers.items() for text in pair)
        # A line feed, which no token contains, separates it from its host.
        tokens = (
            text
            for label, token in self.mcp_tokens.items()
            for text in (label, "\n".join(list_texts(token)))
        )
        # The empty text between them is no header's name, so that no header passes for a token.
        texts = (*headers, "", *tokens)
        identity = "\0".join((self.api_key, self.base_url, self.organization or "", *texts))
        return hashlib.sha256(identity.encode()).hexdigest()[:32]

    @property
    def try_seconds(self) -> float:
        """How long one try may wait for an answer: slightly longer than the whole call may take, so that the call's own limit applies first."""
        most = _NO_LIMIT if self.total_seconds is None else self.total_seconds + 1
        return min(self.timeout_seconds, most)

    @property
    def host(self) -> str:
        """The server's host name, without user info or port."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def address(self) -> str:
        """The base URL for people: without the values of its query, which may be secrets."""
        return base_urls.show(self.base_url)

    @property
    def is_default_server(self) -> bool:
        """Whether this is OpenAI's own API."""
        return self.base_url == DEFAULT_BASE_URL

    @property
    def is_openai(self) -> bool:
        """Whether OpenAI's own service answers here: at OpenAI, in any of its regions, or at Azure."""
        return f".{self.host}".endswith((_OPENAI_HOSTS, *AZURE_HOSTS))

    def reasoning_mark(self, model: str) -> str | None:
        """Return the mark of this connection and a model, for open reasoning that only they may get back.

        It is 16 hexadecimal digits, which reveal no secret.

        Returns:
            None where OpenAI itself answers, which gets no open reasoning: see `gpt5_messages.mark_open_reasoning`.
        """
        return None if self.is_openai else _mark(self.base_url, model)


# Asked five times for each request.
@lru_cache(maxsize=256)
def _mark(base_url: str, model: str) -> str:
    # Without the query, which may hold the key.
    place = urlsplit(base_url)._replace(query="").geturl()
    return hashlib.sha256(f"{place}\0{model}".encode()).hexdigest()[:16]


def find_secrets(credentials: object) -> KnownSecrets:
    """Return the secrets in credentials, whether the credentials are valid or not.

    Args:
        credentials: The credentials of the plugin's form; anything but a mapping counts as the key itself.
    """
    if not is_object(credentials):
        return KnownSecrets((str(credentials or ""),))
    names = (_CREDENTIAL_NAMES.api_key, _CREDENTIAL_NAMES.base_url)
    key, url = (str(credentials.get(name) or "").strip() for name in names)
    return _known(key, url, credentials.get("extra_headers"), credentials.get("mcp_tokens"))


def _known(key: str, url: str, headers: object, tokens: object) -> KnownSecrets:
    others = (
        *iter_header_secrets(headers),
        *iter_token_secrets(tokens),
        *base_urls.query_secrets(url),
    )
    return KnownSecrets((key, *others))


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of the settings at their source, as far as they differ, for error messages."""

    api_key: str = "api_key"
    organization: str = "organization"
    base_url: str = "base_url"
    timeout_seconds: str = "timeout_seconds"
    platform_seconds: str | None = None


_OWN_NAMES = _Names()
# `platform_seconds` counts only on the platform, which sets a limit of its own.
_CREDENTIAL_NAMES = _Names(
    api_key="openai_api_key",
    organization="openai_organization",
    base_url="openai_api_base",
    timeout_seconds="request_timeout_seconds",
    platform_seconds=PLATFORM_SECONDS_VARIABLE,
)


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if value is None:
        return ""
    _validate_text(value, name)
    return value.strip()


def _number_text(values: Mapping[str, Any], name: str) -> str:
    """Return a number as text, as forms and variables hold it."""
    value = values.get(name)
    if not isinstance(value, str | int | float | None):
        raise _refused(name, f"must be a number, got a value of type {type(value).__name__}")
    try:
        return "" if value is None else str(value).strip()
    except ValueError:  # a number of thousands of digits
        return ""


def _validate_text(value: object, name: str) -> None:
    if not isinstance(value, str):
        # The value stays out: it may be a key.
        raise _refused(name, f"must be a text, got a value of type {type(value).__name__}")


def _validate_seconds(value: object, name: str) -> None:
    is_bool = isinstance(value, bool)
    if is_bool or not (isinstance(value, int | float) and 0 < value < _NO_LIMIT):
        raise _refused(name, f"must be a number of seconds above 0, got {value!r:.50}")


def _header_text(values: Mapping[str, Any], name: str, *, required: bool = False) -> str:
    text = _text(values, name)
    _validate_header_text(text, name, required=required)
    return text


def _validate_header_text(text: str, name: str, *, required: bool = False) -> None:
    """Raise if a text cannot be sent in an HTTP header, which takes visible ASCII only."""
    if required and not text:
        raise _refused(name, "is required")
    if not all("!" <= character <= "~" for character in text):
        raise _refused(name, "must be visible ASCII characters without spaces")


def _extra_headers(value: object, names: _Names) -> SecretTexts[str]:
    own = {"authorization": names.api_key, "openai-organization": names.organization}
    return read_extra_headers(value, own)


def _total_seconds(
    values: Mapping[str, Any], names: _Names, environ: Mapping[str, str], platform_seconds: float
) -> tuple[float | None, str]:
    """Return the limit of a whole call and the setting that it comes from: the operator's, or the platform's less the time to report a timeout."""
    text = _number_text(values, "total_seconds") or environ.get(TOTAL_SECONDS_VARIABLE, "")
    limits = [(_seconds(text), TOTAL_SECONDS_VARIABLE)]
    if names.platform_seconds is not None:
        most = _seconds(environ.get(names.platform_seconds, ""), platform_seconds)
        # A tenth, so that the margin does not use up a short limit.
        limits.append((most - min(_PLATFORM_MARGIN, most / 10), names.platform_seconds))
    seconds, name = min(limits)
    return (None, TOTAL_SECONDS_VARIABLE) if seconds == _NO_LIMIT else (seconds, name)


def _seconds(text: str, default: float = _NO_LIMIT) -> float:
    """Return a limit in seconds; anything but a finite number above 0 means the default."""
    try:
        seconds = float(text)
    except ValueError:
        return default
    return seconds if 0 < seconds < _NO_LIMIT else default


def _clamped(values: Mapping[str, Any], name: str, default: int, lowest: int, highest: int) -> int:
    text = _number_text(values, name)
    try:
        number = int(text)
    except ValueError:
        number = default
    return max(lowest, min(highest, number))


def _refused(name: str, reason: str) -> SettingsError:
    return SettingsError(f"{name} {reason}", field=name)
