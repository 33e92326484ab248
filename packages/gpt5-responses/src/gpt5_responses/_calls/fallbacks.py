"""The parts that can be left out of a refused request so that it passes the second time.

Some refusals are not the caller's fault: an organisation that is not verified may be allowed neither reasoning summaries nor streaming, a
server may not know encrypted reasoning or have limits of its own, and reasoning items from an earlier response may no longer be accepted. Each is answered once, by
asking for less. So is a lack of capacity in the flex tier, but only if the caller has allowed it, because the default tier costs more.

Source: docs/evidence/responses-api.md, R1 to R5 and R38.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, assert_never, cast

from gpt5_messages import without_reasoning
from gpt5_responses._http.error_answer import ErrorAnswer


type Fallback = Literal[
    "without_summary",
    "without_streaming",
    "without_include",
    "without_limit",
    "without_reasoning_items",
    "without_compaction",
    "without_flex",
]
"""The part to leave out: the reasoning summary, streaming, encrypted reasoning in the answer, the limit of output tokens, earlier reasoning in the input, compactions, or the flex tier."""

type Request = Mapping[str, Any]

_REFUSED_STATUSES = (400, 403, 404)
_NO_CAPACITY_STATUS = 429
_REASONING_WORDS = ("encrypted content", "encrypted_content", "type 'reasoning'", "item with id '")


def find_fallback(
    error: ErrorAnswer,
    request: Request,
    *,
    flex_fallback: bool = False,
    has_whole: bool = False,
) -> Fallback | None:
    """Return the part to leave out after a refusal; None if the refusal stands.

    Args:
        error: The refusal.
        request: The body that was refused.
        flex_fallback: Whether the default tier may replace flex.
        has_whole: Whether the conversation is known without its compactions.
    """
    # First, because refused compactions are described in the same words as refused reasoning.
    if has_whole and error.status_code in _REFUSED_STATUSES and _is_of_compaction(error, request):
        return "without_compaction"
    if flex_fallback and _has_no_capacity(error, request):
        return "without_flex"
    return _find_relief(error, request) if error.status_code in _REFUSED_STATUSES else None


def _find_relief(error: ErrorAnswer, request: Request) -> Fallback | None:
    """Return the part of a refused request that the refusal is about."""
    message = error.message.lower()
    param = error.param if isinstance(error.param, str) else ""  # a server may send anything
    if "summary" in (request.get("reasoning") or {}) and (
        param == "reasoning.summary" or "reasoning summar" in message
    ):
        return "without_summary"
    if request.get("stream") and (
        param == "stream" or ("verified" in message and "stream" in message)
    ):
        return "without_streaming"
    if request.get("include") and (
        param.startswith("include")
        or ("encrypted content" in message and "not supported" in message)
    ):
        return "without_include"
    is_unknown = error.code == "unsupported_parameter" or "unsupported parameter" in message
    if "max_output_tokens" in request and is_unknown and "max_output_tokens" in (param or message):
        return "without_limit"
    if _has_reasoning_items(request) and (
        error.code == "invalid_encrypted_content"
        or any(word in message for word in _REASONING_WORDS)
    ):
        return "without_reasoning_items"
    return None


def _is_of_compaction(error: ErrorAnswer, request: Request) -> bool:
    """Return whether a refusal is about a compaction item: it names one, or nothing else in the request can be meant."""
    items = request.get("input")
    if not isinstance(items, list) or not any(
        item.get("type") == "compaction" for item in cast("list[dict[str, Any]]", items)
    ):
        return False
    message = error.message.lower()
    if any(word in message for word in ("cmp_", "'compaction'")):
        return True
    is_of_items = error.code == "invalid_encrypted_content" or any(
        word in message for word in _REASONING_WORDS
    )
    return is_of_items and not _has_reasoning_items(request)


def relax(
    request: Request, fallback: Fallback, *, whole: Callable[[], Sequence[Mapping[str, Any]]] = list
) -> dict[str, Any]:
    """Return the request without one part.

    Args:
        request: The request.
        fallback: The part to leave out.
        whole: Returns the input without compactions, which is longer.
    """
    less = dict(request)
    match fallback:
        case "without_summary":
            kept = {key: value for key, value in less.pop("reasoning").items() if key != "summary"}
            less |= {"reasoning": kept} if kept else {}
        case "without_streaming":
            less.pop("stream_options", None)  # would be refused without a stream
            less["stream"] = False
        case "without_include":
            del less["include"]
        case "without_limit":
            del less["max_output_tokens"]
        case "without_reasoning_items":
            less["input"] = without_reasoning(less["input"])
        case "without_compaction":
            less["input"] = without_reasoning(whole())
        case "without_flex":
            less["service_tier"] = "default"
        case _:
            assert_never(fallback)
    return less


def retried_sentence(left_out: Sequence[Fallback]) -> str:
    """Return the sentence that names the parts left out of a repeated request; empty if there are none."""
    if not left_out:
        return ""
    parts = " and ".join(_LEFT_OUT_WORDS[name] for name in left_out)
    return f"It was sent again without {parts} and refused again."


def _has_no_capacity(error: ErrorAnswer, request: Request) -> bool:
    """Return whether the flex tier has no capacity for a request. An account without quota does not count: the default tier would refuse it too."""
    is_refused = error.status_code == _NO_CAPACITY_STATUS and error.code != "insufficient_quota"
    return is_refused and request.get("service_tier") == "flex"


def _has_reasoning_items(request: Request) -> bool:
    """Return whether the input has items that only the server that made them can read."""
    items = request.get("input")
    if not isinstance(items, list):
        return False
    held = cast("list[dict[str, Any]]", items)
    return len(without_reasoning(held)) < len(held)


_LEFT_OUT_WORDS: dict[Fallback, str] = {
    "without_summary": "the reasoning summary",
    "without_streaming": "streaming",
    "without_include": "encrypted reasoning",
    "without_limit": "the limit of output tokens",
    "without_reasoning_items": "earlier reasoning and what hosted tools did",
    "without_compaction": "compactions and earlier reasoning",
    "without_flex": "the flex tier",
}
