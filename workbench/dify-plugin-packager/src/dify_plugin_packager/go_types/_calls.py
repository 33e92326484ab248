"""The types of plugins' calls back into Dify, and how the daemon handles each kind.

Source: `internal/core/dify_invocation/types.go` and `internal/core/io_tunnel/backwards_invocation/task.go` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ._daemon_types import TYPES
from ._types import Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKind:
    """A kind of call back into Dify.

    Attributes:
        shape: The type that its request is decoded into.
        path: The path of Dify's inner API that answers it; empty if the daemon does.
        failure: The plugin's error message if Dify does not answer.
        is_streamed: Whether it is answered in several objects.
    """

    shape: Struct
    path: str
    failure: str
    is_streamed: bool = False


# The type of its request, the path, and the daemon's words for what failed.
_CALLS = {
    "app": ("InvokeAppRequest", "invoke/app", "read app"),
    "fetch_app": ("FetchAppRequest", "fetch/app/info", "fetch app"),
    "llm": ("InvokeLLMRequest", "invoke/llm", "invoke llm model"),
    "llm_structured_output": (
        "InvokeLLMWithStructuredOutputRequest",
        "invoke/llm/structured-output",
        "read llm with structured output model",
    ),
    "moderation": ("InvokeModerationRequest", "invoke/moderation", "invoke moderation model"),
    "multimodal_embedding": (
        "InvokeMultimodalEmbeddingRequest",
        "invoke/multimodal-embedding",
        "invoke multimodal embedding model",
    ),
    "multimodal_rerank": (
        "InvokeMultimodalRerankRequest",
        "invoke/multimodal-rerank",
        "invoke multimodal rerank model",
    ),
    "node_parameter_extractor": (
        "InvokeParameterExtractorRequest",
        "invoke/parameter-extractor",
        "invoke parameter extractor",
    ),
    "node_question_classifier": (
        "InvokeQuestionClassifierRequest",
        "invoke/question-classifier",
        "invoke question classifier",
    ),
    "rerank": ("InvokeRerankRequest", "invoke/rerank", "invoke rerank model"),
    "speech2text": ("InvokeSpeech2TextRequest", "invoke/speech2text", "invoke speech2text model"),
    "storage": ("InvokeStorageRequest", "", "invoke storage"),
    "system_summary": ("InvokeSummaryRequest", "invoke/summary", "invoke summary"),
    "text_embedding": (
        "InvokeTextEmbeddingRequest",
        "invoke/text-embedding",
        "invoke text-embedding model",
    ),
    "tool": ("InvokeToolRequest", "invoke/tool", "invoke tool"),
    "tts": ("InvokeTTSRequest", "invoke/tts", "read tts model"),
    "upload_file": ("UploadFileRequest", "upload/file/request", "upload file"),
}
_STREAMED = {"app", "llm", "llm_structured_output", "tool", "tts"}

CALLS: Mapping[str, CallKind] = {
    kind: CallKind(
        shape=TYPES[f"dify_invocation.{name}"],
        path=path,
        failure=f"{failed} failed",
        is_streamed=kind in _STREAMED,
    )
    for kind, (name, path, failed) in _CALLS.items()
}
"""The kinds of calls, by the protocol's `type`."""
