"""Tokens and prices, in Dify's names and in those of a run."""

from decimal import Decimal
from typing import Any

from dify_plugin.entities.model.llm import LLMUsage
from dify_plugin.entities.provider_config import LogMetadata

from agent_loop import Usage


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


def to_usage(usage: LLMUsage, cached_tokens: int = 0) -> Usage:
    """Return the usage, and what of it came from the prompt cache, which Dify has no name for; of a currency that is no code the beginning is enough."""
    figures = {name: getattr(usage, theirs) for name, theirs in _DIFY_NAMES.items()}
    figures["currency"] = usage.currency[:_MAX_CURRENCY_CHARACTERS]
    return Usage(**figures, cached_tokens=cached_tokens)


def to_figures(usage: Usage) -> dict[str, Any]:
    """Return the usage as Dify's agent node reads it: prices are text, so that no digit is lost on the way."""
    figures = {theirs: getattr(usage, name) for name, theirs in _DIFY_NAMES.items()}
    return {
        name: format(value, "f") if isinstance(value, Decimal) else value
        for name, value in figures.items()
    }


def to_log_metadata(usage: Usage) -> dict[LogMetadata, Any]:
    """Return of the usage what Dify's log shows."""
    return {
        LogMetadata.TOTAL_PRICE: format(usage.total_price, "f"),
        LogMetadata.CURRENCY: usage.currency,
        LogMetadata.TOTAL_TOKENS: usage.total_tokens,
    }
