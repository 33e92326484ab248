"""The ten parameters of a model call, read and validated once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from ._formats import json_schema_format, validate_format
from ._profiles import (
    EFFORTS,
    IMAGE_DETAILS,
    SUMMARIES,
    VERBOSITIES,
    Effort,
    ImageDetail,
    Summary,
    Verbosity,
)
from ._tools import ToolChoice, read_tool_choice
from ._values import choose, coerce_bool, coerce_int, is_blank


type ResponseFormat = Literal["text", "json_schema", "json_object"]
type SummarySetting = Summary | Literal["off"]

_RESPONSE_FORMATS: tuple[ResponseFormat, ...] = ("text", "json_schema", "json_object")
_SUMMARY_SETTINGS: tuple[SummarySetting, ...] = (*SUMMARIES, "off")
_MAX_OUTPUT_TOKENS = 128_000
# The API's own minimum ("integer below minimum value. Expected a value >= 16"), while the form allows 1.
_API_MIN_OUTPUT_TOKENS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The ten parameters, with the defaults that count when one is missing or blank.

    Attributes:
        max_output_tokens: Most tokens of the output, reasoning included: 16 to 128,000.
        reasoning_effort: How much the model reasons.
        reasoning_summary: How full the summary of its reasoning is; `off` for none.
        verbosity: How long the answer is.
        text_format: `text.format`, ready to send.
        image_detail: How closely the model looks at every image; None leaves it to each.
        tool_choice: A mode, a function's name, or a form of the API.
        parallel_tool_calls: Whether the model may call several tools at once.
        enable_stream: Whether the answer may be streamed.
    """

    max_output_tokens: int
    reasoning_effort: Effort
    reasoning_summary: SummarySetting
    verbosity: Verbosity
    text_format: dict[str, Any]
    image_detail: ImageDetail | None
    tool_choice: ToolChoice
    parallel_tool_calls: bool
    enable_stream: bool

    @classmethod
    def read(cls, raw: Mapping[str, object]) -> Self:
        """Read the parameters of a form or of a caller. Names that are not among the ten are ignored.

        Raises:
            PayloadError: If a value is not one that its parameter takes.
        """
        set_values = {name: value for name, value in raw.items() if not is_blank(value)}
        return cls(
            max_output_tokens=_max_output_tokens(set_values.get("max_output_tokens", 8192)),
            reasoning_effort=choose(
                set_values.get("reasoning_effort", "medium"),
                field="reasoning_effort",
                options=EFFORTS,
            ),
            reasoning_summary=_reasoning_summary(set_values.get("reasoning_summary", "auto")),
            verbosity=choose(
                set_values.get("verbosity", "medium"), field="verbosity", options=VERBOSITIES
            ),
            text_format=_text_format(set_values),
            image_detail=_image_detail(set_values.get("image_detail")),
            tool_choice=read_tool_choice(set_values.get("tool_choice", "auto")),
            parallel_tool_calls=_switch(raw, "parallel_tool_calls"),
            enable_stream=_switch(raw, "enable_stream"),
        )


def _max_output_tokens(value: object) -> int:
    number = coerce_int(value, field="max_output_tokens", minimum=1, maximum=_MAX_OUTPUT_TOKENS)
    return max(number, _API_MIN_OUTPUT_TOKENS)


def _image_detail(value: object) -> ImageDetail | None:
    return None if value is None else choose(value, field="image_detail", options=IMAGE_DETAILS)


def _reasoning_summary(value: object) -> SummarySetting:
    # YAML reads an unquoted `off` as false.
    told = "off" if value is False else value
    return choose(told, field="reasoning_summary", options=_SUMMARY_SETTINGS)


def _text_format(set_values: Mapping[str, object]) -> dict[str, Any]:
    kind = choose(
        set_values.get("response_format", "text"),
        field="response_format",
        options=_RESPONSE_FORMATS,
    )
    if kind != "json_schema":
        return {"type": kind}
    text_format = json_schema_format(set_values.get("json_schema"))
    validate_format(text_format)
    return text_format


def _switch(raw: Mapping[str, object], name: str) -> bool:
    value = raw.get(name)
    return True if value is None else coerce_bool(value, field=name)
