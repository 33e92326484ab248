"""The JSON lines of an agent run: schema, writer and reader."""

from ._lines.json_lines import VERSION, Record, read_schema
from ._lines.plain import from_plain, to_plain
from ._lines.settings import LogSettings
from ._reader.differences import Difference, LoggedRequest, find_difference
from ._reader.problems import Problem, RunLogError
from ._reader.reader import PlacedRecord, RunFile
from ._reader.runs import RunSummary, find_run, list_runs, read_summary
from ._writer.log import RunFeed, RunLog
from ._writer.writer import Checked, GuardrailOutcome, Observer, Outcome, RunWriter


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
