"""The JSON lines of an agent run: schema, writer and reader."""

from ._differences import Difference, LoggedRequest, find_difference
from ._json_lines import VERSION, Record, read_schema
from ._log import RunFeed, RunLog
from ._plain import from_plain, to_plain
from ._problems import Problem, RunLogError
from ._reader import PlacedRecord, RunFile
from ._runs import RunSummary, find_run, list_runs, read_summary
from ._settings import LogSettings
from ._writer import Checked, GuardrailOutcome, Observer, Outcome, RunWriter


__all__ = [
    "VERSION",
    "Checked",
    "Difference",
    "GuardrailOutcome",
    "LogSettings",
    "LoggedRequest",
    "Observer",
    "Outcome",
    "PlacedRecord",
    "Problem",
    "Record",
    "RunFeed",
    "RunFile",
    "RunLog",
    "RunLogError",
    "RunSummary",
    "RunWriter",
    "find_difference",
    "find_run",
    "from_plain",
    "list_runs",
    "read_schema",
    "read_summary",
    "to_plain",
]
