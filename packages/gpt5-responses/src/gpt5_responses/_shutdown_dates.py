"""When servers shut models down, as their lists of models say.

Source: `types/model.py` of openai 3.54.0: `shutdown_date` of an entry of `GET /v1/models` is a day or null.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any, cast
from urllib.parse import urlsplit

from gpt5_payloads import profile_for

from ._connection import AZURE_HOSTS, Connection
from ._transport import TRANSPORT, Transport


_MOST_MODELS = 2_000  # far beyond what any server lists
_OTHER_CALENDARS = (
    *AZURE_HOSTS,
    ".amazonaws.com",
)  # who host the same models for longer or shorter


def find_shutdown_date(
    connection: Connection, model: str, *, transport: Transport = TRANSPORT
) -> str | None:
    """Return the day on which a model is or was shut down, as YYYY-MM-DD; None where none is known.

    What the server's list of models said counts, once `validate_server` has read it in this process; for what it did not say, what
    `gpt5_payloads.profile_for` knows of OpenAI's own calendar, which Azure and Bedrock do not follow.
    """
    told = transport.shutdown_dates(connection)
    if model in told:
        return told[model]
    host = urlsplit(connection.base_url).hostname or ""
    return None if host.endswith(_OTHER_CALENDARS) else profile_for(model).shutdown_date


def read_shutdown_dates(models: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the days that a list of models tells, by model; those that it says to have none, with None.

    Whatever is not as it should be is passed over: a check of credentials does not fail because of it.
    """
    entries: object = models.get("data")
    if not isinstance(entries, list):
        return {}
    dates: dict[str, str | None] = {}
    for entry in cast("list[object]", entries)[:_MOST_MODELS]:
        told = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
        name, day = told.get("id"), told.get("shutdown_date")
        if isinstance(name, str) and "shutdown_date" in told and (day is None or _is_day(day)):
            dates[name] = cast("str | None", day)
    return dates


def _is_day(value: object) -> bool:
    try:
        # Python reads more than one form of a day.
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False
