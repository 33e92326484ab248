"""The writer of one run's records."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, Literal, Protocol, Self

from run_log._lines.file import LineFile, NoFile, log
from run_log._lines.json_lines import VERSION, Record, digest, to_line
from run_log._lines.plain import LONG_TEXT, to_plain
from run_log._lines.requests import RequestHistory
from run_log._lines.settings import LogSettings
from stream_text import KnownSecrets

from .answer import AnswerText
from .redaction import HIDDEN, Redactor, find_texts


LONG_CHARACTERS: Final = 4_096
"""The length from which on a text gets a record of its own, once in a run."""

_END_BYTES: Final = 65_536  # Reserved for the `end` of a run that has used up its room.

type Outcome = Literal["done", "failed", "refused", "recalled", "unfinished"]
"""The outcome of a tool call.

`done`: the tool was called and answered. `failed`: it was called and failed. `refused`: it was not called, and the
model reads why. `recalled`: it was not called, because the same call has answered before. `unfinished`: it was given up
while it still ran.
"""


type Checked = Literal["input", "tool_call", "answer"]
"""The object of a guardrail: the messages that a run begins with, a tool call, or its last answer."""

type GuardrailOutcome = Literal["passed", "changed", "stopped", "failed"]
"""The outcome of a guardrail. `failed`: it raised an error, which stops the checked object as well."""


class Observer(Protocol):
    """An observer of the records of runs, as they are in the log."""

    def take(self, run: str, record: Record) -> None:
        """Take the next record of the run with this name; in any thread. An exception ends neither the run nor its log."""
        ...


def _guarded[**P](
    method: Callable[Concatenate["RunWriter", P], None],
) -> Callable[Concatenate["RunWriter", P], None]:
    """Wrap a method so that it does nothing once the log is closed, and ends the log instead of the run if it fails."""

    @wraps(method)
    def guarded(self: "RunWriter", *args: P.args, **kwargs: P.kwargs) -> None:
        with self.lock:
            if not self.is_open:
                return
            try:
                method(self, *args, **kwargs)
            except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on
                self.give_up(error)

    return guarded


class RunWriter:
    """The log of one run.

    `RunLog.begin` makes it; its methods may be called from any thread, and none raises: a log that fails ends, and says
    so once.

    Every value is converted by `to_plain`, and secrets are taken out of all of them. A text of 4,096 characters or more is written once in a run, as
    a record of its own.

    Args:
        file: The file for the lines; None for a log that could not be begun.
        path: Its path; the run has the name of the file.
        known: The known secrets.
        settings: The limits.
        observers: The observers that get each record, even those that the file has no room for.
    """

    def __init__(
        self,
        file: LineFile | NoFile | None,
        *,
        path: Path,
        known: Iterable[KnownSecrets],
        settings: LogSettings,
        observers: Iterable[Observer] = (),
    ) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._file = NoFile() if file is None else file
        self._is_open = file is not None
        self._redactor = Redactor(*known)
        self._settings = settings
        self._began = time.monotonic()
        self._requests = RequestHistory()
        self._texts: dict[str, str] = {}  # long texts: digest as it came, digest as it is written
        self._kept: set[str] = set()  # digests that have a record
        self._answer = AnswerText(self._redactor)
        self._is_full = False
        self._observers = list(observers)

    def __enter__(self) -> Self:
        """Return the log."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the log."""
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether records can still be written."""
        return self._is_open

    @_guarded
    def hide(self, values: Iterable[object]) -> None:
        """Add to the known secrets: the texts and long numbers of six characters or more in these values are in no later record."""
        if self._redactor.add(find_texts(list(values))):
            # A text that is written already may hold one of them, so it is looked through again.
            self._texts.clear()

    @_guarded
    def start(self, about: Mapping[str, object], *, resumes: str | None = None) -> None:
        """Write the first record; `RunLog.begin` does."""
        more = self._shape_fields({"resumes": resumes})
        shaped = self._shape(to_plain(about))
        self._put("start", time=_now(), run=self.path.stem, about=shaped, **more)

    @_guarded
    def request(  # noqa: PLR0913 - the fields of a request
        self,
        round: int,  # noqa: A002 - the field's name
        messages: Iterable[object],
        settings: Mapping[str, object],
        *,
        is_closing: bool = False,
        wait_seconds: float = 0.0,
        left_out: int = 0,
        is_compaction: bool = False,
    ) -> None:
        """Write a request to a model; the record has only the parts that are new since the request before.

        Args:
            round: The number of the model call, from 1.
            messages: All messages.
            settings: Everything else by name: tools, tool choice, model, and so on.
            is_closing: Whether the model must answer now, without tools.
            wait_seconds: How long the run waits before it.
            left_out: How many images and files were replaced by a sentence since the request before.
            is_compaction: Whether the answer is a summary that compacts the run.
        """
        # Writes long texts on the way, so they stand before the record that needs them (L3).
        fields = self._requests.add(
            messages, settings, shape=self._shape, shape_setting=self._shape_setting
        )
        notes = {
            "is_closing": is_closing,
            "wait_seconds": wait_seconds,
            "left_out": left_out,
            "is_compaction": is_compaction,
        }
        self._answer = AnswerText(self._redactor)
        self._put("request", round=round, **{k: v for k, v in notes.items() if v}, **fields)

    @_guarded
    def delta(self, round: int, text: str = "", *, phase: str | None = None) -> None:  # noqa: A002
        """Take a piece of an answer. Pieces are collected for a while; one without text says that something else has come, such as a tool call.

        Args:
            round: The number of the model call.
            text: The next piece of its text.
            phase: The phase of the text: `commentary`, `final_answer`, or another that the model's client names.
        """
        answer, now = self._answer, self._now()
        answer.take(text, phase, now)
        if text and answer.is_due(now, self._settings.delta_seconds):
            self._put_delta(round, answer.flush(now))

    @_guarded
    def answer(  # noqa: PLR0913 - the fields of an answer
        self,
        round: int,  # noqa: A002
        *,
        calls: Iterable[object] = (),
        usage: object = None,
        finish_reason: str | None = None,
        opaque_body: object = None,
        files: Iterable[object] = (),
        error: str | None = None,
    ) -> None:
        """Write the end of a model call; its text is in the deltas before.

        Args:
            round: The number of the model call.
            calls: The tool calls, with `call_id`, `name` and `arguments` as the model wrote them.
            usage: Tokens and prices.
            finish_reason: Why the model stopped.
            opaque_body: The data that the model's client wants back.
            files: The files that the model has made.
            error: Why the call failed.
        """
        self._put_delta(round, self._answer.close())
        values = {
            "calls": list(calls),
            "usage": usage,
            "finish_reason": finish_reason,
            "opaque_body": opaque_body,
            "files": list(files),
            "error": error,
        }
        first = {} if self._answer.first is None else {"first": self._answer.first}
        self._put("answer", round=round, **first, **self._shape_fields(values))

    @_guarded
    def call(self, call_id: str, name: str, arguments: str) -> None:
        """Write a tool call as the model wrote it."""
        values = {"call_id": call_id, "name": name, "arguments": arguments}
        self._put("call", **self._shape_all(values))

    @_guarded
    def bound(
        self,
        call_id: str,
        arguments: Mapping[str, object],
        hidden: Iterable[str],
        *,
        tool: str | None = None,
    ) -> None:
        """Write the arguments that a tool gets.

        Args:
            call_id: The call.
            arguments: The checked arguments.
            hidden: The names of arguments that the model does not see, whether they are there or not; their values are masked.
            tool: The tool, if the model has called another that calls it.
        """
        masked = {**arguments, **dict.fromkeys(hidden, HIDDEN)}
        fields = {"call_id": call_id, "arguments": masked} | ({"tool": tool} if tool else {})
        self._put("bound", **self._shape_all(fields))

    @_guarded
    def started(self, call_id: str) -> None:
        """Write that a tool begins to run; a call may have to wait if too many run at once."""
        self._put("started", **self._shape_all({"call_id": call_id}))

    @_guarded
    def retry(
        self,
        call_id: str,
        attempt: int,
        outcome: Outcome,
        *,
        error: str | None = None,
        cause: BaseException | None = None,
    ) -> None:
        """Write that a try of a tool call failed or was given up, and that the tool is called again.

        Args:
            call_id: The call.
            attempt: The number of that try, from 1.
            outcome: Its outcome: `failed` or `unfinished`.
            error: Why it failed or was given up.
            cause: The exception behind that.
        """
        described = None if cause is None else _describe(cause)
        values = self._shape_all({"call_id": call_id, "outcome": outcome})
        self._put(
            "retry",
            attempt=attempt,
            **values,
            **self._shape_fields({"error": error, "cause": described}),
        )

    @_guarded
    def result(  # noqa: PLR0913 - the fields of a result
        self,
        call_id: str,
        outcome: Outcome,
        content: object,
        *,
        error: str | None = None,
        cause: BaseException | None = None,
        artifact: object = None,
    ) -> None:
        """Write the outcome of a tool call.

        Args:
            call_id: The call.
            outcome: Its outcome.
            content: The result that the model reads.
            error: Why it failed or was refused.
            cause: The exception behind that.
            artifact: Data that the tool returned for others than the model.
        """
        described = None if cause is None else _describe(cause)
        values = {"call_id": call_id, "outcome": outcome, "content": content}
        more = self._shape_fields({"error": error, "cause": described, "artifact": artifact})
        self._put("result", **self._shape_all(values), **more)

    @_guarded
    def question(self, round: int, calls: Iterable[object]) -> None:  # noqa: A002
        """Write that a person is asked whether calls may be made.

        Args:
            round: The number of the model call that wants them.
            calls: The calls as they would be made, with `call_id`, `name` and `arguments`.
        """
        self._put("question", round=round, time=_now(), **self._shape_all({"calls": list(calls)}))

    @_guarded
    def decision(
        self, call_id: str, *, is_approved: bool, by: str | None = None, reason: str | None = None
    ) -> None:
        """Write a person's decision about a call.

        Args:
            call_id: The call.
            is_approved: Whether it is made.
            by: Who decided.
            reason: Why it is not made.
        """
        more = self._shape_fields({"by": by, "reason": reason})
        shaped = self._shape_all({"call_id": call_id})
        self._put("decision", time=_now(), **shaped, is_approved=is_approved, **more)

    @_guarded
    def guardrail(
        self,
        name: str,
        outcome: GuardrailOutcome,
        *,
        checked: Checked,
        reason: str | None = None,
        call_id: str | None = None,
    ) -> None:
        """Write the outcome of a guardrail.

        Args:
            name: The guardrail.
            outcome: Its outcome.
            checked: The object that it checked.
            reason: The reason why it stopped or failed.
            call_id: The tool call that it checked, if any.
        """
        more = self._shape_fields({"reason": reason, "call_id": call_id})
        named = self._shape_all({"name": name})
        self._put("guardrail", checked=checked, outcome=outcome, **named, **more)

    @_guarded
    def budgets(self, used: Mapping[str, tuple[object, object]]) -> None:
        """Write how much of each budget is used: the amount and the maximum by the budget's name."""
        pairs = {name: {"used": amount, "maximum": most} for name, (amount, most) in used.items()}
        if pairs:
            self._put("budgets", budgets=to_plain(pairs))

    @_guarded
    def compaction(  # noqa: PLR0913 - the fields of a compaction
        self,
        round: int,  # noqa: A002
        kind: str,
        *,
        replaced: int,
        reasoning_dropped: int = 0,
        tokens_before: int,
        tokens_after: int,
        usage: object = None,
        error: str | None = None,
    ) -> None:
        """Write that a run was compacted: the next request has another prefix.

        Args:
            round: The number of the model call that comes next.
            kind: The means: `summary`, `api`, or `dropped`.
            replaced: How many messages are gone.
            reasoning_dropped: How many of them had reasoning with them.
            tokens_before: About how many tokens the next request would have had.
            tokens_after: About how many it has.
            usage: The usage of the compaction itself.
            error: Why the oldest messages were dropped.
        """
        figures = {
            "replaced": replaced,
            "reasoning_dropped": reasoning_dropped,
            "tokens_before": tokens_before,
            "tokens_after": tokens_after,
        }
        more = self._shape_fields({"usage": usage, "error": error})
        self._put_delta(round, self._answer.close())
        self._put("compaction", round=round, kind=kind, **figures, **more)

    @_guarded
    def error(self, error: BaseException | str) -> None:
        """Write the error that broke the run."""
        self._put("error", **self._shape_all(_describe(error)))

    @_guarded
    def end(
        self,
        reason: str,
        *,
        rounds: int | None = None,
        usage: object = None,
        error: str | None = None,
        budget: str | None = None,
    ) -> None:
        """Write the last record and close the log.

        Args:
            reason: Why the run stopped.
            rounds: How many model calls were made.
            usage: The total usage.
            error: The sentence that says how it failed.
            budget: The budget that was used up.
        """
        values = {"rounds": rounds, "usage": usage, "error": error, "budget": budget}
        fields = self._shape_all({"reason": reason}) | self._shape_fields(values)
        cut = {"is_cut": True} if self._is_full else {}
        self._put("end", time=_now(), **fields, **cut, is_last=True)
        self._close()

    def close(self) -> None:
        """Close the log. A run that has not ended gets the reason `closed`."""
        self.end("closed")

    def give_up(self, error: BaseException) -> None:
        """End the log because of an error, and say so."""
        cause = self._redactor.redact_text(str(error) or type(error).__name__)
        log.warning("the log of the run %s ends here: %s", self.path.stem, cause)
        self._close()

    def _close(self) -> None:
        self._file.close()
        self._is_open = False

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 6)

    def _put_delta(self, number: int, delta: Mapping[str, Any]) -> None:
        if delta:
            self._put("delta", round=number, **delta)

    # The type is positional only, since the record of a compaction has a field `kind`.
    def _put(self, kind: str, /, *, is_last: bool = False, **fields: Any) -> None:
        """Write a record; once a run has used up its room, only the last."""
        record: Record = {"v": VERSION, "type": kind, "t": self._now(), **fields}
        self._notify(record)
        if (is_last or not self._is_full) and not self._write(to_line(record), is_last=is_last):
            self._is_full = True
            log.warning(
                "the log of the run %s is cut: it has more than %d bytes (max_run_bytes)",
                self.path.stem,
                self._settings.max_run_bytes,
            )

    def _notify(self, record: Record) -> None:
        """Pass a record to the observers; one that fails gets no further records."""
        for observer in list(self._observers):
            try:
                observer.take(self.path.stem, record)
            except Exception as error:  # noqa: BLE001 - whatever it is, the run and its log go on
                self._observers.remove(observer)
                log.warning(
                    "the run %s is observed no more: %s", self.path.stem, type(error).__name__
                )

    def _write(self, line: bytes, *, is_last: bool = False) -> bool:
        """Write a line if there is room for it; return whether there was."""
        room = self._settings.max_run_bytes + (_END_BYTES if is_last else 0)
        has_room = self._file.size + len(line) <= room
        if has_room:
            self._file.write(line)
        return has_room

    def _shape(self, plain: Any) -> Any:
        return self._redactor.redact(plain, text=self._shape_text)

    def _shape_setting(self, plain: Any) -> Any:
        return self._redactor.redact(plain, by_name=False, text=self._shape_text)

    def _shape_all(self, values: Mapping[str, object]) -> dict[str, Any]:
        return {name: self._shape(to_plain(value)) for name, value in values.items()}

    def _shape_fields(self, values: Mapping[str, object]) -> dict[str, Any]:
        """Return the shaped form of optional values, without those that are empty."""
        plain = {name: to_plain(value) for name, value in values.items()}
        empty: tuple[Any, ...] = (None, "", [], {})
        return {name: self._shape(value) for name, value in plain.items() if value not in empty}

    def _shape_text(self, text: str) -> Any:
        if len(text) < LONG_CHARACTERS:
            return self._redactor.redact_text(text)
        # By its digest as it came, so that a long text is redacted only once in a run.
        seen = digest(text)
        if seen not in self._texts:
            self._texts[seen] = self._put_long_text(self._redactor.redact_text(text))
        return {LONG_TEXT: self._texts[seen]}

    def _put_long_text(self, text: str) -> str:
        """Write a long text, once; return its digest."""
        name = digest(text)
        if name in self._kept:
            return name
        self._kept.add(name)
        size = len(text.encode(errors="surrogatepass"))
        record: Record = {
            "v": VERSION,
            "type": "long_text",
            "t": self._now(),
            "digest": name,
            "size": size,
        }
        is_wanted = size <= self._settings.max_text_bytes and not self._is_full
        # Observers keep nothing in a file, so no limit of one holds for them.
        if self._observers:
            self._notify({**record, "text": text})
        if not (is_wanted and self._write(to_line({**record, "text": text}))):
            self._put("long_text", digest=name, size=size, is_omitted=True)
        return name


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _describe(error: BaseException | str) -> dict[str, str]:
    return {"kind": "" if isinstance(error, str) else type(error).__name__, "message": str(error)}
