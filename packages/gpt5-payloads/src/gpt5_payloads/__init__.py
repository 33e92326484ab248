"""Parameters to Responses request body: what each GPT-5 model accepts, and nothing it refuses."""

from gpt5_payloads._errors import PayloadError
from gpt5_payloads._formats import json_schema_format
from gpt5_payloads._profiles import ModelProfile, profile_for
from gpt5_payloads._request import build_request
from gpt5_payloads._tools import function_tool
from gpt5_payloads._values import coerce_bool


__all__ = [
    "ModelProfile",
    "PayloadError",
    "build_request",
    "coerce_bool",
    "function_tool",
    "json_schema_format",
    "profile_for",
]
