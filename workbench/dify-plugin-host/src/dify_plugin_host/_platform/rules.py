"""The rules by which the real platform refuses, drops or changes messages, so that a run here meets the same as in Dify.

Source: langgenius/dify-plugin-daemon at bdb5642a (`internal/core/io_tunnel/backwards_invocation/task.go`) and
langgenius/dify (agent node), read 2026-10.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from dify_plugin_host._errors import BackwardsError, StreamRejectedError
from dify_plugin_host._process.plugin_process import require_object
from dify_plugin_host._settings import PlatformRules
from dify_plugin_packager.declarations import (
    ANSWERS,
    ANY,
    PluginFolder,
    ShapeError,
    Struct,
    decode_into,
    validate,
)
from dify_plugin_packager.json_access import JsonObject, is_list, is_object, object_at


# A node's own outputs, which a variable cannot be, and the one that it can replace.
_OUTPUTS = ("text", "json", "files")
_USAGE_ADVICE = "the variable 'usage' replaces the node's output of that name, the usage that Dify has counted; use another name unless that is intended"

# The manifest's permission for each kind of call; behind a dot, the kind of model.
_PERMISSIONS: Mapping[str, str] = {
    **dict.fromkeys(("app", "fetch_app"), "app"),
    **dict.fromkeys(("llm", "llm_structured_output", "system_summary"), "model.llm"),
    "moderation": "model.moderation",
    **dict.fromkeys(("node_parameter_extractor", "node_question_classifier"), "node"),
    **dict.fromkeys(("rerank", "multimodal_rerank"), "model.rerank"),
    "speech2text": "model.speech2text",
    "storage": "storage",
    **dict.fromkeys(("text_embedding", "multimodal_embedding"), "model.text_embedding"),
    "tool": "tool",
    "tts": "model.tts",
    "upload_file": "",
}


def validate_permission(kind: str, folder: PluginFolder) -> None:
    """Check that a manifest asks permission for a kind of backwards call.

    Raises:
        BackwardsError: If it does not, or if there is no such kind.
    """
    if kind not in _PERMISSIONS:
        raise BackwardsError(f"unsupported invoke type: {kind}")
    part, _, model = _PERMISSIONS[kind].partition(".")
    granted = object_at(folder.permission, part)
    allowed = not part or (granted.get("enabled") and (not model or granted.get(model)))
    what = model.replace("_", "-") or part
    if not allowed:
        raise BackwardsError(
            f"permission denied, you need to enable {what} access in plugin manifest"
        )


def answer_decoder(action: str, rules: PlatformRules) -> Callable[[Any], JsonObject]:
    """Return a function that converts each object of a plugin to the one that Dify gets under these rules.

    It raises StreamRejectedError for an object that the daemon would not hand on.
    """
    shape = ANSWERS[action]

    def decode(item: Any) -> JsonObject:
        made = _to_daemon_answer(shape, item) if rules.chunk_rules else _as_it_came(item, rules)
        return without_opaque_body(made) if rules.drop_opaque_body else made

    return decode


def node_decoder(
    action: str, rules: PlatformRules, advise: Callable[[str], None]
) -> Callable[[Any], JsonObject]:
    """Return a function that converts each message of a tool or a strategy to the one that a node of Dify gets under these rules.

    It raises StreamRejectedError for a message that the daemon would not hand on, or that Dify would refuse. `advise`
    is told, once, of a variable that replaces an output of Dify's own.

    Source: docs/evidence/dify-declarations.md, S32.
    """
    decode = answer_decoder(action, rules)
    if not rules.variable_rules:
        return decode
    advise_once = functools.cache(advise)

    def decode_for_node(item: Any) -> JsonObject:
        made = decode(item)
        if made.get("type") == "variable":
            content = object_at(made, "message")
            name = content.get("variable_name")
            _validate_variable(name, content)
            if name == "usage" and action == "invoke_agent_strategy":
                advise_once(_USAGE_ADVICE)
        return made

    return decode_for_node


def _validate_variable(name: Any, content: JsonObject) -> None:
    """Validate a variable as Dify does.

    Raises:
        StreamRejectedError: If Dify would end the run with an error.
    """
    if name in _OUTPUTS:
        expected = f"expected another name than {', '.join(_OUTPUTS)}, the node's own outputs"
        raise StreamRejectedError(f"variable {name!r}: {expected}; Dify refuses it")
    value = content.get("variable_value")
    if content.get("stream") and not isinstance(value, str):
        expected = f"expected text, since it is streamed, got {type(value).__name__}"
        raise StreamRejectedError(f"variable {name!r}: {expected}; Dify refuses it")


def _to_daemon_answer(shape: Struct, item: Any) -> JsonObject:
    try:
        value = decode_into(shape, item)
        validate(shape, value)
    except ShapeError as error:
        raise StreamRejectedError(f"unmarshal json failed: {error}") from None
    made: JsonObject = shape.encode(value)
    if shape is ANSWERS["invoke_llm"]:
        made["prompt_messages"] = []
    return made


def _as_it_came(item: Any, rules: PlatformRules) -> JsonObject:
    found = require_object(item)
    return through_go(found) if rules.float_numbers else found


def without_opaque_body(value: Any) -> Any:
    """Return decoded JSON with every `opaque_body` emptied, like an older Dify core."""
    if is_list(value):
        return [without_opaque_body(item) for item in value]
    if is_object(value):
        return {
            key: None if key == "opaque_body" else without_opaque_body(item)
            for key, item in value.items()
        }
    return value


def through_go(value: Any) -> Any:
    """Return decoded JSON as Go's `map[string]any` hands it on: numbers through float64, keys sorted.

    Raises:
        ShapeError: If a number does not fit into a float64.
    """
    return decode_into(ANY, value)
