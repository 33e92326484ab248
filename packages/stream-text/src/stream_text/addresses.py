"""Hosts of addresses: whether they lead anywhere, and metadata services of clouds, where no request may go, since the answers are credentials.

A name or a number can be written in many ways, and a name can lead anywhere. So a client checks the host that it was
given, and then the address that its socket is really connected to. `import stream_text` does not import this module.
"""

import ipaddress
import re
import socket
from collections.abc import Iterator
from contextlib import suppress


__all__ = ["is_host", "is_metadata_address", "is_metadata_host", "plain_host"]


_NAMES = frozenset(
    {
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.tencentyun.com",
        "instance-data",
        "instance-data.ec2.internal",
    }
)
# Most clouds serve their metadata on link-local addresses, of which these are the best known; the others have one of their own.
# Source: the clouds' own documentation of their instance metadata, read 2026-11-22, such as
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html.
_ADDRESSES = frozenset(
    map(
        ipaddress.ip_address,
        (
            "169.254.169.254",  # AWS, Azure, Google, Oracle
            "169.254.170.2",  # AWS, tasks
            "169.254.0.23",  # Tencent
            "100.100.100.200",  # Alibaba
            "168.63.129.16",  # Azure
            "192.0.0.192",  # Oracle
            "fd00:42::42",  # Scaleway
            "fd00:ec2::254",  # AWS
            "fd00:ec2::23",  # AWS, pods
            "fd20:ce::254",  # Google
            "fd00:c1::a9fe:a9fe",  # Oracle
        ),
    )
)
# An IPv6 address in one of these leads to the IPv4 address in its last 32 bits, or where a translator with a longer suffix has it.
# Source: RFC 4291 section 2.5.5, RFC 6052 section 2.1, RFC 7915 section 2, RFC 8215.
_TRANSLATED = tuple(
    map(ipaddress.IPv6Network, ("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48"))
)

# Where the bytes of an IPv4 address are after a translator's prefix of 32, 40, 48, 56 and 64 bits; byte 8 and what follows are 0.
# Source: RFC 6052 section 2.2.
_PLACES = (
    (4, 5, 6, 7),
    (5, 6, 7, 9),
    (6, 7, 9, 10),
    (7, 9, 10, 11),
    (9, 10, 11, 12),
)
_ISATAP = (b"\0\0\x5e\xfe", b"\2\0\x5e\xfe")  # Source: RFC 5214 section 6.1.

# Underscores are in names of services.
# Source: RFC 1123 section 2.1, RFC 1035 section 2.3.4.
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")

_ESCAPED = re.compile(rb"%([0-9a-fA-F]{2})")

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def plain_host(host: str) -> str:
    """Return a host as a resolver reads it: in lower case, with plain dots and digits, without the dot at its end.

    Raises:
        UnicodeError: If it is not a name that can be looked up.
    """
    host = host.strip().lower()
    named = host if ":" in host else host.encode("idna").decode("ascii").lower()
    return named.removesuffix(".")


def is_host(host: str) -> bool:
    """Return whether a plain host is an IP address or a valid name.

    A name has labels of 1 to 63 letters, digits, `-` and `_`, with at most 253 characters in all.
    """
    if ":" in host or host.rpartition(".")[2].isdigit():
        return _parse_address(host) is not None
    return _NAME.fullmatch(host) is not None


def is_metadata_host(host: str) -> bool:
    """Return whether a plain host is a metadata service's, by its name or by its address, even with characters escaped as in a URL."""
    return any(each in _NAMES or is_metadata_address(each) for each in _readings(host))


def _readings(host: str) -> Iterator[str]:
    """Yield a host, and then each text that decoding its escapes once more gives."""
    yield host
    while (read := _unquoted(host)) != host:
        host = read
        with suppress(UnicodeError):  # of what is no name
            yield plain_host(host.strip().strip("."))


def _unquoted(text: str) -> str:
    octets = _ESCAPED.sub(
        lambda code: bytes.fromhex(code[1].decode()), text.encode(errors="replace")
    )
    return octets.decode(errors="replace")


def is_metadata_address(text: str) -> bool:
    """Return whether a text is the address of a metadata service, in any form that resolvers accept."""
    address = _parse_address(text.partition("%")[0])
    return address is not None and any(_is_metadata(meant) for meant in _meanings(address))


def _parse_address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        try:  # 0xA9FEA9FE, 2852039166, 169.254.43518
            return ipaddress.ip_address(socket.inet_aton(text))
        except (OSError, UnicodeError):
            return None


def _meanings(address: Address) -> Iterator[Address]:
    """Yield the address, and the IPv4 addresses that it leads to."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        yield from filter(None, (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())))
        packed = address.packed
        # A network may translate with a prefix of its own, which nobody can know: there only what is surely meant counts.
        is_translated = packed[8:12] in _ISATAP or any(
            address in network for network in _TRANSLATED
        )
        inner = [
            bytes(packed[place] for place in places)
            for places in _PLACES
            if not (packed[8] or any(packed[places[-1] + 1 :]))
        ]
        for meant in map(ipaddress.IPv4Address, (packed[12:], *inner)):
            if meant in _ADDRESSES or is_translated:
                yield meant


def _is_metadata(address: Address) -> bool:
    return address.is_link_local or address in _ADDRESSES
