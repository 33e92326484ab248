"""The names of the conventions: attributes of spans, and the operations that spans represent.

Source: https://github.com/open-telemetry/semantic-conventions-genai, read 2026-11-23; a test compares them with those that OpenTelemetry publishes.
"""

from typing import Final


AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
TOOL: Final = "execute_tool"

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
MODEL: Final = "gen_ai.request.model"
FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
INPUT: Final = "gen_ai.input.messages"
OUTPUT: Final = "gen_ai.output.messages"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
CALL_ID: Final = "gen_ai.tool.call.id"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"
RESULT: Final = "gen_ai.tool.call.result"
ERROR_TYPE: Final = "error.type"

USAGE: Final = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}
"""The attribute for each number of a usage."""

# The conventions have no names for these.
RUN: Final = "run_log.run"
RESUMES: Final = "run_log.resumes"
OUTCOME: Final = "run_log.outcome"
REASON: Final = "run_log.end_reason"
PRICE: Final = "run_log.total_price"
CURRENCY: Final = "run_log.currency"
SERVER: Final = {
    "run_id": "agent_server.run.id",
    "tenant": "agent_server.tenant",
    "attempt": "agent_server.attempt",
}
"""The attribute for what a server says about a run of its own."""
WAITING: Final = "run_log.waiting_tools"
COMPACTION: Final = "run_log.compaction"
