"""Why a model call failed, as one sentence that a person can act on."""

from typing import Any, cast

from stream_text import InvalidJsonError, KnownSecrets, parse_json, redact_log_data


_MAX_LENGTH = 500
_MAX_DEPTH = 5


def describe_model_failure(error: Exception, *, round_number: int, known: KnownSecrets) -> str:
    """Return the sentence that the user reads when the model call of a round failed."""
    cause = " ".join(_unwrap(str(error), _MAX_DEPTH).split())
    cause = redact_log_data(cause, known=known)[:_MAX_LENGTH] or type(error).__name__
    return f"The model call of round {round_number} failed: {cause}"


def _unwrap(text: str, depth: int) -> str:
    """Return the innermost message: the daemon and Dify wrap it in JSON, several times over."""
    start = text.find("{")
    if start == -1 or not depth:
        return text
    try:
        wrapped: Any = parse_json(text[start:])
    except InvalidJsonError:
        return text
    message = cast("dict[str, Any]", wrapped).get("message")
    return _unwrap(message, depth - 1) if isinstance(message, str) and message else text
