"""What the model reads of a tool's reply, or of its failure.

Source: docs/contracts/dify-agent.md, C32 to C34.
"""

from collections.abc import Iterable
from typing import Final

from agent_tooling import (
    CHECK_CREDENTIALS,
    TOOL_LAYER_OBSERVATIONS,
    invoke_error_text,
    observation_text,
    parameters_error_text,
    unknown_tool_text,
)

from .tool_client import DifyPluginToolClientError, DifyPluginToolInvokeMessage


_BAD_REQUEST: Final = 400
_CREDENTIAL_ERRORS: Final = ("Credential", "Authorization", "Unauthorized")
_NOT_FOUND_ERRORS: Final = ("ToolNotFound", "ProviderNotFound")
_PARAMETER_ERRORS: Final = ("BadRequest", "Validate", "Validation")


def tool_response_text(messages: Iterable[DifyPluginToolInvokeMessage]) -> str:
    """Return the text that stands for a tool's messages in the conversation."""
    return observation_text(messages, policy=TOOL_LAYER_OBSERVATIONS)


def tool_error_text(error: DifyPluginToolClientError, *, tool_name: str) -> str:
    """Return the sentence that tells the model of a failed invocation.

    The kind of failure is told by words in the error's type, in this order: credentials, tool or provider not found,
    parameters (or HTTP status 400), anything else.

    Args:
        error: What the daemon or the plugin reported.
        tool_name: The name by which the model knows the tool.
    """
    error_type = error.error_type or ""
    if _names_any(error_type, _CREDENTIAL_ERRORS):
        return CHECK_CREDENTIALS
    if _names_any(error_type, _NOT_FOUND_ERRORS):
        return unknown_tool_text(tool_name)
    if error.status_code == _BAD_REQUEST or _names_any(error_type, _PARAMETER_ERRORS):
        return parameters_error_text(error.message)
    return invoke_error_text(error.message)


def _names_any(error_type: str, words: Iterable[str]) -> bool:
    return any(word in error_type for word in words)
