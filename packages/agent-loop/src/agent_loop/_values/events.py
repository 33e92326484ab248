"""The events that a run answers with, as plain values. The inputs that it is fed with are in `inputs`.

A driver feeds `ModelDelta`, `ModelDone`, `ModelFailure`, `ToolResult`, `Decision`, `TimeShort`, `TimePassed` and
`Failure`. It must act on `CallModel`, `RunTools`, `AskApproval` and `CheckAnswer`, should show every `ShowText` and
`ShowFile`, and may log the rest. `Finished` is always the last event of a run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .budgets import BudgetName, BudgetUse
from .inputs import Decision, ToolResult
from .messages import AskedCall, Message, ToolCall
from .usage import AgentUse, Usage


type StopReason = Literal[
    "answered",
    "maximum_iterations",
    "time_limit",
    "budget",
    "size_limit",
    "output_limit",
    "empty_answer",
    "invalid_answer",
    "guardrail",
    "cancelled",
    "error",
]
"""Why a run stopped.

`answered`: the model answered of its own accord. `maximum_iterations`, `time_limit`, `budget`: its last call was the
closing one, or no call was left. `size_limit`: the next request would be larger than the platform carries.
`output_limit`: the answer was cut at the model's output limit. `empty_answer`: the model said nothing.
`invalid_answer`: the answer does not fulfil the schema, not even when asked for once more. `guardrail`: a check of the
driver's has stopped the run or its answer. `cancelled`: nobody wants the answer any more. `error`: a model call failed,
or another failure was fed.
"""


type ClosingReason = Literal["maximum_iterations", "time_limit", "budget"]
"""Why a model call is the closing one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """The beginning of a round.

    Attributes:
        round: The number of the round, from 1.
        model: The model that is called, if the run has names for its models.
    """

    round: int
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSteered:
    """The messages to a run under way (`AgentRun.steer`) that are in the request from this round on.

    Attributes:
        round: The number of the round.
        messages: User messages, in the order in which they were given.
    """

    round: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallModel:
    """What a model is called with: the request, and what is allowed in its answer.

    `Agent` and `drive` give it to your model. A driver of your own calls the model, feeds its deltas, then `ModelDone`.

    Attributes:
        round: The number of the round, from 1 to the maximum.
        messages: The whole request; it begins with the whole request of the round before, unless something was left
            out. Messages that the run was given are unchanged, those that it adds are `Message`s. The first request to
            a fallback model does not begin with the previous one, because the first model's reasoning is left out.
        model: The model to call, if the run has names for its models.
        tools: The tools to offer: those the run was given, and after them its own functions as `agent_tooling.Tool`s;
            none in a closing call to a model without tool choice.
        tool_choice: `auto`, `none`, `required` or a tool's name; None leaves it unset.
        is_closing: Whether the model must answer now, without tools.
        wait_seconds: How long to wait before the call, because the previous one has failed.
        allowed_tools: The names of the only tools that may be called; None for all. A model that can restrict its calls
            gets them along with the same tools.
        answer_schema: The JSON schema that the last answer has to fulfil, for models that take it as a format; None if there is none.
        left_out: How many images and files have become sentences since the previous request; if any have, this one does not begin with it.
        is_compaction: Whether the answer is a summary that compacts the run and is not shown. The last message asks for
            it. A driver whose model compacts conversations itself feeds a `CompactedWindow` with what has become of the
            other messages.
        is_rewritten: Whether the request does not begin with the previous one, because the run was compacted or is about to be, or because the
            oldest open reasoning was left out for want of room.
        hosted_tools: The names of the tools to offer that the model's server runs by itself; None if the run was not
            told of any, and its model's client offers those that it has.
        max_hosted_calls: How many calls of them the run's budgets leave; None for any number.
        kept: Where the model's client keeps what it has built of the run's last request, so that it builds only what is
            new: a mapping of the run's, the same in each of its calls. It is no part of what is asked, and is in no
            snapshot. None where nothing is kept.
    """

    round: int
    messages: tuple[Any, ...]
    tools: tuple[Any, ...] = ()
    tool_choice: str | None = None
    is_closing: bool = False
    wait_seconds: float = 0.0
    allowed_tools: tuple[str, ...] | None = None
    answer_schema: Mapping[str, Any] | None = None
    model: str | None = None
    left_out: int = 0
    is_compaction: bool = False
    is_rewritten: bool = False
    hosted_tools: tuple[str, ...] | None = None
    max_hosted_calls: int | None = None
    kept: dict[str, Any] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowText:
    """Text to show right after what was shown before; never empty."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowReasoning:
    """Text that the model thinks, such as its summary of that, apart from what it says; never empty. Only a run with `emit_reasoning` has it."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowFile:
    """A file of the model's answer to show, as its client gave it."""

    file: Any = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallEnded:
    """The end of a round's model call.

    Attributes:
        round: The number of the round.
        text: The answer as it came, thoughts included.
        tool_calls: The valid tool calls of the answer.
        usage: The usage of this call alone.
        error: Why it failed, or None.
        opaque_body: What the model's client has sent along with the answer, for a log: see `ModelDelta`.
    """

    round: int
    text: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    error: str | None = None
    opaque_body: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """The tool calls of a round that are made now.

    `Agent` and `drive` make them. A driver of your own makes them, at the same time if it can, and feeds a `ToolResult` for each, in any order.

    Attributes:
        calls: At most the first 128 calls of the round; the run itself has refused the others, and answered those of
            its own functions. If a call stands for another tool's, it is that one.
        resumed: The agents among them that continue from where they have waited for a person, by the ids of their calls.
    """

    calls: tuple[ToolCall, ...]
    resumed: Mapping[str, "AgentDecisions"] = field(default_factory=dict[str, "AgentDecisions"])


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDecisions:
    """Decisions about the calls that an agent has waited for.

    Attributes:
        snapshot: What the agent's run is resumed from.
        decisions: A decision for each call.
        calls: The calls, as the person was shown them.
    """

    snapshot: str = field(repr=False)
    decisions: tuple[Decision, ...]
    calls: tuple[AskedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskApproval:
    """The calls that a person has to approve, and the end of a run until then. The other calls of the round have been made.

    After it `Agent` and `drive` continue with `resume` and `decisions`. A driver of your own feeds a `Decision` for each
    call, in any order, now or after `AgentRun.resume` in another process.

    Attributes:
        round: The number of the round.
        calls: The calls as they would be made. If a call stands for another tool's, it is that one. Its arguments are
            newly written JSON of what the tool would get, without what is hidden from the model. Of calls that are for
            a person there are at most 20, with at most 20,000 characters each; those of external tools have no such
            limits (docs/contracts/agent-tooling.md, F16).
        snapshot: The snapshot to resume the run from, if its driver has added it; see `AgentRun.to_snapshot`. It holds the conversation.
    """

    round: int
    calls: tuple[AskedCall, ...]
    snapshot: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnswer:
    """The last answer, of which nothing has been shown, to be checked.

    `Agent` and `drive` give it to the guardrails, and yield it without answer and value. A driver of your own checks
    it, and feeds an `AnswerChecked`. Only a run with `checks_answer` has it.

    Attributes:
        round: The number of the round.
        answer: The answer without thoughts; its JSON where the run has a schema.
        value: The value of that, where the run has a schema.
    """

    round: int
    answer: str
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted:
    """The beginning of a tool call.

    Attributes:
        call: The call, as the model wrote it.
        made: The tool call that is made in its place, under the same id, if it calls an own function that stands for another tool; else None.
    """

    call: ToolCall
    made: ToolCall | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEnded:
    """The end of a tool call, with its only result.

    Attributes:
        call: The call, as the model wrote it.
        result: Its result.
        is_own: Whether one of the run's own functions has answered it.
    """

    call: ToolCall
    result: ToolResult
    is_own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEnded:
    """The end of a round.

    Attributes:
        round: The number of the round.
        answer: What the model said in it, without thoughts.
        results: The results of its calls, in the order of the calls.
        usage: The usage of this round alone.
        error: Why the round failed, or None.
        budgets: How much the run has used so far of each of its budgets.
    """

    round: int
    answer: str
    results: tuple[ToolResult, ...]
    usage: Usage
    error: str | None = None
    budgets: tuple[BudgetUse, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The end of a run.

    Attributes:
        reason: Why the run stopped: `answered`, `empty_answer`, `output_limit`, `maximum_iterations`, `time_limit`,
            `budget`, `size_limit`, `guardrail`, `cancelled` or `error`; `StopReason` says when which.
        rounds: How many model calls were made, without those for summaries.
        usage: The sum over all rounds.
        answer: What the model said last, without thoughts.
        messages: All messages of the run: those it was given, and after them those of the model and the tools. The next turn begins with them.
        error: The sentence of the failure, or None.
        is_answered: Whether something was shown that ends the run: an answer, or in its place what is known so far and the sentence of the
            failure. If not, the driver has to report `error`.
        budget: The budget that was used up, whatever the reason.
        budgets: How much of each budget was used.
        models: The model of each round, if the run has names for its models.
        value: The parsed JSON of the answer, if the run has a schema for it and is answered.
        final_text: The text that the run ends with, without thoughts and without what the model has said around tool
            calls: its answer, by a schema the JSON alone; or what is shown in its place, such as a sentence and the
            results of tools. Empty if the run is not answered, or answered with files alone.
        agents: The usage of the agents that the run has called as tools, which is part of `usage`.
        cause: The exception behind the failed model call that has ended the run, if its driver has given it.
        unread: The messages to the run (`AgentRun.steer`) that no round has read, since none was left.
    """

    reason: StopReason
    rounds: int
    usage: Usage
    answer: str = ""
    messages: tuple[Any, ...] = ()
    error: str | None = None
    is_answered: bool = True
    budget: BudgetName | None = None
    budgets: tuple[BudgetUse, ...] = ()
    models: tuple[str, ...] = ()
    value: Any = None
    final_text: str = field(default="", compare=False)
    agents: tuple[AgentUse, ...] = ()
    cause: BaseException | None = field(default=None, repr=False, compare=False)
    unread: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEvent:
    """An event in the run of an agent that was called as a tool, as `Agent` and `drive` yield it.

    Attributes:
        path: The ids of the calls that lead to the agent, the outermost first.
        agent: The name of the agent.
        event: The event.
    """

    path: tuple[str, ...]
    agent: str
    event: "Event"


type CompactionKind = Literal["summary", "api", "dropped"]
"""How a run was compacted: by its model's summary, by the model's API, or, if neither was available, by dropping the oldest messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompacted:
    """A notice that the run was compacted, so that its next request does not begin with the previous one.

    Attributes:
        kind: How it was compacted.
        replaced: How many messages are gone. System messages, the task, pinned results with their calls and the last rounds stay.
        reasoning_dropped: How many of them had reasoning, or something else that their model's client wants back.
        tokens_before: An estimate of the tokens that the next request would have had.
        tokens_after: An estimate of the tokens that it has now.
        usage: The usage of the summary, which counts in no round.
        error: Why there is no summary, if the kind is `dropped`; else None.
        messages: All messages from now on.
    """

    kind: CompactionKind
    replaced: int
    reasoning_dropped: int
    tokens_before: int
    tokens_after: int
    usage: Usage
    error: str | None = None
    messages: tuple[Any, ...] = field(default=(), repr=False)


type Event = (
    RoundStarted
    | RunSteered
    | CallModel
    | ShowText
    | ShowReasoning
    | ShowFile
    | ModelCallEnded
    | RunTools
    | AskApproval
    | CheckAnswer
    | RunCompacted
    | ToolCallStarted
    | ToolCallEnded
    | RoundEnded
    | Finished
    | AgentEvent
)
"""An event that a run answers with."""
