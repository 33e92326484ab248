"""Parameters to Responses request body: what each GPT-5 model accepts, and nothing it refuses."""

from ._errors import PayloadError
from ._formats import json_schema_format
from ._hosted import (
    code_interpreter_tool,
    custom_tool,
    file_search_tool,
    image_generation_tool,
    mcp_tool,
    namespace_tool,
    tool_search_tool,
    web_search_tool,
)
from ._mcp_tokens import McpTokens, is_token_host
from ._model_profile import (
    CacheTtl,
    Effort,
    ImageDetail,
    ModelProfile,
    ReasoningContext,
    ReasoningMode,
    ServiceTier,
    Summary,
    Verbosity,
)
from ._parameters import RequestParameters, ResponseFormat
from ._parts import omit_media, wire_item
from ._profiles import profile_for
from ._request import build_request
from ._tokens import count_tokens, estimate_text_tokens
from ._tools import function_tool, sendable_tools
from ._unattended import HostedTool, read_hosted_tool
from ._values import coerce_bool
from ._wire_rules import WireRules


__all__ = [
    "CacheTtl",
    "Effort",
    "HostedTool",
    "ImageDetail",
    "McpTokens",
    "ModelProfile",
    "PayloadError",
    "ReasoningContext",
    "ReasoningMode",
    "RequestParameters",
    "ResponseFormat",
    "ServiceTier",
    "Summary",
    "Verbosity",
    "WireRules",
    "build_request",
    "code_interpreter_tool",
    "coerce_bool",
    "count_tokens",
    "custom_tool",
    "estimate_text_tokens",
    "file_search_tool",
    "function_tool",
    "image_generation_tool",
    "is_token_host",
    "json_schema_format",
    "mcp_tool",
    "namespace_tool",
    "omit_media",
    "profile_for",
    "read_hosted_tool",
    "sendable_tools",
    "tool_search_tool",
    "web_search_tool",
    "wire_item",
]
