"""Untrusted text as it streams in: thoughts, tool calls, lines, JSON, and the secrets in it.

Pure: no I/O, no dependencies. `stream_text.signals`, which acts on the process, has to be imported by its own name.
"""

from ._breaking import TagBreaker, mend_tags
from ._call_ids import CallIds, canonical_arguments
from ._counts import MOST_COUNTED, read_count
from ._errors import (
    InvalidJsonError,
    MessageError,
    StreamTextError,
)
from ._growing_map import GrowingMap
from ._hidden import is_hidden
from ._json import (
    LARGE_TEXT,
    MAX_DEPTH,
    TRUSTED_DEPTH,
    canonical_text,
    dump_json,
    find_repeated_key,
    first_of_equal,
    has_many_values,
    iter_json,
    parse_json,
)
from ._known_secrets import REDACTED, KnownSecrets, SecretFilter, iter_header_secrets
from ._lines import LineSplitter
from ._markdown import MarkdownGuard
from ._media_types import MAX_SIGNATURE_BYTES, find_media_type
from ._omissions import render_omission, without_omissions
from ._open_reasoning import MADE_BY_KEY, is_marked_reasoning
from ._redaction import redact_log_data, redact_text
from ._request_size import RequestSize
from ._secret_names import find_named_value, is_secret_key, is_secret_setting
from ._shapes import is_list, is_object
from ._tags import break_tags
from ._think import ThinkPiece, ThinkReader, render_thinking
from ._think_filter import ThinkFilter, strip_think
from ._tool_calls import MergedToolCall, ToolCallDelta, ToolCallMerger
from ._tool_names import MAX_TOOL_NAME, valid_tool_names
from ._written_calls import WrittenCall, read_member, read_written_call


__all__ = [
    "LARGE_TEXT",
    "MADE_BY_KEY",
    "MAX_DEPTH",
    "MAX_SIGNATURE_BYTES",
    "MAX_TOOL_NAME",
    "MOST_COUNTED",
    "REDACTED",
    "TRUSTED_DEPTH",
    "CallIds",
    "GrowingMap",
    "InvalidJsonError",
    "KnownSecrets",
    "LineSplitter",
    "MarkdownGuard",
    "MergedToolCall",
    "MessageError",
    "RequestSize",
    "SecretFilter",
    "StreamTextError",
    "TagBreaker",
    "ThinkFilter",
    "ThinkPiece",
    "ThinkReader",
    "ToolCallDelta",
    "ToolCallMerger",
    "WrittenCall",
    "break_tags",
    "canonical_arguments",
    "canonical_text",
    "dump_json",
    "find_media_type",
    "find_named_value",
    "find_repeated_key",
    "first_of_equal",
    "has_many_values",
    "is_hidden",
    "is_list",
    "is_marked_reasoning",
    "is_object",
    "is_secret_key",
    "is_secret_setting",
    "iter_header_secrets",
    "iter_json",
    "mend_tags",
    "parse_json",
    "read_count",
    "read_member",
    "read_written_call",
    "redact_log_data",
    "redact_text",
    "render_omission",
    "render_thinking",
    "strip_think",
    "valid_tool_names",
    "without_omissions",
]
