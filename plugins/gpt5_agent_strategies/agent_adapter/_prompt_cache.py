"""What a model call has read from the prompt cache, where the model's plugin tells so with its answer."""

from typing import cast

from stream_text import read_member


# Names of ours for those that the model plugin sends: in a log, what has `token` in its name would be taken for a secret's.
_FIGURES = {
    "input_tokens": "input",
    "cached_tokens": "read_from_cache",
    "expected_tokens": "expected",
    "reason": "broken_by",
    "changed_item": "changed_item",
}


def read_prompt_cache(body: object) -> dict[str, int | str]:
    """Return the figures of a call, and what broke the cache if something did; empty where an answer's opaque body does not tell."""
    told = read_member(body, "prompt_cache")
    figures = cast("dict[str, object]", told) if isinstance(told, dict) else {}
    found = ((name, figures.get(field)) for field, name in _FIGURES.items())
    return {name: value for name, value in found if isinstance(value, int | str)}


def cached_tokens(body: object) -> int:
    """Return how many tokens were read from the cache; 0 where that is not told."""
    found = read_prompt_cache(body).get("read_from_cache", 0)
    return max(found, 0) if isinstance(found, int) else 0
