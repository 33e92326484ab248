"""A server from its settings to its end; whose extra `server` is imported once it is needed."""

import errno
import ipaddress
import logging
import re
import socket
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from types import ModuleType

from ._agent import read_folder
from ._errors import ConfigurationError
from ._run import AgentRunner
from ._settings import EngineSettings, ServeSettings
from ._state import locked_state, sqlite_url


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]", "::1"]


def serve(folders: Iterable[Path], runner: AgentRunner, settings: ServeSettings) -> None:
    """Serve agents until the process is asked to stop.

    Raises:
        ConfigurationError: If an agent or a setting is wrong.
    """
    agents = name_agents(folders)
    is_local = _is_local(settings.host)
    if not is_local and not settings.api_key:
        raise ConfigurationError(
            "AGENT_RUNNER_API_KEY",
            f"expected to be set, because other machines can reach {settings.host}",
        )
    logging.basicConfig(format="agent-runner: %(message)s", level=logging.WARNING)
    with (
        locked_state(settings.state),
        closing(_listen(settings.host, settings.port)) as listener,
    ):
        engine_settings = _engine_settings(settings)
        # At last, for it takes a second to load: a setting that is wrong is told at once.
        _import_http().serve_http(
            agents,
            runner,
            engine_settings,
            listener,
            api_key=settings.api_key or None,
            hosts=_LOCAL_NAMES if is_local else ["*"],
        )


def _import_http() -> ModuleType:
    try:
        from . import _http  # noqa: PLC0415 - see above
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "serve",
            f"expected {error.name} to be installed: pip install 'gpt5-agent-runner[server]'",
        ) from error
    return _http


def name_agents(folders: Iterable[Path]) -> Mapping[str, Path]:
    """Return the agents by the names of their folders.

    Raises:
        ConfigurationError: If a folder holds no agent, a name does not fit into a URL, or two folders share a name.
    """
    agents: dict[str, Path] = {}
    for folder in folders:
        path = read_folder(folder.resolve()).path
        if not _NAME.fullmatch(path.name):
            raise ConfigurationError(
                str(folder),
                "expected a folder's name of letters, digits, dots, hyphens and underscores",
            )
        if path.name in agents:
            raise ConfigurationError(
                str(folder),
                f"expected a name that no other agent has; {agents[path.name]} has it too",
            )
        agents[path.name] = path
    return agents


def _engine_settings(settings: ServeSettings) -> EngineSettings:
    url, name = _database(settings)
    return EngineSettings(
        database_url=url,
        server_name=name,
        concurrency=settings.concurrency,
        max_queued=settings.max_queued,
        max_attempts=settings.max_attempts,
        keep_runs=settings.keep_runs,
        keep_days=settings.keep_days,
        stop_seconds=settings.stop_seconds,
        poll_seconds=settings.poll_seconds,
    )


def _database(settings: ServeSettings) -> tuple[str, str]:
    """Return the URL of the database, and this server's name in it."""
    url, name = settings.database_url, settings.server_name
    if url is None:
        # A state folder has one server: whatever its host is called next time, the runs are its own.
        return sqlite_url(settings.state), "local"
    if not url.startswith(("postgresql://", "postgresql+psycopg://")):
        raise ConfigurationError("database", "expected a URL that starts with postgresql://")
    if not name:
        raise ConfigurationError(
            "server name", "expected to be set, because several servers may share a database"
        )
    return url, name


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            expected = "expected a port that no other program listens on"
        else:
            expected = "expected an address of this machine and a port that may be listened on"
        raise ConfigurationError(f"{host}:{port}", expected) from error
