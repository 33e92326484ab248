"""The events that a client gets during a run.

Events are numbered from 1. The last one is `run_succeeded`, `run_failed` or `run_cancelled`; none comes after it.
"""

from datetime import UTC, datetime
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AwareDatetime, ConfigDict, Field, JsonValue, TypeAdapter

from dify_agent.compositor import CompositorSessionSnapshot

from .schemas import DeferredToolCall, ProtocolModel


def _now() -> datetime:
    return datetime.now(UTC)


class BaseRunEvent(ProtocolModel):
    """The base of all events.

    Attributes:
        run_id: The run.
        sequence: The event's number in the run, from 1 without gaps; 0 until a sink has given it one.
        created_at: The time of the event.
    """

    run_id: str
    sequence: int = Field(default=0, ge=0)
    created_at: AwareDatetime = Field(default_factory=_now)

    is_terminal: ClassVar[bool] = False
    """Whether no event of the run comes after this one."""


class RunStartedEvent(BaseRunEvent):
    """The beginning of a run."""

    type: Literal["run_started"] = "run_started"


class ModelRequestStartedEvent(BaseRunEvent):
    """The beginning of a model request, in engines that may have to repeat it after a restart.

    The events that follow, up to the next one of this kind or the last event, belong to this request. If there was an earlier event
    with the same `request_index`, that request was cut off and its events are to be dropped.

    Attributes:
        request_index: The number of the request in the run, from 1.
        attempt: The number of the execution of the run that makes it, from 1; it grows with every recovery.
    """

    type: Literal["model_request_started"] = "model_request_started"
    request_index: int = Field(ge=1)
    attempt: int = Field(ge=1)


class TextDeltaEvent(BaseRunEvent):
    """The next piece of the answer.

    Attributes:
        text: What comes after the pieces so far; never empty.
    """

    type: Literal["text_delta"] = "text_delta"
    text: str


class ThinkingDeltaEvent(BaseRunEvent):
    """The next piece of the model's reasoning, as far as the model shows it.

    Attributes:
        text: What comes after the pieces so far; never empty.
    """

    type: Literal["thinking_delta"] = "thinking_delta"
    text: str


class ToolCallEvent(BaseRunEvent):
    """A call of a tool by the model.

    Attributes:
        tool_call_id: Ties the call to its result.
        tool_name: The tool's name as the model knows it.
        arguments: The arguments as the model gave them: an object, or the text if that is not a JSON object.
    """

    type: Literal["tool_call"] = "tool_call"
    tool_call_id: str
    tool_name: str
    arguments: dict[str, JsonValue] | str


class ToolResultEvent(BaseRunEvent):
    """The result of a tool call.

    Attributes:
        tool_call_id: Ties the result to its call.
        tool_name: The tool's name as the model knows it.
        outcome: Pydantic AI's word for the outcome: `success`, `failed`, `retried`, ….
        content: The text for the model.
    """

    type: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    tool_name: str
    outcome: str
    content: str


class FileEvent(BaseRunEvent):
    """A file that the model or a tool made.

    Attributes:
        tool_call_id: The call whose tool made it; None if the model did.
        media_type: Its type, such as `image/png`.
        filename: Its name, if it has one.
        data: Its bytes; in JSON as base64.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    type: Literal["file"] = "file"
    tool_call_id: str | None = None
    media_type: str
    filename: str = ""
    data: bytes = Field(repr=False)


class TerminalRunEvent(BaseRunEvent):
    """The base of the events that end a run."""

    is_terminal: ClassVar[bool] = True


class RunSucceededEvent(TerminalRunEvent):
    """The end of a run that reached its answer, or asks for the result of a call before it continues.

    Attributes:
        output: The answer: text, or the object that the output layer asked for; None if there is a `deferred_tool_call`.
        deferred_tool_call: The call whose result a later run continues with, from this one's snapshot.
        session_snapshot: The snapshot that a later run continues from.
    """

    type: Literal["run_succeeded"] = "run_succeeded"
    output: JsonValue = None
    deferred_tool_call: DeferredToolCall | None = None
    session_snapshot: CompositorSessionSnapshot


class RunFailedEvent(TerminalRunEvent):
    """The end of a run without an answer.

    Attributes:
        error: The reason, without credentials.
        error_type: The name of the error's class.
        session_snapshot: The snapshot that a later run continues from, with calls that were open marked as interrupted; None if the run
            failed before its layers were entered.
    """

    type: Literal["run_failed"] = "run_failed"
    error: str
    error_type: str
    session_snapshot: CompositorSessionSnapshot | None = None


class RunCancelledEvent(TerminalRunEvent):
    """The end of a run that was stopped from outside.

    Attributes:
        session_snapshot: As that of a run that failed.
    """

    type: Literal["run_cancelled"] = "run_cancelled"
    session_snapshot: CompositorSessionSnapshot | None = None


type RunEvent = Annotated[
    RunStartedEvent
    | ModelRequestStartedEvent
    | TextDeltaEvent
    | ThinkingDeltaEvent
    | ToolCallEvent
    | ToolResultEvent
    | FileEvent
    | RunSucceededEvent
    | RunFailedEvent
    | RunCancelledEvent,
    Field(discriminator="type"),
]
"""One event of a run; `type` tells the variants apart."""

RUN_EVENT_ADAPTER: Final[TypeAdapter[RunEvent]] = TypeAdapter(RunEvent)
"""Reads an event from JSON."""
