"""The profiles of the models: the values that each accepts, and whether it is still served.

`gpt5_payloads` has a table of its own: that one decides what to send, this one what to refuse, and a test of `gpt5-payloads` compares every
fact that both have. One source for both would let a wrong fact pass every test, and neither package may import the other.

If sources disagree, only values that none of them refuses are accepted.

Source: https://platform.openai.com/docs/models and https://platform.openai.com/docs/deprecations, read in November 2026;
docs/evidence/responses-api.md, R16.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gpt5_simulator._json import Json, is_array


type Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

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
    verbosities: tuple[str, ...] = ("low", "medium", "high")
    summaries: tuple[str, ...] = ("auto", "concise", "detailed")
    has_phase: bool = False
    streams: bool = True
    takes_sampling: bool = False
    image_details: tuple[str, ...] = ("low", "auto", "high")
    takes_system: bool = True
    contexts: tuple[str, ...] = ("auto", "current_turn")
    default_context: str | None = None
    modes: tuple[str, ...] = ()
    lacks_tools: frozenset[str] = _LACKED
    has_cache_options: bool = False
    keeps_cache: bool = False
    chooses_added: bool = False
    tiers: tuple[str, ...] = ("flex", "priority")
    successor: str | None = None
    shutdown_date: str | None = None


def _read_profiles() -> Iterator[ModelProfile]:
    """Yield the profiles of profiles.json, where a row that is `like` an earlier one says only what differs; the last is for unknown models."""
    rows: dict[str, Json] = {}
    for row in json.loads(Path(__file__).with_name("profiles.json").read_text("utf-8")):
        rows[row["name"]] = rows.get(row.pop("like", ""), {}) | row
    for row in rows.values():
        values: Json = {
            key: tuple(value) if is_array(value) else value for key, value in row.items()
        }
        values["lacks_tools"] = frozenset(row.get("lacks_tools", _LACKED))
        yield ModelProfile(**values)


*_PROFILES, _UNKNOWN = _read_profiles()


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
    return replace(_UNKNOWN, name=model, snapshot=model)
