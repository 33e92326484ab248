"""What the daemon decodes the answers of plugins into.

Source: `pkg/entities/model_entities`, `tool_entities`, `agent_entities` and `plugin_entities/event.go` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from collections.abc import Mapping
from typing import Any

from ._declarations import TOOL_PARAMETER
from ._fields import field, struct
from ._messages import MESSAGE
from ._models import MODEL_SCHEMA
from ._types import (
    ABSENT,
    DECIMAL,
    FLAG,
    OBJECT,
    REAL,
    TEXT,
    VERBATIM,
    WHOLE,
    Field,
    ListOf,
    Optional,
    Problem,
    Struct,
    text,
)


def _model(name: str, *fields: Field | Struct) -> Struct:
    return struct(f"model_entities.{name}", *fields)


def _needed(name: str, kind: Any) -> Field:
    return field(name, Optional(of=kind), "required")


def _price(name: str) -> Field:
    return field(name, DECIMAL, "required")


_USAGE = _model(
    "LLMUsage",
    _needed("PromptTokens", WHOLE),
    _price("PromptUnitPrice"),
    _price("PromptPriceUnit"),
    _price("PromptPrice"),
    _needed("CompletionTokens", WHOLE),
    _price("CompletionUnitPrice"),
    _price("CompletionPriceUnit"),
    _price("CompletionPrice"),
    _needed("TotalTokens", WHOLE),
    _price("TotalPrice"),
    _needed("Currency", TEXT),
    _needed("Latency", REAL),
)
_DELTA = _model(
    "LLMResultChunkDelta",
    _needed("Index", WHOLE),
    field("Message", MESSAGE, "required"),
    field("Usage", Optional(of=_USAGE), "omitempty"),
    field("FinishReason", Optional(of=TEXT), "omitempty"),
)
LLM_CHUNK = _model(
    "LLMResultChunk",
    field("Model", text("model_entities.LLMModel"), "required"),
    field("SystemFingerprint", TEXT, "omitempty"),
    field("Delta", _DELTA, "required"),
)
_EMBEDDED = _model(
    "EmbeddingUsage",
    _needed("Tokens", WHOLE),
    _needed("TotalTokens", WHOLE),
    _price("UnitPrice"),
    _price("PriceUnit"),
    _price("TotalPrice"),
    _needed("Currency", TEXT),
    _needed("Latency", REAL),
)
_VECTORS = (
    field("Model", TEXT, "required"),
    field("Embeddings", ListOf(of=ListOf(go="[]float64", of=REAL)), "required,dive"),
    field("Usage", _EMBEDDED, "required"),
)


def _ranking(name: str, document: str) -> Struct:
    ranked = _model(
        document, _needed("Index", WHOLE), _needed("Text", TEXT), _needed("Score", REAL)
    )
    docs = field("Docs", ListOf(of=ranked), "required,dive")
    return _model(name, field("Model", TEXT, "required"), docs)


def _check_polling(result: Mapping[str, Any]) -> Problem | None:
    lacking = {
        "running": ("plugin_state", not result["plugin_state"]),
        "succeeded": ("result", result["result"] in (None, ABSENT)),
        "failed": ("error", not result["error"].strip()),
    }
    name, lacks = lacking.get(result["status"], ("", False))
    return (name, f"required_for_{result['status']}") if lacks else None


_POLLING = struct(
    "model_entities.ModelPollingResult",
    field(
        "Status", text("model_entities.PollingStatus"), "required,oneof=running succeeded failed"
    ),
    field("PluginState", OBJECT, omits=True),
    field("Result", VERBATIM, omits=True),
    field("Error", TEXT, omits=True),
    *(
        field(name, Optional(of=WHOLE), omits=True)
        for name in ("NextCheckAfterSeconds", "ExpiresAfterSeconds", "MaxAttempts")
    ),
    check=_check_polling,
)
_VOICE = _model("TTSModelVoice", field("Name", TEXT, "required"), field("Value", TEXT, "required"))
TOOL_CHUNK = struct(
    "tool_entities.ToolResponseChunk",
    field(
        "Type",
        text("tool_entities.ToolResponseChunkType"),
        "required,is_valid_tool_response_chunk_type",
    ),
    field("Message", OBJECT),
    field("Meta", OBJECT),
)
AGENT_CHUNK = struct("agent_entities.AgentStrategyResponseChunk", TOOL_CHUNK)
_VALID = field("Result", FLAG)
PLUGIN_ERROR = struct(
    "plugin_entities.ErrorResponse",
    field("Message", TEXT),
    field("ErrorType", TEXT),
    field("Args", OBJECT, "omitempty,max=10"),
)
"""An error that a plugin answers with."""

ANSWERS: Mapping[str, Struct] = {
    "check_polling": _POLLING,
    "get_ai_model_schemas": _model(
        "GetModelSchemasResponse",
        field("ModelSchema", Optional(of=MODEL_SCHEMA), "omitempty"),
    ),
    "get_llm_num_tokens": _model("LLMGetNumTokensResponse", field("NumTokens", WHOLE)),
    "get_text_embedding_num_tokens": _model(
        "GetTextEmbeddingNumTokensResponse", field("NumTokens", ListOf(of=WHOLE), "required")
    ),
    "get_tool_runtime_parameters": struct(
        "tool_entities.GetToolRuntimeParametersResponse",
        field("Parameters", ListOf(of=TOOL_PARAMETER)),
    ),
    "get_tts_model_voices": _model(
        "GetTTSVoicesResponse", field("Voices", ListOf(of=_VOICE), "required,dive")
    ),
    "invoke_agent_strategy": AGENT_CHUNK,
    "invoke_llm": LLM_CHUNK,
    "invoke_moderation": _model("ModerationResult", _VALID),
    "invoke_multimodal_embedding": _model("MultimodalEmbeddingResult", *_VECTORS),
    "invoke_multimodal_rerank": _ranking("MultimodalRerankResult", "MultimodalRerankDocument"),
    "invoke_rerank": _ranking("RerankResult", "RerankDocument"),
    "invoke_speech2text": _model("Speech2TextResult", field("Result", TEXT)),
    "invoke_text_embedding": _model("TextEmbeddingResult", *_VECTORS),
    "invoke_tool": TOOL_CHUNK,
    "invoke_tts": _model("TTSResult", field("Result", TEXT), field("MimeType", TEXT, omits=True)),
    "start_polling": _POLLING,
    "validate_model_credentials": _model(
        "ValidateCredentialsResult", _VALID, field("Credentials", OBJECT)
    ),
    "validate_provider_credentials": _model(
        "ValidateCredentialsResult", _VALID, field("Credentials", OBJECT)
    ),
    "validate_tool_credentials": struct("tool_entities.ValidateCredentialsResult", _VALID),
}
"""What each action answers with, by the action's name in the protocol."""
