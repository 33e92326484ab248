"""Faults made to happen: refusals before an answer, and damage to a good reply."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from gpt5_simulator._errors import ApiError
from gpt5_simulator._events import encode_event
from gpt5_simulator._faults import (
    BrokenFrame,
    CutStream,
    DuplicateEvents,
    EncryptedContentRefused,
    Fault,
    HtmlPage,
    HttpError,
    LateError,
    LateFailure,
    Silence,
    UnknownEvent,
    UnverifiedOrganization,
)
from gpt5_simulator._json import Json, dump, is_object, object_at
from gpt5_simulator._reply import Drop, Pause, Reply, Step
from gpt5_simulator._request import input_items


_USUAL: dict[int, tuple[str, str | None, str]] = {
    400: ("invalid_request_error", None, "The request could not be understood."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    403: ("invalid_request_error", None, "You are not allowed to do this."),
    404: (
        "invalid_request_error",
        "model_not_found",
        "The model does not exist or you do not have access to it.",
    ),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached. Please try again later."),
    500: ("server_error", None, "The server had an error while processing your request."),
    503: ("server_error", None, "The engine is currently overloaded, please try again later."),
}
_QUOTA = "You exceeded your current quota, please check your plan and billing details."
_PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Please sign in</h1></body></html>\n"
_BROKEN = b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"oops\n\n'
_VERIFY = (
    "Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. "
    "If you just verified, it can take up to 15 minutes for access to propagate."
)


def error_of(fault: HttpError) -> tuple[ApiError, dict[str, str]]:
    """Return the error and the extra headers of an `HttpError`."""
    kind, code, message = _USUAL.get(fault.status, ("server_error", None, "Something went wrong."))
    if fault.code == "insufficient_quota":
        kind, message = "insufficient_quota", _QUOTA
    error = ApiError(
        fault.message or message,
        status=fault.status,
        error_type=fault.error_type or kind,
        param=fault.param,
        code=fault.code or code,
    )
    headers = {"retry-after": fault.retry_after, "retry-after-ms": fault.retry_after_ms}
    return error, {name: f"{value}" for name, value in headers.items() if value is not None}


def validate_against(fault: Fault, body: Json) -> None:
    """Refuse what a fault of the account or the model rules out.

    Raises:
        ApiError: The request asks for it.
    """
    match fault:
        case UnverifiedOrganization():
            _validate_verified(fault, body)
        case EncryptedContentRefused(part="include"):
            if "reasoning.encrypted_content" in (body.get("include") or ()):
                raise ApiError(
                    "Encrypted content is not supported with this model.", param="include"
                )
        case EncryptedContentRefused():
            _validate_unencrypted(body)
        case _:
            return


def damage(reply: Reply, fault: Fault) -> Reply:
    """Return a reply as a fault leaves it."""
    if isinstance(fault, HtmlPage):
        page = "text/html; charset=utf-8"
        return Reply(status=fault.status, content_type=page, steps=(_PAGE,))
    return replace(reply, steps=_damaged(reply.steps, fault, is_stream=reply.is_stream))


def _damaged(steps: tuple[Step, ...], fault: Fault, *, is_stream: bool) -> tuple[Step, ...]:
    match fault:
        case CutStream(after_bytes=int(size)):
            return _joined(steps)[:size], Drop()
        case CutStream(after_events=number):
            return (*steps[:number], Drop()) if is_stream else (b"", Drop())
        case Silence(after_events=number, seconds=seconds):
            return (*steps[:number], Pause(seconds=seconds), *steps[number:])
        case BrokenFrame():
            return _with_broken_frame(steps, fault) if is_stream else (_joined(steps)[:-2],)
        case LateError() | LateFailure():
            return _failed(steps, fault) if is_stream else (_failed_body(steps, fault),)
        case UnknownEvent(after_events=number, event_type=kind):
            extra = encode_event({"type": kind, "sequence_number": number})
            return (*steps[:number], extra, *steps[number:]) if is_stream else steps
        case DuplicateEvents(every=every):
            return _doubled(steps, every) if is_stream else steps
        case HttpError() | HtmlPage() | UnverifiedOrganization() | EncryptedContentRefused():
            return steps
        case _:
            assert_never(fault)


def _joined(steps: Sequence[Step]) -> bytes:
    return b"".join(step for step in steps if isinstance(step, bytes))


def _with_broken_frame(steps: tuple[Step, ...], fault: BrokenFrame) -> tuple[Step, ...]:
    rest = steps[fault.after_events + (1 if fault.replaces else 0) :]
    return (*steps[: fault.after_events], _BROKEN, *rest)


def _doubled(steps: tuple[Step, ...], every: int) -> tuple[Step, ...]:
    doubled: list[Step] = []
    for number, step in enumerate(steps, start=1):
        doubled += [step] if number % every else [step, step]
    return tuple(doubled)


def _failed(steps: tuple[Step, ...], fault: LateError | LateFailure) -> tuple[Step, ...]:
    sent = steps[: fault.after_events]
    error: Json = {
        "type": "server_error",
        "code": fault.code,
        "message": fault.message,
        "param": None,
    }
    end: list[Json] = []
    if isinstance(fault, LateError):
        details = {"code": fault.code, "message": fault.message, "param": None}
        end.append({"type": "error"} | (details if fault.flat else {"error": error}))
    end.append(
        {"type": "response.failed", "response": _failed_response(_first_response(steps), fault)}
    )
    numbered = (event | {"sequence_number": len(sent) + extra} for extra, event in enumerate(end))
    return (*sent, *map(encode_event, numbered))


def _failed_body(steps: tuple[Step, ...], fault: LateError | LateFailure) -> bytes:
    decoded: object = json.loads(_joined(steps))
    return dump(_failed_response(decoded if is_object(decoded) else {}, fault)).encode()


def _failed_response(response: Json, fault: LateError | LateFailure) -> Json:
    error = {"code": fault.code, "message": fault.message}
    return response | {"status": "failed", "error": error, "output": [], "usage": None}


def _first_response(steps: Sequence[Step]) -> Json:
    """Return the response object that a stream began with."""
    for step in steps:
        for line in step.splitlines() if isinstance(step, bytes) else ():
            if line.startswith(b"data:"):
                event: object = json.loads(line.removeprefix(b"data:"))
                return object_at(event, "response") if is_object(event) else {}
    return {}


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
