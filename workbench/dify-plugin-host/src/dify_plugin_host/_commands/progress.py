"""The progress of an agent run, read from the strategy's messages.

Strategies report rounds, model calls and tool calls as log messages: `ROUND 1`, `gpt-5.2 Thought`, `CALL clock`, each first with
status `start`, then with the same id and `success` or `error`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pydantic_core import from_json

from dify_plugin_host._platform.variables import set_variable
from dify_plugin_packager.json_access import JsonObject, is_object, object_at, objects_at
from stream_text import ThinkPiece, ThinkReader

from .files import Files


_ROUND = re.compile(r"ROUND (\d+)")
_CALL = re.compile(r"CALL (.+)")
# Strategies use different names for these; the first that is there counts.
_ARGUMENT_KEYS = ("tool_call_args", "tool_call_input", "tool_input", "arguments", "args", "input")
_RESULT_KEYS = ("tool_response", "response", "result", "observation", "output", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """Something that happens in a run; `event` is its name in JSON."""

    event: ClassVar[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(RunEvent):
    """The start of a run; without a strategy only the model is asked."""

    event: ClassVar[str] = "start"
    strategy: str | None
    model: str
    server: str
    tools: tuple[str, ...]
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted(RunEvent):
    """The start of a round: one call of the model and the tools that it asks for."""

    event: ClassVar[str] = "round"
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtPiece(RunEvent):
    """A piece of the model's thoughts."""

    event: ClassVar[str] = "thought"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece(RunEvent):
    """A piece of the model's text to the user."""

    event: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(RunEvent):
    """A call of a tool."""

    event: ClassVar[str] = "tool_call"
    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswered(RunEvent):
    """The result of a tool, or its failure."""

    event: ClassVar[str] = "tool_result"
    id: str
    name: str
    status: Literal["success", "error"]
    result: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUsed(RunEvent):
    """The use of a budget by the end of a round."""

    event: ClassVar[str] = "budget"
    name: str
    used: float | str
    maximum: float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGiven(RunEvent):
    """A file from the strategy; `path` is where it was saved, None if it was not."""

    event: ClassVar[str] = "file"
    name: str
    mime_type: str
    size_bytes: int
    path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherMessage(RunEvent):
    """A link or anything else from the strategy that is neither text nor a file."""

    event: ClassVar[str] = "message"
    type: str
    message: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeGiven(RunEvent):
    """A plugin's message outside of the run."""

    event: ClassVar[str] = "notice"
    plugin: str
    level: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(RunEvent):
    """The end of a run with an answer; `total_price` is a decimal number as text."""

    event: ClassVar[str] = "finish"
    answer: str
    rounds: int
    total_tokens: int
    total_price: str
    currency: str
    seconds: float
    metadata: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed(RunEvent):
    """The end of a run that could not begin or has failed."""

    event: ClassVar[str] = "error"
    message: str


@dataclass(slots=True, kw_only=True)
class Progress:
    """A reader of a strategy's messages, which turns them into events and adds them up.

    Attributes:
        files: Takes the files out of messages.
    """

    files: Files
    _reader: ThinkReader = field(default_factory=ThinkReader)
    _blank: str = ""
    _has_text: bool = False
    _rounds: int = 0
    _answer: list[str] = field(default_factory=list[str])
    _metadata: JsonObject = field(default_factory=dict[str, Any])
    _variables: dict[str, Any] = field(default_factory=dict[str, Any])

    def feed(self, message: JsonObject) -> Iterator[RunEvent]:
        """Yield the events that a message stands for."""
        content = object_at(message, "message")
        match message.get("type"):
            case "text":
                yield from self._pieces(self._reader.feed(str(content.get("text") or "")))
            case "log":
                yield from self._log(content)
            case "json" if is_object(metadata := _metadata_of(content)):
                self._metadata = metadata
            case "variable":
                set_variable(self._variables, content)
            case _ if file := self.files.read(message):
                path = self.files.save(file)
                yield FileGiven(
                    name=file.name,
                    mime_type=file.mime_type,
                    size_bytes=len(file.content),
                    path=str(path) if path else None,
                )
            case kind:
                yield OtherMessage(type=str(kind), message=content)

    def finish(self, *, seconds: float) -> Iterator[RunEvent]:
        """Yield the events that are left, among them the outputs that do not just repeat the answer, and the end with the totals."""
        yield from self._pieces(self._reader.close())
        metadata, answer = self._metadata, "".join(self._answer).strip()
        for name, value in self._variables.items():
            if value != answer:
                output = {"variable_name": name, "variable_value": value}
                yield OtherMessage(type="variable", message=output)
        yield RunFinished(
            answer=answer,
            rounds=self._rounds,
            total_tokens=int(metadata.get("total_tokens") or 0),
            total_price=str(metadata.get("total_price") or "0"),
            currency=str(metadata.get("currency") or "USD"),
            seconds=seconds,
            metadata=metadata,
        )

    def _pieces(self, pieces: Iterable[ThinkPiece]) -> Iterator[RunEvent]:
        for kind, _, text in pieces:
            if kind == "thought":
                self._begin_passage()
                yield ThoughtPiece(text=text)
            else:
                yield from self._text(self._blank + text)

    def _text(self, text: str) -> Iterator[RunEvent]:
        """Emit text; line breaks at the beginning of a passage wait for its first word, and are dropped without one."""
        self._blank = "" if self._has_text or not text.isspace() else text
        if not self._blank:
            self._has_text = True
            self._answer.append(text)
            yield TextPiece(text=text)

    def _begin_passage(self) -> None:
        self._blank = ""
        self._has_text = False

    def _log(self, log: JsonObject) -> Iterator[RunEvent]:
        label, status = str(log.get("label")), log.get("status")
        if match := _ROUND.fullmatch(label):
            if status != "start":
                # The end of a round, whose log has the budgets.
                yield from _budgets(object_at(log, "data"))
                return
            self._rounds += 1
            self._answer.clear()  # The answer is the text of the last round.
            self._begin_passage()
            yield RoundStarted(number=int(match[1]))
        elif match := _CALL.fullmatch(label):
            yield self._call(log, match[1])

    def _call(self, log: JsonObject, name: str) -> RunEvent:
        call_id, data = str(log.get("id")), object_at(log, "data")
        match log.get("status"):
            case "start":
                arguments = _decoded(_find(data, _ARGUMENT_KEYS))
                return ToolCalled(id=call_id, name=name, arguments=arguments)
            case "error":
                result = log.get("error") or _find(data, _RESULT_KEYS)
                return ToolAnswered(id=call_id, name=name, status="error", result=result)
            case _:
                result = _find(data, _RESULT_KEYS)
                return ToolAnswered(id=call_id, name=name, status="success", result=result)


def _budgets(data: JsonObject) -> Iterator[BudgetUsed]:
    """Yield the budgets in a round's log, from wherever in it they stand."""
    parts = (data, *(part for part in data.values() if is_object(part)))
    for use in (use for part in parts for use in objects_at(part, "budgets")):
        yield BudgetUsed(
            name=str(use.get("name")), used=use.get("used", 0), maximum=use.get("maximum", 0)
        )


def _metadata_of(content: JsonObject) -> Any:
    return object_at(content, "json_object").get("execution_metadata")


def _decoded(arguments: Any) -> Any:
    """Return arguments as an object, also those that came as JSON text."""
    try:
        decoded: Any = from_json(arguments) if isinstance(arguments, str) else None
    except ValueError:
        return arguments
    return decoded if is_object(decoded) else arguments


def _find(data: JsonObject, keys: tuple[str, ...]) -> Any:
    """Return the value of the first of `keys` that is there, also one level down; all of the data if none is."""
    for key in keys:
        if key in data:
            found = data[key]
            return _find(found, keys) if is_object(found) and _has_any(found, keys) else found
    for value in data.values():
        if is_object(value) and _has_any(value, keys):
            return _find(value, keys)
    return data


def _has_any(data: JsonObject, keys: tuple[str, ...]) -> bool:
    return not data.keys().isdisjoint(keys)
