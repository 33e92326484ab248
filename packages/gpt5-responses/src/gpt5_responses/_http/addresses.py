"""The check, before anything is sent, that a connection does not lead to a cloud's metadata service.

What a person typed is looked at first, and then what the socket is really connected to. Behind a proxy only the proxy knows where it connects; there the
first look is all.
"""

import socket
from collections.abc import Iterable

from gpt5_responses._errors import SettingsError
from stream_text.addresses import is_metadata_address


def resolve(host: str) -> list[str]:
    """Return the addresses of a host; none where it has none, since connecting reports that better."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[4][0]) for address in found]


def validate_addresses(addresses: Iterable[str]) -> None:
    """Raise if an address is a metadata service's.

    Raises:
        SettingsError: If any of the addresses is one of such a service.
    """
    if any(map(is_metadata_address, addresses)):
        raise SettingsError(
            "base_url host is not allowed: it leads to the metadata service of a cloud.",
            field="base_url",
        )
