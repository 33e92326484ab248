"""The words of the Responses API that a log line may hold.

A server writes codes, types and parameter names into its answers, and a gateway may write anything there. So these are closed lists:
a word that is not on them is logged as `other`.

Source: openai-python 3.54 (`ResponseError.code`, `ResponseStatus`, the stream event types, the parameters of
`responses.create`) and the codes that recorded 4xx and 5xx answers carry.
"""

OTHER = "other"

CODES = frozenset(
    [
        "account_deactivated",
        "array_above_max_length",
        "array_below_min_length",
        "bio_policy",
        "content_filter",
        "content_policy_violation",
        "context_length_exceeded",
        "data_residency_mismatch",
        "deployment_not_found",
        "empty_image_file",
        "failed_to_download_image",
        "image_content_policy_violation",
        "image_file_not_found",
        "image_file_too_large",
        "image_parse_error",
        "image_too_large",
        "image_too_small",
        "insufficient_quota",
        "integer_above_max_value",
        "integer_below_min_value",
        "internal_error",
        "internal_server_error",
        "invalid_api_key",
        "invalid_base64_image",
        "invalid_encrypted_content",
        "invalid_function_parameters",
        "invalid_image",
        "invalid_image_format",
        "invalid_image_mode",
        "invalid_image_url",
        "invalid_json_schema",
        "invalid_organization",
        "invalid_prompt",
        "invalid_request_error",
        "invalid_type",
        "invalid_value",
        "misalignment_policy_violation",
        "mismatched_organization",
        "missing_required_parameter",
        "model_not_found",
        "not_found",
        "permission_denied",
        "previous_response_not_found",
        "rate_limit_exceeded",
        "server_error",
        "server_overloaded",
        "service_unavailable",
        "string_above_max_length",
        "string_below_min_length",
        "timeout",
        "token_limit_exceeded",
        "unknown_parameter",
        "unsupported_content_type",
        "unsupported_country_region_territory",
        "unsupported_image_media_type",
        "unsupported_parameter",
        "unsupported_value",
        "vector_store_timeout",
    ]
)

ERROR_TYPES = frozenset(
    [
        "api_error",
        "authentication_error",
        "billing_error",
        "http_error",
        "insufficient_quota",
        "internal_error",
        "internal_server_error",
        "invalid_request_error",
        "not_found_error",
        "overloaded_error",
        "permission_error",
        "rate_limit_error",
        "requests",
        "server_error",
        "service_unavailable_error",
        "timeout_error",
        "tokens",
    ]
)

STATUSES = frozenset(["cancelled", "completed", "failed", "in_progress", "incomplete", "queued"])

RESPONSE_FORMATS = frozenset(["json_object", "json_schema", "text"])

# The events of each part of a response, without its name.
_PART_EVENTS = {
    "code_interpreter_call": ("completed", "in_progress", "interpreting"),
    "code_interpreter_call_code": ("delta", "done"),
    "content_part": ("added", "done"),
    "custom_tool_call_input": ("delta", "done"),
    "file_search_call": ("completed", "in_progress", "searching"),
    "function_call_arguments": ("delta", "done"),
    "image_generation_call": ("completed", "generating", "in_progress", "partial_image"),
    "mcp_call": ("completed", "failed", "in_progress"),
    "mcp_call_arguments": ("delta", "done"),
    "mcp_list_tools": ("completed", "failed", "in_progress"),
    "output_item": ("added", "done"),
    "output_text.annotation": ("added",),
    "output_text": ("delta", "done"),
    "reasoning_summary_part": ("added", "done"),
    "reasoning_summary_text": ("delta", "done"),
    "reasoning_text": ("delta", "done"),
    "refusal": ("delta", "done"),
    "web_search_call": ("completed", "in_progress", "searching"),
}

EVENT_TYPES = frozenset(
    [
        "error",
        "keepalive",
        "response.completed",
        "response.created",
        "response.failed",
        "response.in_progress",
        "response.incomplete",
        "response.queued",
        *(f"response.{part}.{event}" for part, events in _PART_EVENTS.items() for event in events),
    ]
)

SERVICE_TIERS = frozenset(["auto", "default", "fast", "flex", "priority", "scale", "ultrafast"])

# Parts that a refused request was sent again without. The names are those of gpt5_responses, written
# out here because this package imports no other of the repository.
FALLBACKS = frozenset(
    f"without_{part}"
    for part in (
        *("compaction", "files", "flex", "images", "include", "limit", "parallel_tool_calls"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning_items"),
        *("result_media", "safety_identifier", "service_tier", "stream_options", "streaming"),
        *("summary", "truncation", "verbosity"),
    )
)

# The parts of a path such as `input[3].content[0].text`: the parameters of the API, and those of
# gpt5_payloads, whose errors name them in `field`.
PARAMETER_WORDS = frozenset(
    [
        "allowed_tools",
        "arguments",
        "background",
        "call_id",
        "code_interpreter",
        "compact_threshold",
        "container",
        "content",
        "context",
        "description",
        "effort",
        "enable_stream",
        "encrypted_content",
        "extra_tools",
        "file_search",
        "file_search_stores",
        "filters",
        "flex_fallback",
        "format",
        "function",
        "id",
        "image_detail",
        "image_generation",
        "include",
        "input",
        "instructions",
        "json_schema",
        "max_output_tokens",
        "max_tool_calls",
        "mcp",
        "mcp_servers",
        "mcp_tokens",
        "metadata",
        "mode",
        "model",
        "name",
        "output",
        "parallel_tool_calls",
        "parameters",
        "previous_response_id",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_ttl",
        "reasoning",
        "reasoning_context",
        "reasoning_effort",
        "reasoning_mode",
        "reasoning_summary",
        "require_approval",
        "response_format",
        "role",
        "safety_identifier",
        "schema",
        "server_label",
        "server_url",
        "service_tier",
        "status",
        "stop",
        "store",
        "stream",
        "stream_options",
        "strict",
        "summary",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_p",
        "truncation",
        "ttl",
        "type",
        "user",
        "vector_store_ids",
        "verbosity",
        "web_search",
        "web_search_domains",
    ]
)
