"""Tools with the names and parameters of those that are built into Dify, for agents that `dify-host serve` runs.

Source: `time/tools/weekday.yaml` in `api/core/tools/builtin_tool/providers` of langgenius/dify at 7f8b4664, and its neighbours.
"""

from datetime import UTC, date, datetime
from typing import Literal


def current_time(format: str = "%Y", timezone: str = "UTC") -> str:  # noqa: A002 - the tool's name for it
    """A tool for getting the current time."""
    return f"{datetime.now(UTC).strftime(format)} {timezone}"


def weekday(year: float, month: float, day: float) -> str:
    """A tool for calculating the weekday of a given date by year, month and day."""
    return date(int(year), int(month), int(day)).strftime("%A")


def simple_code(language: Literal["python3", "javascript"], code: str) -> str:
    """A tool for running code and getting the result back."""
    return f"{language}: {code}"  # it is not run here
