"""Guardrails: functions that check what a run begins with, its tool calls and its last answer, and pass, change or stop it."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agent_loop import AnswerChecked, CheckAnswer, Event, ModelCallEnded, RoundEnded, ToolCall
from agent_tooling import RefusedArguments, Tool, ToolArguments, changed_tool_text


if TYPE_CHECKING:  # Whoever writes no log need not wait for what writes it.
    from run_log import Checked, GuardrailOutcome


_log = logging.getLogger("agent_driver")
FAILED = "A guardrail of this agent failed."
"""The reason where a guardrail has raised an error: what nobody has checked does not pass."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Refusal by a guardrail.

    Attributes:
        reason: Why, in a sentence. Of a tool call the model reads it, of everything else the caller, as the error of the run.
    """

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedCall:
    """Tool call that a guardrail checks.

    Attributes:
        call_id: Its id.
        name: The name of the tool.
        args: The arguments, checked and as plain JSON, without hidden ones.
    """

    call_id: str
    name: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailCall:
    """A call of a guardrail of input or answer.

    Attributes:
        checked: What it checks.
        index: Which of those that check the same, from 0.
        value: What it is called with: messages, or an answer.
        number: The number of what was said to a run under way, where it checks that; else 0.
    """

    checked: Literal["input", "answer"]
    index: int
    value: Any = field(default=None, repr=False)
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Guardrails:
    """Functions that check a run, each after the one before it.

    Each returns None to pass what it was given, something else to put in its place, or a `Stop`.

    One that raises an error stops what it checks. With `adrive` those of input and answer may be async.

    Attributes:
        input: Called with all messages before the first model call; they may return other messages. A stop ends the run
            without a model call. What is said to a run under way they check by itself, before it is read.
        tool_call: Called with a `GuardedCall` once its arguments have been checked, and before a person is asked; they
            may return other arguments. A stop refuses the call, and the model reads why. They are called while the run
            decides, so they do no I/O. Where a person has approved the call, they are called once more, with what the
            person has seen: then they may stop it, and other arguments that they return count for nothing.
        answer: Called with the last answer, of which nothing has been shown: its text, or its value where the run has
            an answer schema; they may return another one. A stop ends the run without an answer. No text is shown
            before the end of a round, so answers are not streamed.
    """

    input: Sequence[Callable[[Sequence[Any]], Any]] = ()
    tool_call: Sequence[Callable[[GuardedCall], Any]] = ()
    answer: Sequence[Callable[[Any], Any]] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be called."""
        for name in ("input", "tool_call", "answer"):
            given: Any = getattr(self, name)
            if isinstance(given, str) or not hasattr(given, "__iter__"):
                raise TypeError(f"{name}: expected functions in a list, got {type(given).__name__}")
            guardrails: tuple[object, ...] = tuple(given)
            for index, guardrail in enumerate(guardrails):
                if not callable(guardrail):
                    found = type(guardrail).__name__
                    raise TypeError(f"{name}[{index}]: expected a function, got {found}")
            object.__setattr__(self, name, guardrails)


@dataclass(frozen=True, slots=True)
class GuardrailError:
    """Error of a guardrail, in the place of what it would have returned."""

    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a guardrail has made of what it checked.

    Attributes:
        outcome: `passed`, `changed`, `stopped` or `failed`.
        value: What goes on.
        reason: Why nothing does; None where something does.
    """

    outcome: "GuardrailOutcome"
    value: Any = None
    reason: str | None = None


class VerdictLog(Protocol):
    """What writes a run into a log, as far as guardrails know it."""

    def take_guardrail(
        self, name: str, verdict: Verdict, *, checked: "Checked", call_id: str | None
    ) -> None:
        """Write what a guardrail has made of what it checked."""
        ...


@dataclass(slots=True, kw_only=True)
class Guards:
    """The guardrails of one run, and where their verdicts are recorded.

    Attributes:
        guardrails: The guardrails; of an agent that is called as a tool those of its callers for tool calls are among them.
        recorder: What writes the run into a log; None where nobody asked for one.
    """

    guardrails: Guardrails
    recorder: VerdictLog | None = None
    _bound: dict[tuple[str, str, str], ToolArguments] = field(
        default_factory=dict[tuple[str, str, str], ToolArguments]
    )
    _seen: dict[str, str] = field(default_factory=dict[str, str])
    _held: tuple[Event, ...] = ()

    def for_agent(self, own: Guardrails) -> "Guards":
        """Return the guards of an agent that the run calls as a tool."""
        tool_call = (*own.tool_call, *self.guardrails.tool_call)
        return Guards(guardrails=replace(own, tool_call=tool_call))

    def find(self, call: GuardrailCall) -> Callable[[Any], Any]:
        """Return the guardrail of a call."""
        return getattr(self.guardrails, call.checked)[call.index]

    def judge(
        self,
        guardrail: Callable[[Any], Any],
        value: Any,
        said: object,
        *,
        checked: "Checked",
        call_id: str | None = None,
    ) -> Verdict:
        """Return what follows from what a guardrail said of a value, and record it."""
        verdict = _read(guardrail, value, said)
        if self.recorder is not None:
            name = getattr(guardrail, "__qualname__", type(guardrail).__name__)
            self.recorder.take_guardrail(name, verdict, checked=checked, call_id=call_id)
        return verdict

    def bind(self, tool: Tool, call: ToolCall) -> ToolArguments:
        """Check the arguments of a call and return those that it is made with. Each call is checked once, however often the run asks."""
        if not self.guardrails.tool_call and not self._seen:
            return tool.bind(call.arguments)
        key = (call.call_id, tool.name, call.arguments)
        if key not in self._bound:
            self._bound[key] = self._check(tool, call)
        return self._bound[key]

    def withhold(self, received: object, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Return which events after an input may be seen: none of an answer until it has been checked, and then the result."""
        if events and isinstance(asked := events[-1], CheckAnswer):
            self._held = events[:-1]
            return (replace(asked, answer="", value=None),)
        if not self._held:
            return events
        held, self._held = self._held, ()
        if received != AnswerChecked():
            said = "".join(event.answer for event in events if isinstance(event, RoundEnded))
            held = tuple(
                replace(event, text=said, opaque_body=None)
                if isinstance(event, ModelCallEnded)
                else event
                for event in held
            )
        return (*held, *events)

    def hold(self, seen: Mapping[str, str]) -> None:
        """Hold calls that a person has approved to what the person has seen of them: the JSON of the arguments, by the ids of the calls."""
        self._seen = dict(seen)

    def forget(self) -> None:
        """Forget the calls of a round, which are being made."""
        self._bound.clear()
        self._seen.clear()

    def _check(self, tool: Tool, call: ToolCall) -> ToolArguments:
        seen = self._seen.get(call.call_id)
        bound = tool.bind(call.arguments) if seen is None else _bind_as_seen(tool, call, seen)
        for guardrail in self.guardrails.tool_call:
            if isinstance(bound, RefusedArguments):
                break
            # A copy, because a change in place would not be checked.
            args = deepcopy(tool.shown_arguments(bound.args))
            guarded = GuardedCall(call_id=call.call_id, name=tool.name, args=args)
            try:
                said = guardrail(guarded)
            except Exception as error:  # noqa: BLE001 - whatever it raises, the call does not pass
                said = GuardrailError(error)
            if seen is not None and not isinstance(said, Stop | GuardrailError):
                said = None  # It could only change what a person has said yes to.
            verdict = self.judge(guardrail, args, said, checked="tool_call", call_id=call.call_id)
            if verdict.reason is not None:
                bound = RefusedArguments(error=verdict.reason)
            elif verdict.outcome == "changed":
                # Through the same checks as what a model writes.
                bound = tool.bind(json.dumps(verdict.value))
        return bound


def with_defaults(tool: Tool, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with the declared defaults of those left out."""
    defaults = _find_defaults(tool).items()
    return {**args, **{name: value for name, value in defaults if name not in args}}


def _bind_as_seen(tool: Tool, call: ToolCall, seen: str) -> ToolArguments:
    """Check the arguments that a person has seen, which the model has written or a guardrail; refuse them if the tool reads them otherwise by now."""
    wanted, defaults = json.loads(seen), _find_defaults(tool)
    # Left out again, so that the function's own default counts, which its schema may not be able to say.
    given = {
        name: value
        for name, value in wanted.items()
        if name not in defaults or _write(defaults[name]) != _write(value)
    }
    for text in (call.arguments, json.dumps(given)):
        bound = tool.bind(text)
        shown = tool.shown_arguments(with_defaults(tool, bound.args))
        if bound.ok and _write(shown) == _write(wanted):
            return bound
    return RefusedArguments(error=changed_tool_text(tool.name))


def _find_defaults(tool: Tool) -> dict[str, Any]:
    told: Mapping[str, Mapping[str, Any] | bool] = tool.parameters.get("properties", {})
    return {
        name: about["default"]
        for name, about in told.items()
        if isinstance(about, Mapping) and "default" in about
    }


def _write(value: object) -> str:
    # As text, in which 1 and true differ.
    return json.dumps(value, sort_keys=True, default=str)


def _read(guardrail: object, value: Any, said: object) -> Verdict:
    match said:
        case None:
            return Verdict(outcome="passed", value=value)
        case Stop(reason=reason):
            return Verdict(outcome="stopped", reason=reason)
        case GuardrailError(error=error):
            _log.warning("the guardrail %r failed", guardrail, exc_info=error)
            return Verdict(outcome="failed", reason=FAILED)
        case _:
            return Verdict(outcome="changed", value=said)
