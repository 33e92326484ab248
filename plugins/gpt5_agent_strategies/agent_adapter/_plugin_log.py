"""The plugin's own log, which the administrator reads.

The SDK's format of a record has no place for an exception, so all that is to be read stands in the message.
"""

import logging
import traceback

from dify_plugin.config.logger_format import plugin_logger_handler

from stream_text import KnownSecrets, redact_text


_MAX_CHARACTERS = 8_000

_logger = logging.getLogger(__name__)
_logger.addHandler(plugin_logger_handler)

# What fails is told in Dify's log, redacted. The driver's own log would have it as it is.
logging.getLogger("agent_driver").addHandler(logging.NullHandler())
logging.getLogger("agent_driver").propagate = False
# That a run cannot be logged, the administrator has to know who wants it logged.
logging.getLogger("run_log").addHandler(plugin_logger_handler)
logging.getLogger("run_log").propagate = False


def log_break(error: Exception, known: KnownSecrets) -> None:
    """Log where and how a run broke."""
    trace = known.redact("".join(traceback.format_exception(error)))
    _logger.error("the agent run broke: %s", redact_text(trace[-_MAX_CHARACTERS:]))


def log_failure(call: str, text: str, known: KnownSecrets) -> None:
    """Log the platform's own words about a failed call of a model or a tool."""
    _logger.warning("%s failed: %s", call, redact_text(known.redact(text)[:_MAX_CHARACTERS]))


def log_unused(label: str, lines: tuple[str, ...], known: KnownSecrets) -> None:
    """Log what was given but is not used."""
    text = known.redact("; ".join(lines))
    _logger.warning("%s: %s", label, redact_text(text[:_MAX_CHARACTERS]))
