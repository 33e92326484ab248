"""The check, before anything is sent, that a connection does not lead to a cloud's metadata service.

The base URL is checked when it is read, the addresses of its host before connecting, and the socket's peer once it is
connected. Behind a proxy only the proxy knows where it connects, so there only the base URL is checked.
"""

import socket
from collections.abc import Iterable

from gpt5_responses._errors import SettingsError
from stream_text.addresses import is_metadata_address


def resolve(host: str) -> list[str]:
    """Return the addresses of a host, or none if it cannot be resolved: connecting reports that better."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[4][0]) for address in found]


def validate_addresses(addresses: Iterable[str]) -> None:
    """Raise if an address belongs to a metadata service.

    Raises:
        SettingsError: If any of them does.
    """
    if any(map(is_metadata_address, addresses)):
        raise SettingsError(
            "base_url host is not allowed: it leads to the metadata service of a cloud.",
            field="base_url",
        )
