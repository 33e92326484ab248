"""The tokens of MCP servers, each of which goes only to its own host, whatever address has its label."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from stream_text import is_object

from ._errors import PayloadError, refused
from ._values import quote


type McpTokens = Mapping[str, str | Mapping[str, str]]
"""Tokens by the labels of their servers: `{"token": ..., "host": ...}` for a server with an address, only a text for a connector or tunnel."""

_HOST = re.compile(r"[a-z0-9._-]+(?::[0-9]+)?", re.IGNORECASE | re.ASCII)
# An address up to its path, in the one form that every reader of addresses reads alike: no user, no
# backslash, no character that some leave out.
_SITE = re.compile(rf"https://({_HOST.pattern})(?:/|\Z)", _HOST.flags)
# A server in front of others chooses one of them by these headers.
_HOST_HEADER = re.compile(r"host|:authority|forwarded", re.IGNORECASE)


def is_token_host(text: str) -> bool:
    """Return whether a text can name the host of a token: a host in ASCII, with or without a port, and nothing else."""
    return _HOST.fullmatch(text) is not None


class _Token(NamedTuple):
    text: str
    host: str | None


def read_tokens(value: object) -> dict[str, _Token]:
    """Read the tokens of MCP servers by their labels; blank ones are left out.

    Raises:
        PayloadError: If it is not a mapping of tokens; the message quotes nothing of it.
    """
    if value is None:
        return {}
    if not is_object(value):
        raise _refused_tokens()
    tokens: dict[str, _Token] = {}
    for label, entry in value.items():
        token = _read_token(entry)
        if not isinstance(label, str):
            raise _refused_tokens()
        if token.text:
            tokens[label] = token
    return tokens


def _read_token(entry: object) -> _Token:
    if entry is None or isinstance(entry, str):
        return _Token((entry or "").strip(), None)
    match dict(entry) if is_object(entry) else {}:
        case {"token": str(text), "host": str(host), **others} if (
            is_token_host(host.strip()) and not others
        ):
            return _Token(text.strip(), _compared(host.strip()))
        case _:
            raise _refused_tokens()


def _refused_tokens() -> PayloadError:
    return refused(
        "mcp_tokens",
        'must map each server\'s label to {"token": ..., "host": ...}, or to a text for a connector or tunnel',
    )


def with_token(tool: dict[str, Any], tokens: Mapping[str, _Token], *, field: str) -> dict[str, Any]:
    """Return an MCP server with the token for its label, if there is one and the server has none yet; any other tool as it is.

    Args:
        tool: The tool.
        tokens: The tokens by label.
        field: The parameter that the tool comes from, for the error.

    Raises:
        PayloadError: If the label's token is not for the address of the server.
    """
    label = tool.get("server_label") if tool["type"] == "mcp" else None
    token = tokens.get(label) if isinstance(label, str) else None
    if token is None or tool.get("authorization"):
        return tool
    is_for_it = _is_for_connector(tool) if token.host is None else _is_for_host(tool, token.host)
    if not is_for_it:
        raise _refused_server(field, str(label), token)
    return {**tool, "authorization": token.text}


def _is_for_connector(tool: Mapping[str, Any]) -> bool:
    is_named = any(tool.get(name) for name in ("connector_id", "tunnel_id"))
    return is_named and tool.get("server_url") is None


def _is_for_host(tool: Mapping[str, Any], host: str) -> bool:
    url = tool.get("server_url")
    site = _SITE.match(url) if isinstance(url, str) else None
    # With another address beside it, nobody knows which one the server would take.
    others = (tool.get("connector_id"), tool.get("tunnel_id"))
    is_there = site is not None and _compared(site[1]) == host
    return is_there and others == (None, None) and not _leads_on(tool.get("headers") or {})


def _leads_on(headers: object) -> bool:
    """Return whether headers may name another host, to which a server at the address could pass the request on."""
    return not is_object(headers) or any(_HOST_HEADER.search(str(name)) for name in headers)


def _compared(host: str) -> str:
    """Return a host in lower case, without the default port of https."""
    return host.lower().removesuffix(":443")


def _refused_server(field: str, label: str, token: _Token) -> PayloadError:
    expected = (
        "names no host, so it is for a connector_id or tunnel_id alone"
        if token.host is None
        else "is for one host alone: server_url must be https://, that host and a path, without a header that names another host"
    )
    return PayloadError(
        f"{field}: the token of {quote(label)!r} in mcp_tokens {expected}", field=field
    )
