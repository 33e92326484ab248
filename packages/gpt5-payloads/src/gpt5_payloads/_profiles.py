"""What each model accepts.

One table, `_FAMILIES`, says it for every public name of the GPT-5 and GPT-6 lines; `profile_for` finds a name's row. A further name of the
GPT-6 line gets what that line may accept. Any other name gets a profile that accepts everything, so that a new model or a gateway's own
name works on its first day and the server is the one to refuse.

`gpt5_simulator` has a table of its own, which says what to refuse, and the model plugin a catalog, which says what to offer and what it
costs. Tests compare every fact that two of them know: `tests/test_model_facts.py` here, `tests/test_declarations.py` in the plugin.

Source: the `options` of the model files of langgenius/dify-official-plugins (models/openai, 7af22831), OpenAI's model
pages as quoted by public projects, the "Supported values are" texts of the API's own 400 answers, and a public probe of
every model with every effort and verbosity (enricoros/big-AGI, issues 944 and 947). For GPT-6, days of shutdown and successors: litellm 1.109.1,
genai-prices 0.2.3, pydantic-ai-slim 2.68.0, and OpenAI's deprecations page. Read 2026-11-22. Where sources disagree, the row holds only
values that no source says are refused. A successor that no source names (those of 2027-04-01) is our choice.
"""

import re
from dataclasses import replace

from ._model_profile import (
    CACHE_TTLS,
    HOSTED_TOOLS,
    IMAGE_DETAILS,
    REASONING_CONTEXTS,
    REASONING_MODES,
    SERVICE_TIERS,
    SUMMARIES,
    Effort,
    ModelProfile,
    ServiceTier,
    Summary,
    Verbosity,
)


# `concise` came after gpt-5 (docstring of `reasoning.summary` in openai-python 3.54).
_GPT5_SUMMARIES: tuple[Summary, ...] = ("auto", "detailed")
_GPT5_EFFORTS: tuple[Effort, ...] = ("minimal", "low", "medium", "high")
_GPT5_CODEX_EFFORTS: tuple[Effort, ...] = ("low", "medium", "high")
_LATER_CODEX_EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh")
_GPT51_EFFORTS: tuple[Effort, ...] = ("none", "low", "medium", "high")
_GPT52_EFFORTS: tuple[Effort, ...] = ("none", "low", "medium", "high", "xhigh")
_GPT56_EFFORTS: tuple[Effort, ...] = ("none", "low", "medium", "high", "xhigh", "max")
_GPT6_EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")
_PRO_EFFORTS: tuple[Effort, ...] = ("medium", "high", "xhigh")
_LARGE_CONTEXT = 1_050_000
_CODEX_END = "2026-07-23"
_CHAT_END = "2026-08-10"
_GPT5_END = "2026-12-11"
_NEXT_END = "2027-04-01"
_TIERS: tuple[ServiceTier, ...] = ("auto", "default")
_FLEX: tuple[ServiceTier, ...] = (*_TIERS, "flex")
_PRIORITY: tuple[ServiceTier, ...] = (*_TIERS, "priority")
_FLEX_AND_PRIORITY: tuple[ServiceTier, ...] = (*_FLEX, "priority")
_GPT5_TOOLS = ("web_search", "file_search", "code_interpreter", "image_generation", "mcp", "shell")

# What the models of a generation have in common; a row of the table says the rest.
_FIRST = ModelProfile(
    family="gpt-5",
    summaries=_GPT5_SUMMARIES,
    takes_sampling=False,
    service_tiers=_FLEX_AND_PRIORITY,
    reasoning_modes=("standard",),
    reasoning_contexts=("auto", "current_turn"),
    hosted_tools=_GPT5_TOOLS,
    cache_ttls=(),
)
_GPT51 = replace(_FIRST, summaries=SUMMARIES, hosted_tools=(*_GPT5_TOOLS, "apply_patch"))
_GPT54 = replace(
    _GPT51,
    efforts=_GPT52_EFFORTS,
    reasoning_contexts=REASONING_CONTEXTS,
    default_reasoning_context="all_turns",
    hosted_tools=(*_GPT51.hosted_tools, "computer", "tool_search"),
)
_LARGE = replace(_GPT54, image_details=IMAGE_DETAILS, context_size=_LARGE_CONTEXT)
_GPT56 = replace(
    _LARGE,
    efforts=_GPT56_EFFORTS,
    reasoning_modes=REASONING_MODES,
    default_reasoning_context=None,
    hosted_tools=HOSTED_TOOLS,
    cache_ttls=CACHE_TTLS,
)
_GPT56_SOL = replace(_GPT56, service_tiers=SERVICE_TIERS)
_GPT62 = replace(_GPT56, efforts=_GPT6_EFFORTS, service_tiers=_PRIORITY)


def _pro(
    base: ModelProfile, family: str, *, service_tiers: tuple[ServiceTier, ...]
) -> ModelProfile:
    return replace(
        base,
        family=family,
        efforts=_PRO_EFFORTS,
        reasoning_modes=("pro",),
        service_tiers=service_tiers,
    )


def _chat(family: str, *, shutdown_date: str) -> ModelProfile:
    """Return the profile of a ChatGPT snapshot, whose effort and verbosity are fixed at medium."""
    return replace(
        _GPT51,
        family=family,
        shutdown_date=shutdown_date,
        retired=True,
        replacement="gpt-5.5",
        efforts=("medium",),
        verbosities=("medium",),
        context_size=128_000,
        max_output_tokens=16_384,
    )


def _codex(
    base: ModelProfile,
    family: str,
    *,
    efforts: tuple[Effort, ...],
    verbosities: tuple[Verbosity, ...] = (),
    replacement: str = "gpt-5.5",
) -> ModelProfile:
    """Return the profile of one of the codex models, of which nearly all ended on one day."""
    return replace(
        base,
        family=family,
        efforts=efforts,
        verbosities=verbosities,
        system_role="developer",
        shutdown_date=_CODEX_END,
        retired=True,
        replacement=replacement,
    )


def _gpt5(
    family: str,
    *,
    replacement: str,
    efforts: tuple[Effort, ...] = _GPT5_EFFORTS,
    service_tiers: tuple[ServiceTier, ...] = _FLEX_AND_PRIORITY,
) -> ModelProfile:
    return replace(
        _FIRST,
        family=family,
        efforts=efforts,
        service_tiers=service_tiers,
        shutdown_date=_GPT5_END,
        replacement=replacement,
    )


_FAMILIES = {
    profile.family: profile
    for profile in (
        _gpt5("gpt-5", replacement="gpt-6.1-sol"),
        _gpt5("gpt-5-mini", replacement="gpt-6.1-terra"),
        _gpt5("gpt-5-nano", replacement="gpt-6-luna", service_tiers=_FLEX),
        replace(
            _gpt5("gpt-5-pro", replacement="gpt-5.6-sol", efforts=("high",), service_tiers=_TIERS),
            reasoning_modes=("pro",),
        ),
        replace(
            _FIRST,
            family="gpt-5-chat",
            reasoning=False,
            efforts=(),
            summaries=(),
            verbosities=(),
            reasoning_modes=(),
            reasoning_contexts=(),
            context_size=128_000,
            max_output_tokens=16_384,
            shutdown_date=_CODEX_END,
            retired=True,
            replacement="gpt-5.5",
        ),
        _codex(_FIRST, "gpt-5-codex", efforts=_GPT5_CODEX_EFFORTS),
        replace(
            _GPT51,
            family="gpt-5.1",
            efforts=_GPT51_EFFORTS,
            shutdown_date=_NEXT_END,
            replacement="gpt-6.1-sol",
        ),
        _chat("gpt-5.1-chat", shutdown_date=_CODEX_END),
        _codex(_GPT51, "gpt-5.1-codex", efforts=_GPT5_CODEX_EFFORTS),
        _codex(
            _GPT51, "gpt-5.1-codex-mini", efforts=_GPT5_CODEX_EFFORTS, replacement="gpt-5.4-mini"
        ),
        _codex(_GPT51, "gpt-5.1-codex-max", efforts=_LATER_CODEX_EFFORTS, verbosities=("medium",)),
        replace(_GPT51, family="gpt-5.2", efforts=_GPT52_EFFORTS),
        _chat("gpt-5.2-chat", shutdown_date=_CHAT_END),
        _pro(_GPT51, "gpt-5.2-pro", service_tiers=_TIERS),
        _codex(_GPT51, "gpt-5.2-codex", efforts=_LATER_CODEX_EFFORTS, verbosities=("medium",)),
        _chat("gpt-5.3-chat", shutdown_date=_CHAT_END),
        replace(
            _GPT51,
            family="gpt-5.3-codex",
            efforts=_LATER_CODEX_EFFORTS,
            verbosities=("medium",),
            system_role="developer",
            service_tiers=_PRIORITY,
            shutdown_date=_NEXT_END,
            replacement="gpt-6.1-sol",
        ),
        replace(_LARGE, family="gpt-5.4"),
        replace(_GPT54, family="gpt-5.4-mini"),
        replace(
            _GPT54,
            family="gpt-5.4-nano",
            service_tiers=_FLEX,
            hosted_tools=(*_GPT51.hosted_tools, "computer"),
            shutdown_date=_NEXT_END,
            replacement="gpt-6-luna",
        ),
        _pro(_LARGE, "gpt-5.4-pro", service_tiers=_FLEX),
        replace(_LARGE, family="gpt-5.5"),
        replace(_pro(_LARGE, "gpt-5.5-pro", service_tiers=_FLEX), streaming=False),
        replace(_GPT56_SOL, family="gpt-5.6"),
        replace(_GPT56_SOL, family="gpt-5.6-sol"),
        replace(_GPT56, family="gpt-5.6-terra"),
        replace(_GPT56, family="gpt-5.6-luna"),
        replace(_GPT56_SOL, family="gpt-6-astra", efforts=_GPT6_EFFORTS),
        replace(_GPT56, family="gpt-6-sol"),
        replace(_GPT56, family="gpt-6-luna"),
        replace(_GPT56_SOL, family="gpt-6.1-sol", efforts=_GPT6_EFFORTS),
        replace(_GPT56, family="gpt-6.1-terra"),
        replace(_GPT62, family="gpt-6.2-astra"),
        replace(_GPT62, family="gpt-6.2-sol", service_tiers=(*_PRIORITY, "ultrafast")),
    )
}


def _older(
    family: str,
    *,
    max_output_tokens: int,
    context_size: int = 128_000,
    structured_outputs: bool = True,
    images: bool = True,
) -> ModelProfile:
    """Return the profile of a model from before GPT-5 that does not reason."""
    return ModelProfile(
        family=family,
        reasoning=False,
        efforts=(),
        summaries=(),
        verbosities=(),
        structured_outputs=structured_outputs,
        reasoning_modes=(),
        reasoning_contexts=(),
        cache_ttls=(),
        images=images,
        files=images,
        context_size=context_size,
        max_output_tokens=max_output_tokens,
    )


def _o_series(family: str, *, images: bool = True) -> ModelProfile:
    return ModelProfile(
        family=family,
        efforts=_GPT5_CODEX_EFFORTS,
        summaries=_GPT5_SUMMARIES,
        verbosities=(),
        takes_sampling=False,
        reasoning_modes=("standard",),
        reasoning_contexts=("auto", "current_turn"),
        cache_ttls=(),
        images=images,
        files=images,
        parallel_tool_calls=False,
        context_size=200_000,
        max_output_tokens=100_000,
    )


# Not what this package is for, but they answer on the same endpoint and customizable models may name them.
# The first prefix that fits counts.
_OLDER_PREFIXES = {
    "gpt-4.1": _older("gpt-4.1", max_output_tokens=32_768, context_size=1_047_576),
    "gpt-4o": _older("gpt-4o", max_output_tokens=16_384),
    "chatgpt-4o": _older("chatgpt-4o", max_output_tokens=16_384),
    "gpt-4-turbo": _older("gpt-4-turbo", max_output_tokens=4_096, structured_outputs=False),
    "gpt-4": _older("gpt-4", max_output_tokens=4_096, structured_outputs=False, images=False),
    "gpt-3.5": _older("gpt-3.5", max_output_tokens=4_096, structured_outputs=False, images=False),
    "gpt-oss": ModelProfile(
        family="gpt-oss", efforts=_GPT5_CODEX_EFFORTS, images=False, files=False
    ),
    "o1-mini": _o_series("o1-mini", images=False),
    "o1": _o_series("o1"),
    "o3-mini": _o_series("o3-mini", images=False),
    "o3": _o_series("o3"),
    "o4": _o_series("o4"),
}

# Further names of a line, by what its models have in common: `minimal` ended with gpt-5.
_LINES = {re.compile(r"gpt-6(?![0-9])"): replace(_GPT56_SOL, family="gpt-6")}
_DEFAULT = ModelProfile(family="default", image_details=IMAGE_DETAILS)
_DEFAULT_CODEX = replace(_DEFAULT, system_role="developer")
_SNAPSHOT_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def profile_for(model: str) -> ModelProfile:
    """Return what `model` accepts.

    A dated snapshot (`gpt-5-2025-08-07`), a `-latest` alias, a fine-tuned model (`ft:gpt-5-mini:org::id`) and a name with
    its provider before it (`openai/gpt-5.2`, `openai.gpt-5.5`) have their family's profile. A further name of the GPT-6 line has that of its
    line, of family `gpt-6`. Any other name has the default one, of family `default`, which accepts every value; with `codex` in the name its `system_role` is `developer`.
    """
    name = _plain_name(model)
    if name in _FAMILIES:
        return _FAMILIES[name]
    for prefix, profile in _OLDER_PREFIXES.items():
        if name == prefix or name.startswith(f"{prefix}-"):
            return profile
    for line, profile in _LINES.items():
        if line.match(name):
            return profile
    return _DEFAULT_CODEX if "codex" in name else _DEFAULT


def _plain_name(model: str) -> str:
    """Return a name without what surrounds the family's: provider, fine-tune, routing suffix, date."""
    name = model.strip().lower().rpartition("/")[2].removeprefix("openai.").removeprefix("ft:")
    name = name.partition(":")[0]
    return _SNAPSHOT_DATE.sub("", name).removesuffix("-latest")


def fit[T: str](value: T, *, accepted: tuple[T, ...], ladder: tuple[T, ...]) -> T | None:
    """Return the accepted value nearest to `value` on `ladder`; of two equally near, the earlier one.

    Returns:
        `value` itself where it is accepted; None where nothing is.
    """
    rank = ladder.index(value)
    return min(accepted, key=lambda option: abs(ladder.index(option) - rank), default=None)
