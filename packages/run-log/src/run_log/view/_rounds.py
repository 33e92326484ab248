"""The rounds of a run as rows of numbers and short texts, with the offsets of everything else in the file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from run_log import PlacedRecord, Record


_HEAD_CHARACTERS: Final = 400
_EFFORTS: Final = ("effort", "reasoning_effort")


@dataclass(slots=True)
class CallRow:
    """A tool call: when it was written and first ran, its outcome, the tool that it called in turn, and how often it was tried again."""

    call_id: str
    name: str
    asked: float
    started: float | None = None
    ended: float | None = None
    outcome: str | None = None
    tool: str = ""
    retries: int = 0


@dataclass(slots=True)
class RoundRow:
    """A model call with its tool calls.

    Attributes:
        index: Its index in the file, from 0.
        offsets: The offsets of its records.
        asks: The calls that the model wrote: id and name of each.
        replaced: The first message of the request before that is not in this one: the offset of its record, and its index in `added`.
        settings: The offset of the record that has the value of each setting.
        others: The number of other records by their types, such as compactions and types of a later version.
    """

    index: int
    number: int
    asked: float
    wait: float = 0.0
    is_closing: bool = False
    is_compaction: bool = False
    left_out: int = 0
    kept: int = 0
    added: int = 0
    dropped: int = 0
    changed: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    tool_choice: str = ""
    first: float | None = None
    answered: float | None = None
    last: float = 0.0
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    finish_reason: str = ""
    error: str = ""
    phases: list[str] = field(default_factory=list[str])
    head: str = ""
    calls: list[CallRow] = field(default_factory=list[CallRow])
    asks: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]], repr=False)
    budgets: Mapping[str, Any] | None = None
    others: dict[str, int] = field(default_factory=dict[str, int])
    offsets: list[int] = field(default_factory=list[int], repr=False)
    replaced: tuple[int, int] | None = field(default=None, repr=False)
    settings: Mapping[str, int] = field(default_factory=dict[str, int], repr=False)

    def describe(self) -> dict[str, Any]:
        """Return the row as JSON."""
        left_out = {"offsets", "replaced", "settings", "calls", "asks"}
        fields = {name: getattr(self, name) for name in self.__slots__ if name not in left_out}
        calls = [{name: getattr(call, name) for name in call.__slots__} for call in self.calls]
        return {**fields, "calls": calls}

    def take(self, placed: PlacedRecord) -> None:
        """Take a record of this round."""
        record = placed.record
        kind: str = record["type"]
        self.offsets.append(placed.offset)
        self.last = max(self.last, to_seconds(record))
        if take := _TAKES.get(kind):
            take(self, record)
        elif kind not in _ONLY_DETAILS:
            self.others[kind] = self.others.get(kind, 0) + 1

    def leave(self, outcome: str) -> None:
        """Set the outcome of the calls that the model wrote and that have never begun."""
        for call_id, name in self.asks:
            if self.find_call(call_id) is None:
                self.calls.append(CallRow(call_id, name, asked=self.last, outcome=outcome))

    def find_call(self, call_id: object) -> CallRow | None:
        """Return a call by its id."""
        return next((call for call in self.calls if call.call_id == call_id), None)


def begin_round(index: int, placed: PlacedRecord, before: RoundRow | None) -> RoundRow:
    """Return the row of a request's record."""
    record = placed.record
    changed: dict[str, Any] = record.get("set") or {}
    gone = [name for name in record.get("unset") or () if isinstance(name, str)]
    settings: Mapping[str, int] = before.settings if before else {}
    row = RoundRow(
        index=index,
        number=record["round"],
        asked=to_seconds(record),
        wait=record.get("wait_seconds") or 0.0,
        is_closing=bool(record.get("is_closing")),
        is_compaction=bool(record.get("is_compaction")),
        left_out=record.get("left_out") or 0,
        kept=record["kept"],
        added=len(record["added"]),
        changed=tuple(sorted({*changed, *gone})),
        settings={name: place for name, place in settings.items() if name not in gone}
        | dict.fromkeys(changed, placed.offset),
        last=to_seconds(record),
        offsets=[placed.offset],
    )
    for name, names in _SHOWN.items():
        kept = getattr(before, name, "") if set(names).isdisjoint(gone) else ""
        setattr(row, name, _find_setting(changed, names) or kept)
    return row


_SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "model": ("model",),
    "effort": _EFFORTS,
    "tool_choice": ("tool_choice",),
}


def find_effort(values: Mapping[str, Any]) -> str:
    """Return the effort in a program's own information about a run."""
    return _find_setting(values, _EFFORTS)


def _find_setting(values: Mapping[str, Any], names: tuple[str, ...]) -> str:
    found = next((values[name] for name in names if name in values), "")
    # An object, or a long text that stands as its digest: the row says only that there is one.
    return found if isinstance(found, str) else "" if found is None else "…"


def to_seconds(record: Mapping[str, Any]) -> float:
    """Return when a record was written, in seconds since the run began."""
    value = record.get("t", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0


def _take_delta(row: RoundRow, record: Record) -> None:
    if row.first is None and record.get("since") is not None:
        row.first = record["since"]
    text, phase = _to_text(record["text"]), record.get("phase")
    if isinstance(phase, str) and phase not in row.phases:
        row.phases.append(phase)
    if len(row.head) < _HEAD_CHARACTERS:
        row.head = (row.head + text)[:_HEAD_CHARACTERS]


def _take_answer(row: RoundRow, record: Record) -> None:
    row.answered = to_seconds(record)
    row.first = record.get("first", row.first)
    row.usage = record.get("usage") or {}
    row.finish_reason = _to_text(record.get("finish_reason"))
    row.error = _to_text(record.get("error"))
    calls: list[Any] = [call for call in record.get("calls") or () if isinstance(call, dict)]
    row.asks = [(call.get("call_id"), _to_text(call.get("name"))) for call in calls]


def _take_bound(row: RoundRow, record: Record) -> None:
    if call := row.find_call(record["call_id"]):
        call.tool = _to_text(record.get("tool"))


def _take_call(row: RoundRow, record: Record) -> None:
    name = _to_text(record["name"])
    row.calls.append(CallRow(call_id=record["call_id"], name=name, asked=to_seconds(record)))


def _take_started(row: RoundRow, record: Record) -> None:
    call = row.find_call(record["call_id"])
    if call is not None and call.started is None:
        call.started = to_seconds(record)


def _take_retry(row: RoundRow, record: Record) -> None:
    if call := row.find_call(record["call_id"]):
        call.retries += 1


def _take_result(row: RoundRow, record: Record) -> None:
    if call := row.find_call(record["call_id"]):
        call.ended, call.outcome = to_seconds(record), record["outcome"]


def _take_budgets(row: RoundRow, record: Record) -> None:
    row.budgets = record["budgets"]


def _take_error(row: RoundRow, record: Record) -> None:
    row.error = _to_text(record["message"])


def _to_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else "…" if isinstance(value, dict) else str(value)


_TAKES: Final = {
    "delta": _take_delta,
    "answer": _take_answer,
    "call": _take_call,
    "bound": _take_bound,
    "started": _take_started,
    "retry": _take_retry,
    "result": _take_result,
    "budgets": _take_budgets,
    "error": _take_error,
}

# Types that only the details of a round show, and no row.
_ONLY_DETAILS: Final = frozenset({"question", "end", "start"})
