"""Dify's tools: their declarations, a model's arguments for them, their messages, blobs and files."""

from .arguments import bind_arguments, option_violation
from .blobs import Blob, BlobMessage, merge_blob_chunks
from .coercion import cast_value, missing_hidden_parameters, prepare_arguments
from .declarations import DeclaredParameters, ToolFiles, read_messages
from .files import FILE_FEATURES, LocalFile, mime_type_of, read_local_file
from .observations import (
    STRATEGY_OBSERVATIONS,
    TOOL_LAYER_OBSERVATIONS,
    ObservationPolicy,
    observation_content,
    observation_text,
)
from .parameters import ToolParameter, merge_parameters
from .schema import llm_json_schema
from .sentences import (
    CHECK_CREDENTIALS,
    LOCAL_FILE_FAILED,
    invoke_error_text,
    parameters_error_text,
)
from .tool_names import unique_tool_names


__all__ = [
    "CHECK_CREDENTIALS",
    "FILE_FEATURES",
    "LOCAL_FILE_FAILED",
    "STRATEGY_OBSERVATIONS",
    "TOOL_LAYER_OBSERVATIONS",
    "Blob",
    "BlobMessage",
    "DeclaredParameters",
    "LocalFile",
    "ObservationPolicy",
    "ToolFiles",
    "ToolParameter",
    "bind_arguments",
    "cast_value",
    "invoke_error_text",
    "llm_json_schema",
    "merge_blob_chunks",
    "merge_parameters",
    "mime_type_of",
    "missing_hidden_parameters",
    "observation_content",
    "observation_text",
    "option_violation",
    "parameters_error_text",
    "prepare_arguments",
    "read_local_file",
    "read_messages",
    "unique_tool_names",
]
