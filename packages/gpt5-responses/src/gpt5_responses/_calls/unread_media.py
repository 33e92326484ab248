"""Images and files that a server does not take: how it says so, and the request without them.

Source: `unread_media.toml`, the words of servers; docs/contracts/openai-gpt5-responses.md, A53.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from gpt5_messages import move_result_media
from gpt5_payloads import omit_media, wire_item
from gpt5_responses._http.error_answer import ErrorAnswer


type UnreadMedia = Literal["without_result_media", "without_images", "without_files"]
"""What a server does not take: images and files in the results of tools, images at all, or files at all."""


class Unread(NamedTuple):
    """What a server does not take.

    Attributes:
        name: What it is.
        is_of_model: Whether other models of the server may take it.
        is_guess: Whether something else may be meant.
    """

    name: UnreadMedia
    is_of_model: bool
    is_guess: bool


UNREAD: Mapping[UnreadMedia, str] = {
    "without_result_media": "images and files in the results of tools",
    "without_images": "images",
    "without_files": "files",
}
"""What a person calls each."""

_STATUSES = (400, 404, 415, 422, 500, 501)  # llama.cpp says 500, OpenRouter 404
_MOST_CHARACTERS = 4_000  # of a message; some repeat the request
_QUOTES = str.maketrans("", "", "'\"`\\\u2018\u2019\u201c\u201d")
_KINDS = {"input_image": "image", "input_file": "file"}
_OMITTED: Mapping[UnreadMedia, Literal["image", "file"]] = {
    "without_images": "image",
    "without_files": "file",
}
_REASON = "this server does not take it"


def find_unread(error: ErrorAnswer, request: Mapping[str, Any]) -> Unread | None:
    """Return what a refusal says of the images and files of a request that its server does not take; None if it is about something else.

    The results of tools come first: what is refused there may be taken in a user's message. Where the server only says that it does not know a shape, that is
    tried, and then a request without files; where it says that it takes text alone, one without images, and then one without files.
    """
    about = _about(error) if error.status_code in _STATUSES else frozenset[str]()
    held = set(_iter_media(request)) if about else set[tuple[str, str]]()
    is_guess = "shape" in about and len(about) == 1
    about = frozenset({"results", "file"}) if is_guess else about
    of_results = bool(about & {"results", "text"})
    if any(of_results or kind in about for place, kind in held if place == "output"):
        return Unread("without_result_media", not of_results, is_guess)
    if "text" in about:  # and none is in a result: some other message is meant
        about, is_guess = frozenset({"image", "file"}), True
    kinds = {kind for _, kind in held} & about
    for name, kind in _OMITTED.items():
        if kind in kinds:
            return Unread(name, is_of_model=not is_guess, is_guess=is_guess)
    return None


def has_media(request: Mapping[str, Any], name: UnreadMedia) -> bool:
    """Return whether a request has what a server does not take."""
    held = _iter_media(request)
    if name == "without_result_media":
        return any(place == "output" for place, _ in held)
    return any(kind == _OMITTED[name] for _, kind in held)


def without_media(request: Mapping[str, Any], name: UnreadMedia) -> dict[str, Any]:
    """Return a request with the images and files of tools' results in a user's message behind them, or with a sentence for each image or file."""
    if name == "without_result_media":
        items = [wire_item(item) for item in move_result_media(request["input"])]
    else:
        items = [omit_media(item, _OMITTED[name], reason=_REASON) for item in request["input"]]
    return {**request, "input": items}


def _iter_media(request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the place, `content` or `output`, and the kind of each image and file."""
    items = request.get("input")
    for item in cast("list[Mapping[str, Any]]", items if isinstance(items, list) else []):
        for place in ("content", "output"):
            parts = item.get(place)
            for part in cast("list[object]", parts if isinstance(parts, list) else []):
                kind = (
                    cast("Mapping[str, Any]", part).get("type") if isinstance(part, Mapping) else ""
                )
                if kind in _KINDS:
                    yield place, _KINDS[kind]


def _about(error: ErrorAnswer) -> frozenset[str]:
    said = f"{error.param}: {error.message}" if error.param else error.message
    texts = [
        text[:_MOST_CHARACTERS].lower().translate(_QUOTES)
        for text in (said, error.message, error.code or "")
    ]
    return frozenset(
        about for about, pattern in _patterns() if any(pattern.search(text) for text in texts)
    )


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    import tomllib  # noqa: PLC0415  slow to load, and needed only after a refusal

    table = tomllib.loads(Path(__file__).with_name("unread_media.toml").read_text("utf-8"))
    return [(entry["about"], re.compile(entry["pattern"])) for entry in table["refusals"]]
