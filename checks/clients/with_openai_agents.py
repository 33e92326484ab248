# /// script
# requires-python = ">=3.12"
# dependencies = ["gpt5-messages", "openai-agents==0.24.0"]
#
# [tool.uv]
# exclude-newer = "2026-11-22T00:00:00Z"
#
# [tool.uv.sources]
# gpt5-messages = { path = "../../packages/gpt5-messages", editable = true }
# ///
"""A conversation held with openai-agents, as its input list."""

import asyncio
import json
from typing import Any

from agents import (
    Agent,
    ModelSettings,
    Runner,
    ToolOutputImage,
    function_tool,
    set_tracing_disabled,
)

from conversation import CHART, INSTRUCTION, MODEL, PICTURE, QUESTION, REPORT, calculator, write


async def main() -> None:
    set_tracing_disabled(disabled=True)

    @function_tool
    def chart() -> ToolOutputImage:
        """Draw the chart."""
        return ToolOutputImage(image_url=CHART)

    agent = Agent(
        name="clerk",
        instructions=INSTRUCTION,
        model=MODEL,
        tools=[function_tool(calculator), chart],
        model_settings=ModelSettings(store=False, response_include=["reasoning.encrypted_content"]),
    )
    content: Any = [
        {"type": "input_text", "text": QUESTION},
        {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
        {"type": "input_file", "filename": "report.pdf", "file_data": REPORT},
    ]
    result = await Runner.run(agent, [{"role": "user", "content": content}])
    history = result.to_input_list()
    write(history, json.loads(json.dumps(history)))


asyncio.run(main())
