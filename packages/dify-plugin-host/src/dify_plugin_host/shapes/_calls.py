"""What the daemon decodes the calls of plugins back into Dify into, and what becomes of each.

Source: `internal/core/dify_invocation/types.go` and `internal/core/io_tunnel/backwards_invocation/task.go` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ._fields import field, struct
from ._messages import FREE_MESSAGE, TOOL, TOOL_CHOICE
from ._requests import (
    EMBEDDING,
    MODEL,
    MODERATION,
    MULTIMODAL_EMBEDDING,
    MULTIMODAL_RERANK,
    RERANK,
    SPEECH2TEXT,
    TOOL_CALL,
    TTS,
)
from ._types import FLAG, OBJECT, TEXT, Field, ListOf, Optional, Struct, text


_TEXTS = ListOf(of=TEXT)


def _named(name: str, *fields: Field | Struct) -> Struct:
    return struct(f"dify_invocation.{name}", *fields)


_TYPE = field("Type", text("dify_invocation.InvokeType"))
_BASE = _named("BaseInvokeDifyRequest", field("TenantId", TEXT), field("UserId", TEXT), _TYPE)
_LLM = _named(
    "InvokeLLMSchema",
    field("Mode", TEXT, "required"),
    field("CompletionParams", OBJECT, "omitempty"),
    field("PromptMessages", ListOf(of=FREE_MESSAGE), "omitempty"),
    field("Tools", ListOf(of=TOOL), "omitempty,dive"),
    field("ToolChoice", Optional(of=TOOL_CHOICE), "omitempty", omits=True),
    field("Stop", _TEXTS, "omitempty"),
    field("Stream", FLAG),
)
_APP_ID = field("AppId", TEXT, "required")
_APP = _named(
    "InvokeAppSchema",
    _APP_ID,
    field("Inputs", OBJECT, "omitempty"),
    field("Query", TEXT, "omitempty"),
    field("ResponseMode", TEXT),
    field("ConversationId", TEXT, "omitempty"),
    field("User", TEXT, "omitempty"),
)
_NODE_MODEL = _named(
    "ModelConfig",
    field("Provider", TEXT, "required"),
    field("Name", TEXT, "required"),
    field("Mode", TEXT, "required"),
    field("CompletionParams", OBJECT, "omitempty"),
)
_NODE = (
    field("Model", _NODE_MODEL, "required"),
    field("Instruction", TEXT, "omitempty"),
    field("Query", TEXT, "required"),
)
_EXTRACTED = struct(
    "",
    field("Name", TEXT, "required"),
    field(
        "Type",
        TEXT,
        "required,oneof=string number bool select array[string] array[number] array[object]",
    ),
    field("Options", _TEXTS, "omitempty"),
    field("Description", TEXT, "omitempty"),
    field("Required", FLAG, "omitempty"),
)
_CLASS = struct("", field("ID", TEXT, "required"), field("Name", TEXT, "required"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKind:
    """A kind of call back into Dify.

    Attributes:
        shape: What its request is decoded into.
        path: The path of Dify's inner API that answers it; empty where the daemon does.
        failure: What the plugin is told where Dify does not answer it.
        is_streamed: Whether it is answered in several objects.
    """

    shape: Struct
    path: str
    failure: str
    is_streamed: bool = False


def _model(name: str, schema: Struct) -> Struct:
    return _named(name, _BASE, MODEL, schema)


CALLS: Mapping[str, CallKind] = {
    "app": CallKind(
        shape=_named("InvokeAppRequest", _BASE, _APP),
        path="invoke/app",
        failure="read app failed",
        is_streamed=True,
    ),
    "fetch_app": CallKind(
        shape=_named("FetchAppRequest", _BASE, _APP_ID),
        path="fetch/app/info",
        failure="fetch app failed",
    ),
    "llm": CallKind(
        shape=_model("InvokeLLMRequest", _LLM),
        path="invoke/llm",
        failure="invoke llm model failed",
        is_streamed=True,
    ),
    "llm_structured_output": CallKind(
        shape=_named(
            "InvokeLLMWithStructuredOutputRequest",
            _BASE,
            MODEL,
            _LLM,
            field("StructuredOutputSchema", OBJECT, "required"),
        ),
        path="invoke/llm/structured-output",
        failure="read llm with structured output model failed",
        is_streamed=True,
    ),
    "moderation": CallKind(
        shape=_model("InvokeModerationRequest", MODERATION),
        path="invoke/moderation",
        failure="invoke moderation model failed",
    ),
    "multimodal_embedding": CallKind(
        shape=_model("InvokeMultimodalEmbeddingRequest", MULTIMODAL_EMBEDDING),
        path="invoke/multimodal-embedding",
        failure="invoke multimodal embedding model failed",
    ),
    "multimodal_rerank": CallKind(
        shape=_model("InvokeMultimodalRerankRequest", MULTIMODAL_RERANK),
        path="invoke/multimodal-rerank",
        failure="invoke multimodal rerank model failed",
    ),
    "node_parameter_extractor": CallKind(
        shape=_named(
            "InvokeParameterExtractorRequest",
            _BASE,
            field("Parameters", ListOf(of=_EXTRACTED), "required,dive"),
            *_NODE,
        ),
        path="invoke/parameter-extractor",
        failure="invoke parameter extractor failed",
    ),
    "node_question_classifier": CallKind(
        shape=_named(
            "InvokeQuestionClassifierRequest",
            _BASE,
            field("Classes", ListOf(of=_CLASS), "required,dive"),
            *_NODE,
        ),
        path="invoke/question-classifier",
        failure="invoke question classifier failed",
    ),
    "rerank": CallKind(
        shape=_model("InvokeRerankRequest", RERANK),
        path="invoke/rerank",
        failure="invoke rerank model failed",
    ),
    "speech2text": CallKind(
        shape=_model("InvokeSpeech2TextRequest", SPEECH2TEXT),
        path="invoke/speech2text",
        failure="invoke speech2text model failed",
    ),
    "storage": CallKind(
        shape=_named(
            "InvokeStorageRequest",
            field("Opt", text("dify_invocation.StorageOpt"), "required,storage_opt"),
            field("Key", TEXT, "required"),
            field("Value", TEXT),
        ),
        path="",
        failure="invoke storage failed",
    ),
    "system_summary": CallKind(
        shape=_named(
            "InvokeSummaryRequest",
            _BASE,
            _named(
                "InvokeSummarySchema",
                field("Text", TEXT, "required"),
                field("Instruction", TEXT, "omitempty"),
            ),
        ),
        path="invoke/summary",
        failure="invoke summary failed",
    ),
    "text_embedding": CallKind(
        shape=_model("InvokeTextEmbeddingRequest", EMBEDDING),
        path="invoke/text-embedding",
        failure="invoke text-embedding model failed",
    ),
    "tool": CallKind(
        shape=_named(
            "InvokeToolRequest",
            _BASE,
            field("ToolType", text("requests.ToolType"), "required,tool_type"),
            field("CredentialId", TEXT, "omitempty"),
            field("CredentialType", TEXT, "omitempty", omits=True),
            TOOL_CALL,
        ),
        path="invoke/tool",
        failure="invoke tool failed",
        is_streamed=True,
    ),
    "tts": CallKind(
        shape=_named("InvokeTTSRequest", field("UserId", TEXT), _TYPE, MODEL, TTS),
        path="invoke/tts",
        failure="read tts model failed",
        is_streamed=True,
    ),
    "upload_file": CallKind(
        shape=_named(
            "UploadFileRequest",
            _BASE,
            field("Filename", TEXT, "required"),
            field("MimeType", TEXT, "required", json="mimetype"),
        ),
        path="upload/file/request",
        failure="upload file failed",
    ),
}
"""The kinds of calls, by the protocol's `type`."""
