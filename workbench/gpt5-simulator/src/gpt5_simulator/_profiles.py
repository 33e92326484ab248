"""The profiles of the models: the values that each accepts, and whether it is still served.

`gpt5_payloads` has a table of its own: that one decides what to send, this one what to refuse, and a test of `gpt5-payloads` compares every
fact that both have. One source for both would let a wrong fact pass every test, and neither package may import the other.

If sources disagree, only values that none of them refuses are accepted.

Source: https://platform.openai.com/docs/models and https://platform.openai.com/docs/deprecations, read in November 2026;
docs/evidence/responses-api.md, R16.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal


type Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

IMAGE_DETAILS = ("low", "auto", "high", "original")

_MOST_DETAILS = ("low", "auto", "high")
_EVERY_VERBOSITY = ("low", "medium", "high")
_EVERY_SUMMARY = ("auto", "concise", "detailed")
_EVERY_CONTEXT = ("auto", "current_turn", "all_turns")
_USUAL_TIERS = ("flex", "priority")
_EVERY_TIER = ("flex", "priority", "ultrafast")
_FLEX = ("flex",)
_PRIORITY = ("priority",)
_LACKED = frozenset({"tool_search", "namespace", "computer", "programmatic_tool_calling"})
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """The values that one model accepts.

    Attributes:
        name: The id in requests.
        snapshot: The id in responses.
        efforts: The accepted `reasoning.effort` values, lowest first.
        default_effort: The effort of a request that names none.
        verbosities: The accepted `text.verbosity` values; empty if the parameter is refused.
        summaries: The accepted `reasoning.summary` values.
        has_phase: Whether its messages have a phase, `commentary` or `final_answer`.
        streams: Whether `stream` may be true.
        takes_sampling: Whether `temperature` and the like may be given at any effort, and not only at `none`.
        image_details: The accepted `detail` values of images, lowest first.
        takes_system: Whether input messages may have the role `system`.
        contexts: The accepted `reasoning.context` values.
        default_context: The context in the response to a request that names none; None if the response has none.
        modes: The accepted `reasoning.mode` values; empty if the parameter is refused.
        lacks_tools: The types of tools that it does not accept.
        tiers: The service tiers that serve it, besides the usual one. A request for another tier is refused, except
            that one for `priority` is served as usual.
        keeps_cache: Whether its cache is kept for a day, so that `prompt_cache_retention` cannot be `in_memory`.
        chooses_added: Whether `tool_choice` may name a tool that only an input item declares.
        has_cache_options: Whether it takes `prompt_cache_options`, and bills the tokens that it writes to the cache.
        successor: The model to use instead of a retired one; None while it is served.
        shutdown_date: The day in `GET /v1/models`, as `YYYY-MM-DD`; None if there is none.
    """

    name: str
    snapshot: str
    efforts: tuple[Effort, ...] = ("none", "low", "medium", "high", "xhigh")
    default_effort: Effort = "medium"
    verbosities: tuple[str, ...] = _EVERY_VERBOSITY
    summaries: tuple[str, ...] = _EVERY_SUMMARY
    has_phase: bool = False
    streams: bool = True
    takes_sampling: bool = False
    image_details: tuple[str, ...] = _MOST_DETAILS
    takes_system: bool = True
    contexts: tuple[str, ...] = ("auto", "current_turn")
    default_context: str | None = None
    modes: tuple[str, ...] = ()
    lacks_tools: frozenset[str] = _LACKED
    has_cache_options: bool = False
    keeps_cache: bool = False
    chooses_added: bool = False
    tiers: tuple[str, ...] = _USUAL_TIERS
    successor: str | None = None
    shutdown_date: str | None = None


_NEXT_END = "2027-04-01"
_FIRST = ModelProfile(
    name="gpt-5",
    snapshot="gpt-5-2025-08-07",
    efforts=("minimal", "low", "medium", "high"),
    summaries=("auto", "detailed"),
    lacks_tools=_LACKED | {"apply_patch"},
    shutdown_date="2026-12-11",
)
_CODEX = ModelProfile(
    name="gpt-5-codex",
    snapshot="gpt-5-codex",
    efforts=("low", "medium", "high"),
    verbosities=(),
    summaries=("auto", "detailed"),
    takes_system=False,
    successor="gpt-5.5",
    shutdown_date="2026-07-23",
    lacks_tools=_LACKED | {"apply_patch"},
)
_PRO: tuple[Effort, ...] = ("medium", "high", "xhigh")
_NEWEST: tuple[Effort, ...] = ("none", "low", "medium", "high", "xhigh", "max")
_5_4 = ModelProfile(
    name="gpt-5.4",
    snapshot="gpt-5.4-2026-03-05",
    default_effort="none",
    has_phase=True,
    image_details=IMAGE_DETAILS,
    contexts=_EVERY_CONTEXT,
    default_context="current_turn",
    lacks_tools=frozenset({"programmatic_tool_calling"}),
)
_5_5 = replace(
    _5_4,
    name="gpt-5.5",
    snapshot="gpt-5.5-2026-04-23",
    default_effort="medium",
    keeps_cache=True,
)
_5_6 = replace(
    _5_5,
    name="gpt-5.6",
    snapshot="gpt-5.6-sol",
    efforts=_NEWEST,
    default_context="all_turns",
    modes=("standard", "pro"),
    lacks_tools=frozenset(),
    has_cache_options=True,
    chooses_added=True,
    tiers=_EVERY_TIER,
)
_6 = replace(_5_6, name="gpt-6-sol", snapshot="gpt-6-sol", tiers=_USUAL_TIERS)
_ALWAYS_REASONING = _NEWEST[1:]

_PROFILES = (
    _FIRST,
    replace(_FIRST, name="gpt-5-mini", snapshot="gpt-5-mini-2025-08-07"),
    replace(_FIRST, name="gpt-5-nano", snapshot="gpt-5-nano-2025-08-07", tiers=_FLEX),
    ModelProfile(
        name="gpt-5.1",
        snapshot="gpt-5.1-2025-11-13",
        efforts=("none", "low", "medium", "high"),
        default_effort="none",
        shutdown_date=_NEXT_END,
    ),
    ModelProfile(name="gpt-5.2", snapshot="gpt-5.2-2025-12-11", default_effort="none"),
    ModelProfile(name="gpt-5.2-pro", snapshot="gpt-5.2-pro-2025-12-11", efforts=_PRO, tiers=()),
    ModelProfile(
        name="gpt-5.3-codex",
        snapshot="gpt-5.3-codex",
        efforts=("low", "medium", "high", "xhigh"),
        verbosities=("medium",),
        has_phase=True,
        takes_system=False,
        tiers=_PRIORITY,
        shutdown_date=_NEXT_END,
    ),
    _5_4,
    replace(
        _5_4,
        name="gpt-5.4-mini",
        snapshot="gpt-5.4-mini-2026-03-17",
        image_details=_MOST_DETAILS,
    ),
    replace(
        _5_4,
        name="gpt-5.4-nano",
        snapshot="gpt-5.4-nano-2026-03-17",
        image_details=_MOST_DETAILS,
        lacks_tools=_5_4.lacks_tools | {"tool_search"},
        tiers=_FLEX,
        shutdown_date=_NEXT_END,
    ),
    replace(
        _5_4,
        name="gpt-5.4-pro",
        snapshot="gpt-5.4-pro-2026-03-05",
        efforts=_PRO,
        tiers=_FLEX,
        default_effort="medium",
    ),
    _5_5,
    replace(
        _5_5,
        name="gpt-5.5-pro",
        snapshot="gpt-5.5-pro-2026-04-23",
        efforts=_PRO,
        default_effort="high",
        streams=False,
        tiers=_FLEX,
    ),
    _5_6,
    replace(_5_6, name="gpt-5.6-sol"),
    replace(_5_6, name="gpt-5.6-terra", snapshot="gpt-5.6-terra", tiers=_USUAL_TIERS),
    replace(_5_6, name="gpt-5.6-luna", snapshot="gpt-5.6-luna", tiers=_USUAL_TIERS),
    _6,
    replace(_6, name="gpt-6-luna", snapshot="gpt-6-luna"),
    replace(
        _6, name="gpt-6-astra", snapshot="gpt-6-astra", efforts=_ALWAYS_REASONING, tiers=_EVERY_TIER
    ),
    replace(_6, name="gpt-6.1-terra", snapshot="gpt-6.1-terra"),
    replace(
        _6, name="gpt-6.1-sol", snapshot="gpt-6.1-sol", efforts=_ALWAYS_REASONING, tiers=_EVERY_TIER
    ),
    replace(
        _6,
        name="gpt-6.2-sol",
        snapshot="gpt-6.2-sol",
        efforts=_ALWAYS_REASONING,
        tiers=("priority", "ultrafast"),
    ),
    replace(
        _6,
        name="gpt-6.2-astra",
        snapshot="gpt-6.2-astra",
        efforts=_ALWAYS_REASONING,
        tiers=_PRIORITY,
    ),
    _CODEX,
    replace(
        _CODEX,
        name="gpt-5.1-codex",
        snapshot="gpt-5.1-codex",
        summaries=_EVERY_SUMMARY,
        lacks_tools=_LACKED,
    ),
)


def iter_profiles() -> Iterator[ModelProfile]:
    """Yield every known model, retired ones last."""
    yield from _PROFILES


def profile_for(model: str) -> ModelProfile | None:
    """Return the profile of a model id, dated ids included; None if the id is unknown."""
    return next((profile for profile in _PROFILES if profile.name == plain_name(model)), None)


def plain_name(model: str) -> str:
    """Return a model id without the date of a snapshot."""
    return _DATED.sub("", model)


def profile_for_unknown(model: str) -> ModelProfile:
    """Return a profile that refuses nothing, for an id that is not in the table."""
    return replace(
        _5_6,
        name=model,
        snapshot=model,
        efforts=("none", "minimal", *_ALWAYS_REASONING),
        has_phase=False,
        takes_sampling=True,
        default_context="current_turn",
        keeps_cache=False,
    )
