"""The parameters of a model call, read and validated once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypedDict

from ._choice import ToolChoice, read_tool_choice
from ._formats import json_schema_format, validate_format
from ._hosted import ContextSize
from ._hosted_parameters import HostedParameters
from ._model_profile import (
    CACHE_TTLS,
    EFFORTS,
    IMAGE_DETAILS,
    REASONING_CONTEXTS,
    REASONING_MODES,
    SERVICE_TIERS,
    SUMMARIES,
    VERBOSITIES,
    CacheTtl,
    Effort,
    ImageDetail,
    ReasoningContext,
    ReasoningMode,
    ServiceTier,
    Summary,
    Verbosity,
)
from ._values import choose, coerce_bool, coerce_float, coerce_int, is_blank


type ResponseFormat = Literal["text", "json_schema", "json_object"]
"""What an answer is written in."""
type SummarySetting = Summary | Literal["off"]

_RESPONSE_FORMATS: tuple[ResponseFormat, ...] = ("text", "json_schema", "json_object")
_SUMMARY_SETTINGS: tuple[SummarySetting, ...] = (*SUMMARIES, "off")
_MAX_OUTPUT_TOKENS = 128_000
# The API's own minimum ("integer below minimum value. Expected a value >= 16"), while the form allows 1.
_API_MIN_OUTPUT_TOKENS = 16


class RequestParameters(TypedDict, total=False):
    """The parameters that `build_request` takes, as a program writes them.

    The README says what each means, and in which other forms, such as texts of a form, it is accepted.
    """

    max_output_tokens: int | None
    reasoning_effort: Effort | None
    reasoning_summary: SummarySetting | None
    verbosity: Verbosity | None
    response_format: ResponseFormat | None
    json_schema: Mapping[str, Any] | str | None
    image_detail: ImageDetail | None
    tool_choice: str | Mapping[str, Any] | None
    parallel_tool_calls: bool | None
    enable_stream: bool | None
    service_tier: ServiceTier | None
    flex_fallback: bool | None
    reasoning_mode: ReasoningMode | None
    reasoning_context: ReasoningContext | None
    web_search: ContextSize | Literal["off"] | None
    web_search_domains: str | Sequence[str] | None
    file_search_stores: str | Sequence[str] | None
    code_interpreter: bool | None
    image_generation: bool | None
    mcp_servers: str | Sequence[Mapping[str, Any]] | None
    extra_tools: str | Sequence[Mapping[str, Any]] | None
    allowed_tools: str | Sequence[str] | None
    max_tool_calls: int | None
    prompt_cache_ttl: CacheTtl | None
    compact_threshold: int | None
    temperature: float | None
    top_p: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The parameters, with defaults for those that are missing or blank.

    Attributes:
        max_output_tokens: Maximum number of tokens of the output, reasoning included: 16 to 128,000.
        reasoning_effort: How much the model reasons.
        reasoning_summary: How detailed the summary of its reasoning is; `off` for none.
        verbosity: How long the answer is.
        text_format: `text.format`, ready to send.
        image_detail: How closely the model looks at every image; None leaves it to each.
        tool_choice: A mode, a function's name, or a form of the API.
        parallel_tool_calls: Whether the model may call several tools at once.
        enable_stream: Whether the answer may be streamed.
        service_tier: How fast and at what price the request is served; None for the server's own choice.
        flex_fallback: Whether the caller will try again at the default tier if flex has no room.
        reasoning_mode: How much work goes into the answer besides `reasoning_effort`.
        reasoning_context: Which earlier reasoning the model reads.
        prompt_cache_ttl: How long the prompt stays in the cache.
        compact_threshold: The number of tokens from which on the server compacts the conversation, at least 1,000; None for never.
        hosted: The tools that the server runs.
        temperature: The sampling temperature, 0 to 2.
        top_p: The probability mass from which the next token is taken, 0 to 1.
        given: The names of those that are neither missing nor blank.
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
    service_tier: ServiceTier | None
    flex_fallback: bool
    reasoning_mode: ReasoningMode | None
    reasoning_context: ReasoningContext | None
    prompt_cache_ttl: CacheTtl | None
    compact_threshold: int | None
    hosted: HostedParameters
    temperature: float | None
    top_p: float | None
    given: frozenset[str]

    @classmethod
    def read(cls, raw: Mapping[str, object]) -> Self:
        """Read the parameters of a form or of a caller. Other names are ignored.

        Raises:
            PayloadError: If a parameter does not take its value.
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
            image_detail=_option(set_values, "image_detail", IMAGE_DETAILS),
            tool_choice=read_tool_choice(set_values.get("tool_choice", "auto")),
            parallel_tool_calls=_switch(raw, "parallel_tool_calls"),
            enable_stream=_switch(raw, "enable_stream"),
            service_tier=_option(set_values, "service_tier", SERVICE_TIERS),
            flex_fallback=coerce_bool(
                set_values.get("flex_fallback", False), field="flex_fallback"
            ),
            reasoning_mode=_option(set_values, "reasoning_mode", REASONING_MODES),
            reasoning_context=_option(set_values, "reasoning_context", REASONING_CONTEXTS),
            prompt_cache_ttl=_option(set_values, "prompt_cache_ttl", CACHE_TTLS),
            # The API's minimum, and more than any context.
            compact_threshold=_whole(
                set_values, "compact_threshold", minimum=1_000, maximum=10_000_000
            ),
            hosted=HostedParameters.read(set_values),
            temperature=_number(set_values, "temperature", maximum=2),
            top_p=_number(set_values, "top_p", maximum=1),
            given=frozenset(set_values),
        )


def _max_output_tokens(value: object) -> int:
    number = coerce_int(value, field="max_output_tokens", minimum=1, maximum=_MAX_OUTPUT_TOKENS)
    return max(number, _API_MIN_OUTPUT_TOKENS)


def _whole(
    set_values: Mapping[str, object], name: str, *, minimum: int, maximum: int
) -> int | None:
    value = set_values.get(name)
    if value is None:
        return None
    return coerce_int(value, field=name, minimum=minimum, maximum=maximum)


def _option[T: str](
    set_values: Mapping[str, object], name: str, options: tuple[T, ...]
) -> T | None:
    value = set_values.get(name)
    return None if value is None else choose(value, field=name, options=options)


def _number(set_values: Mapping[str, object], name: str, *, maximum: float) -> float | None:
    value = set_values.get(name)
    return None if value is None else coerce_float(value, field=name, maximum=maximum)


def _reasoning_summary(value: object) -> SummarySetting:
    # YAML reads an unquoted `off` as false.
    wanted = "off" if value is False else value
    return choose(wanted, field="reasoning_summary", options=_SUMMARY_SETTINGS)


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
    # From `raw`: a blank switch is refused, for text is never turned into a boolean by its being empty.
    value = raw.get(name)
    return True if value is None else coerce_bool(value, field=name)
