"""What the requests of an agent run show of it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any


def share_of_reasoning_kept(bodies: Sequence[dict[str, Any]]) -> float:
    """Return how many of the reasoning items that a run was given stand in its last request, from 0 to 1."""
    kept = sum(
        item.get("type") == "reasoning" and bool(item.get("encrypted_content"))
        for item in bodies[-1]["input"]
    )
    return kept / (len(bodies) - 1)


def share_of_extending(bodies: Sequence[dict[str, Any]]) -> float:
    """Return how many requests begin with all of the one before, same tools included, from 0 to 1."""
    extending = sum(
        after["input"][: len(before["input"])] == before["input"]
        and all(after.get(key) == before.get(key) for key in ("tools", "instructions"))
        for before, after in pairwise(bodies)
    )
    return extending / (len(bodies) - 1)
