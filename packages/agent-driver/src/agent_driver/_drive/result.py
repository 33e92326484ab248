"""The result of an agent's run."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from agent_driver._errors import AgentDriverError
from agent_loop import (
    AgentUse,
    AskApproval,
    BudgetUse,
    Event,
    Finished,
    Message,
    StopReason,
    Usage,
)


class NoAnswerError(AgentDriverError):
    """Value of a result that has none.

    Attributes:
        reason: Why the run stopped.
    """

    def __init__(self, reason: str, error: str | None) -> None:
        super().__init__(f"the run has no answer ({reason}){f': {error}' if error else ''}")
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Result[Answer]:
    """Result of an agent's run, however it ended.

    Attributes:
        reason: Why the run stopped: a `StopReason`, or `approval` where it waits for a person.
        text: What the model said last, without thoughts; of a typed answer its JSON, once and with nothing around it.
        error: Why there is no answer, in a sentence; None where there is one, or where the run waits.
        waiting: The calls that a person has to decide about, with the snapshot that the run is resumed from; None where it does not wait.
        cause: The exception that has ended the run, such as what the model's client has raised, for a log; None where none has.
        messages: The whole conversation without the agent's instruction: the `history` of the next turn.
        usage: What all model calls have used, those of agents that were called as tools included.
        budgets: How much of each budget was used.
        models: The model of each round, where they have names.
        agents: What each agent that was called as a tool has used; part of `usage`.
        notice: What the person has to know of calls that they approved in an earlier turn, whose process died over
            them; None for nothing. `text` begins with it, except that of a typed answer.
        left_out_tools: The names of the server's own tools that were left out, because the fallback model has taken over and lacks them.
        unread: The messages to the run (`steer`) that no round has read, since none was left: user messages.
        steered: How many messages the run was sent (`steer`), read or not, as `TellsRun` counts them; with other steps the number of the last.
        unsaved: Why the turn does not stand in its session, in a sentence; None where it does, or where there is no session.
    """

    reason: StopReason | Literal["approval"]
    text: str = ""
    error: str | None = None
    waiting: AskApproval | None = None
    cause: BaseException | None = field(default=None, repr=False, compare=False)
    messages: Sequence[Any] = field(default=(), repr=False)
    usage: Usage = field(default_factory=Usage, repr=False)
    budgets: tuple[BudgetUse, ...] = ()
    models: tuple[str, ...] = ()
    agents: tuple[AgentUse, ...] = ()
    unsaved: str | None = None
    unread: tuple[Message, ...] = ()
    steered: int = field(default=0, compare=False, repr=False)
    notice: str | None = None
    left_out_tools: tuple[str, ...] = ()
    _value: Any = field(default=None, repr=False)

    @property
    def answered(self) -> bool:
        """Whether there is an answer, so that `value` can be read. It may be one that the run had to end with: see `reason`."""
        return self.error is None and self.waiting is None

    @property
    def value(self) -> Answer:
        """The answer: a value of the agent's answer type, or the text.

        Raises:
            NoAnswerError: If there is none.
        """
        if not self.answered:
            raise NoAnswerError(self.reason, self.error)
        return self._value

    @property
    def cost(self) -> Decimal | None:
        """What the model calls cost, in `usage.currency`; None if the model's client reports no prices."""
        return self.usage.total_price if self.usage.currency else None


def add_notice(result: Result[Any], notice: str, *, is_typed: bool) -> Result[Any]:
    """Return a result with what its person has to know before anything else."""
    if is_typed and result.answered:
        return replace(result, notice=notice)
    text = f"{notice}\n\n{result.text}".rstrip()
    return replace(result, notice=notice, text=text, _value=text)


def read_ending[Answer](
    ending: Event | None,
    *,
    is_typed: bool,
    messages: Sequence[Any],
    usage: Usage,
    cause: BaseException | None = None,
) -> Result[Answer]:
    """Return the result of a run that has ended with an event, or because of an exception.

    Args:
        ending: Its last event.
        is_typed: Whether the answer has a schema, and so a value.
        messages: The conversation.
        usage: What it has used.
        cause: The exception that has ended it; None where the last event did.
    """
    match ending:
        case Finished() if cause is None:
            # What was shown in the place of an answer is not one: a caller has to look at the error.
            silence = "The model gave no answer." if ending.reason == "empty_answer" else None
            # Of a model that has said nothing there is the sentence that was shown instead.
            shown = None if is_typed or ending.answer.strip() else ending.final_text
            return Result(
                reason=ending.reason,
                text=(ending.final_text if is_typed else "") or ending.answer,
                error=ending.error or silence or shown or None,
                messages=messages,
                usage=usage,
                budgets=ending.budgets,
                cause=ending.cause,
                models=ending.models,
                agents=ending.agents,
                _value=ending.value if is_typed else ending.answer,
            )
        case AskApproval() if cause is None:
            return Result(reason="approval", waiting=ending, messages=messages, usage=usage)
        case _:
            closed = "The stream was closed before the run had ended."
            error = closed if cause is None else str(cause) or type(cause).__name__
            return Result(reason="error", error=error, cause=cause, messages=messages, usage=usage)
