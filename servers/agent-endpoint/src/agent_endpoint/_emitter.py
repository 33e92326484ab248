"""What a run of an agent shows, emitted once however often it is played again.

Source: docs/contracts/agent-events.md, V1 to V5.
"""

import base64
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from agent_driver import (
    AgentEvent,
    Event,
    ShowFile,
    ShowText,
    ToolCallEnded,
    ToolCallStarted,
    Usage,
)
from agent_loop import (
    AskApproval,
    ModelCallEnded,
    RoundEnded,
    RoundStarted,
    RunSteered,
    RunTools,
    ShowReasoning,
    ToolCall,
)
from agent_server.executor import Execution, JsonObject, StepExecution, StoredEvent
from agent_server.executor import Usage as RunUsage
from stream_text import read_member


SHOWN = frozenset(
    (
        *("steered", "model_started", "reasoning", "text", "file", "model_ended"),
        *("tool_started", "tool_ended"),
    )
)
"""The types of the events."""

type Path = tuple[str, ...]
"""The ids of the calls that lead to an agent, the outermost first; empty for the run's own."""

_OF_MODEL = (ShowText, ShowReasoning, ShowFile, ModelCallEnded)
# A model's answer is over when one of these comes; what it shows may come after the news that it has ended.
_AFTER_MODEL = (ToolCallStarted, RunTools, AskApproval, RoundEnded)


def to_usage(usage: Usage, *, model_requests: int = 1) -> RunUsage:
    """Return the usage of model calls as a run's."""
    return RunUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        model_requests=model_requests,
        cost=str(usage.total_price) if usage.currency else None,
        currency=usage.currency or None,
    )


@dataclass(slots=True)
class _Round:
    """What a round has shown.

    Attributes:
        emitted: How many characters, or files, of each kind are among the run's events.
        produced: How many the round has come to, this time.
        is_ended: Whether the end of its model call is among the events.
    """

    emitted: Counter[str] = field(default_factory=Counter[str])
    produced: Counter[str] = field(default_factory=Counter[str])
    is_ended: bool = False


class Emitter:
    """Emitter of what a run shows, which emits it once however often it is played again.

    Played again, a run shows the same as before up to where it was cut: what is among its events already is left out.

    Args:
        run: The run, or a step of one.
        before: The events that earlier attempts have left.
        rounds: The round that each agent was in when the run began to wait, by its path.
        hidden: The names of the client's functions, whose calls the client knows.
    """

    def __init__(
        self,
        run: Execution | StepExecution,
        before: Iterable[StoredEvent] = (),
        *,
        rounds: Mapping[Path, int],
        hidden: Collection[str] = (),
    ) -> None:
        self._run = run
        self._hidden = hidden
        self.rounds = dict(rounds)
        self._shown: dict[tuple[Path, int], _Round] = {}
        self._calls: set[tuple[str, Path, int, str]] = set()
        self._usage: dict[Path, Usage] = {}
        self._begun: set[tuple[Path, int]] = set()
        self._steered = set[int]()
        for event in before:
            if event.type in SHOWN:
                self._note(event)

    async def begin_call(self, path: Path, number: int) -> None:
        """Emit that a model is called now: again, if it was before and there is no record of it."""
        if path:
            # What it has shown before may still be on its way.
            self._begun.add((path, number))
        else:
            await self.start_round(path, number, again=(path, number) in self._shown)

    async def start_round(self, path: Path, number: int, *, again: bool) -> None:
        """Emit that the model of a round is called, again or for the first time."""
        self._shown[path, number] = _Round()
        await self._emit("model_started", path, number, again=again)

    def emitted(self, path: Path) -> Mapping[str, int]:
        """Return how much of the model's answer in an agent's round was emitted: characters of each kind, and files."""
        return self._current(path).emitted

    def note_emitted(self, path: Path, number: int, emitted: Mapping[str, int]) -> None:
        """Take note that somebody else has emitted that much of the model's answer in a round."""
        self._shown[path, number] = _Round(emitted=Counter(emitted))

    async def emit(self, event: Event, path: Path = ()) -> None:
        """Emit what an event of the run shows."""
        if isinstance(event, AgentEvent):
            await self.emit(event.event, event.path)
            return
        await self._follow_call(event, path)
        match event:
            case RoundStarted():
                self.rounds[path] = event.round
            # Of an agent that is called as a tool nobody tells it anything.
            case RunSteered(round=number) if number not in self._steered:
                content = [one.content for one in event.messages]
                await self._emit("steered", path, number, messages=content)
            case ShowText():
                await self._emit_text("text", path, event.text)
            case ShowReasoning():
                await self._emit_text("reasoning", path, event.text)
            case ShowFile():
                await self._emit_file(path, event.file)
            case ModelCallEnded():
                self._usage[path] = event.usage
            case ToolCallStarted():
                call = event.made or event.call
                data = {"name": call.name, "arguments": call.arguments}
                await self._emit_call("tool_started", path, call, data)
            case ToolCallEnded():
                result = event.result
                data = {"name": event.call.name, "output": result.text, "error": result.error}
                await self._emit_call("tool_ended", path, event.call, data)
            case _:
                pass

    def _note(self, event: StoredEvent) -> None:
        data = event.data
        path, number = tuple(data["path"]), data["round"]
        shown = self._shown.setdefault((path, number), _Round())
        match event.type:
            case "model_started":
                self._shown[path, number] = _Round()
            case "text" | "reasoning" as kind:
                shown.emitted[kind] += len(data["text"])
            case "file":
                shown.emitted["file"] += 1
            case "model_ended":
                shown.is_ended = True
            case "steered":
                self._steered.add(number)
            case kind:
                self._calls.add((kind, path, number, data["call_id"]))

    async def _follow_call(self, event: Event, path: Path) -> None:
        """Emit that a call of a model has begun, or ended, if an event shows that."""
        key = path, self._number(path)
        if isinstance(event, _OF_MODEL) and key in self._begun:
            self._begun.remove(key)
            await self.start_round(*key, again=key in self._shown)
        if not isinstance(event, _AFTER_MODEL):
            return
        shown, usage = self._current(path), self._usage.pop(path, None)
        if usage is not None and not shown.is_ended:
            shown.is_ended = True
            await self._emit("model_ended", path, self.rounds[path], usage=asdict(to_usage(usage)))

    async def _emit_text(self, kind: str, path: Path, text: str) -> None:
        shown = self._current(path)
        if not shown.produced[kind]:
            text = text.lstrip("\n")  # The loop puts what rounds say on lines of their own.
        shown.produced[kind] += len(text)
        new = shown.produced[kind] - shown.emitted[kind]
        if new > 0:
            shown.emitted[kind] += min(new, len(text))
            await self._emit(kind, path, self._number(path), text=text[-new:])

    async def _emit_file(self, path: Path, file: object) -> None:
        shown = self._current(path)
        shown.produced["file"] += 1
        read = _read_file(file)
        if read is not None and shown.produced["file"] > shown.emitted["file"]:
            await self._emit("file", path, self._number(path), **read)
        shown.emitted["file"] = max(shown.emitted["file"], shown.produced["file"])

    async def _emit_call(self, type_: str, path: Path, call: ToolCall, data: JsonObject) -> None:
        key = (type_, path, self._number(path), call.call_id)
        if key in self._calls or (not path and call.name in self._hidden):
            return
        self._calls.add(key)
        await self._emit(type_, path, self._number(path), call_id=call.call_id, **data)

    async def _emit(self, type_: str, path: Path, number: int, **data: Any) -> None:
        await self._run.tell(type_, {"round": number, "path": list(path), **data})

    def _number(self, path: Path) -> int:
        return self.rounds.get(path, 0)

    def _current(self, path: Path) -> _Round:
        return self._shown.setdefault((path, self._number(path)), _Round())


def _read_file(file: object) -> JsonObject | None:
    """Return what a model's file is; None if it is in a form that nobody knows."""
    media_type = read_member(file, "media_type", "mime_type")
    data = read_member(file, "data")
    if isinstance(data, bytes):
        data = base64.b64encode(data).decode()
    if isinstance(media_type, str) and isinstance(data, str):
        return {"media_type": media_type, "data": data}
    return None
