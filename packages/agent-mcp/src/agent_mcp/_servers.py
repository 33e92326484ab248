"""Servers as they are declared: how to reach one, what it may know, and how its tools are called."""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any, Final, Self, TypeGuard
from urllib.parse import SplitResult, urlsplit

from agent_tooling import ApprovalOption, DeclarationError, Tool, ToolOptions
from stream_text import is_object, is_secret_setting, iter_header_secrets

from ._errors import McpError


_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,32}")
_ALWAYS: Final = ("HOME", "PATH")
_ADDRESS: Final = "https://HOST/PATH, or http:// and a loopback address, without a user"


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The settings of a server of either kind.

    Attributes:
        tools: The names of the only tools to take, as the server calls them; None takes all.
        timeout: Seconds that one try of a call may take, over 0; None if the run decides.
        retries: How often a call is tried again where the connection has failed; None if the run decides.
        approval: When a person has to approve a call of any of the tools: `never`, `once` in a run, `always`, or a
            mapping of conditions (`agent_tooling.ToolOptions`); None if the run decides.
        start_timeout: Seconds that the server has to start and to list its tools, over 0.
    """

    tools: Sequence[str] | None = None
    timeout: float | None = None
    retries: int | None = None
    approval: ApprovalOption | None = None
    start_timeout: float = 30.0

    @property
    def options(self) -> ToolOptions:
        """How its tools are called."""
        return {"timeout": self.timeout, "retries": self.retries, "approval": self.approval}


@dataclass(frozen=True)
class StdioServer(ServerSettings):
    """A server that is started as a process, and spoken to over its standard input and output.

    Its group of processes is killed at the end. POSIX only.

    Attributes:
        name: What its tools' names begin with: 1 to 32 letters, digits, underscores or hyphens.
        command: The program and its arguments. No representation shows them.
        env: The environment: names of variables to pass on, or a mapping of names to values. The server gets these and
            no others; None passes on `HOME` and `PATH`. Values of variables that are named like secrets
            (`GITHUB_TOKEN`) are redacted in all that comes from the server.
        folder: The folder that it runs in; None for this process's own.

    Raises:
        McpError: If a setting is wrong; the error names it.
    """

    name: str
    command: Sequence[str] = field(repr=False)
    env: Sequence[str] | Mapping[str, str] | None = field(default=None, repr=False, kw_only=True)
    folder: str | os.PathLike[str] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse settings with which no server could be started."""
        _validate_settings(self.name, self)
        command: object = self.command
        if not _is_texts(command) or not command:
            raise McpError(self.name, "expected command as a list, the program and its arguments")
        _ = self.variables

    @property
    def variables(self) -> dict[str, str]:
        """The server's whole environment.

        Raises:
            McpError: If a variable that is to be passed on is not set.
        """
        env: object = self.env
        if env is None:
            return {name: os.environ[name] for name in _ALWAYS if name in os.environ}
        if is_object(env):
            if not all(isinstance(text, str) for pair in env.items() for text in pair):
                raise McpError(self.name, "expected env with texts as names and values")
            return dict(env)
        if not _is_texts(env):
            raise McpError(self.name, "expected env as names of variables, or values by name")
        if missing := [name for name in env if name not in os.environ]:
            raise McpError(self.name, f"expected the variables of env to be set, {missing} are not")
        return {name: os.environ[name] for name in env}

    def fixed(self) -> Self:
        """Return the server with the values that its variables have now."""
        return replace(self, env=self.variables)

    @property
    def secrets(self) -> Iterator[str]:
        """The values that no text of the server may show."""
        return (value for name, value in self.variables.items() if is_secret_setting(name, value))


@dataclass(frozen=True)
class HttpServer(ServerSettings):
    """A server that is reached by streamable HTTP. Nothing is sent to another host, whatever the server redirects to.

    Attributes:
        name: What its tools' names begin with: 1 to 32 letters, digits, underscores or hyphens.
        url: Its address: https, or http on loopback. It may stand in logs, so secrets belong into `token` or `headers`.
        token: The bearer token, if it takes one.
        headers: Further headers of each request.

    Raises:
        McpError: If a setting is wrong; the error names it.
    """

    name: str
    url: str
    token: str | None = field(default=None, repr=False, kw_only=True)
    headers: Mapping[str, str] = field(
        default_factory=dict[str, str], repr=False, compare=False, kw_only=True
    )

    def __post_init__(self) -> None:
        """Refuse an address whose traffic others could read, and settings that no request could carry."""
        _validate_settings(self.name, self)
        parts = _split(self.url)
        is_whole = parts is not None and bool(parts.hostname) and "@" not in parts.netloc
        if parts is None or not is_whole or not _is_private(parts):
            raise McpError(self.name, f"expected url as {_ADDRESS}")
        if not all(_is_line(text) for pair in self.all_headers.items() for text in pair):
            raise McpError(self.name, "expected token and headers as ASCII texts in one line")

    @property
    def all_headers(self) -> dict[str, str]:
        """The headers of each request."""
        bearer = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return {**self.headers, **bearer}

    def fixed(self) -> Self:
        """Return the server with the headers that it has now."""
        return replace(self, headers=dict(self.headers))

    @property
    def secrets(self) -> Iterator[str]:
        """The values that no text of the server may show."""
        return iter_header_secrets(self.all_headers)


def _validate_settings(name: object, settings: ServerSettings) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        expected = "expected name as 1 to 32 letters, digits, underscores or hyphens"
        raise McpError("", f"MCP server: {expected}, got {name!r}")
    seconds: Any = settings.start_timeout
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise McpError(
            name, f"expected start_timeout as a number of seconds over 0, got {seconds!r}"
        )
    if settings.tools is not None and not _is_texts(settings.tools):
        raise McpError(name, "expected tools as a list of names")
    try:
        # The checks of any tool, made before a server is started.
        Tool.from_schema(name, "", {"type": "object"}, _validate_settings, **settings.options)
    except DeclarationError as error:
        raise McpError(name, str(error)) from None


def _is_texts(value: Any) -> TypeGuard[Collection[str]]:
    is_several = issubclass(type(value), list | tuple | set | frozenset)
    return is_several and all(isinstance(text, str) for text in value)


def _is_line(text: object) -> bool:
    return isinstance(text, str) and text.isascii() and text.isprintable()


def _split(url: object) -> SplitResult | None:
    try:
        return urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return None


def _is_private(parts: SplitResult) -> bool:
    """Return whether nobody on the network can read the traffic: because of TLS, or because nothing leaves this machine."""
    if parts.scheme != "http":
        return parts.scheme == "https"
    try:
        return parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
