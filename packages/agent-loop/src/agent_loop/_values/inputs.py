"""The inputs of a run, as plain values. The events that it answers with are in `events`."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from stream_text import read_member

from .messages import AskedCall, Message
from .usage import Usage


# Our choices: a tool may return any number of parts and call them whatever it likes.
_MAX_PARTS_SHOWN = 100
_MAX_KIND_CHARACTERS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallFragment:
    """A tool call, or a piece of one, as a stream delivers it.

    A piece without id belongs to the call of its `index`, or else to the latest call.
    """

    call_id: str = ""
    name: str = ""
    arguments: str = ""
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDelta:
    """A piece of the model's answer. In one delta the text comes before the tool calls.

    Attributes:
        text: The next piece of text, thoughts included.
        tool_calls: The next pieces of tool calls.
        opaque_body: What the model's client wants back with this answer; the last one that is not None counts.
        usage: The usage of this model call; the last one that is not None counts.
        finish_reason: Why the model stopped; `length` means at its output limit.
        phase: The kind of the text, if the model's client knows it: `commentary` is said on the way to something else, most often
            to a tool call. None and any other value mean that it is not commentary.
        files: Images and the like that the model has made, in any form; `ShowFile` hands them on, and the model does not read them again.
        hosted_calls: How many calls of tools its server has made by itself; they count as tool calls of the run.
    """

    text: str = ""
    tool_calls: tuple[ToolCallFragment, ...] = ()
    opaque_body: Any = None
    usage: Usage | None = None
    finish_reason: str | None = None
    phase: str | None = None
    files: tuple[Any, ...] = field(default=(), repr=False)
    hosted_calls: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether it is a keep-alive, with nothing of an answer in it."""
        # The usual case, and much faster than comparing all fields.
        if self.text or self.tool_calls or self.files:
            return False
        return self == ModelDelta(phase=self.phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDone:
    """The end of the model's answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailure:
    """The end of a model call that failed.

    Attributes:
        message: Why it failed, as a clause that a person can read.
        is_transient: Whether the platform broke it off, so that it may succeed when it is made again.
        wait_seconds: How long to wait before that.
        has_time: Whether there is time for that.
        may_pass_elsewhere: Whether another model may answer at once, as after a rate limit, an overload, a content
            filter or for a model that is gone.
        cause: The exception behind it, for a log only, which `Finished` hands on if the failure ends the run; it is never saved.
    """

    message: str
    is_transient: bool
    wait_seconds: float = 0.0
    has_time: bool = True
    may_pass_elsewhere: bool = False
    cause: BaseException | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool call, as the model reads it.

    Attributes:
        call_id: The call that it answers.
        content: What the model reads: a text, or content parts (text, image, file), which the run passes through. If empty, it becomes `error`.
        error: Why the call failed or was refused, in a sentence that the model may read; None if it succeeded.
        is_unfinished: Whether the tool was given up while it still ran.
        is_pinned: Whether it stays word for word when the run is compacted.
        artifact: What the tool made for others than the model, such as files for a person.
        cause: The exception behind a failure, for a log only. `ToolCallEnded` hands on artifact and cause, and the run keeps neither.
    """

    call_id: str
    content: str | tuple[Any, ...] = ""
    error: str | None = None
    is_unfinished: bool = False
    is_pinned: bool = False
    artifact: Any = field(default=None, repr=False)
    cause: BaseException | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Use the error as content if there is no other."""
        if not self.content and self.error:
            object.__setattr__(self, "content", self.error)

    @property
    def text(self) -> str:
        """The content as a person can read it: its texts, and the kind of every other part in brackets, up to 100 parts."""
        if isinstance(self.content, str):
            return self.content
        return _read_parts(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWaiting:
    """News that an agent that was called as a tool waits for a person. The call stays open, and the run asks for its agent as well.

    Attributes:
        call_id: The call that the agent answers.
        name: The name of the agent.
        snapshot: What the agent's run is resumed from.
        calls: The calls that it waits for, as its own `AskApproval` has them.
    """

    call_id: str
    name: str
    snapshot: str = field(repr=False)
    calls: tuple[AskedCall, ...]

    @property
    def asked(self) -> tuple[AskedCall, ...]:
        """The calls as the calling run asks for them."""
        return tuple(
            replace(call, path=(self.call_id, *call.path), agents=(self.name, *call.agents))
            for call in self.calls
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A person's decision about a call that needs approval.

    Attributes:
        call_id: The call: its id, or the `key` of an `AskedCall`.
        is_approved: Whether it may be made.
        reason: Why the person denies the call; the model reads it.
        by: The name by which the driver knows who decided, for a log.
        refusal: The sentence that the model reads if the call is not made for another reason than a person's no; it
            replaces the one that they did not approve it.
    """

    call_id: str
    is_approved: bool
    reason: str | None = None
    by: str | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerChecked:
    """The outcome of a driver's check of the last answer.

    Attributes:
        answer: The replacement of the answer, for the reader and in the conversation; None leaves it unchanged.
        value: The replacement of its value, if `answer` is replaced.
        refusal: Why the answer is not shown, in a sentence for the reader, which replaces it in the conversation; None if it is shown.
    """

    answer: str | None = None
    value: Any = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """Messages to a run under way, which its next round reads; `AgentRun.steer` makes one.

    Attributes:
        number: Its number among all of the run, from 1; one whose number the run has had changes nothing.
        messages: User messages; none where a check has taken them out.
    """

    number: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeShort:
    """A notice that there is time for only one more model call, the closing one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePassed:
    """A notice of how long the run has lasted, for a budget of seconds.

    Attributes:
        seconds: Since the run began; a smaller number than before changes nothing.
    """

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The reason why a run cannot continue.

    Attributes:
        message: One sentence for the reader.
        reason: `error`; or `time_limit` when the clock ended the run, `cancelled` when a person did, `budget` when one
            is used up, `size_limit` when its next request would be too large. In these cases what is known so far is
            the answer.
        results: The results of open tool calls that have answered anyway, such as agents that were asked to end.
    """

    message: str
    reason: Literal["error", "time_limit", "size_limit", "budget", "guardrail", "cancelled"] = (
        "error"
    )
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedWindow:
    """A conversation that the model's API has compacted, instead of a summary.

    Attributes:
        messages: The messages that replace all others of the request, except system messages and the last one, which
            asks for a summary. They include the task.
        usage: The usage of compacting it.
    """

    messages: tuple[Any, ...]
    usage: Usage | None = None


type Input = (
    ModelDelta
    | ModelDone
    | ModelFailure
    | ToolResult
    | AgentWaiting
    | Decision
    | AnswerChecked
    | Steered
    | TimeShort
    | TimePassed
    | Failure
    | CompactedWindow
)
"""An input that a run is fed with."""


def _read_parts(parts: tuple[Any, ...]) -> str:
    """Return the texts of content parts, and the kind of every other part in brackets, up to 100 parts."""
    shown = [_part_text(part) for part in parts[:_MAX_PARTS_SHOWN]]
    more = len(parts) - len(shown)
    return "\n".join([*shown, f"[{more:,} more parts]"] if more else shown)


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    kind = read_member(part, "type")
    kind = str(getattr(kind, "value", kind) or "")
    if kind.endswith("text"):
        text = read_member(part, "text", "data")  # `data` in the parts of some platforms
    else:
        text = None if kind else read_member(part, "text")
    if isinstance(text, str):
        return text
    return f"[{kind if 0 < len(kind) <= _MAX_KIND_CHARACTERS else 'part'}]"
