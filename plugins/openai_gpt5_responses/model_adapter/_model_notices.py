"""Lines in the plugin's log about a model that is called: that it ends, or was to have ended, and that its price is not known."""

import logging
from collections.abc import Mapping
from datetime import UTC, date, datetime
from threading import Lock

from catalog_prices import Rates, find_rates
from gpt5_payloads import profile_for
from gpt5_responses import Connection, find_secrets, find_shutdown_date
from stream_text import redact_text

from ._base_model import base_model


_LOGGER = logging.getLogger("dify_plugin.plugin.openai_gpt5_responses")
_LOGGER.setLevel(logging.INFO)
_MOST_LINES = 1_000  # that are remembered; a name is anybody's to make up
_MOST_CHARACTERS = 100  # of a name

_told: set[str] = set()
_lock = Lock()


def note_model(model: str, connection: Connection, credentials: Mapping[str, object]) -> None:
    """Write to the plugin's log what is to be known of a model, once for each model in the life of this process."""
    for line in (_shutdown_line(model, connection), _price_line(model, credentials)):
        if line:
            _tell(redact_text(find_secrets(credentials).redact(line)))


def _shutdown_line(model: str, connection: Connection) -> str:
    day = find_shutdown_date(connection, model)
    if day is None:
        return ""
    is_over = date.fromisoformat(day) <= datetime.now(UTC).date()
    successor = profile_for(model).replacement
    use = f" Use {successor!r} instead." if successor else ""
    ends = "was to end" if is_over else "ends"
    return f"The model {model[:_MOST_CHARACTERS]!r} {ends} on {day}.{use}"


def _price_line(model: str, credentials: Mapping[str, object]) -> str:
    if find_rates(base_model(model, credentials), input_tokens=0) != Rates():
        return ""
    told = "counts as 0, so that max_cost of an agent cannot hold. Choose its Base Model."
    return f"The price of the model {model[:_MOST_CHARACTERS]!r} is not known: it {told}"


def _tell(line: str) -> None:
    with _lock:
        if line in _told or len(_told) >= _MOST_LINES:
            return
        _told.add(line)
    _LOGGER.warning(line)
