"""What may be left out of a refused request: its parts, and what the tables beside this module say of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from stream_text import is_list


type UnknownParameter = Literal[
    "without_include",
    "without_limit",
    "without_parallel_tool_calls",
    "without_prompt_cache_key",
    "without_prompt_cache_options",
    "without_prompt_cache_retention",
    "without_safety_identifier",
    "without_service_tier",
    "without_stream_options",
    "without_summary",
    "without_truncation",
    "without_verbosity",
]
"""A parameter that may be left out where a server does not know it."""

type UnreadMedia = Literal["without_result_media", "without_images", "without_files"]
"""What a server does not take: images and files in the results of tools, images at all, or files at all."""

type Fallback = (
    UnknownParameter
    | UnreadMedia
    | Literal["without_streaming", "without_reasoning_items", "without_compaction", "without_flex"]
)
"""The part to leave out: a parameter, images or files, streaming, earlier reasoning in the input, compactions, or the flex tier."""

type Request = Mapping[str, Any]

MOST_CHARACTERS = 4_000  # of a refusal that are read; some repeat the request


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part left out of a request.

    Attributes:
        name: The part.
        value: The one value of `include`; empty if nothing of the part is left.
        is_lasting: Whether later requests are refused for it, too.
        is_of_model: Whether other models of the server may take it, for images and files, which are remembered once a
            request without them has passed.
        is_guess: Whether the refusal may have been about something else, so that only the last part that was left out is known to be meant.
    """

    name: Fallback
    value: str = ""
    is_lasting: bool = True
    is_of_model: bool = False
    is_guess: bool = False


def input_items(request: Request) -> Sequence[dict[str, Any]]:
    """Return the items of a request's input; none where it is a text."""
    items = request.get("input")
    return items if is_list(items) else ()


@cache
def read_table(name: str) -> Mapping[str, Any]:
    """Return a table of this package, read once, and only where a server is known to need it."""
    import tomllib  # noqa: PLC0415  slow to load, and needed only after a refusal

    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
