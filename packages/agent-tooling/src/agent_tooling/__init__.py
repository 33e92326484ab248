"""The tool contract: schemas, arguments, coercion, guards, observations, files. No I/O but the file guard."""

from ._answer_schema import AnswerSchema, CheckedAnswer
from ._approval_rules import Approval, ApprovalRule, ApprovalRules, Ask
from ._arguments import (
    bind_arguments,
    find_repeated_key,
    option_violation,
    parse_tool_arguments,
)
from ._blobs import Blob, BlobMessage, merge_blob_chunks
from ._coercion import cast_value, missing_hidden_parameters, prepare_arguments
from ._declared_parameters import ToolFiles
from ._errors import (
    ArgumentError,
    BlobChunkError,
    BlobError,
    BlobTooLargeError,
    DeclarationError,
    LocalFileError,
    LocalFileNotFoundError,
    LocalFileOutsideRootError,
    LocalFileTooLargeError,
    LocalFileUnreadableError,
    ToolError,
    ToolingError,
    UnfinishedBlobError,
)
from ._failure_memory import FailureMemory, call_signature
from ._file_kinds import FILE_FEATURES
from ._functions import is_async_function
from ._kept_results import READ_RESULT, KeptResults, read_result_schema
from ._local_files import LocalFile, mime_type_of, read_local_file
from ._observation import (
    STRATEGY_OBSERVATIONS,
    TOOL_LAYER_OBSERVATIONS,
    ObservationPolicy,
    observation_content,
    observation_text,
)
from ._parameters import ToolParameter, merge_parameters
from ._patterns import LinearPattern
from ._result_budget import ResultBudget
from ._schema import llm_json_schema
from ._schema_patterns import bound_patterns, validate_patterns
from ._sentences import (
    BUDGET_USED_UP,
    CHECK_CREDENTIALS,
    LOCAL_FILE_FAILED,
    REPEATED_FAILURE,
    REPEATED_SUCCESS_NOTICE,
    TOOL_FAILED,
    TOOL_UNFINISHED,
    changed_tool_text,
    denied_call_text,
    disallowed_tool_text,
    dropped_arguments_text,
    invoke_error_text,
    parameters_error_text,
    parse_error_text,
    repeated_key_text,
    too_long_question_text,
    too_many_calls_text,
    too_many_questions_text,
    unknown_tool_text,
    validation_error_text,
)
from ._tool import Tool, tool
from ._tool_arguments import AcceptedArguments, RefusedArguments, ToolArguments
from ._tool_names import unique_tool_names
from ._tool_output import ContentPart, ToolContent, ToolOutput


__all__ = [
    "BUDGET_USED_UP",
    "CHECK_CREDENTIALS",
    "FILE_FEATURES",
    "LOCAL_FILE_FAILED",
    "READ_RESULT",
    "REPEATED_FAILURE",
    "REPEATED_SUCCESS_NOTICE",
    "STRATEGY_OBSERVATIONS",
    "TOOL_FAILED",
    "TOOL_LAYER_OBSERVATIONS",
    "TOOL_UNFINISHED",
    "AcceptedArguments",
    "AnswerSchema",
    "Approval",
    "ApprovalRule",
    "ApprovalRules",
    "ArgumentError",
    "Ask",
    "Blob",
    "BlobChunkError",
    "BlobError",
    "BlobMessage",
    "BlobTooLargeError",
    "CheckedAnswer",
    "ContentPart",
    "DeclarationError",
    "FailureMemory",
    "KeptResults",
    "LinearPattern",
    "LocalFile",
    "LocalFileError",
    "LocalFileNotFoundError",
    "LocalFileOutsideRootError",
    "LocalFileTooLargeError",
    "LocalFileUnreadableError",
    "ObservationPolicy",
    "RefusedArguments",
    "ResultBudget",
    "Tool",
    "ToolArguments",
    "ToolContent",
    "ToolError",
    "ToolFiles",
    "ToolOutput",
    "ToolParameter",
    "ToolingError",
    "UnfinishedBlobError",
    "bind_arguments",
    "bound_patterns",
    "call_signature",
    "cast_value",
    "changed_tool_text",
    "denied_call_text",
    "disallowed_tool_text",
    "dropped_arguments_text",
    "find_repeated_key",
    "invoke_error_text",
    "is_async_function",
    "llm_json_schema",
    "merge_blob_chunks",
    "merge_parameters",
    "mime_type_of",
    "missing_hidden_parameters",
    "observation_content",
    "observation_text",
    "option_violation",
    "parameters_error_text",
    "parse_error_text",
    "parse_tool_arguments",
    "prepare_arguments",
    "read_local_file",
    "read_result_schema",
    "repeated_key_text",
    "too_long_question_text",
    "too_many_calls_text",
    "too_many_questions_text",
    "tool",
    "unique_tool_names",
    "unknown_tool_text",
    "validate_patterns",
    "validation_error_text",
]
