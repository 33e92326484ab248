"""Mapping of the daemon's and the plugin's errors to Pydantic AI's.

Source: langgenius/dify-plugin-daemon at bdb5642a, `pkg/exception`; dify-plugin 0.10.2, `errors/model.py`; the classes and statuses in the mapping of
Dify's own agent.
"""

from collections.abc import Mapping
from typing import Final

import httpx
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UserError,
)

from dify_agent.plugin_daemon_transport import SILENCE_ERROR_TYPE, PluginDaemonError


type HTTPCategory = type[
    ModelRateLimitError | ModelRequestRejectedError | ModelServerError | ModelUnavailableError
]

_STATUSES: Final[Mapping[str, int]] = {
    "PluginDaemonBadRequestError": 400,
    "InvokeBadRequestError": 400,
    "CredentialsValidateFailedError": 400,
    "PluginUniqueIdentifierError": 400,
    "PluginDaemonUnauthorizedError": 401,
    "InvokeAuthorizationError": 401,
    "PluginPermissionDeniedError": 403,
    "PluginDaemonNotFoundError": 404,
    "PluginNotFoundError": 404,
    "InvokeRateLimitError": 429,
    "AgentLLMQuotaExceededError": 429,
    "QuotaExceededError": 429,
    "PluginDaemonInternalServerError": 500,
    "PluginDaemonInnerError": 500,
    "InnerError": 500,
    "InvokeConnectionError": 503,
    "InvokeServerUnavailableError": 503,
}

_CATEGORIES: Final[Mapping[int, HTTPCategory]] = {
    400: ModelRequestRejectedError,
    401: ModelAuthenticationError,
    403: ModelAuthenticationError,
    404: ModelNotFoundError,
    422: ModelRequestRejectedError,
    429: ModelRateLimitError,
    503: ModelUnavailableError,
}

_USAGE_MISTAKES: Final = frozenset(
    {"EndpointSetupFailedError", "TriggerProviderCredentialValidationError"}
)


def to_model_error(
    error: PluginDaemonError, *, model_name: str, in_stream: bool
) -> ModelAPIError | UserError:
    """Return Pydantic AI's error for one that the daemon reported.

    An error with a status, its own or that of its type, becomes a `ModelHTTPError` of the fitting category.

    Args:
        error: The error of the daemon, or of the plugin behind it; it shows no credentials.
        model_name: The model that was called.
        in_stream: Whether part of the answer had arrived.
    """
    error_type = error.error_type or type(error).__name__
    if error_type in _USAGE_MISTAKES:
        return UserError(f"{error_type}: {error.message}")
    if error_type == SILENCE_ERROR_TYPE:
        return ModelTimeoutError(model_name, error.message)
    status = error.status_code or _STATUSES.get(error_type)
    if status is None:
        return ModelAPIError(
            model_name,
            f"{error_type}: {error.message}",
            provider_error_type=error.error_type,
            in_stream=in_stream,
        )
    return ModelHTTPError.for_category(
        _category(status),
        status_code=status,
        model_name=model_name,
        body={"error_type": error.error_type, "message": error.message},
        provider_error_type=error.error_type,
        in_stream=in_stream,
    )


def to_connection_error(error: httpx.TransportError, *, model_name: str) -> ModelConnectionError:
    """Return the error for a daemon that could not be reached, or stopped answering."""
    category = (
        ModelTimeoutError if isinstance(error, httpx.TimeoutException) else ModelConnectionError
    )
    return category(model_name, str(error) or type(error).__name__)


def _category(status: int) -> HTTPCategory | None:
    return _CATEGORIES.get(
        status, ModelServerError if httpx.codes.is_server_error(status) else None
    )
