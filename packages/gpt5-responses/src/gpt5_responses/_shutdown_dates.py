"""The days on which servers shut models down, from their lists of models.

Source: `types/model.py` of openai 3.54.0: `shutdown_date` of an entry of `GET /v1/models` is a day or null.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any

from gpt5_payloads import profile_for
from stream_text import is_list, is_object

from ._calls.transport import TRANSPORT, Transport
from ._settings.base_urls import AZURE_HOSTS
from ._settings.connection import Connection


_MOST_MODELS = 2_000  # far beyond what any server lists
# Other providers host the same models for longer or shorter.
_OTHER_CALENDARS = (*AZURE_HOSTS, ".amazonaws.com")


def find_shutdown_date(
    connection: Connection, model: str, *, transport: Transport = TRANSPORT
) -> str | None:
    """Return the day on which a model is or was shut down, as YYYY-MM-DD; None if none is known.

    The server's list of models counts, once `validate_server` has read it in this process. Where it says nothing, OpenAI's own calendar
    counts (`gpt5_payloads.profile_for`), except on Azure and Bedrock, which do not follow it.
    """
    dates = transport.shutdown_dates(connection)
    if model in dates:
        return dates[model]
    return None if connection.host.endswith(_OTHER_CALENDARS) else profile_for(model).shutdown_date


def read_shutdown_dates(models: Mapping[str, Any]) -> dict[str, str | None]:
    """Return each model's shutdown date from a list of models; None for a model that is listed without one.

    Malformed entries are skipped, since they must not make a check of credentials fail.
    """
    entries: object = models.get("data")
    dates: dict[str, str | None] = {}
    for entry in filter(is_object, entries[:_MOST_MODELS] if is_list(entries) else ()):
        name, day = entry.get("id"), entry.get("shutdown_date")
        if isinstance(name, str) and "shutdown_date" in entry and (day is None or _is_day(day)):
            dates[name] = day
    return dates


def _is_day(value: object) -> bool:
    try:
        # Python reads other forms of a day as well.
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False
