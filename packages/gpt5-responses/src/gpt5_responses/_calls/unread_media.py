"""Images and files that a server does not take: how it says so, and the request without them.

Source: `unread_media.toml`, the words of servers; docs/contracts/openai-gpt5-responses.md, A53.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal

from gpt5_messages import move_result_media
from gpt5_payloads import omit_media, wire_item
from gpt5_responses._http.error_answer import ErrorAnswer
from stream_text import is_list, is_object

from .left_out import MOST_CHARACTERS, LeftOut, Request, UnreadMedia, input_items, read_table


UNREAD: dict[UnreadMedia, str] = {
    "without_result_media": "images and files in the results of tools",
    "without_images": "images",
    "without_files": "files",
}
"""What a person calls each."""

_STATUSES = (400, 404, 415, 422, 500, 501)  # llama.cpp says 500, OpenRouter 404
_QUOTES = str.maketrans("", "", "'\"`\\\u2018\u2019\u201c\u201d")
_KINDS = {"input_image": "image", "input_file": "file"}
_OMITTED: Mapping[UnreadMedia, Literal["image", "file"]] = {
    "without_images": "image",
    "without_files": "file",
}
_REASON = "this server does not take it"


def find_unread(error: ErrorAnswer, request: Request) -> LeftOut | None:
    """Return what a refusal says of the images and files of a request that its server does not take; None if it is about something else.

    The results of tools come first: what is refused there may be taken in a user's message. Where the server only says
    that it does not know a shape, that is tried, and then a request without files; where it says that it takes text
    alone, one without images, and then one without files.
    """
    about = _about(error) if error.status_code in _STATUSES else set[str]()
    held = set(_iter_media(request)) if about else set[tuple[str, str]]()
    is_guess = about == {"shape"}
    about = {"results", "file"} if is_guess else about
    of_results = bool(about & {"results", "text"})
    if "text" in about and all(place != "output" for place, _ in held):
        about, is_guess = {"image", "file"}, True  # some other message is meant
    if any(of_results or kind in about for place, kind in held if place == "output"):
        name, is_of_model = "without_result_media", not of_results
    elif kinds := {kind for _, kind in held} & about:
        name, is_of_model = "without_images" if "image" in kinds else "without_files", not is_guess
    else:
        return None
    return LeftOut(name, is_lasting=False, is_of_model=is_of_model, is_guess=is_guess)


def has_media(request: Request, name: UnreadMedia) -> bool:
    """Return whether a request has what a server does not take."""
    wanted = _OMITTED.get(name, "output")
    return any(wanted in where for where in _iter_media(request))


def without_media(request: Request, name: UnreadMedia) -> dict[str, Any]:
    """Return a request with the images and files of tools' results in a user's message behind them, or with a sentence for each image or file."""
    if name == "without_result_media":
        items = [wire_item(item) for item in move_result_media(request["input"])]
    else:
        items = [omit_media(item, _OMITTED[name], reason=_REASON) for item in request["input"]]
    return {**request, "input": items}


def _iter_media(request: Request) -> Iterator[tuple[str, str]]:
    """Yield the place, `content` or `output`, and the kind of each image and file."""
    for item in input_items(request):
        for place in ("content", "output"):
            parts = item.get(place)
            for part in filter(is_object, parts if is_list(parts) else ()):
                if (kind := part.get("type")) in _KINDS:
                    yield place, _KINDS[kind]


def _about(error: ErrorAnswer) -> set[str]:
    said = f"{error.param}: {error.message}" if error.param else error.message
    texts = [
        text[:MOST_CHARACTERS].lower().translate(_QUOTES)
        for text in (said, error.message, error.code or "")
    ]
    return {about for about, pattern in _patterns() if any(map(pattern.search, texts))}


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    rows = read_table("unread_media")["refusals"]
    return [(row["about"], re.compile(row["pattern"])) for row in rows]
