"""What the real platform refuses, drops or changes on the way, so that a run here meets what a run in Dify would meet.

Source: langgenius/dify-plugin-daemon at bdb5642a (`internal/core/io_tunnel/backwards_invocation/task.go`,
`pkg/entities/model_entities/llm.go`) and langgenius/dify (agent node), read 2026-10.
"""

import math
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from dify_plugin_host._errors import BackwardsError, StreamRejectedError
from dify_plugin_host._json import JsonObject, is_object
from dify_plugin_host._settings import PlatformRules
from dify_plugin_host.plugin import PluginFolder

from ._llm_shapes import LLMChunk, PromptMessage


_EXACT_FLOAT = 1e21  # from here on Go writes an exponent

# What the agent node's list of features knows; a newer one, such as "structured-output", never reaches a strategy.
_AGENT_NODE_FEATURES = frozenset(
    {
        "agent-thought",
        "audio",
        "document",
        "multi-tool-call",
        "stream-tool-call",
        "tool-call",
        "video",
        "vision",
    }
)

_TOOL_MESSAGE_TYPES = frozenset(
    {
        "binary_link",
        "blob",
        "blob_chunk",
        "file",
        "image",
        "image_link",
        "json",
        "link",
        "log",
        "retriever_resources",
        "text",
        "variable",
    }
)


def validate_permission(kind: str, folder: PluginFolder) -> None:
    """Make sure that a manifest asks permission for a kind of backwards call.

    Raises:
        BackwardsError: If it does not, or if there is no such kind.
    """
    permission = folder.permission
    llm = (permission.model.enabled and permission.model.llm, "llm")
    rules: dict[str, tuple[bool, str]] = {
        "tool": (permission.tool.enabled, "tool"),
        "llm": llm,
        "llm_structured_output": llm,
        "system_summary": llm,
        "storage": (permission.storage.enabled, "storage"),
        "app": (permission.app.enabled, "app"),
        "fetch_app": (permission.app.enabled, "app"),
        "node_parameter_extractor": (permission.node.enabled, "node"),
        "node_question_classifier": (permission.node.enabled, "node"),
        "upload_file": (True, "storage"),
    }
    for name in ("text_embedding", "rerank", "tts", "speech2text", "moderation"):
        allowed = permission.model.enabled and bool(getattr(permission.model, name))
        rules[name] = (allowed, name.replace("_", "-"))
    rules["multimodal_embedding"] = rules["text_embedding"]
    rules["multimodal_rerank"] = rules["rerank"]
    if kind not in rules:
        raise BackwardsError(f"unsupported invoke type: {kind}")
    allowed, what = rules[kind]
    if not allowed:
        raise BackwardsError(
            f"permission denied, you need to enable {what} access in plugin manifest"
        )


def validate_no_message_opaque_body(messages: Sequence[Any]) -> None:
    """Make sure that no message of a backwards LLM request carries `opaque_body` itself.

    The daemon decodes such a request into Go bytes, which only null and lists fit. A content part's `opaque_body` passes.

    Raises:
        BackwardsError: If one does; the text is the daemon's.
    """
    problems = [
        f"* 'prompt_messages[{index}].opaque_body{problem}"
        for index, message in enumerate(messages)
        if is_object(message) and (problem := _byte_problem(message.get("opaque_body")))
    ]
    if problems:
        listed = "\n".join(problems)
        raise BackwardsError(
            "unmarshal backwards invoke request failed: error decoding map: "
            f"{len(problems)} error(s) decoding:\n\n{listed}"
        )


def _byte_problem(value: Any) -> str:
    """Say why a value does not fit into Go bytes, beginning after its name; empty if it does."""
    if value is None:
        return ""
    if not isinstance(value, list):
        return f"': source data must be an array or slice, got {_go_kind(value)}"
    for index, item in enumerate(value):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - decoded JSON
        if _go_kind(item) != "float64":
            return f"[{index}]' expected type 'uint8', got unconvertible type '{_go_kind(item)}'"
    return ""


def _go_kind(value: Any) -> str:
    """Name the Go kind of a decoded JSON value."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() | float():
            return "float64"
        case list():
            return "slice"
        case _:
            return "map"


def to_daemon_message(message: Any) -> JsonObject:
    """Return a prompt message as the daemon hands it to a model plugin.

    Raises:
        BackwardsError: If the daemon cannot decode it, as when `content` is null.
    """
    try:
        return PromptMessage.model_validate(message).model_dump()
    except ValidationError as error:
        raise BackwardsError(f"invoke llm model failed: {_first_problem(error)}") from None


def to_daemon_chunk(chunk: JsonObject) -> JsonObject:
    """Return an LLM chunk as the daemon hands it on: unknown keys dropped, `opaque_body` kept.

    Raises:
        StreamRejectedError: If the daemon cannot decode it, as when `content` is null.
    """
    try:
        parsed = LLMChunk.model_validate(chunk)
    except ValidationError as error:
        raise StreamRejectedError(f"unmarshal json failed: {_first_problem(error)}") from None
    if not parsed.model:
        raise StreamRejectedError("unmarshal json failed: model: field is required")
    return parsed.model_dump()


def to_daemon_tool_message(message: JsonObject) -> JsonObject:
    """Return a message of a tool or an agent as the daemon hands it on.

    Raises:
        StreamRejectedError: If it is of a type that the daemon does not know.
    """
    if message.get("type") not in _TOOL_MESSAGE_TYPES:
        problem = f"unmarshal json failed: type: got {message.get('type')!r}"
        raise StreamRejectedError(problem)
    return {key: message.get(key) for key in ("type", "message", "meta")}


def to_dify_message(message: JsonObject, rules: PlatformRules) -> JsonObject:
    """Return a message of a tool or an agent as Dify gets it under these rules.

    Raises:
        StreamRejectedError: If the daemon would not hand it on.
    """
    if rules.chunk_rules:
        message = to_daemon_tool_message(message)
    if rules.float_numbers:
        try:
            message = {key: through_go(value) for key, value in message.items()}
        except OverflowError:
            problem = "unmarshal json failed: expected numbers that fit into 64 bits"
            raise StreamRejectedError(problem) from None
    return message


def to_dify_chunk(chunk: JsonObject, rules: PlatformRules) -> JsonObject:
    """Return an LLM chunk as Dify gets it under these rules.

    Raises:
        StreamRejectedError: If the daemon would not hand it on.
    """
    if rules.chunk_rules:
        chunk = to_daemon_chunk(chunk)
    return without_opaque_body(chunk) if rules.drop_opaque_body else chunk


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    text = first["msg"].removeprefix("Value error, ")
    if text.startswith("content"):
        return text
    return f"{'.'.join(str(part) for part in first['loc'])}: {text}"


def without_opaque_body(value: Any) -> Any:
    """Return decoded JSON with every `opaque_body` emptied, as an older Dify core loses them."""
    if isinstance(value, list):
        return [without_opaque_body(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    if is_object(value):
        return {
            key: None if key == "opaque_body" else without_opaque_body(item)
            for key, item in value.items()
        }
    return value


def agent_features(features: Sequence[str]) -> list[str]:
    """Return the model features that Dify's agent node shows to a strategy."""
    return [feature for feature in features if feature in _AGENT_NODE_FEATURES]


def through_go(value: Any) -> Any:
    """Return decoded JSON as Go's `map[string]any` hands it on: numbers through float64, keys sorted."""
    match value:
        case bool() | str() | None:
            return value
        case int() | float():
            return _through_float64(value)
        case list():
            return [through_go(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        case _:
            return {key: through_go(value[key]) for key in sorted(value)}


def _through_float64(value: float) -> float:
    number = float(value)
    if math.isfinite(number) and number.is_integer() and abs(number) < _EXACT_FLOAT:
        return int(number)
    return number
