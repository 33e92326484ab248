"""Error messages: failures of the HTTP client and of streams as this package's errors, without the secrets that servers repeat."""

import os
import re

from gpt5_messages import ResponseFailure, protocol_name
from gpt5_payloads import profile_for
from gpt5_responses._errors import (
    AuthenticationError,
    ConnectionFailedError,
    ConnectionTimeoutError,
    InvalidRequestError,
    ModelNotFoundError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ResponseFailedError,
    ResponsesError,
    ServerError,
    StreamInterruptedError,
    UnexpectedResponseError,
)
from stream_text import KnownSecrets, redact_text

from .connection_errors import (
    NoAnswerError,
    connection_sentence,
    find_cause,
    timeout_sentence,
    unusable_sentence,
)
from .error_answer import ErrorAnswer


_EXPLANATION_CHARACTERS = 260
_FACT_CHARACTERS = 100  # far longer than any code or name of a parameter
_NO_SECRETS = KnownSecrets(())
_FIRST_SERVER_STATUS = 500
_REDIRECTS = range(300, 400)

_REDIRECTED = (
    "The server sends the request on to another address, which is not followed. Check base_url."
)
_INSTEAD = "The server answered with {} where the Responses API was expected. Check base_url."
_SENTENCES: dict[type[ResponsesError], str] = {
    AuthenticationError: "The server does not accept the API key. Check api_key and base_url.",
    PermissionDeniedError: "The API key is not allowed to do this. Check the key's project, organisation and permissions.",
    NotFoundError: "The server has no such address. Check base_url.",
    RateLimitError: "Too many requests or tokens for now. Wait and try again, or raise the limits of the account.",
    ServerError: "The server failed to answer. Try again later.",
}
# As OpenAI refuses such a model, with 403 or as a model that it does not have.
# Source: docs/evidence/responses-api.md, R39.
_NOT_VERIFIED = re.compile(r"organi[sz]ation must be verified", re.IGNORECASE)
VERIFY = (
    "OpenAI has not verified the key's organisation, which the model {!r} needs. Have it verified at platform.openai.com/settings/organization/general; "
    "that can take 15 minutes to count. Or choose another model."
)
_NO_QUOTA = "The account has no quota left. Check its plan, credit and billing."
# The second is Azure's.
_NO_MODEL_CODES = ("model_not_found", "DeploymentNotFound")
_STATUS_ERRORS: dict[int, type[ResponsesError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    410: NotFoundError,
    408: ServerError,
    409: ServerError,
    429: RateLimitError,
}
_EVENT_ERRORS: dict[str, type[ResponsesError]] = {
    "rate_limit_exceeded": RateLimitError,
    "rate_limit_error": RateLimitError,
    "too_many_requests": RateLimitError,
    "insufficient_quota": RateLimitError,
    "invalid_api_key": AuthenticationError,
    "authentication_error": AuthenticationError,
    "permission_error": PermissionDeniedError,
    "server_error": ServerError,
    "service_unavailable": ServerError,
    "overloaded": ServerError,
    "invalid_request_error": InvalidRequestError,
    "invalid_prompt": InvalidRequestError,
    "context_length_exceeded": InvalidRequestError,
    "model_not_found": ModelNotFoundError,
    # These three are gpt5-messages' own, not a server's.
    "parse_error": UnexpectedResponseError,
    "inconsistent_stream": UnexpectedResponseError,
    "stream_ended_early": StreamInterruptedError,
}
_MAY_BE_AT_WORK = (
    "The server may have begun the response all the same, and bill it; nothing was sent again."
)
SILENT = "The server kept the connection open and sent no event in time. Try again, or raise timeout_seconds or lower reasoning_effort."
INTERRUPTED = "The connection broke off before the response was complete. What arrived is shown; try again for the rest."
_TOO_LONG = "The call took longer than it may in all ({}). What arrived is shown; try again, or ask for less at once."


def instead(what: str) -> str:
    """Return the error message for a server that answered with something else."""
    return _INSTEAD.format(what)


def build_error(
    kind: type[ResponsesError],
    message: str,
    *,
    secrets: KnownSecrets,
    status_code: int | None = None,
    said: str = "",
    **facts: object,
) -> ResponsesError:
    """Return an error without secrets, whose facts from the server are short and can be encoded as UTF-8.

    The facts are `code`, `param` and `request_id`; `said` is the server's explanation.
    """
    short = {name: short_fact(value, secrets) for name, value in facts.items()}
    error = kind(_whole(secrets.redact(message)), status_code=status_code, **short)
    error.explanation = _whole(explanation(said, secrets))
    return error


def short_fact(value: object, secrets: KnownSecrets) -> str | None:
    """Return a server's code, name or id as a short text without secrets; None for any other value."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    return _whole(secrets.redact(str(value)))[:_FACT_CHARACTERS]


def _whole(text: str) -> str:
    """Return the text in a form that UTF-8 can encode. JSON can hold half a character, and a plugin that cannot write one never answers."""
    return text.encode(errors="replace").decode()


def to_responses_error(
    error: Exception, *, model: str, tried: str = "", secrets: KnownSecrets = _NO_SECRETS
) -> ResponsesError:
    """Return this package's error for one of the HTTP client.

    Args:
        error: The error that the client raised, or let through from its library.
        model: The model that was asked for, to be named if it is missing or retired.
        tried: A sentence about the tries so far; it ends the message if the server answered.
        secrets: The secrets that the error must not contain.
    """
    ours = find_cause(error, ResponsesError)
    match error:
        case _ if ours is not None:  # raised below the HTTP library, such as for an address
            return ours
        case NoAnswerError():
            unsure = f" {_MAY_BE_AT_WORK}" if error.may_be_at_work else ""
            if error.is_timeout:
                return ConnectionTimeoutError(timeout_sentence(error) + unsure)
            return ConnectionFailedError(connection_sentence(error) + unsure)
        case ErrorAnswer():
            return _from_status(error, model, tried, secrets)
        case _:
            return ConnectionFailedError(unusable_sentence(error, os.environ))


def from_event(
    event: ResponseFailure,
    *,
    model: str,
    request_id: str | None,
    secrets: KnownSecrets = _NO_SECRETS,
) -> ResponsesError:
    """Return this package's error for one inside a stream, by its code."""
    protocol = protocol_name(event.code)
    usual = ResponseFailedError if protocol is None else UnexpectedResponseError
    kind = _EVENT_ERRORS.get(event.code or "", usual)
    if kind is ModelNotFoundError and is_unverified(event.message):
        kind = PermissionDeniedError
    if kind is StreamInterruptedError:
        message = INTERRUPTED
    elif protocol is not None:
        message = instead(protocol)
    else:
        details = _details(event.code, event.param, secrets)
        reason = explanation(event.message, secrets)
        own = _own_sentence(kind, model, event.code, event.message)
        message = own or f"The response failed{details}: {reason}"
    return build_error(
        kind,
        message,
        secrets=secrets,
        code=event.code,
        param=event.param,
        request_id=request_id,
        said=event.message if protocol is None else "",
    )


def interrupted(error: Exception, *, request_id: str | None) -> ResponsesError:
    """Return the error for a connection that broke, or went silent, while the stream was being read."""
    if type(error).__name__ == "ReadTimeout":
        return ConnectionTimeoutError(SILENT, request_id=request_id)
    return StreamInterruptedError(INTERRUPTED, request_id=request_id)


def took_too_long(limit: str) -> ConnectionTimeoutError:
    """Return the error for a call that took longer than it may in all; `limit` names the setting that says so."""
    return ConnectionTimeoutError(_TOO_LONG.format(limit))


def explanation(text: str, secrets: KnownSecrets) -> str:
    """Return a server's explanation, shortened, without secrets and anything that looks like a key."""
    plain = " ".join(redact_text(secrets.redact(text)).split())
    if len(plain) <= _EXPLANATION_CHARACTERS:
        return plain
    return plain[:_EXPLANATION_CHARACTERS] + "..."


def _from_status(
    error: ErrorAnswer, model: str, tried: str, secrets: KnownSecrets
) -> ResponsesError:
    kind = _status_kind(error, model)
    if error.status_code in _REDIRECTS:
        message = _REDIRECTED
    else:
        own = _own_sentence(kind, model, error.code, error.message)
        message = own or _refusal_sentence(error, secrets)
    if kind in {NotFoundError, ServerError}:  # it may not be a Responses API that answers
        message = message.replace(".", f" (status {error.status_code}).", 1)
    return build_error(
        kind,
        f"{message} {tried}".strip(),
        secrets=secrets,
        said=error.message,
        **error.facts,
    )


def _status_kind(error: ErrorAnswer, model: str) -> type[ResponsesError]:
    if error.status_code in _REDIRECTS:
        return UnexpectedResponseError
    is_failure = error.status_code >= _FIRST_SERVER_STATUS
    kind = _STATUS_ERRORS.get(error.status_code, ServerError if is_failure else InvalidRequestError)
    is_about_model = kind is NotFoundError and (error.param == "model" or _names(error, model))
    if error.code not in _NO_MODEL_CODES and not is_about_model:
        return kind
    return PermissionDeniedError if is_unverified(error.message) else ModelNotFoundError


def _names(error: ErrorAnswer, model: str) -> bool:
    """Return whether a server's explanation quotes the model, as it does on servers without error codes."""
    return any(f"{mark}{model}{mark}" in error.message for mark in "'`\"")


def _refusal_sentence(error: ErrorAnswer, secrets: KnownSecrets) -> str:
    reason = explanation(error.message, secrets) or "no reason was given."
    details = _details(error.code, error.param, secrets)
    return f"The server refused the request (status {error.status_code}){details}: {reason}"


def is_unverified(said: str) -> bool:
    """Return whether a server refuses something because OpenAI has not verified the key's organisation."""
    return _NOT_VERIFIED.search(said) is not None


def _own_sentence(kind: type[ResponsesError], model: str, code: object, said: str) -> str | None:
    """Return the package's own message for an error; None if the server's explanation says more."""
    if kind is PermissionDeniedError and is_unverified(said):
        return VERIFY.format(model)
    if kind is ModelNotFoundError:
        return _model_sentence(model, code)
    sentence = _SENTENCES.get(kind)
    return _NO_QUOTA if sentence and code == "insufficient_quota" else sentence


def _model_sentence(model: str, code: object) -> str:
    if code == "DeploymentNotFound":
        return f"The server has no deployment {model!r}. On Azure a model's name is that of its deployment; a new one needs a few minutes."
    profile = profile_for(model)
    if profile.retired:
        return f"The model {model!r} has been shut down by OpenAI. Use {profile.replacement!r} instead."
    if profile.replacement:
        return f"The server has no model {model!r}, which OpenAI shuts down on {profile.shutdown_date}. Use {profile.replacement!r} instead."
    return f"The server has no model {model!r}, or not for this key. Check the name and the key's access to it."


def _details(code: object, param: object, secrets: KnownSecrets) -> str:
    facts = (("code", short_fact(code, secrets)), ("param", short_fact(param, secrets)))
    return "".join(f", {name} {value!r}" for name, value in facts if value)
