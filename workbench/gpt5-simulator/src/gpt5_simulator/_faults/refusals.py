"""Faults that refuse a request before there is an answer."""

from gpt5_simulator._errors import ApiError
from gpt5_simulator._faults.faults import (
    EncryptedContentRefused,
    Fault,
    HttpError,
    UnverifiedOrganization,
)
from gpt5_simulator._json import Json, object_at
from gpt5_simulator._request import input_items


_UNUSUAL = ("server_error", None, "Something went wrong.")
_USUAL: dict[int, tuple[str, str | None, str]] = {
    400: ("invalid_request_error", None, "The request could not be understood."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    403: ("invalid_request_error", None, "You are not allowed to do this."),
    404: ("invalid_request_error", "model_not_found", "The model does not exist."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached. Please try again later."),
    500: ("server_error", None, "The server had an error while processing your request."),
    503: ("server_error", None, "The engine is overloaded. Please try again later."),
}
_QUOTA = "You exceeded your current quota. Please check your plan and billing details."
_VERIFY = (
    "Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. "
    "If you just verified, it can take up to 15 minutes for access to propagate."
)


def build_error(fault: HttpError) -> ApiError:
    """Build the error of a fault."""
    kind, code, message = _USUAL.get(fault.status, _UNUSUAL)
    if fault.code == "insufficient_quota":
        kind, message = "insufficient_quota", _QUOTA
    return ApiError(
        fault.message or message,
        status=fault.status,
        error_type=fault.error_type or kind,
        param=fault.param,
        code=fault.code or code,
    )


def retry_headers(fault: HttpError) -> dict[str, str]:
    """Return the headers that say when to try again."""
    wait = fault.retry_after
    headers: dict[str, str] = {}
    if wait is not None:
        headers["retry-after"] = wait if isinstance(wait, str) else f"{wait:g}"
    if fault.retry_after_ms is not None:
        headers["retry-after-ms"] = str(fault.retry_after_ms)
    return headers


def validate_against(fault: Fault, body: Json) -> None:
    """Refuse a request that a fault of the account or of the model excludes.

    Source: docs/evidence/responses-api.md, R1 to R5.

    Raises:
        ApiError: If the request asks for it.
    """
    match fault:
        case UnverifiedOrganization():
            _validate_verified(fault, body)
        case EncryptedContentRefused(part="include"):
            if "reasoning.encrypted_content" in (body.get("include") or ()):
                text = "Encrypted content is not supported with this model."
                raise ApiError(text, param="include")
        case EncryptedContentRefused():
            _validate_unencrypted(body)
        case _:
            return


def _validate_verified(fault: UnverifiedOrganization, body: Json) -> None:
    if fault.summary and object_at(body, "reasoning").get("summary") is not None:
        text = f"Your organization must be verified to generate reasoning summaries. {_VERIFY}"
        raise ApiError(text, param="reasoning.summary", code="unsupported_value")
    if fault.stream and body.get("stream"):
        text = f"Your organization must be verified to stream this model. {_VERIFY}"
        raise ApiError(text, param="stream", code="unsupported_value")


def _validate_unencrypted(body: Json) -> None:
    for item in input_items(body):
        if item.get("encrypted_content") is not None:
            text = f"The encrypted content for item {item.get('id')} could not be verified."
            raise ApiError(text, code="invalid_encrypted_content")
