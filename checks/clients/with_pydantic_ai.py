# /// script
# requires-python = ">=3.12"
# dependencies = ["gpt5-messages", "pydantic-ai-slim[openai]==2.68.0"]
#
# [tool.uv]
# exclude-newer = "2026-11-22T00:00:00Z"
#
# [tool.uv.sources]
# gpt5-messages = { path = "../../packages/gpt5-messages", editable = true }
# ///
"""A conversation held with Pydantic AI, as its messages."""

import json

from pydantic_ai import Agent, BinaryContent, ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings

from conversation import CHART, INSTRUCTION, MODEL, PICTURE, QUESTION, REPORT, calculator, write


def chart() -> BinaryContent:
    """Draw the chart."""
    return BinaryContent.from_data_uri(CHART)


settings = OpenAIResponsesModelSettings(openai_store=False, openai_reasoning_effort="low")
agent = Agent(
    OpenAIResponsesModel(MODEL, settings=settings),
    system_prompt=INSTRUCTION,
    tools=[calculator, chart],
)
parts = [BinaryContent.from_data_uri(uri) for uri in (PICTURE, REPORT)]
messages = agent.run_sync([QUESTION, *parts]).all_messages()
write(messages, json.loads(ModelMessagesTypeAdapter.dump_json(messages)))
