"""What a run is fed with: values, nothing else. What it answers stands in `_events`."""

from dataclasses import dataclass, field
from typing import Any, Literal

from ._approval import Decision
from ._compaction_events import CompactedWindow
from ._parts import parts_text
from ._usage import Usage


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
        opaque_body: A snapshot of what to hand back with this answer; the last one that is not None counts.
        usage: The usage of this model call; the last one that is not None counts.
        finish_reason: Why the model stopped; `length` means at its output limit.
        phase: What the text is, where the model's client knows: `commentary` is said on the way to something else, most often
            to a tool call. None and everything else is no commentary.
        files: Images and the like that the model has made, in whatever form; they are handed on by `ShowFile`, and the model reads none of them again.
    """

    text: str = ""
    tool_calls: tuple[ToolCallFragment, ...] = ()
    opaque_body: Any = None
    usage: Usage | None = None
    finish_reason: str | None = None
    phase: str | None = None
    files: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing of an answer."""
        if (
            self.text or self.tool_calls or self.files
        ):  # Nearly always, and much faster than the rest.
            return False
        return self == ModelDelta(phase=self.phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDone:
    """The end of the model's answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailure:
    """The end of a model call that failed.

    Attributes:
        message: Why, as a clause that a person can read.
        is_transient: Whether the platform broke it off, so that it may pass when it is made again.
        wait_seconds: How long to wait before that.
        has_time: Whether there is time for that.
        may_pass_elsewhere: Whether another model may answer at once: a rate limit, an overload, a content filter, a model that is gone.
    """

    message: str
    is_transient: bool
    wait_seconds: float = 0.0
    has_time: bool = True
    may_pass_elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool call, as the model shall read it.

    Attributes:
        call_id: The call that it answers.
        content: What the model reads: a text, or content parts (text, image, file), which the run passes through. Empty, it becomes `error`.
        error: Why the call failed or was refused, in a sentence that the model may read; None where it did not.
        is_unfinished: Whether the tool was given up while it still ran.
        is_pinned: Whether it stays with the model word for word when the run is made shorter.
        artifact: What the tool made for others than the model, such as files for a person.
        cause: The exception behind a failure, for a log and nobody else. `ToolCallEnded` hands on both, and the run keeps neither.
    """

    call_id: str
    content: str | tuple[Any, ...] = ""
    error: str | None = None
    is_unfinished: bool = False
    is_pinned: bool = False
    artifact: Any = field(default=None, repr=False)
    cause: BaseException | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Let the model read why a call has failed, where nothing else is said."""
        if not self.content and self.error:
            object.__setattr__(self, "content", self.error)

    @property
    def text(self) -> str:
        """What a person can read of the content: its texts, and the kind of every other part in brackets; of 100 parts at most."""
        if isinstance(self.content, str):
            return self.content
        return parts_text(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeShort:
    """The news that there is time for one more model call only: the next one is the closing one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePassed:
    """The news how long the run has lasted, for a budget of seconds.

    Attributes:
        seconds: Since the run began; a smaller number than before changes nothing.
    """

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The reason why a run cannot go on.

    Attributes:
        message: One sentence for the reader.
        reason: `error`; or `time_limit` when the clock ended the run, `cancelled` when a person did, `budget` when one is used up, `size_limit` when its next request would
            hold too much. Then what is known so far is the answer.
        results: What open tool calls have come to nevertheless, such as agents that were told to end.
    """

    message: str
    reason: Literal["error", "time_limit", "size_limit", "budget", "cancelled"] = "error"
    results: tuple[ToolResult, ...] = ()


type Input = (
    ModelDelta
    | ModelDone
    | ModelFailure
    | ToolResult
    | Decision
    | TimeShort
    | TimePassed
    | Failure
    | CompactedWindow
)
"""What a run is fed with."""
