"""What a client sends to have a run, and what it hears of it.

A request is a composition of layers; a run answers with events, numbered from 1, of which the last is `run_succeeded`,
`run_failed` or `run_cancelled`.
"""

from typing import Annotated, Literal, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializeAsAny,
    model_validator,
)

from dify_agent.compositor import CompositorSessionSnapshot, ExitIntent, LayerConfig


type RunStatus = Literal["running", "succeeded", "failed", "cancelled"]
"""Where a run stands; all but the first are final."""


class _Message(BaseModel):
    """Refuse unknown fields, and never quote a value in an error: it may be a credential."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class RunLayerSpec(_Message):
    """Ask for one layer.

    Attributes:
        name: Its name in the composition; the model is the layer named `llm`.
        type: Its type id, such as `dify.plugin.tools`.
        deps: For each layer that it needs, the name of an earlier layer of the composition.
        config: Its configuration: the type's own object, kept as it is, or the same as a JSON object.
    """

    name: str = Field(min_length=1)
    type: str = Field(min_length=1)
    deps: dict[str, str] = Field(default_factory=dict)
    config: Annotated[
        dict[str, JsonValue] | SerializeAsAny[LayerConfig] | None,
        Field(union_mode="left_to_right", repr=False),
    ] = None


class RunComposition(_Message):
    """List the layers of a run, each after those that it needs.

    Attributes:
        schema_version: The version of this format.
        layers: The layers, with names of their own.
    """

    schema_version: Literal[1] = 1
    layers: list[RunLayerSpec] = Field(default_factory=list[RunLayerSpec])

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        names = [layer.name for layer in self.layers]
        duplicates = sorted({name for name in names if names.count(name) > 1})
        if duplicates:
            raise ValueError(
                f"layers must have unique names, got duplicates: {', '.join(duplicates)}"
            )
        return self


class LayerExitSignals(_Message):
    """Say what becomes of the layers' states when the run is over.

    Attributes:
        default: What becomes of every layer that `layers` does not name.
        layers: What becomes of single layers, by name.
    """

    default: ExitIntent = "suspend"
    layers: dict[str, ExitIntent] = Field(default_factory=dict[str, ExitIntent])


class CreateRunRequest(_Message):
    """Ask for a run.

    Attributes:
        composition: The layers of the run.
        session_snapshot: The snapshot that an earlier run of the same composition ended with, to go on from.
        on_exit: What becomes of the layers' states.
    """

    composition: RunComposition
    session_snapshot: CompositorSessionSnapshot | None = None
    on_exit: LayerExitSignals = Field(default_factory=LayerExitSignals)


class RunStarted(_Message):
    """Say that the run has begun."""

    type: Literal["run_started"] = "run_started"


class TextDelta(_Message):
    """Carry the next piece of the answer.

    Attributes:
        text: What comes after the pieces so far; never empty.
    """

    type: Literal["text_delta"] = "text_delta"
    text: str


class ThinkingDelta(_Message):
    """Carry the next piece of the model's reasoning, as far as the model shows it.

    Attributes:
        text: What comes after the pieces so far; never empty.
    """

    type: Literal["thinking_delta"] = "thinking_delta"
    text: str


class ToolCallStarted(_Message):
    """Say that a tool is about to run.

    Attributes:
        tool_call_id: Ties the call to its result.
        tool_name: The tool's name as the model knows it.
        arguments: The arguments as the model gave them: an object, or its text where that is no JSON object.
    """

    type: Literal["tool_call"] = "tool_call"
    tool_call_id: str
    tool_name: str
    arguments: dict[str, JsonValue] | str


class ToolCallFinished(_Message):
    """Carry what a tool call came to.

    Attributes:
        tool_call_id: Ties the result to its call.
        tool_name: The tool's name as the model knows it.
        outcome: Whether the tool ran, or how it did not.
        content: What the model is told.
    """

    type: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    tool_name: str
    outcome: str
    content: JsonValue


class RunSucceeded(_Message):
    """Say that the run reached its answer.

    Attributes:
        output: The answer: text, or what the output layer asked for.
        session_snapshot: What a later run goes on from.
    """

    type: Literal["run_succeeded"] = "run_succeeded"
    output: JsonValue
    session_snapshot: CompositorSessionSnapshot


class RunFailed(_Message):
    """Say that the run ended without an answer.

    Attributes:
        error: What went wrong, without credentials.
        error_type: The name of the error's class.
    """

    type: Literal["run_failed"] = "run_failed"
    error: str
    error_type: str


class RunCancelled(_Message):
    """Say that the run was stopped from outside."""

    type: Literal["run_cancelled"] = "run_cancelled"


type RunEventData = Annotated[
    RunStarted
    | TextDelta
    | ThinkingDelta
    | ToolCallStarted
    | ToolCallFinished
    | RunSucceeded
    | RunFailed
    | RunCancelled,
    Field(discriminator="type"),
]
"""What an event says; `type` tells the variants apart."""


class RunEvent(_Message):
    """Carry one thing that happened in a run.

    Attributes:
        run_id: The run.
        sequence: Its place in the run, from 1, without gaps.
        created_at: When it happened.
        data: What happened.
    """

    run_id: str
    sequence: int = Field(ge=1)
    created_at: AwareDatetime
    data: RunEventData

    @property
    def is_final(self) -> bool:
        """Whether no event comes after this one."""
        return self.status != "running"

    @property
    def status(self) -> RunStatus:
        """Where the run stands with this event."""
        match self.data:
            case RunSucceeded():
                return "succeeded"
            case RunFailed():
                return "failed"
            case RunCancelled():
                return "cancelled"
            case _:
                return "running"
