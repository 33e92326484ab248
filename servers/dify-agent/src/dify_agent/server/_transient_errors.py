"""The failures of a daemon, a plugin or a model that are worth another try.

Source: docs/contracts/dify-agent.md, C56.
"""

from typing import Final

import httpx
from pydantic_ai import ToolReturn
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError

from agent_server.executor import TransientError
from dify_agent._inner_api import InnerApiError
from dify_agent.adapters.llm._client import EMPTY_REPLY
from dify_agent.layers.dify_plugin._prepared_tool import find_failure
from dify_agent.plugin_daemon_transport import PluginDaemonError


_STATUSES: Final = frozenset({429, 502, 503, 504, 529})
# Of Dify's API, whose 429 does not pass: the workspace has used up what it may.
_QUOTAS: Final = frozenset(
    {"agent_llm_quota_exceeded", "AgentLLMQuotaExceededError", "QuotaExceededError"}
)
# The daemon's answer, with 404, while it starts the plugins after its own restart: for up to 40 seconds.
_STARTING: Final = "plugin runtime not found"
_STARTING_SECONDS: Final = 10.0


def to_transient(error: BaseException) -> TransientError | None:
    """Return the error that asks for another try; None if that would fail in the same way.

    Worth another try are a daemon that cannot be reached or breaks off, one that has not started its plugins yet, and a service that
    is overloaded or away (429, 502, 503, 504, 529). A silence is not: it has already lasted for minutes.
    """
    if isinstance(error, ModelAPIError):
        if error.provider_error_type in _QUOTAS:
            return None
        # The cause is the daemon's own error, whose text decides: 404 alone may also mean no such
        # plugin.
        cause = error.__cause__
        if cause is not None and (transient := to_transient(cause)) is not None:
            return transient
        status = error.status_code if isinstance(error, ModelHTTPError) else None
        is_transient = status in _STATUSES or error.message.endswith(EMPTY_REPLY)
        return TransientError(str(error)) if is_transient else None
    if isinstance(error, InnerApiError):
        return TransientError(error.message) if error.is_transient else None
    if isinstance(error, PluginDaemonError):
        return _from_daemon(error.message, error.status_code)
    return TransientError(str(error)) if isinstance(error, httpx.TransportError) else None


def to_transient_result(result: object) -> TransientError | None:
    """Return the error that asks for another try of a tool, if its result is a failure that is worth one; else None."""
    failure = find_failure(result.metadata) if isinstance(result, ToolReturn) else None
    if failure is None:
        return None
    if failure.get("is_transient"):
        return TransientError(failure["message"])
    return _from_daemon(failure["message"], failure["status_code"])


def _from_daemon(message: str, status_code: int | None) -> TransientError | None:
    if _STARTING in message:
        return TransientError(message, retry_after_seconds=_STARTING_SECONDS)
    return TransientError(message) if status_code in _STATUSES else None
