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
    RequestRefusedError,
    ResponseFailedError,
    ResponsesError,
    ServerError,
    StreamInterruptedError,
    UnexpectedResponseError,
)
from gpt5_responses._settings.connection import Connection
from stream_text import KnownSecrets, redact_text

from .connection_errors import (
    NoAnswerError,
    SocketError,
    connection_sentence,
    find_cause,
    timeout_sentence,
    unusable_sentence,
)
from .error_answer import ErrorAnswer


SERVER_WORDS = " The server says: "
_EXPLANATION_CHARACTERS = 260
_FACT_CHARACTERS = 100  # far longer than any code or name of a parameter
_FIRST_SERVER_STATUS = 500
_REDIRECTS = range(300, 400)

_REDIRECTED = "The server redirects the request, and redirects are not followed. Check base_url."
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
# What LM Studio, LocalAI, llama.cpp and others say of a model that they have, but not in memory, some of them with the code of a missing one.
_NOT_LOADED = re.compile(
    r"\bno models?\b[^.:;]{0,20}\bloaded\b|\b(?:not|being|still|is)\b[^.:;]{0,20}\bload(?:ed|ing)\b|\bunloaded\b|\bloading\b"
    r"|\b(?:fail(?:ed|ure)?|unable|cannot|can't|could ?n[o']t|error)\b[^.:;]{0,20}\bload\b",
    re.IGNORECASE,
)
NOT_LOADED = "The server has not loaded the model {!r}. Load it there, or wait until it is loaded, and try again."
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
_STATUS = re.compile(r"[45]\d\d", re.ASCII)
# Codes, or types where there is no code, in lower case.
# Source: OpenAI's, Anthropic's, vLLM's, llama.cpp's and LiteLLM's; docs/supported.md has where they were read.
_EVENT_CODES: dict[type[ResponsesError], tuple[str, ...]] = {
    RateLimitError: (
        *("rate_limit_exceeded", "rate_limit_error", "too_many_requests", "insufficient_quota"),
    ),
    AuthenticationError: ("invalid_api_key", "authentication_error"),
    PermissionDeniedError: ("permission_error",),
    ServerError: (
        *("server_error", "internal_server_error", "internalservererror", "internal_error"),
        *("service_unavailable", "service_unavailable_error", "unavailable_error", "api_error"),
        *("overloaded", "overloaded_error", "timeout_error"),
    ),
    InvalidRequestError: (
        *("invalid_request_error", "bad_request", "badrequesterror", "invalid_prompt"),
        *("context_length_exceeded", "exceed_context_size_error"),
    ),
    ModelNotFoundError: ("model_not_found",),
    # These three are gpt5-messages' own, not a server's.
    UnexpectedResponseError: ("parse_error", "inconsistent_stream"),
    StreamInterruptedError: ("stream_ended_early",),
}
_EVENT_ERRORS = {code: kind for kind, codes in _EVENT_CODES.items() for code in codes}
_MAY_BE_AT_WORK = (
    "The server may have begun the response all the same, and bill it; nothing was sent again."
)
SILENT = "The server kept the connection open and sent no event in time. Try again, or raise timeout_seconds or lower reasoning_effort."
INTERRUPTED = "The connection broke off before the response was complete. What arrived is shown; try again for the rest."
_TOO_LONG = "The call exceeded its total time limit ({}). What arrived is shown; try again, or ask for less at once."


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
    error: Exception,
    *,
    model: str,
    connection: Connection,
    tried: str = "",
) -> ResponsesError:
    """Return this package's error for one of the HTTP client.

    Args:
        error: The error that the client raised, or let through from its library.
        model: The model that was asked for, to be named if it is missing or retired.
        connection: Where it happened; the error must not contain its secrets, and OpenAI's own failures are described in our words.
        tried: A sentence about the tries so far; it ends the message if the server answered.
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
            return _from_status(error, model, tried, connection)
        case _:
            return ConnectionFailedError(unusable_sentence(error, os.environ))


def from_event(
    event: ResponseFailure,
    *,
    model: str,
    request_id: str | None,
    connection: Connection,
) -> ResponsesError:
    """Return this package's error for one inside a stream, by its code."""
    secrets, protocol = connection.secrets, protocol_name(event.code)
    usual = ResponseFailedError if protocol is None else UnexpectedResponseError
    kind = _EVENT_ERRORS.get((event.code or "").lower()) or _numbered_kind(event, model) or usual
    if kind is ModelNotFoundError and is_unverified(event.message):
        kind = PermissionDeniedError
    if kind is ModelNotFoundError and is_not_loaded(event.message):
        kind = usual
    if kind is StreamInterruptedError:
        message = INTERRUPTED
    elif protocol is not None:
        message = instead(protocol)
    else:
        details = _details(event.code, event.param, secrets)
        reason = explanation(event.message, secrets)
        own = _own_sentence(kind, model, event.code, event.message)
        words = _words(kind, event.message, connection)
        message = own + words if own else f"The response failed{details}: {reason}"
    return build_error(
        kind,
        message,
        secrets=secrets,
        status_code=event.status,
        code=event.code,
        param=event.param,
        request_id=request_id,
        said=event.message if protocol is None else "",
    )


def name_request(
    error: ResponsesError, own_id: str | None, *, is_by_socket: bool = False, response_id: str = ""
) -> ResponsesError:
    """Tell an error our id of its request, and return it.

    A traceback shows the id; the message does where the server has no id of its own, as behind a WebSocket.

    Args:
        error: The error.
        own_id: Our id; None where nothing was sent.
        is_by_socket: Whether the request went by a WebSocket.
        response_id: The id of the response, as far as it has begun.
    """
    if own_id is None or error.client_request_id is not None:
        return error
    error.client_request_id = own_id
    named = f"X-Client-Request-Id: {own_id}"
    if is_by_socket:
        of = f", response: {response_id}" if response_id else ""
        error.args = (f"{error} ({named}{of})",)
    else:
        error.add_note(named)
    return error


def interrupted(error: Exception, *, request_id: str | None) -> ResponsesError:
    """Return the error for a connection that broke, or went silent, while the stream was being read."""
    if type(error).__name__ == "ReadTimeout":
        return ConnectionTimeoutError(SILENT, request_id=request_id)
    why = f" ({error.why})." if isinstance(error, SocketError) else "."
    return StreamInterruptedError(INTERRUPTED.replace(".", why, 1), request_id=request_id)


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
    error: ErrorAnswer, model: str, tried: str, connection: Connection
) -> ResponsesError:
    secrets, kind = connection.secrets, _status_kind(error, model)
    own = _own_sentence(kind, model, error.code, error.message)
    if error.status_code in _REDIRECTS:
        own = _REDIRECTED
    elif kind is NotFoundError and error.param:
        own = None  # it is something in the request that is not there
    message = own or _refusal_sentence(error, secrets)
    if kind in {NotFoundError, ServerError} and own:  # it may not be a Responses API that answers
        message = message.replace(".", f" (status {error.status_code}).", 1)
    words = _words(kind, error.message, connection) if own else ""
    return build_error(
        kind,
        f"{message} {tried}".strip() + words,
        secrets=secrets,
        said=error.message,
        **error.facts,
    )


def _numbered_kind(event: ResponseFailure, model: str) -> type[ResponsesError] | None:
    """Return the error for an HTTP status that an event names or has as its code; None if there is none.

    Some servers send it there when no status can be sent any more.
    """
    code = event.code or ""
    status = event.status or (int(code) if _STATUS.fullmatch(code) else None)
    if status is None:
        return None
    kind = _kind_of_status(status)
    if kind is not NotFoundError:
        return kind
    # The address was found, or there would be no stream.
    return ModelNotFoundError if _names(event.message, model) else InvalidRequestError


def _kind_of_status(status: int) -> type[ResponsesError]:
    usual = ServerError if status >= _FIRST_SERVER_STATUS else InvalidRequestError
    return _STATUS_ERRORS.get(status, usual)


def _words(kind: type[ResponsesError], said: str, connection: Connection) -> str:
    """Return what stands behind the message of an error: the server's words, if it is a refusal or a failure of a server that is not OpenAI's.

    Source: docs/contracts/openai-gpt5-responses.md, A39.
    """
    is_told = issubclass(kind, RequestRefusedError) or (
        kind is ServerError and not connection.is_openai
    )
    words = explanation(said, connection.secrets) if is_told else ""
    return words and f"{SERVER_WORDS}{words}"


def _status_kind(error: ErrorAnswer, model: str) -> type[ResponsesError]:
    if error.status_code in _REDIRECTS:
        return UnexpectedResponseError
    kind = _kind_of_status(error.status_code)
    is_about_model = kind is NotFoundError and (
        error.param == "model" or _names(error.message, model)
    )
    if error.code not in _NO_MODEL_CODES and not is_about_model:
        return kind
    if is_not_loaded(error.message):
        return kind if kind is ServerError else InvalidRequestError
    return PermissionDeniedError if is_unverified(error.message) else ModelNotFoundError


def _names(said: str, model: str) -> bool:
    """Return whether a server's explanation names the model, as it does on servers without error codes; a part of an address is no name."""
    named = rf"(?<![\w./-]){re.escape(model)}(?![\w/-])"
    return bool(model) and re.search(named, said) is not None


def _refusal_sentence(error: ErrorAnswer, secrets: KnownSecrets) -> str:
    reason = explanation(error.message, secrets) or "no reason was given."
    details = _details(error.code, error.param, secrets)
    return f"The server refused the request (status {error.status_code}){details}: {reason}"


def is_unverified(said: str) -> bool:
    """Return whether a server refuses something because OpenAI has not verified the key's organisation."""
    return _NOT_VERIFIED.search(said) is not None


def is_not_loaded(said: str) -> bool:
    """Return whether a server has a model, but not in memory."""
    return _NOT_LOADED.search(said) is not None


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
