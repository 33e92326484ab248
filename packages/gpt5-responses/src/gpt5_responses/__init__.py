"""The connection to a Responses server: settings, transport, errors, retries, and a stateless client."""

from ._answer import Answer, AnswerDelta, AsyncAnswer
from ._async_background import AsyncBackgroundStream, aopen_background
from ._async_client import AsyncResponsesClient
from ._async_stream import AsyncResponseStream, acreate, aopen_stream
from ._background import BackgroundStream
from ._background_calls import attach_stream, cancel_background, poll_background, start_background
from ._calls import CompactedWindow, InputItems
from ._client import ResponsesClient
from ._connection import Connection, find_secrets
from ._conversation import Conversation, RequestSettings
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
    StillRunningError,
    StreamInterruptedError,
    UnexpectedResponseError,
)
from ._fallbacks import Fallback
from ._jobs import CompletionWindow, Job
from ._model_config import ModelConfig
from ._scheme import Request, ResponsesScheme
from ._shutdown_dates import find_shutdown_date
from ._stream import ResponseStream, create, open_stream
from ._transport import Transport, prepare_transport
from ._validation import validate_model, validate_server


__all__ = [
    "Answer",
    "AnswerDelta",
    "AsyncAnswer",
    "AsyncBackgroundStream",
    "AsyncResponseStream",
    "AsyncResponsesClient",
    "AuthenticationError",
    "BackgroundStream",
    "CompactedWindow",
    "CompletionWindow",
    "Connection",
    "ConnectionFailedError",
    "ConnectionTimeoutError",
    "Conversation",
    "Fallback",
    "InputItems",
    "InvalidRequestError",
    "Job",
    "ModelConfig",
    "ModelNotFoundError",
    "NotFoundError",
    "PermissionDeniedError",
    "RateLimitError",
    "Request",
    "RequestRefusedError",
    "RequestSettings",
    "ResponseFailedError",
    "ResponseStream",
    "ResponsesClient",
    "ResponsesError",
    "ResponsesScheme",
    "ServerError",
    "SettingsError",
    "StillRunningError",
    "StreamInterruptedError",
    "Transport",
    "UnexpectedResponseError",
    "acreate",
    "aopen_background",
    "aopen_stream",
    "attach_stream",
    "cancel_background",
    "create",
    "find_secrets",
    "find_shutdown_date",
    "open_stream",
    "poll_background",
    "prepare_transport",
    "start_background",
    "validate_model",
    "validate_server",
]
