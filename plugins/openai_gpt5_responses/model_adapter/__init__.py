"""Between Dify's shapes and the packages: one module for each thing that is translated."""

from ._call import ModelCall, iter_chunks
from ._error_mapping import INVOKE_ERRORS, invoke_errors, validated_connection
from ._lines import shorten_line
from ._operator_settings import PaceSettings, read_seconds
from ._parameters import known_parameters
from ._schema import customizable_schema
from ._tokens import estimate_tokens


__all__ = [
    "INVOKE_ERRORS",
    "ModelCall",
    "PaceSettings",
    "customizable_schema",
    "estimate_tokens",
    "invoke_errors",
    "iter_chunks",
    "known_parameters",
    "read_seconds",
    "shorten_line",
    "validated_connection",
]
