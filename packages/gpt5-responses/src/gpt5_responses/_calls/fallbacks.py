"""The parts that can be left out of a refused request so that it passes the second time.

Some refusals are not the caller's fault: an organisation that is not verified may be allowed neither reasoning
summaries nor streaming, a server may not know encrypted reasoning or have limits of its own, and reasoning items from
an earlier response may no longer be accepted. Each is answered once, by asking for less. So is a lack of capacity in
the flex tier, but only if the caller has allowed it, because the default tier costs more.

Source: docs/evidence/responses-api.md, R1 to R5 and R38.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpt5_messages import is_open_reasoning, without_reasoning
from gpt5_payloads import wire_item
from gpt5_responses._http.error_answer import ErrorAnswer
from gpt5_responses._settings.connection import Compatibility

from .left_out import (
    MOST_CHARACTERS,
    Fallback,
    LeftOut,
    Request,
    input_items,
)
from .unknown_parameters import find_unknown, leave_out, read_parameters
from .unread_media import UNREAD, find_unread, has_media, without_media


_REFUSED_STATUSES = (400, 403, 404)
_UNREAD_STATUSES = (*_REFUSED_STATUSES, 422, 500)  # of reasoning; older llama.cpp say 500
_NO_CAPACITY_STATUS = 429
_REASONING_WORDS = ("encrypted content", "encrypted_content", "type 'reasoning'", "item with id '")
# How other servers refuse reasoning: the item by its name, its type among the types that they take, a part of it, its place in an upstream's request,
# or all shapes at once. Sources: sglang 0.5.23 (`serving_responses.py`), serde of mistral.rs, Groq, Mistral and Cerebras behind LiteLLM's bridge, b11434 of llama.cpp (`server-chat.cpp`).
_REASONING_ITEM = (
    r"\breasoning[ _](?:item|content|text)s?\b"
    r"|\b(?:type|variant|value)s?\W{1,4}reasoning\b(?![._])"
    r"|\bitem\['content'\]"
    r"|\bmessages\W{1,4}\d+\W{1,4}(?:\w+\W{1,4}){0,2}reasoning|\bvariant of untagged enum\b"
)
# What is wrong with an item of the input, by its place: `input[1].type`, `body.input.list[union[...]].1`, `('input', 1)`.
_ITEM_PLACE = r"\binput['\"]?[\[.,]\D*?(\d{1,5})\b"
# zod's word for an input that fits none of the shapes it knows (responses.js, LM Studio), with no place.
_NO_SHAPE = ("invalid_union", "invalid input")


def find_fallbacks(
    error: ErrorAnswer,
    request: Request,
    *,
    compatibility: Compatibility = "auto",
    flex_fallback: bool = False,
    has_whole: bool = False,
) -> tuple[LeftOut, ...]:
    """Return the parts to leave out after a refusal; none if the refusal stands.

    Args:
        error: The refusal.
        request: The body that was refused.
        compatibility: Whether parameters that the server does not know may be left out.
        flex_fallback: Whether the default tier may replace flex.
        has_whole: Whether the conversation is known without its compactions.
    """
    # First, because refused compactions are described in the same words as refused reasoning.
    if has_whole and error.status_code in _REFUSED_STATUSES and _is_of_compaction(error, request):
        return (LeftOut("without_compaction", is_lasting=False),)
    if flex_fallback and _has_no_capacity(error, request):
        return (LeftOut("without_flex", is_lasting=False),)
    if error.status_code in _REFUSED_STATUSES and (refused := _find_reserved(error, request)):
        return (LeftOut(refused),)
    if compatibility != "openai" and (unknown := tuple(find_unknown(error, request))):
        return unknown
    unread = find_unread(error, request) if compatibility != "openai" else None
    is_of_reasoning = error.status_code in _UNREAD_STATUSES and _is_of_reasoning_items(
        error, request
    )
    if is_of_reasoning and (unread is None or unread.is_guess):
        return (LeftOut("without_reasoning_items", is_lasting=False),)
    return () if unread is None else (unread,)


def _find_reserved(error: ErrorAnswer, request: Request) -> Fallback | None:
    """Return the part that the server reserves for verified organisations."""
    message = error.message.lower()
    is_unverified = "verified" in message or error.code == "unsupported_value"
    if "summary" in (request.get("reasoning") or {}) and (
        (is_unverified and error.param == "reasoning.summary")
        or ("verified" in message and "reasoning summar" in message)
    ):
        return "without_summary"
    if request.get("stream") and (
        error.param == "stream" or ("verified" in message and "stream" in message)
    ):
        return "without_streaming"
    return None


def _is_of_reasoning_items(error: ErrorAnswer, request: Request) -> bool:
    """Return whether a refusal is about reasoning in the input: by a word for it, by its place, or because no item is read."""
    param, message = (error.param or "").lower(), error.message.lower().strip(" .")
    if not _has_reasoning_items(request):
        return False
    if _names_reasoning(error):
        return True
    if param == "input" and (error.code == _NO_SHAPE[0] or message.endswith(_NO_SHAPE)):
        return True
    items = input_items(request)
    told = f"{param} {message}"[:MOST_CHARACTERS]
    places = (int(found) for found in re.findall(_ITEM_PLACE, told))
    return re.search(_REASONING_ITEM, message) is not None or any(
        at < len(items) and items[at].get("type") == "reasoning" for at in places
    )


def is_all_open(request: Request) -> bool:
    """Return whether a request has reasoning, all of it open, so that its refusal concerns every other request of the model, too."""
    thoughts = [item for item in input_items(request) if item.get("type") == "reasoning"]
    return bool(thoughts) and all(map(is_open_reasoning, thoughts))


def _is_of_compaction(error: ErrorAnswer, request: Request) -> bool:
    """Return whether a refusal is about a compaction item: it names one, or nothing else in the request can be meant."""
    if all(item.get("type") != "compaction" for item in input_items(request)):
        return False
    is_named = any(word in error.message.lower() for word in ("cmp_", "'compaction'"))
    return is_named or (_names_reasoning(error) and not _has_reasoning_items(request))


def _names_reasoning(error: ErrorAnswer) -> bool:
    message = error.message.lower()
    is_coded = error.code == "invalid_encrypted_content"
    return is_coded or any(word in message for word in _REASONING_WORDS)


def relax(
    request: Request, part: LeftOut, *, whole: Callable[[], Sequence[Mapping[str, Any]]] = list
) -> dict[str, Any]:
    """Return the request without one part.

    Args:
        request: The request.
        part: The part to leave out.
        whole: Returns the input without compactions, which is longer.
    """
    match part.name:
        case "without_streaming":
            less = {**request, "stream": False}
            less.pop("stream_options", None)  # would be refused without a stream
            return less
        case "without_reasoning_items":
            return {**request, "input": _foreign(request["input"])}
        case "without_compaction":
            return {**request, "input": _foreign(whole())}
        case "without_flex":
            return {**request, "service_tier": "default"}
        case "without_result_media" | "without_images" | "without_files":
            return without_media(request, part.name)
        case _:
            return leave_out(request, part)


def _foreign(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return an input as a server takes it that did not make it."""
    return [wire_item(item) for item in without_reasoning(items)]


def is_in(request: Request, part: LeftOut) -> bool:
    """Return whether a request has a part that its server is known to refuse."""
    if part.name == "without_streaming":
        return bool(request.get("stream"))
    if part.name == "without_reasoning_items":
        return is_all_open(request)
    if part.name in UNREAD:
        return has_media(request, part.name)
    value = read_parameters()[part.name].find_in(request)
    return part.value in value if part.value else value is not None


def retried_sentence(left_out: Sequence[LeftOut]) -> str:
    """Return the sentence that names the parts left out of a repeated request; empty if there are none."""
    return f"It was sent again without {words_for(left_out)} and refused again." if left_out else ""


def words_for(parts: Sequence[LeftOut]) -> str:
    """Return what a person calls some parts, and which value of one if only that was left out."""
    words: dict[Fallback, str] = {name: one.words for name, one in read_parameters().items()}
    words.update(_WORDS, **UNREAD)
    told = [f"{words[part.name]} ({part.value})".removesuffix(" ()") for part in parts]
    return " and ".join(dict.fromkeys(told))


def _has_no_capacity(error: ErrorAnswer, request: Request) -> bool:
    """Return whether the flex tier has no capacity for a request. An account without quota does not count: the default tier would refuse it too."""
    is_refused = error.status_code == _NO_CAPACITY_STATUS and error.code != "insufficient_quota"
    return is_refused and request.get("service_tier") == "flex"


def _has_reasoning_items(request: Request) -> bool:
    """Return whether the input has items that only the server that made them can read."""
    items = input_items(request)
    return len(without_reasoning(items)) < len(items)


_WORDS: Mapping[Fallback, str] = {
    "without_streaming": "streaming",
    "without_reasoning_items": "earlier reasoning and what hosted tools did",
    "without_compaction": "compactions and earlier reasoning",
    "without_flex": "the flex tier",
}
