"""The layer with a tool that asks a person, whose answer comes with the request for a later run.

The model's call ends the run: the client shows the question, and goes on with the answer as a deferred tool result. One question is asked at a time.

Source: docs/contracts/dify-agent.md, C73; Dify 1.16.0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal, Self, cast, override

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_ai import CallDeferred, ModelRetry, RunContext, Tool, ToolCallPart

from dify_agent.compositor import EmptyRuntimeState, LayerConfig, NoLayerDeps, PlainLayer


__all__ = ["AskHumanLayer", "AskHumanLayerConfig"]


QUESTION_VERSION: Final = 1
"""The version of the form of a `HumanQuestion`."""

_DESCRIPTION: Final = (
    "Ask a person for information or a decision without which you cannot go on, and which neither the conversation nor another tool can give you."
    " Say shortly what you need, with a field for each value and an action for each choice."
)
_MOST_PROBLEMS: Final = 10
_MOST_RETRIES: Final = 3

type _Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
type _Text = Annotated[str, StringConstraints(pattern=r"\S")]
type _FieldType = Literal["paragraph", "select", "file", "file-list"]


class AskHumanLayerConfig(LayerConfig):
    """The bounds of a question.

    Attributes:
        enabled: Whether the model has the tool at all.
        tool_name: The tool's name for the model.
        tool_description: Its description for the model; our own if left out or blank.
        max_fields: The most fields of a question.
        max_actions: The most actions.
        allowed_field_types: The kinds of fields.
        allow_file_fields: Whether files may be among them.
        max_markdown_chars: The most characters of its `markdown`.
        max_question_chars: The most characters of its `question`.
        max_field_label_chars: The most characters of the label of a field.
        max_action_label_chars: The most characters of the label of an action.
    """

    enabled: bool = True
    tool_name: _Identifier = "ask_human"
    tool_description: str | None = None
    max_fields: int = Field(default=8, ge=0, le=16)
    max_actions: int = Field(default=4, ge=1, le=8)
    allowed_field_types: list[_FieldType] = Field(
        default_factory=lambda: ["paragraph", "select"], max_length=4
    )
    allow_file_fields: bool = False
    max_markdown_chars: int = Field(default=8_000, ge=0, le=20_000)
    max_question_chars: int = Field(default=1_000, ge=1, le=4_000)
    max_field_label_chars: int = Field(default=120, ge=1, le=200)
    max_action_label_chars: int = Field(default=80, ge=1, le=120)

    @model_validator(mode="after")
    def _validate_field_types(self) -> Self:
        kinds = self.allowed_field_types
        if len({*kinds}) < len(kinds):
            raise ValueError("allowed_field_types: expected each kind once")
        if not self.allow_file_fields and {"file", "file-list"} & {*kinds}:
            raise ValueError("allowed_field_types: expected no files without allow_file_fields")
        return self


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Option(_Part):
    value: _Text
    label: _Text


class _FieldBase(_Part):
    name: _Identifier
    label: _Text
    required: bool = False


class _Paragraph(_FieldBase):
    type: Literal["paragraph"] = "paragraph"
    placeholder: str | None = None
    default: str | None = None


class _Select(_FieldBase):
    type: Literal["select"] = "select"
    options: list[_Option] = Field(min_length=1)
    default: str | None = None

    @model_validator(mode="after")
    def _validate_options(self) -> Self:
        values = [option.value for option in self.options]
        if len({*values}) < len(values):
            raise ValueError("options: expected each value once")
        if self.default is not None and self.default not in values:
            raise ValueError("default: expected the value of an option")
        return self


class _File(_FieldBase):
    type: Literal["file"] = "file"


class _FileList(_FieldBase):
    type: Literal["file-list"] = "file-list"
    max_files: int | None = Field(default=None, ge=1)


class _Action(_Part):
    id: _Identifier
    label: _Text
    style: Literal["default", "primary", "destructive"] = "default"


type _Field = Annotated[_Paragraph | _Select | _File | _FileList, Field(discriminator="type")]


class HumanQuestion(BaseModel):
    """A question for a person, as the model asks it.

    Attributes:
        title: The heading of the form.
        question: What is asked.
        markdown: What the person has to know for the answer.
        fields: The values to fill in.
        actions: The buttons to choose from; a single one, `submit`, if there are none.
        urgency: How urgent the answer is.
    """

    model_config = ConfigDict(extra="forbid")

    title: _Text | None = None
    question: _Text
    markdown: str | None = None
    fields: list[_Field] = Field(default_factory=list[_Field])
    actions: list[_Action] = Field(default_factory=list[_Action], validate_default=True)
    urgency: Literal["normal", "high"] = "normal"

    @field_validator("actions")
    @classmethod
    def _fill_actions(cls, actions: list[_Action]) -> list[_Action]:
        return actions or [_Action(id="submit", label="Submit", style="primary")]

    @model_validator(mode="after")
    def _validate_names(self) -> Self:
        for kind, names in (
            ("fields", [each.name for each in self.fields]),
            ("actions", [each.id for each in self.actions]),
        ):
            if len({*names}) < len(names):
                raise ValueError(f"{kind}: expected each of them to have another name")
        return self


@dataclass(slots=True, eq=False)
class AskHumanLayer(PlainLayer[NoLayerDeps, AskHumanLayerConfig, EmptyRuntimeState]):
    """The tool that asks a person.

    Attributes:
        config: The bounds of a question.
    """

    type_id: ClassVar[str] = "dify.ask_human"

    config: AskHumanLayerConfig = field(default_factory=AskHumanLayerConfig)
    _asked: dict[int, str | None] = field(
        default_factory=dict[int, str | None], init=False, repr=False
    )
    """The call that asks, by the number of the model's answer that holds it."""

    @property
    @override
    def prefix_prompts(self) -> Sequence[str]:
        """Return when and how to ask."""
        bounds = self.config
        if not bounds.enabled:
            return ()
        kinds = ", ".join(bounds.allowed_field_types) or "none"
        hint = (
            f"You may ask a person with the tool {bounds.tool_name}, one question at a time, and only for what you cannot find out otherwise."
            f" A question has at most {bounds.max_question_chars} characters, its markdown {bounds.max_markdown_chars}; at most {bounds.max_fields} fields"
            f" (kinds: {kinds}) with labels of {bounds.max_field_label_chars} characters, and {bounds.max_actions} actions with labels of"
            f" {bounds.max_action_label_chars}. Without actions it gets one, Submit."
        )
        return (hint,)

    @property
    @override
    def tools(self) -> Sequence[Tool[object]]:
        """Return the tool, whose calls are deferred."""
        bounds = self.config
        if not bounds.enabled:
            return ()
        # Positional only, because arguments may have any name.
        tool = Tool[object].from_schema(
            self._ask,
            name=bounds.tool_name,
            description=(bounds.tool_description or "").strip() or _DESCRIPTION,
            json_schema=HumanQuestion.model_json_schema(),
            takes_ctx=True,
            sequential=True,
        )
        tool.max_retries = _MOST_RETRIES
        return (tool,)

    def is_question(self, call: ToolCallPart) -> bool:
        """Return whether a call asks a person."""
        return self.config.enabled and call.tool_name == self.config.tool_name

    def read_question(self, arguments: object) -> HumanQuestion:
        """Return the question in the arguments of a call.

        Raises:
            ModelRetry: If it is not one, or exceeds the bounds; the message says for the model what was expected.
        """
        try:
            question = HumanQuestion.model_validate(arguments)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            texts = (
                f"{'.'.join(map(str, each['loc']))}: {each['msg'].removeprefix('Value error, ')}"
                for each in found[:_MOST_PROBLEMS]
            )
            raise ModelRetry("\n".join(texts)) from None
        if problems := list(self._exceeded(question)):
            raise ModelRetry("\n".join(problems[:_MOST_PROBLEMS]))
        return question

    async def _ask(self, ctx: RunContext[object], /, **arguments: Any) -> None:
        self.read_question(arguments)
        first = self._asked.setdefault(ctx.run_step, ctx.tool_call_id)
        if first != ctx.tool_call_id:
            raise ModelRetry("Ask one question at a time: this one was not asked.")
        raise CallDeferred

    def _exceeded(self, question: HumanQuestion) -> Sequence[str]:
        bounds = self.config
        kinds = ", ".join(bounds.allowed_field_types) or "none"
        lengths = [
            ("question", question.question, bounds.max_question_chars),
            ("markdown", question.markdown or "", bounds.max_markdown_chars),
            *(
                (f"fields.{number}.label", each.label, bounds.max_field_label_chars)
                for number, each in enumerate(question.fields)
            ),
            *(
                (f"actions.{number}.label", each.label, bounds.max_action_label_chars)
                for number, each in enumerate(question.actions)
            ),
        ]
        counts = [
            ("fields", len(question.fields), bounds.max_fields),
            ("actions", len(question.actions), bounds.max_actions),
        ]
        return [
            *(f"{name}: expected at most {most}" for name, count, most in counts if count > most),
            *(
                f"{name}: expected at most {most} characters"
                for name, text, most in lengths
                if len(text) > most
            ),
            *(
                f"fields.{number}.type: expected one of {kinds}"
                for number, each in enumerate(question.fields)
                if cast("str", each.type) not in bounds.allowed_field_types
            ),
        ]
