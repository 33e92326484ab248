"""A Pydantic AI model that is served by a Dify plugin, through the plugin daemon or through Dify's API.

`DifyLLMAdapterModel` turns messages, tools and settings into one call of the daemon's LLM dispatch, or of the API's, and the chunks
that come back into Pydantic AI's stream. Whole and streamed requests run the same code.

These names of Pydantic AI are not public, and are used because a model cannot be written without them:
`StreamedResponse._get_event_iterator`, `_parts_manager` (`handle_text_delta`, `handle_thinking_delta`,
`handle_tool_call_delta`, `handle_part`, `get_parts`), `_add_usage` and `_usage_received`; `Model._get_instruction_parts` and
`_relocates_tool_files`; `Provider._own_http_client`, `_http_client_factory` and `_set_http_client`.
`tests/llm/test_contract.py` holds Pydantic AI to what is expected of them.
"""

from ._client import DifyPluginDaemonLLMClient
from ._model import DifyLLMAdapterModel
from ._provider import DifyPluginDaemonProvider
from ._stream import DifyStreamedResponse


__all__ = [
    "DifyLLMAdapterModel",
    "DifyPluginDaemonLLMClient",
    "DifyPluginDaemonProvider",
    "DifyStreamedResponse",
]
