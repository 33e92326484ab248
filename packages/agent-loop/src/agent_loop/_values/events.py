"""The events that a run answers with: plain values. What it is fed with is in `inputs`.

A driver feeds `ModelDelta`, `ModelDone`, `ModelFailure`, `ToolResult`, `Decision`, `TimeShort`, `TimePassed` and `Failure`. It must act on `CallModel`, `RunTools` and `AskApproval`, should show every
`ShowText` and `ShowFile`, and may log the rest. `Finished` is always the last event of a run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .budgets import BudgetName, BudgetUse
from .inputs import ToolResult
from .messages import ToolCall
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
    "cancelled",
    "error",
]
"""Why a run stopped.

`answered`: the model answered of its own accord. `maximum_iterations`, `time_limit`, `budget`: its last call was the closing one, or no call was left.
`size_limit`: the next request would hold more than the platform carries. `output_limit`: the answer was cut at the model's output limit. `empty_answer`: the model said nothing. `invalid_answer`: it does not fulfil the schema, also when asked for once more. `cancelled`: nobody wants the answer any more. `error`: a model call failed, or another
failure was fed.
"""


type ClosingReason = Literal["maximum_iterations", "time_limit", "budget"]
"""Why a model call is the closing one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """The beginning of a round.

    Attributes:
        round: The number of the round, from 1.
        model: The model that is called, where the run has names for its models.
    """

    round: int
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallModel:
    """A request to the driver: call the model, feed its deltas, then `ModelDone`.

    Attributes:
        round: The number of the round, from 1 to the maximum.
        messages: The whole request; it begins with the whole request of the round before, unless something was left out. Those that the run was given are as they came, those that
            it adds are `Message`s. The first request to a fallback model does not begin with the one before: it has none of another model's reasoning.
        model: Which model to call, where the run has names for its models.
        tools: The tools to offer: those the run was given, and its own functions as `agent_tooling.Tool`s behind them; or none in a closing call to a model without tool choice.
        tool_choice: `auto`, `none`, `required` or a tool's name; None leaves it unset.
        is_closing: Whether the model must answer now, without tools.
        wait_seconds: How long to wait before, because the call before has failed.
        allowed_tools: The names of the only tools that may be called; None for all. Models that can be told so get them along with the same tools.
        answer_schema: The JSON schema that the last answer has to fulfil, for models that take it as a format; None where there is none.
        left_out: How many images and files have become a sentence since the request before, which this one then does not begin with.
        is_compaction: Whether the answer is a summary by which the run is made shorter, and shown to nobody. The last message asks for it. A driver whose model makes
            conversations shorter by itself feeds `CompactedWindow` with what has become of the others.
        is_rewritten: Whether it does not begin with the request before, because the run was made shorter, or is about to be.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowText:
    """Text to show right after what was shown before; never empty."""

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
        opaque_body: What the model's client told along with the answer, for a log: see `ModelDelta`.
    """

    round: int
    text: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    error: str | None = None
    opaque_body: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """A request to the driver: run these calls, at the same time if it can, and feed a `ToolResult` for each, in any order.

    Attributes:
        calls: The first 128 calls of the round at most; the run has refused the others by itself, and answered those of its own functions. A call that stands
            for another tool's is that one.
    """

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskApproval:
    """A request to the driver: ask a person whether these calls may be made, and feed a `Decision` for each, in any order, now or after `AgentRun.resume` in another process.

    The other calls of the round have been made by then.

    Attributes:
        round: The number of the round.
        calls: The calls as they would be made, at most 20: a call that stands for another tool's is that one, and its arguments, of at most 20,000 characters, are JSON made anew of
            what the tool would get, without what is hidden from the model.
        snapshot: What the run is resumed from, where its driver has added it; see `AgentRun.to_snapshot`. It holds the conversation.
    """

    round: int
    calls: tuple[ToolCall, ...]
    snapshot: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted:
    """The beginning of a tool call.

    Attributes:
        call: The call, as the model wrote it.
        made: The tool call that is made in its place, under the same id, where it is one of a run's own functions that stands for another; else None.
    """

    call: ToolCall
    made: ToolCall | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEnded:
    """The end of a tool call, with its only result.

    Attributes:
        call: The call, as the model wrote it.
        result: Its result.
        is_own: Whether the run has answered it by itself, by one of its own functions.
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
        budgets: How much the run has used by now of each budget that it has.
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
        reason: Why the run stopped: `answered`, `empty_answer`, `output_limit`, `maximum_iterations`, `time_limit`, `budget`, `size_limit`, `cancelled` or `error`; `StopReason` says when which.
        rounds: How many model calls were made, but for those that sum up the run.
        usage: The sum over all rounds.
        answer: What the model said last, without thoughts.
        messages: All messages of the run: those it was given, and after them what the model and the tools have said. The next turn begins with them.
        error: The sentence of the failure, or None.
        is_answered: Whether something was shown that ends the run: an answer, or in its place what is known so far and the sentence of the
            failure. If not, the driver has to tell of `error`.
        budget: The budget that was used up, whatever the reason.
        budgets: How much of each budget was used.
        models: The model of each round, where the run has names for its models.
        value: What the JSON of the answer is, where the run has a schema for it and is answered.
        agents: What the agents have used that it has called as tools; it is part of `usage`.
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
    agents: tuple[AgentUse, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEvent:
    """An event in the run of an agent that was called as a tool. The driver yields it; no run answers with it.

    Attributes:
        path: The ids of the calls that lead to the agent, the outermost first.
        agent: The name of the agent.
        event: What has happened.
    """

    path: tuple[str, ...]
    agent: str
    event: "Event"


type CompactionKind = Literal["summary", "api", "dropped"]
"""How a run was compacted: by its model's summary, by the model's API, or, if neither was available, by dropping what is oldest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompacted:
    """A notice that the run was compacted, so that its next request does not begin with the previous one.

    Attributes:
        kind: By what.
        replaced: How many messages are gone. What a system says, the task, pinned results with their calls and the last rounds are not.
        reasoning_dropped: How many of them had reasoning with them, or what else their model's client wants back.
        tokens_before: About how many tokens the next request would have had.
        tokens_after: About how many it has.
        usage: What the summary has cost; it counts in no round.
        error: Why there is no summary, of `dropped`; else None.
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
    | CallModel
    | ShowText
    | ShowFile
    | ModelCallEnded
    | RunTools
    | AskApproval
    | RunCompacted
    | ToolCallStarted
    | ToolCallEnded
    | RoundEnded
    | Finished
    | AgentEvent
)
"""What a run answers with."""
