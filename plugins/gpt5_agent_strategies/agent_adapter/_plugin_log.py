"""The plugin's own log, which the administrator reads.

The SDK's format of a record has no place for an exception, so everything has to be in the message.
"""

import logging
import traceback

from dify_plugin.config.logger_format import plugin_logger_handler

from stream_text import KnownSecrets, redact_text


_MAX_CHARACTERS = 8_000

_logger = logging.getLogger(__name__)
_logger.addHandler(plugin_logger_handler)

# Failures are reported in Dify's log, redacted. The driver's own log would have them unredacted.
logging.getLogger("agent_driver").addHandler(logging.NullHandler())
logging.getLogger("agent_driver").propagate = False
# An administrator who wants runs logged has to know if that fails.
logging.getLogger("run_log").addHandler(plugin_logger_handler)
logging.getLogger("run_log").propagate = False


def log_break(error: Exception, known: KnownSecrets) -> None:
    """Log where and how a run broke."""
    trace = known.redact("".join(traceback.format_exception(error)))
    _logger.error("the agent run broke: %s", redact_text(trace[-_MAX_CHARACTERS:]))


def log_failure(call: str, text: str, known: KnownSecrets) -> None:
    """Log the platform's own text about a failed call of a model or a tool."""
    _logger.warning("%s failed: %s", call, redact_text(known.redact(text)[:_MAX_CHARACTERS]))


def log_unused(label: str, lines: tuple[str, ...], known: KnownSecrets) -> None:
    """Log values that were given but are not used."""
    text = known.redact("; ".join(lines))
    _logger.warning("%s: %s", label, redact_text(text[:_MAX_CHARACTERS]))
