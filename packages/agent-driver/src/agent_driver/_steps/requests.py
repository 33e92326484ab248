"""Requests for steps: all that somebody needs to make a step of a run elsewhere, with an agent that was declared like the run's."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, Self

from agent_driver._time import ClockState
from agent_driver._tools.guardrails import GuardrailCall
from agent_loop import CallModel, SnapshotError, ToolCall, dump_inputs, load_inputs

from .records import find_problem


type StepKind = Literal["model", "summary", "tool", "guardrail"]
"""What a step does: it calls a model, or a model for a summary by which the run is compacted, or a tool, or a guardrail."""

_CALLS: Final[Mapping[StepKind, type[Any]]] = {
    "model": CallModel,
    "summary": CallModel,
    "tool": ToolCall,
    "guardrail": GuardrailCall,
}


_OF_STEERED: Final = {"steered", "number"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest:
    """What a step does, so that `Agent.make_step` can make it in another process.

    `dump` writes all but the messages, which are most of it and mostly those of the request before; `agent_loop.dump_messages` writes them.

    Attributes:
        kind: What the step does.
        agents: The names of the agents, tools of each other, that lead to the one whose step it is, the outermost first; empty for the run itself.
        messages: The messages of a model call, or those that a guardrail checks; none of a tool call and of an answer.
        call: The call: of a model without its messages, schema, allowed tools and what its client keeps, and with the
            names of the tools in place of the tools; of a tool; or of a guardrail.
        args: The checked arguments of a tool call, also those that the model does not see, but not the hidden ones of its function.
        steered: The number of the last that the run was told (`AgentRun.steer`); 0 for none.
        may_retry: Whether a model call would be made once more if it failed at once.
        clock: The state of the run's clock.
    """

    kind: StepKind
    agents: tuple[str, ...] = ()
    messages: tuple[Any, ...] = field(default=(), repr=False)
    call: CallModel | ToolCall | GuardrailCall
    args: Mapping[str, Any] | None = field(default=None, repr=False)
    may_retry: bool = False
    steered: int = 0
    clock: ClockState

    @classmethod
    def of(cls, call: CallModel | ToolCall | GuardrailCall, **about: Any) -> Self:
        """Return the request for a call as a run makes it, with the other fields as they are."""
        kind: StepKind
        messages: tuple[Any, ...] = ()
        match call:
            case CallModel():
                kind = "summary" if call.is_compaction else "model"
                messages = call.messages
                names = tuple(getattr(tool, "name", "") for tool in call.tools)
                changes: dict[str, Any] = dict.fromkeys(("allowed_tools", "answer_schema", "kept"))
                call = replace(call, messages=(), tools=names, **changes)
            case ToolCall():
                kind = "tool"
            case _:
                kind = "guardrail"
                if call.checked == "input":
                    messages, call = call.value, replace(call, value=None)
        return cls(kind=kind, messages=messages, call=call, **about)

    def dump(self) -> str:
        """Return all but the messages as ASCII JSON, from which `load` makes an equal request.

        Raises:
            SnapshotError: If there is a value that JSON cannot express; it names the place, such as `request.args.key`.
        """
        plain: Any = _to_plain(self)
        plain |= {"call": _to_plain(self.call), "clock": _to_plain(self.clock)}
        del plain["messages"]
        try:
            return dump_inputs([plain])
        except SnapshotError as error:
            raise SnapshotError(error.fault, f"request.{find_problem(error)}") from None

    @classmethod
    def load(cls, text: str | bytes, messages: Iterable[Any] = ()) -> Self:
        """Return the request that `dump` has written.

        Args:
            text: What it has returned.
            messages: The request's messages.

        Raises:
            SnapshotError: If it is no such text.
        """
        try:
            [plain] = load_inputs(text)
            plain["call"] = _CALLS[plain["kind"]](**plain["call"])
            plain["clock"] = ClockState(**plain["clock"])
            return cls(**plain, messages=tuple(messages))
        except (TypeError, ValueError, LookupError) as error:
            expected = "expected what StepRequest.dump has returned"
            raise SnapshotError("unreadable", f"request: {expected}") from error


def _to_plain(value: Any) -> dict[str, Any]:
    plain = {known.name: getattr(value, known.name) for known in fields(value)}
    # Processes of the version before know nothing of them.
    return {name: one for name, one in plain.items() if one or name not in _OF_STEERED}
