"""The usage of a run: tokens, prices, budgets and the prompt cache, with Dify's names and with those of a run."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from dify_plugin.entities.model.llm import LLMUsage
from dify_plugin.entities.provider_config import LogMetadata

from agent_loop import BudgetUse, Finished, Usage
from stream_text import is_object, read_member


_MAX_CURRENCY_CHARACTERS = 16
_DIFY_NAMES = {
    "input_tokens": "prompt_tokens",
    "input_unit_price": "prompt_unit_price",
    "input_price_unit": "prompt_price_unit",
    "input_price": "prompt_price",
    "output_tokens": "completion_tokens",
    "output_unit_price": "completion_unit_price",
    "output_price_unit": "completion_price_unit",
    "output_price": "completion_price",
    "total_tokens": "total_tokens",
    "total_price": "total_price",
    "currency": "currency",
    "latency": "latency",
}
# Our names for figures of the model plugin: in a log, a name with `token` in it would look like a
# secret's.
_FIGURES = {
    "input_tokens": "input",
    "cached_tokens": "read_from_cache",
    "expected_tokens": "expected",
    "reason": "broken_by",
    "changed_item": "changed_item",
}


def to_usage(usage: LLMUsage, cached_tokens: int = 0) -> Usage:
    """Return a usage of Dify's with the tokens from the prompt cache, which Dify has no name for; a currency that is not a code is cut short."""
    figures = {name: getattr(usage, theirs) for name, theirs in _DIFY_NAMES.items()}
    figures["currency"] = usage.currency[:_MAX_CURRENCY_CHARACTERS]
    return Usage(**figures, cached_tokens=cached_tokens)


def to_figures(usage: Usage) -> dict[str, Any]:
    """Return the usage in the form that Dify's agent node reads: prices are text, so that no digit is lost."""
    figures = {theirs: getattr(usage, name) for name, theirs in _DIFY_NAMES.items()}
    return {
        name: format(value, "f") if isinstance(value, Decimal) else value
        for name, value in figures.items()
    }


def to_log_metadata(usage: Usage) -> dict[LogMetadata, Any]:
    """Return the usage for Dify's log."""
    return {
        LogMetadata.TOTAL_PRICE: format(usage.total_price, "f"),
        LogMetadata.CURRENCY: usage.currency,
        LogMetadata.TOTAL_TOKENS: usage.total_tokens,
    }


def to_budget_figures(budgets: Iterable[BudgetUse]) -> list[dict[str, Any]]:
    """Return how much of each budget is used, as JSON; money is text, so that no digit is lost.

    It is a list, because the log's redaction treats values under a name with "token" in it as secrets.
    """
    return [
        {"name": use.name, "used": _to_figure(use.used), "maximum": _to_figure(use.maximum)}
        for use in budgets
    ]


def _to_figure(amount: float | Decimal) -> float | str:
    return format(amount, "f") if isinstance(amount, Decimal) else round(amount, 3)


def build_execution_metadata(finished: Finished) -> dict[str, Any]:
    """Return the JSON message from which Dify takes the tokens, price and time of the node.

    Token counts and the latency in seconds are numbers. `stop_reason`, `iterations`, `budgets` and `models` are our additions.

    Source: docs/evidence/dify-platform.md, P19.
    """
    figures = to_figures(finished.usage)
    figures |= {"stop_reason": finished.reason, "iterations": finished.rounds}
    if len(set(finished.models)) > 1:
        figures["models"] = list(finished.models)
    if finished.budgets:
        figures["budgets"] = to_budget_figures(finished.budgets)
    return {"execution_metadata": figures}


def read_prompt_cache(body: object) -> dict[str, int | str]:
    """Return the prompt cache's figures of a call, and what broke the cache, if something did; empty if the answer's opaque body has none."""
    reported = read_member(body, "prompt_cache")
    figures: Mapping[str, object] = reported if is_object(reported) else {}
    found = ((name, figures.get(field)) for field, name in _FIGURES.items())
    return {name: value for name, value in found if isinstance(value, int | str)}


def cached_tokens(body: object) -> int:
    """Return the number of tokens read from the cache; 0 if unknown."""
    found = read_prompt_cache(body).get("read_from_cache", 0)
    return max(found, 0) if isinstance(found, int) else 0
