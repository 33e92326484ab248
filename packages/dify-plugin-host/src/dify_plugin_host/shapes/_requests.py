"""What the daemon's dispatch API decodes its requests into.

Source: `pkg/entities/plugin_entities/request.go` and `pkg/entities/requests` of langgenius/dify-plugin-daemon at bdb5642a, read
2026-11.
"""

import contextlib
from collections.abc import Mapping
from typing import Any

from ._fields import field, struct
from ._messages import MESSAGE, MULTIMODAL, TOOL, TOOL_CHOICE
from ._rules import validate
from ._types import (
    FLAG,
    OBJECT,
    REAL,
    TEXT,
    WHOLE,
    Decoding,
    Field,
    ListOf,
    Optional,
    ShapeError,
    Struct,
    text,
)


_MODULE = "github.com/langgenius/dify-plugin-daemon/pkg/entities/"
_TEXTS = ListOf(of=TEXT)


def named(name: str, *fields: Field | Struct) -> Struct:
    """Build one of the structs that requests are made of."""
    return struct(f"requests.{name}", *fields)


MODEL = named(
    "BaseRequestInvokeModel",
    field("Provider", TEXT, "required"),
    field("Model", TEXT, "required"),
)
_CREDENTIALS = named(
    "Credentials",
    field("Credentials", OBJECT, "omitempty"),
    field("CredentialType", TEXT, "omitempty", omits=True),
)
_LLM = named(
    "InvokeLLMSchema",
    field("ModelParameters", OBJECT, "omitempty"),
    field("PromptMessages", ListOf(of=MESSAGE), "omitempty"),
    field("Tools", ListOf(of=TOOL), "omitempty,dive"),
    field("ToolChoice", Optional(of=TOOL_CHOICE), "omitempty", omits=True),
    field("Stop", _TEXTS, "omitempty"),
    field("JSONSchema", OBJECT, "omitempty"),
    field("Stream", FLAG),
)
EMBEDDING = named(
    "InvokeTextEmbeddingSchema",
    field("Texts", _TEXTS, "required,dive"),
    field("InputType", TEXT, "required"),
)
MULTIMODAL_EMBEDDING = named(
    "InvokeMultimodalEmbeddingSchema",
    field("Documents", ListOf(of=MULTIMODAL), "required,dive"),
    field("InputType", TEXT, "required,oneof=document query"),
)
_RANKED = (field("ScoreThreshold", REAL), field("TopN", WHOLE))
RERANK = named(
    "InvokeRerankSchema",
    field("Query", TEXT, "required"),
    field("Docs", _TEXTS, "required,dive"),
    *_RANKED,
)
MULTIMODAL_RERANK = named(
    "InvokeMultimodalRerankSchema",
    field("Query", MULTIMODAL, "required"),
    field("Docs", ListOf(of=MULTIMODAL), "required,dive"),
    *_RANKED,
)
TTS = named(
    "InvokeTTSSchema",
    field("ContentText", TEXT, "required"),
    field("Voice", TEXT, "required"),
    field("TenantID", TEXT, "required"),
)
SPEECH2TEXT = named("InvokeSpeech2TextSchema", field("File", TEXT, "required"))
MODERATION = named("InvokeModerationSchema", field("Text", TEXT, "required"))
TOOL_CALL = named(
    "InvokeToolSchema",
    field("Provider", TEXT, "required"),
    field("Tool", TEXT, "required"),
    field("ToolParameters", OBJECT, "omitempty"),
)
_STRATEGY = named(
    "InvokeAgentStrategySchema",
    field("AgentStrategyProvider", TEXT, "required"),
    field("AgentStrategy", TEXT, "required"),
    field("AgentStrategyParams", OBJECT, "omitempty"),
)
_PROVIDER = field("Provider", TEXT, "required")
_TOOL_CREDENTIALS = field("Credentials", OBJECT, "omitempty")


def _of(kind: str = "") -> Field:
    rules = f"required,model_type,eq={kind}" if kind else "required,model_type"
    return field("ModelType", text("model_entities.ModelType"), rules)


_ANY_KIND = field("ModelType", TEXT, "required")
_INVOKE_LLM = named("RequestInvokeLLM", MODEL, _CREDENTIALS, _LLM, _of("llm"))
_DATA = (
    _INVOKE_LLM,
    named("RequestStartPolling", _INVOKE_LLM),
    named(
        "RequestCheckPolling",
        MODEL,
        _CREDENTIALS,
        _of("llm"),
        field("PluginState", OBJECT, "required,min=1"),
    ),
    named(
        "RequestGetLLMNumTokens",
        MODEL,
        _CREDENTIALS,
        _of("llm"),
        field("PromptMessages", ListOf(of=MESSAGE), "omitempty,dive"),
        field("Tools", ListOf(of=TOOL), "omitempty,dive"),
    ),
    named("RequestInvokeTextEmbedding", MODEL, _CREDENTIALS, EMBEDDING, _of("text-embedding")),
    named(
        "RequestGetTextEmbeddingNumTokens",
        MODEL,
        _CREDENTIALS,
        _of("text-embedding"),
        field("Texts", _TEXTS, "required,dive"),
    ),
    named("RequestInvokeMultimodalEmbedding", MODEL, _CREDENTIALS, MULTIMODAL_EMBEDDING, _ANY_KIND),
    named("RequestInvokeRerank", MODEL, _CREDENTIALS, RERANK, _of("rerank")),
    named("RequestInvokeMultimodalRerank", MODEL, _CREDENTIALS, MULTIMODAL_RERANK, _ANY_KIND),
    named("RequestInvokeTTS", MODEL, _CREDENTIALS, TTS, _of("tts")),
    named(
        "RequestGetTTSModelVoices",
        MODEL,
        _CREDENTIALS,
        _of("tts"),
        field("Language", TEXT, "omitempty"),
    ),
    named("RequestInvokeSpeech2Text", MODEL, _CREDENTIALS, SPEECH2TEXT, _of("speech2text")),
    named("RequestInvokeModeration", MODEL, _CREDENTIALS, MODERATION, _of("moderation")),
    named("RequestValidateProviderCredentials", _CREDENTIALS, _PROVIDER),
    named("RequestValidateModelCredentials", MODEL, _CREDENTIALS, _of()),
    named("RequestGetAIModelSchema", MODEL, _CREDENTIALS, _of()),
    named("RequestInvokeTool", TOOL_CALL, _CREDENTIALS),
    named("RequestValidateToolCredentials", _PROVIDER, _TOOL_CREDENTIALS),
    named(
        "RequestGetToolRuntimeParameters",
        _PROVIDER,
        field("Tool", TEXT, "required"),
        _TOOL_CREDENTIALS,
    ),
    named("RequestInvokeAgentStrategy", _STRATEGY),
)


def _body(data: Struct) -> Struct:
    identity = struct(
        "plugin_entities.InvokePluginUserIdentity",
        field("TenantId", TEXT, "required"),
        field("UserId", TEXT),
    )
    ids = ("ConversationID", "MessageID", "AppID", "EndpointID")
    built = struct(
        "plugin_entities.InvokePluginRequest",
        identity,
        struct("plugin_entities.BasePluginIdentifier", field("PluginID", TEXT)),
        field("UniqueIdentifier", TEXT),
        *(field(name, Optional(of=TEXT)) for name in ids),
        field("Context", OBJECT),
        field("Data", data, "required"),
    )
    name = f"{built.name}[{_MODULE}{data.go}]"
    return Struct(go=built.go, name=name, fields=built.fields)


REQUESTS: Mapping[str, Struct] = {data.name: _body(data) for data in _DATA}
"""The bodies of requests, by the name that Go has for what stands in their `data`."""


def read_request(shape: Struct, body: Any, *, tenant_id: str = "local") -> dict[str, Any]:
    """Return the body of a request as the daemon reads it: what does not fit stays empty.

    Raises:
        ShapeError: If it breaks a rule of its fields; the text is the daemon's.
    """
    place = [shape.zero()]
    with contextlib.suppress(ShapeError):
        shape.decode(body, Decoding(), place, 0)
    value: dict[str, Any] = place[0]
    value["tenant_id"] = tenant_id
    validate(shape, value)
    return shape.encode(value)
