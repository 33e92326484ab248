"""How much a model reads at once, as Dify says it and as an administrator may set it."""

from collections.abc import Mapping
from typing import Any

from agent_loop import Window
from stream_text import read_member

from ._settings import Settings


_LEAST_TOKENS = 4_000  # Of a smaller one there would be nothing left beside a summary.
_OUTPUT_RULES = ("max_output_tokens", "max_tokens", "max_completion_tokens")


def read_input_tokens(
    entity: Mapping[str, Any], rules: Mapping[str, Mapping[str, Any]]
) -> int | None:
    """Return how many tokens a request to a model may have; None where Dify did not say.

    What Dify calls the size of its context includes the answer, whose room is taken off: as much as it may have at most, but never over half.
    """
    size = _to_count(read_member(entity.get("model_properties"), "context_size"))
    if size is None:
        return None
    outputs = (_to_count(rules.get(name, {}).get("max")) for name in _OUTPUT_RULES)
    output = next((count for count in outputs if count is not None), 0)
    return size - min(output, size // 2)


def to_window(input_tokens: int | None, settings: Settings) -> Window | None:
    """Return the window of a model; None where nobody knows its size, or runs are not to be made shorter."""
    tokens = settings.window_tokens or input_tokens
    if tokens is None or tokens < _LEAST_TOKENS or not settings.compact_percent:
        return None
    share = settings.compact_percent / 100
    return Window(tokens=tokens, compact_at=share, keep=share / 4)


def _to_count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 < value < 10**12 else None
