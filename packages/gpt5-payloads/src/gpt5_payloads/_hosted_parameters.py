"""The parameters that ask for tools which the server runs, in the forms that people type: settings, lists of lines, JSON."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from stream_text import is_list, is_object, is_secret_key, is_secret_setting, redact_text

from ._errors import PayloadError, refused
from ._hosted import (
    ContextSize,
    code_interpreter_tool,
    file_search_tool,
    image_generation_tool,
    mcp_tool,
    web_search_tool,
)
from ._values import choose, coerce_bool, coerce_int, copy_json, is_blank, parse_json, quote


_MAX_TOOL_CALLS = (
    10_000  # our choice: more than anybody needs, and a number that every server can read
)
_SEARCHES: tuple[ContextSize | Literal["off"], ...] = ("off", "low", "medium", "high")
_DOMAIN = re.compile(r"\w([\w.-]*\w)?\.\w+")
_USER = re.compile(r"://[^/?#]*@")
_QUERY_NAME = re.compile(r"[?&]([^=&#]+)=")
_ADDRESSES = ("server_url", "connector_id", "tunnel_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedParameters:
    """The tools that parameters ask for, and the limits on calling them.

    Attributes:
        tools: Each tool with the parameter that it comes from, in the order of the README.
        allowed_tools: The names of the only tools that may be called; empty for all.
        max_tool_calls: The maximum number of calls of the server's tools in one response.
    """

    tools: tuple[tuple[str, dict[str, Any]], ...]
    allowed_tools: tuple[str, ...]
    max_tool_calls: int | None

    @classmethod
    def read(cls, set_values: Mapping[str, object]) -> Self:
        """Read them from the parameters that are not blank.

        Raises:
            PayloadError: If a parameter does not take its value.
        """
        most = set_values.get("max_tool_calls")
        return cls(
            tools=tuple(_iter_tools(set_values)),
            allowed_tools=tuple(_lines(set_values, "allowed_tools")),
            max_tool_calls=None
            if most is None
            else coerce_int(most, field="max_tool_calls", minimum=1, maximum=_MAX_TOOL_CALLS),
        )


def _iter_tools(set_values: Mapping[str, object]) -> Iterator[tuple[str, dict[str, Any]]]:
    if search := _web_search(set_values):
        yield "web_search", search
    if stores := _lines(set_values, "file_search_stores"):
        yield "file_search_stores", file_search_tool(stores)
    if _is_on(set_values, "code_interpreter"):
        yield "code_interpreter", code_interpreter_tool()
    if _is_on(set_values, "image_generation"):
        # As PNG, which is the server's default, an image is several times larger, more than some platforms can carry.
        yield "image_generation", image_generation_tool(output_format="jpeg")
    for server in _mcp_servers(set_values.get("mcp_servers")):
        yield "mcp_servers", server
    for tool in _objects(set_values.get("extra_tools"), field="extra_tools"):
        if is_blank(tool.get("type")) or not isinstance(tool["type"], str):
            raise refused("extra_tools", "must be tools of the API, each with a type")
        if tool["type"] == "mcp":
            _refuse_secrets(tool, field="extra_tools")
        yield "extra_tools", tool


def _web_search(set_values: Mapping[str, object]) -> dict[str, Any] | None:
    wanted = set_values.get("web_search", "off")
    # YAML reads an unquoted `off` as false.
    size = choose("off" if wanted is False else wanted, field="web_search", options=_SEARCHES)
    lines = _lines(set_values, "web_search_domains")
    if size == "off":
        if lines:
            raise refused("web_search_domains", "goes with web_search, which is off")
        return None
    return web_search_tool(
        context_size=size,
        allowed_domains=[_domain(line) for line in lines if not line.startswith("-")],
        blocked_domains=[_domain(line[1:]) for line in lines if line.startswith("-")],
    )


def _domain(text: str) -> str:
    """Return a domain as the API takes it, without the rest of an address."""
    domain = re.sub(r"^https?://", "", text.strip().lower()).rstrip("/")
    if not _DOMAIN.fullmatch(domain):
        raise refused(
            "web_search_domains",
            f"has {quote(text.strip())!r}; expected a domain such as example.org, one a line",
        )
    return domain


def _mcp_servers(value: object) -> Iterator[dict[str, Any]]:
    labels: set[str] = set()
    for server in _objects(value, field="mcp_servers"):
        _refuse_secrets(server, field="mcp_servers")
        label, *addresses = (server.get(key) for key in ("server_label", *_ADDRESSES))
        are_texts = all(isinstance(text, str | None) for text in (label, *addresses))
        if server.get("type", "mcp") != "mcp" or not are_texts:
            raise refused(
                "mcp_servers",
                "must be objects of type mcp whose server_label and server_url are strings",
            )
        url, connector, tunnel = addresses
        # Only for what it refuses: the server goes out as it was written, with fields that are not known here.
        mcp_tool(label or "", url=url, connector_id=connector, tunnel_id=tunnel)
        if label in labels:
            raise refused("mcp_servers", f"has two servers {label!r}")
        labels.add(str(label))
        yield {"type": "mcp", **server}


def _refuse_secrets(server: Mapping[str, Any], *, field: str) -> None:
    """Refuse a token in a field that everybody who may edit the form can read.

    Raises:
        PayloadError: If there is one; the message quotes nothing of it.
    """
    given: object = server.get("headers") or {}
    if not is_object(given):
        raise PayloadError(f"{field}: headers must be an object of texts", field=field)
    url = str(server.get("server_url"))
    # A token is known by the name of its field, or by its form where the name says nothing.
    is_named = any(is_secret_key(name, value) for name, value in [*server.items(), *given.items()])
    is_seen = any(redact_text(text) != text for text in [url, *map(str, given.values())])
    if is_named or is_seen or _holds_secret(url):
        raise refused(
            field, "must not hold a token; put it into mcp_tokens, under the server's label"
        )


def _holds_secret(url: str) -> bool:
    """Return whether an address has a user, or a part of its query with the name of a secret."""
    return bool(_USER.search(url)) or any(map(is_secret_setting, _QUERY_NAME.findall(url)))


def _objects(value: object, *, field: str) -> list[dict[str, Any]]:
    """Return the objects of a JSON list, given as text or as a list; none where nothing is given."""
    if value is None:
        return []
    parsed = parse_json(value, field=field) if isinstance(value, str) else value
    # `[None]` is refused by the check below, as is a list with anything but objects.
    listed = parsed if is_list(parsed) else [None]
    if not all(map(is_object, listed)):
        raise refused(field, "must be a JSON list of objects")
    return [copy_json(entry, field=field) for entry in listed]


def _lines(set_values: Mapping[str, object], field: str) -> list[str]:
    """Return the lines of a text, or the texts of a list, without blank and repeated ones."""
    value = set_values.get(field)
    if value is None:
        return []
    split = value.splitlines() if isinstance(value, str) else value
    lines = split if is_list(split) else [None]
    if not all(isinstance(line, str) for line in lines):
        raise refused(field, "must be a text, one entry a line")
    stripped = (str(line).strip() for line in lines)
    return list(dict.fromkeys(line for line in stripped if line))


def _is_on(set_values: Mapping[str, object], field: str) -> bool:
    return coerce_bool(set_values.get(field, False), field=field)
