"""The profiles of all known models.

One table, `_FAMILIES`, has a row for every public name of the GPT-5 and GPT-6 lines; `profile_for` finds the row of a name. Another name of the
GPT-6 line gets the profile of that line. Any other name gets a profile that accepts everything, so that a new model or a gateway's own
name works on its first day and it is up to the server to refuse.

`gpt5_simulator` has a table of its own, of the values to refuse, and the manual of the model plugin one for people. Tests compare every fact that two
of them know: `tests/test_model_facts.py` here, `tests/test_declarations.py` in the plugin.

Source: the `options` of the model files of langgenius/dify-official-plugins (models/openai, 7af22831), OpenAI's model
pages as quoted by public projects, the "Supported values are" texts of the API's own 400 answers, and a public probe of
every model with every effort and verbosity (enricoros/big-AGI, issues 944 and 947). For GPT-6, days of shutdown and successors: litellm 1.109.1,
genai-prices 0.2.3, pydantic-ai-slim 2.68.0, and OpenAI's deprecations page. Read 2026-11-22. If sources disagree, the row holds only
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

# The facts that the models of a generation share; a row of the table has the rest.
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


# The gpt-5 models, which all end on one day; ChatGPT snapshots, whose effort and verbosity are fixed;
# and codex models, nearly all of which ended on one day.
_GPT5 = replace(_FIRST, efforts=_GPT5_EFFORTS, shutdown_date=_GPT5_END)
_CHAT = replace(
    _GPT51,
    retired=True,
    replacement="gpt-5.5",
    efforts=("medium",),
    verbosities=("medium",),
    context_size=128_000,
    max_output_tokens=16_384,
)
_CODEX = replace(
    _GPT51,
    efforts=_GPT5_CODEX_EFFORTS,
    verbosities=(),
    system_role="developer",
    shutdown_date=_CODEX_END,
    retired=True,
    replacement="gpt-5.5",
)
_LATER_CODEX = replace(_CODEX, efforts=_LATER_CODEX_EFFORTS, verbosities=("medium",))


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


_FAMILIES = {
    profile.family: profile
    for profile in (
        replace(_GPT5, replacement="gpt-6.1-sol"),
        replace(_GPT5, family="gpt-5-mini", replacement="gpt-6.1-terra"),
        replace(_GPT5, family="gpt-5-nano", replacement="gpt-6-luna", service_tiers=_FLEX),
        replace(
            _GPT5,
            family="gpt-5-pro",
            efforts=("high",),
            reasoning_modes=("pro",),
            service_tiers=_TIERS,
            replacement="gpt-5.6-sol",
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
        replace(
            _CODEX,
            family="gpt-5-codex",
            summaries=_GPT5_SUMMARIES,
            hosted_tools=_GPT5_TOOLS,
        ),
        replace(
            _GPT51,
            family="gpt-5.1",
            efforts=_GPT51_EFFORTS,
            shutdown_date=_NEXT_END,
            replacement="gpt-6.1-sol",
        ),
        replace(_CHAT, family="gpt-5.1-chat", shutdown_date=_CODEX_END),
        replace(_CODEX, family="gpt-5.1-codex"),
        replace(_CODEX, family="gpt-5.1-codex-mini", replacement="gpt-5.4-mini"),
        replace(_LATER_CODEX, family="gpt-5.1-codex-max"),
        replace(_GPT51, family="gpt-5.2", efforts=_GPT52_EFFORTS),
        replace(_CHAT, family="gpt-5.2-chat", shutdown_date=_CHAT_END),
        _pro(_GPT51, "gpt-5.2-pro", service_tiers=_TIERS),
        replace(_LATER_CODEX, family="gpt-5.2-codex"),
        replace(_CHAT, family="gpt-5.3-chat", shutdown_date=_CHAT_END),
        replace(
            _LATER_CODEX,
            family="gpt-5.3-codex",
            service_tiers=_PRIORITY,
            shutdown_date=_NEXT_END,
            retired=False,
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


# Models from before GPT-5: those that do not reason, and the o series.
_PLAIN = ModelProfile(
    family="gpt-4",
    reasoning=False,
    efforts=(),
    summaries=(),
    verbosities=(),
    reasoning_modes=(),
    reasoning_contexts=(),
    cache_ttls=(),
    context_size=128_000,
    max_output_tokens=4_096,
)
_PLAINER = replace(_PLAIN, structured_outputs=False, images=False, files=False)
_O_SERIES = ModelProfile(
    family="o1",
    efforts=_GPT5_CODEX_EFFORTS,
    summaries=_GPT5_SUMMARIES,
    verbosities=(),
    takes_sampling=False,
    reasoning_modes=("standard",),
    reasoning_contexts=("auto", "current_turn"),
    cache_ttls=(),
    parallel_tool_calls=False,
    context_size=200_000,
    max_output_tokens=100_000,
)

# This package is not for them, but they answer on the same endpoint, and customizable models may name
# them. The first prefix that fits counts.
_OLDER_PREFIXES = {
    profile.family: profile
    for profile in (
        replace(_PLAIN, family="gpt-4.1", max_output_tokens=32_768, context_size=1_047_576),
        replace(_PLAIN, family="gpt-4o", max_output_tokens=16_384),
        replace(_PLAIN, family="chatgpt-4o", max_output_tokens=16_384),
        replace(_PLAIN, family="gpt-4-turbo", structured_outputs=False),
        _PLAINER,
        replace(_PLAINER, family="gpt-3.5"),
        ModelProfile(family="gpt-oss", efforts=_GPT5_CODEX_EFFORTS, images=False, files=False),
        replace(_O_SERIES, family="o1-mini", images=False, files=False),
        _O_SERIES,
        replace(_O_SERIES, family="o3-mini", images=False, files=False),
        replace(_O_SERIES, family="o3"),
        replace(_O_SERIES, family="o4"),
    )
}

# For other names of a line, a profile of what its models share: `minimal` ended with gpt-5.
_LINES = {re.compile(r"gpt-6(?![0-9])"): replace(_GPT56_SOL, family="gpt-6")}
_DEFAULT = ModelProfile(family="default", image_details=IMAGE_DETAILS)
_DEFAULT_CODEX = replace(_DEFAULT, system_role="developer")
_SNAPSHOT_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def profile_for(model: str) -> ModelProfile:
    """Return the profile of a model.

    A dated snapshot (`gpt-5-2025-08-07`), a `-latest` alias, a fine-tuned model (`ft:gpt-5-mini:org::id`) and a name
    with its provider before it (`openai/gpt-5.2`, `openai.gpt-5.5`) have their family's profile. Another name of the
    GPT-6 line has the line's profile, of family `gpt-6`. Any other name has the profile of family `default`, which
    accepts every value; with `codex` in the name its `system_role` is `developer`.
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
    """Return the family's part of a name, without provider, fine-tune, routing suffix and date."""
    name = model.strip().lower().rpartition("/")[2].removeprefix("openai.").removeprefix("ft:")
    name = name.partition(":")[0]
    return _SNAPSHOT_DATE.sub("", name).removesuffix("-latest")


def fit[T: str](value: T, *, accepted: tuple[T, ...], ladder: tuple[T, ...]) -> T | None:
    """Return the accepted value nearest to `value` on `ladder`; of two equally near, the earlier one.

    Returns:
        `value` itself if it is accepted; None if nothing is.
    """
    rank = ladder.index(value)
    return min(accepted, key=lambda option: abs(ladder.index(option) - rank), default=None)
