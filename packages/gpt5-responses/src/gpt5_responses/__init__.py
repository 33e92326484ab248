"""The connection to a Responses server: settings, transport, errors, retries, and a stateless client."""

from ._async_client import AsyncResponsesClient, AsyncResponsesSession
from ._background.async_stream import AsyncBackgroundStream, aopen_background
from ._background.jobs import CompletionWindow, Job
from ._background.stream import (
    BackgroundStream,
    attach_stream,
    cancel_background,
    poll_background,
    start_background,
)
from ._cache_report import CacheReport, CacheWatch
from ._calls.calls import CompactedWindow, InputItems
from ._calls.left_out import Fallback
from ._calls.transport import Transport, prepare_transport
from ._client import ResponsesClient, ResponsesSession
from ._conversation import Conversation
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
from ._scheme import Request, RequestSettings, ResponsesScheme
from ._settings.connection import Compatibility, Connection, find_secrets
from ._settings.model_config import ModelConfig
from ._shutdown_dates import find_shutdown_date
from ._streams.answer import Answer, AnswerDelta, AsyncAnswer
from ._streams.async_stream import AsyncResponseStream, acreate, aopen_stream
from ._streams.stream import ResponseStream, create, open_stream
from ._validation import validate_model, validate_server


__all__ = [
    "Answer",
    "AnswerDelta",
    "AsyncAnswer",
    "AsyncBackgroundStream",
    "AsyncResponseStream",
    "AsyncResponsesClient",
    "AsyncResponsesSession",
    "AuthenticationError",
    "BackgroundStream",
    "CacheReport",
    "CacheWatch",
    "CompactedWindow",
    "Compatibility",
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
    "ResponsesSession",
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
