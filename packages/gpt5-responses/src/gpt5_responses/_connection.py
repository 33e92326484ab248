"""Where the server is and how to reach it: settings as people type them, made usable or refused by name."""

import hashlib
import ipaddress
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from ._errors import SettingsError


ALLOWED_HOSTS_VARIABLE = "OPENAI_GPT5_ALLOWED_BASE_URL_HOSTS"
"""Environment variable: a comma-separated list of the hosts that a base URL may name; no limit where it is empty."""

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_METADATA_HOSTS = frozenset({"metadata.google.internal", "metadata", "metadata.goog"})
# Clouds serve their metadata, credentials included, on link-local addresses, and AWS also on this one.
_AWS_METADATA_V6 = ipaddress.ip_address("fd00:ec2::254")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How to reach one server with one key.

    Attributes:
        api_key: The key; never part of `repr`.
        base_url: The API's root, ending in `/v1` unless the server has another.
        organization: The organisation to bill, if not the key's own.
        timeout_seconds: Seconds to wait for a connection, and then for each next byte, from 30 to 900.
        max_retries: How often a request that could not be started is sent again, from 0 to 5.
    """

    api_key: str = field(repr=False)
    base_url: str = DEFAULT_BASE_URL
    organization: str | None = None
    timeout_seconds: float = 300.0
    max_retries: int = 1

    @classmethod
    def from_credentials(
        cls, credentials: Mapping[str, Any], *, environ: Mapping[str, str] | None = None
    ) -> Self:
        """Read the credentials of the plugin's form.

        Args:
            credentials: `openai_api_key`, and optionally `openai_organization`, `openai_api_base`,
                `request_timeout_seconds` (default 300, brought within 30 to 900) and `max_retries` (default 1, brought within 0 to 5).
            environ: Environment variables; the process's own if None.

        Raises:
            SettingsError: If the key is missing, or the key, organisation or base URL is not usable.

        Source: docs/contracts/openai-gpt5-responses.md, A4 to A7.
        """
        return cls._read(credentials, _CREDENTIAL_NAMES, environ)

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, Any], *, environ: Mapping[str, str] | None = None
    ) -> Self:
        """Read settings under this class's own field names, with the same care.

        Args:
            settings: `api_key`, and optionally the other fields.
            environ: Environment variables; the process's own if None.

        Raises:
            SettingsError: If the key is missing, or the key, organisation or base URL is not usable.
        """
        return cls._read(settings, _OWN_NAMES, environ)

    @classmethod
    def _read(
        cls, values: Mapping[str, Any], names: "_Names", environ: Mapping[str, str] | None
    ) -> Self:
        variables = os.environ if environ is None else environ
        url, allowed_hosts = (
            _text(values, names.base_url),
            variables.get(ALLOWED_HOSTS_VARIABLE, ""),
        )
        return cls(
            api_key=_header_text(values, names.api_key, required=True),
            organization=_header_text(values, names.organization) or None,
            base_url=_base_url(url, allowed_hosts, names.base_url),
            timeout_seconds=float(_clamped(values, names.timeout_seconds, 300, 30, 900)),
            max_retries=_clamped(values, names.max_retries, 1, 0, 5),
        )

    @property
    def fingerprint(self) -> str:
        """A digest that tells connections apart without telling their key: 32 hexadecimal digits."""
        identity = "\0".join((self.api_key, self.base_url, self.organization or ""))
        return hashlib.sha256(identity.encode()).hexdigest()[:32]

    def client_settings(self) -> dict[str, Any]:
        """Return the arguments of the official client for this connection."""
        return {
            "api_key": self.api_key,
            "organization": self.organization,
            "base_url": self.base_url,
            "timeout": self.timeout_seconds,
            "max_retries": self.max_retries,
        }

    @property
    def host(self) -> str:
        """The server's host name, without user info or port."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_default_server(self) -> bool:
        """Whether this is OpenAI's own API."""
        return self.base_url == DEFAULT_BASE_URL


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of the settings where they come from, for error messages."""

    api_key: str = "api_key"
    organization: str = "organization"
    base_url: str = "base_url"
    timeout_seconds: str = "timeout_seconds"
    max_retries: str = "max_retries"


_OWN_NAMES = _Names()
_CREDENTIAL_NAMES = _Names(
    api_key="openai_api_key",
    organization="openai_organization",
    base_url="openai_api_base",
    timeout_seconds="request_timeout_seconds",
)


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return "" if value is None else str(value).strip()


def _header_text(values: Mapping[str, Any], name: str, *, required: bool = False) -> str:
    """Read a text that travels in an HTTP header, where only visible ASCII may stand."""
    text = _text(values, name)
    if required and not text:
        raise SettingsError(f"{name} is required", field=name)
    if not all("!" <= character <= "~" for character in text):
        raise SettingsError(f"{name} must be visible ASCII characters without spaces", field=name)
    return text


def _clamped(values: Mapping[str, Any], name: str, default: int, lowest: int, highest: int) -> int:
    try:
        number = int(_text(values, name))
    except ValueError:
        number = default
    return max(lowest, min(highest, number))


def _base_url(text: str, allowed_hosts: str, name: str) -> str:
    """Complete a base URL, or refuse it before a key is ever sent there."""
    if not text:
        return DEFAULT_BASE_URL
    parts = _split(text, name)
    if not _is_allowed(_plain_host(parts.hostname or ""), allowed_hosts):
        raise _refused_base(name, "host is not allowed")
    url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    return url if url.endswith("/v1") else f"{url}/v1"


def _split(text: str, name: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # reading it is what checks it
    except ValueError:
        raise _refused_base(name, "must be a URL such as https://api.openai.com/v1") from None
    if parts.scheme not in ("http", "https"):
        raise _refused_base(name, "must use http or https")
    if parts.username is not None or parts.password is not None:
        raise _refused_base(name, "must not include credentials")
    if not parts.hostname or not _plain_host(parts.hostname):
        raise _refused_base(name, "host is required")
    if parts.query or parts.fragment:
        raise _refused_base(name, "must not have a query or a fragment")
    if any(character.isspace() or not character.isprintable() for character in text):
        raise _refused_base(name, "must not contain white space")
    return parts


def _is_allowed(host: str, allowed_hosts: str) -> bool:
    allowed = {_plain_host(name) for name in allowed_hosts.split(",")} - {""}
    is_metadata = host in _METADATA_HOSTS or _is_metadata_address(host)
    return not is_metadata and (not allowed or host in allowed)


def _is_metadata_address(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        try:  # the forms that resolvers accept too: 0xA9FEA9FE, 2852039166, 169.254.43518
            address = ipaddress.ip_address(socket.inet_aton(host))
        except (OSError, UnicodeError):
            return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_link_local or address == _AWS_METADATA_V6


def _plain_host(host: str) -> str:
    return host.strip().strip(".").lower()


def _refused_base(name: str, reason: str) -> SettingsError:
    return SettingsError(f"{name} {reason}", field=name)
