"""The profile of a model, and the values that its fields can have."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


type Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How hard a model reasons, least first; no model takes them all."""
type Summary = Literal["auto", "concise", "detailed"]
"""How full the summary of a model's reasoning is."""
type Verbosity = Literal["low", "medium", "high"]
"""How long an answer is."""
type ImageDetail = Literal["low", "auto", "high", "original"]
"""How closely a model looks at an image."""
type SystemRole = Literal["system", "developer"]
type ServiceTier = Literal["auto", "default", "flex", "priority", "ultrafast"]
"""How fast and at what price a request is served."""
type ReasoningMode = Literal["standard", "pro"]
"""How much work goes into an answer besides the effort."""
type ReasoningContext = Literal["auto", "current_turn", "all_turns"]
"""Which earlier reasoning a model reads."""
type CacheTtl = Literal["30m", "12h"]
"""How long the beginning of a request stays in the prompt cache."""

EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
SUMMARIES: tuple[Summary, ...] = ("auto", "concise", "detailed")
VERBOSITIES: tuple[Verbosity, ...] = ("low", "medium", "high")
IMAGE_DETAILS: tuple[ImageDetail, ...] = ("low", "auto", "high", "original")
SERVICE_TIERS: tuple[ServiceTier, ...] = ("auto", "default", "flex", "priority", "ultrafast")
REASONING_MODES: tuple[ReasoningMode, ...] = ("standard", "pro")
REASONING_CONTEXTS: tuple[ReasoningContext, ...] = ("auto", "current_turn", "all_turns")
CACHE_TTLS: tuple[CacheTtl, ...] = ("30m", "12h")
HOSTED_TOOLS = (
    *("web_search", "file_search", "code_interpreter", "image_generation", "mcp"),
    *("shell", "apply_patch", "computer", "tool_search", "programmatic_tool_calling"),
)
# Source: docs/evidence/responses-api.md, R30.
NOT_WITH_MINIMAL = frozenset({"web_search", "image_generation"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """The values that one family of models accepts, and its sizes.

    Attributes:
        family: The family's name, which is also its plainest model name; `default` for an unknown name.
        reasoning: Whether the model reasons: takes `reasoning` and gives reasoning items.
        efforts: Accepted `reasoning.effort` values, lowest first; empty if the model does not reason.
        summaries: Accepted `reasoning.summary` values; empty if the model does not reason.
        verbosities: Accepted `text.verbosity` values, shortest first; empty if the parameter is refused.
        structured_outputs: False if the API is known to refuse `text.format` of type `json_schema`.
        streaming: False if the API is known to refuse `stream: true`.
        parallel_tool_calls: False if the API is known to refuse the parameter of that name.
        images: Whether the model reads images.
        files: Whether the model reads files, such as PDF.
        image_details: Accepted `detail` values of images, lowest first.
        system_role: The role that carries the operator's instructions: `developer` if `system` is refused.
        takes_sampling: Whether `temperature` and `top_p` may be given at any effort, and not only at `none`.
        service_tiers: Accepted `service_tier` values.
        reasoning_modes: The values of `reasoning.mode`. It is sent only if there is a choice: a pro model only has `pro`.
        reasoning_contexts: Accepted `reasoning.context` values; empty if the model does not reason.
        default_reasoning_context: The value that is sent by default, if the server's own default ignores the reasoning of earlier
            turns; None if nothing has to be sent.
        hosted_tools: Types of tools beside functions that the model is not known to lack.
        cache_ttls: Accepted `prompt_cache_options.ttl` values; empty if the model has no such options.
        context_size: Tokens of input and output together.
        max_output_tokens: Maximum number of tokens of one output, reasoning included.
        shutdown_date: The day on which api.openai.com shuts the model down, or did, as YYYY-MM-DD; None if none is known.
        retired: Whether that day was over when this table was written; other servers may still run the model.
        replacement: The model to use instead of one that is shut down.
    """

    family: str
    reasoning: bool = True
    efforts: tuple[Effort, ...] = EFFORTS
    summaries: tuple[Summary, ...] = SUMMARIES
    verbosities: tuple[Verbosity, ...] = VERBOSITIES
    structured_outputs: bool = True
    streaming: bool = True
    parallel_tool_calls: bool = True
    images: bool = True
    files: bool = True
    image_details: tuple[ImageDetail, ...] = ("low", "auto", "high")
    system_role: SystemRole = "system"
    takes_sampling: bool = True
    service_tiers: tuple[ServiceTier, ...] = SERVICE_TIERS
    reasoning_modes: tuple[ReasoningMode, ...] = REASONING_MODES
    reasoning_contexts: tuple[ReasoningContext, ...] = REASONING_CONTEXTS
    default_reasoning_context: ReasoningContext | None = None
    hosted_tools: tuple[str, ...] = HOSTED_TOOLS
    cache_ttls: tuple[CacheTtl, ...] = CACHE_TTLS
    context_size: int = 400_000
    max_output_tokens: int = 128_000
    shutdown_date: str | None = None
    retired: bool = False
    replacement: str | None = None

    def efforts_with(self, tools: Iterable[str]) -> tuple[Effort, ...]:
        """Return the efforts, lowest first, that go with these tools of the API's own; other names count for nothing."""
        has_more = not NOT_WITH_MINIMAL.isdisjoint(tools)
        return tuple(effort for effort in self.efforts if not (has_more and effort == "minimal"))
