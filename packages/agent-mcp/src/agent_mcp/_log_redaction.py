"""Redaction of what the SDK logs of servers: it logs messages that it cannot read, whatever they hold."""

import logging
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Final

from stream_text import KnownSecrets


# A filter of a logger does not see what the loggers below it log, so it has to be each of them (mcp 2.3).
_LOGGERS: Final = (
    "client",
    "mcp.client.client",
    "mcp.client.session",
    "mcp.client.streamable_http",
    "mcp.shared.jsonrpc_dispatcher",
)


@contextmanager
def redacted_logs(known: Iterable[KnownSecrets]) -> Generator[None]:
    """Redact secrets in what the SDK logs while the `with` block runs."""
    redaction = _Redaction(list(known))
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(redaction)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(redaction)


class _Redaction(logging.Filter):
    def __init__(self, known: list[KnownSecrets]) -> None:
        super().__init__()
        self._known = known

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._redact(record.getMessage()), ()
        if record.exc_info:
            # The error itself would be written anew by whatever handles the record.
            record.exc_text = logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        if record.exc_text:  # Other servers in use may have made a text of it before.
            record.exc_text = self._redact(record.exc_text)
        return True

    def _redact(self, text: str) -> str:
        for known in self._known:
            text = known.redact(text)
        return text
