"""The connection to a Responses server: settings, transport, errors, retries."""

from ._check import check_model, check_server
from ._connection import Connection
from ._errors import (
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
    SettingsError,
    StreamInterruptedError,
    UnexpectedResponseError,
)
from ._failures import to_responses_error
from ._fallbacks import Fallback
from ._open import ResponseStream, create, open_stream
from ._pace import pace
from ._transport import Transport


__all__ = [
    "AuthenticationError",
    "Connection",
    "ConnectionFailedError",
    "ConnectionTimeoutError",
    "Fallback",
    "InvalidRequestError",
    "ModelNotFoundError",
    "NotFoundError",
    "PermissionDeniedError",
    "RateLimitError",
    "RequestRefusedError",
    "ResponseFailedError",
    "ResponseStream",
    "ResponsesError",
    "ServerError",
    "SettingsError",
    "StreamInterruptedError",
    "Transport",
    "UnexpectedResponseError",
    "check_model",
    "check_server",
    "create",
    "open_stream",
    "pace",
    "to_responses_error",
]
