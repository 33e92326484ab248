"""Prompt messages, which decode themselves, and what else LLM calls are made of.

Source: `pkg/entities/model_entities/llm.go` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, override

from ._fields import field, struct
from ._types import (
    ABSENT,
    ANY,
    OBJECT,
    TEXT,
    VERBATIM,
    Decoding,
    GoType,
    ListOf,
    Problem,
    ShapeError,
    Struct,
    decode_into,
    text,
)


PART = struct(
    "model_entities.PromptMessageContent",
    field(
        "Type",
        text("model_entities.PromptMessageContentType"),
        "required,prompt_message_content_type",
    ),
    field("Base64Data", TEXT, json="base64_data"),
    field("URL", TEXT),
    field("Data", TEXT),
    field("EncodeFormat", TEXT),
    field("Format", TEXT),
    field("MimeType", TEXT),
    field("Detail", TEXT),
    field("Filename", TEXT),
    field("OpaqueBody", VERBATIM, omits=True),
)
_FUNCTION = struct(
    'struct { Name string "json:\\"name\\""; Arguments string "json:\\"arguments\\"" }',
    field("Name", TEXT),
    field("Arguments", TEXT),
)
_CALLS = ListOf(
    of=struct(
        "model_entities.PromptMessageToolCall",
        field("ID", TEXT),
        field("Type", TEXT),
        field("Function", _FUNCTION),
    )
)
_ROLE = text("model_entities.PromptMessageRole")
_WRITTEN = struct(
    "model_entities.promptMessageJSON",
    field("Role", _ROLE),
    field("Content", VERBATIM),
    field("Name", TEXT),
    field("ToolCalls", _CALLS),
    field("ToolCallId", TEXT),
    field("OpaqueBody", VERBATIM),
)


def _read_content(node: Any) -> Any:
    if node is None or node is ABSENT:
        raise ShapeError("content field is required")
    if isinstance(node, str):
        return decode_into(TEXT, node)
    if isinstance(node, list):
        return decode_into(ListOf(of=PART), node)
    raise ShapeError("content must be a string or an array of prompt message content")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content(GoType):
    """What a message says: text, or parts."""

    go: str = ANY.go

    @override
    def encode(self, value: Any) -> Any:
        return ListOf(of=PART).encode(value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message(Struct):
    """A message, which comes whole or ends what it is decoded in."""

    @override
    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        found = decode_into(_WRITTEN, node)
        if not found["role"]:
            raise ShapeError("role field is required")
        place[key] = {**found, "content": _read_content(found["content"])}


_MESSAGE = struct(
    "model_entities.PromptMessage",
    field("Role", _ROLE, "required,prompt_message_role"),
    field("Content", _Content(), "required,prompt_message_content"),
    field("Name", TEXT),
    field("ToolCalls", _CALLS, "dive"),
    field("ToolCallId", TEXT),
    field("OpaqueBody", VERBATIM, omits=True),
)
MESSAGE = _Message(go=_MESSAGE.go, name=_MESSAGE.name, fields=_MESSAGE.fields)

FREE_MESSAGE = struct(
    _MESSAGE.go,
    *(replace(each, type=ANY) if each.go == "Content" else each for each in _MESSAGE.fields),
)
"""A message in a call of a plugin, which does not decode itself and says what it likes."""

TOOL = struct(
    "model_entities.PromptMessageTool",
    field("Name", TEXT, "required"),
    field("Description", TEXT),
    field("Parameters", OBJECT),
)


def _check_choice(choice: Mapping[str, Any]) -> Problem | None:
    lacks = choice["mode"] == "tool" and not choice["name"].strip()
    return ("name", "required_for_tool") if lacks else None


TOOL_CHOICE = struct(
    "model_entities.ToolChoice",
    field("Mode", text("model_entities.ToolChoiceMode"), "required,oneof=auto none required tool"),
    field("Name", TEXT, "omitempty", omits=True),
    check=_check_choice,
)
MULTIMODAL = struct(
    "model_entities.MultimodalContent",
    field("Content", TEXT, "required"),
    field(
        "ContentType",
        text("model_entities.MultimodalContentType"),
        "required,multimodal_content_type",
    ),
)
