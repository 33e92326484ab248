"""The JSON lines of an agent run: schema, writer and reader."""

from ._differences import Difference, LoggedRequest, find_difference
from ._json_lines import VERSION, Record
from ._log import RunLog
from ._plain import to_plain
from ._problems import Problem, RunLogError
from ._reader import PlacedRecord, RunFile
from ._runs import RunSummary, find_run, list_runs, read_summary
from ._schema import read_schema
from ._settings import LogSettings
from ._writer import Outcome, RunWriter


__all__ = [
    "VERSION",
    "Difference",
    "LogSettings",
    "LoggedRequest",
    "Outcome",
    "PlacedRecord",
    "Problem",
    "Record",
    "RunFile",
    "RunLog",
    "RunLogError",
    "RunSummary",
    "RunWriter",
    "find_difference",
    "find_run",
    "list_runs",
    "read_schema",
    "read_summary",
    "to_plain",
]
