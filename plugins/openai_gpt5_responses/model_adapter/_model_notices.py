"""One line in the plugin's log for each model that is called and ends, or was to have ended."""

import logging
from collections.abc import Mapping
from datetime import UTC, date, datetime
from threading import Lock

from gpt5_payloads import profile_for
from gpt5_responses import Connection, find_secrets, find_shutdown_date


_LOGGER = logging.getLogger("dify_plugin.plugin.openai_gpt5_responses")
_LOGGER.setLevel(logging.INFO)
_MOST_MODELS = 1_000  # that are remembered; a name is anybody's to make up
_MOST_CHARACTERS = 100  # of a name

_told: set[str] = set()
_lock = Lock()


def note_shutdown(model: str, connection: Connection, credentials: Mapping[str, object]) -> None:
    """Write to the plugin's log that a model ends, once for each model in the life of this process."""
    day = find_shutdown_date(connection, model)
    if day is None:
        return
    with _lock:
        if model in _told or len(_told) >= _MOST_MODELS:
            return
        _told.add(model)
    is_over = date.fromisoformat(day) <= datetime.now(UTC).date()
    successor = profile_for(model).replacement
    use = f" Use {successor!r} instead." if successor else ""
    ends = "was to end" if is_over else "ends"
    line = f"The model {model[:_MOST_CHARACTERS]!r} {ends} on {day}.{use}"
    _LOGGER.warning(find_secrets(credentials).redact(line))
