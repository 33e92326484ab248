"""Parameters to Responses request body: what each GPT-5 model accepts, and nothing it refuses."""

from ._errors import PayloadError
from ._formats import json_schema_format
from ._profiles import ModelProfile, profile_for
from ._request import build_request
from ._tokens import count_tokens, estimate_text_tokens
from ._tools import function_tool
from ._values import coerce_bool


__all__ = [
    "ModelProfile",
    "PayloadError",
    "build_request",
    "coerce_bool",
    "count_tokens",
    "estimate_text_tokens",
    "function_tool",
    "json_schema_format",
    "profile_for",
]
