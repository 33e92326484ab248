"""The types of plugins' answers."""

from collections.abc import Mapping

from ._daemon_types import TYPES
from ._types import Struct


ANSWERS: Mapping[str, Struct] = {
    action: TYPES[name]
    for action, name in {
        "check_polling": "model_entities.ModelPollingResult",
        "get_ai_model_schemas": "model_entities.GetModelSchemasResponse",
        "get_llm_num_tokens": "model_entities.LLMGetNumTokensResponse",
        "get_text_embedding_num_tokens": "model_entities.GetTextEmbeddingNumTokensResponse",
        "get_tool_runtime_parameters": "tool_entities.GetToolRuntimeParametersResponse",
        "get_tts_model_voices": "model_entities.GetTTSVoicesResponse",
        "invoke_agent_strategy": "agent_entities.AgentStrategyResponseChunk",
        "invoke_llm": "model_entities.LLMResultChunk",
        "invoke_moderation": "model_entities.ModerationResult",
        "invoke_multimodal_embedding": "model_entities.MultimodalEmbeddingResult",
        "invoke_multimodal_rerank": "model_entities.MultimodalRerankResult",
        "invoke_rerank": "model_entities.RerankResult",
        "invoke_speech2text": "model_entities.Speech2TextResult",
        "invoke_text_embedding": "model_entities.TextEmbeddingResult",
        "invoke_tool": "tool_entities.ToolResponseChunk",
        "invoke_tts": "model_entities.TTSResult",
        "start_polling": "model_entities.ModelPollingResult",
        "validate_model_credentials": "model_entities.ValidateCredentialsResult",
        "validate_provider_credentials": "model_entities.ValidateCredentialsResult",
        "validate_tool_credentials": "tool_entities.ValidateCredentialsResult",
    }.items()
}
"""The type of each action's answer, by the action's name in the protocol."""

PLUGIN_ERROR = TYPES["plugin_entities.ErrorResponse"]
"""The type of an error in place of an answer."""
