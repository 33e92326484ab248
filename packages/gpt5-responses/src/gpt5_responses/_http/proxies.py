"""The proxy that the environment names for a server."""

import ssl
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore


_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


def find_proxy(scheme: str, host: str, trusted: ssl.SSLContext) -> httpcore.Proxy | None:
    """Return the proxy for a server from `HTTPS_PROXY` or `HTTP_PROXY`, else from `ALL_PROXY`.

    None if there is none or `NO_PROXY` excludes the server.

    Args:
        scheme: The scheme of the server's URL.
        host: The server.
        trusted: The certificates that a proxy with TLS is checked against.

    Raises:
        ValueError: If the proxy's address is not usable.
    """
    named = getproxies()
    address = named.get(scheme) or named.get("all")
    if not address or proxy_bypass(host):
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError
    url = httpcore.URL(
        scheme=parts.scheme,
        host=parts.hostname,
        port=parts.port or _PORTS[parts.scheme],
        target="/",
    )
    auth = (unquote(parts.username or ""), unquote(parts.password or ""))
    return httpcore.Proxy(
        url,
        auth=auth if any(auth) else None,
        ssl_context=trusted if parts.scheme == "https" else None,
    )
