"""The lines of a server's log: when, how bad, of which server and run, and what."""

import json
import logging
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, override

from pydantic import SecretStr
from sqlalchemy import make_url

from agent_server.logs import read_about
from agent_server.settings import ServerSettings
from stream_text import KnownSecrets, is_secret_setting


# In this order, where there are any.
_FIELDS: Final = ("server", "run", "tenant", "agent", "attempt", "tool", "request")


def set_up_log(settings: ServerSettings, *, server: str) -> None:
    """Have the process log as the settings say, unless the program has set up a log of its own and was asked for nothing else.

    Args:
        settings: The settings.
        server: The server's name.
    """
    if logging.getLogger().handlers and "log_format" not in settings.model_fields_set:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines(settings, server))
    logging.basicConfig(handlers=[handler], force=True)
    logging.getLogger("agent_server").setLevel(logging.INFO)


class _Lines(logging.Formatter):
    """A formatter of lines without the secrets of the settings and the environment."""

    def __init__(self, settings: ServerSettings, server: str) -> None:
        super().__init__()
        self._server = server
        self._is_json = settings.log_format == "json"
        self._secrets = KnownSecrets(_iter_secrets(settings))

    @override
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        about = {"server": self._server, **read_about()}
        head = {"time": at.replace("+00:00", "Z"), "level": record.levelname}
        fields = {name: about[name] for name in _FIELDS if name in about}
        message = self._secrets.redact(record.getMessage())
        error = self.formatException(record.exc_info) if record.exc_info else ""
        error = self._secrets.redact(error)
        if self._is_json:
            more = {"exception": error} if error else {}
            return json.dumps({**head, **fields, "message": message, **more})
        told = " ".join(f"{name}={value}" for name, value in fields.items())
        line = " ".join((*head.values(), message, f"[{told}]"))
        return f"{line}\n{error}" if error else line


def _iter_secrets(settings: ServerSettings) -> Iterator[str]:
    yield from (value for name, value in os.environ.items() if is_secret_setting(name, value))
    yield from settings.keys()
    for _, value in settings:
        if isinstance(value, SecretStr):
            yield from value.get_secret_value().split(",")
    if settings.database is not None:
        yield make_url(settings.database.get_secret_value()).password or ""
