# /// script
# requires-python = ">=3.12"
# dependencies = ["gpt5-messages", "langchain-openai==1.7.3"]
#
# [tool.uv]
# exclude-newer = "2026-11-22T00:00:00Z"
#
# [tool.uv.sources]
# gpt5-messages = { path = "../../packages/gpt5-messages", editable = true }
# ///
"""A conversation held with langchain, as its messages."""

from typing import Any

from langchain_core.messages import (
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
)
from langchain_openai import ChatOpenAI

from conversation import CHART, INSTRUCTION, MODEL, PICTURE, QUESTION, REPORT, calculator, write


def chart() -> list[dict[str, Any]]:
    """Draw the chart."""
    return [as_block("image", CHART)]


def as_block(kind: str, uri: str) -> dict[str, Any]:
    media_type, _, data = uri.removeprefix("data:").partition(";base64,")
    named = {"filename": "report.pdf"} if kind == "file" else {}
    return {"type": kind, "base64": data, "mime_type": media_type, **named}


model = ChatOpenAI(
    model=MODEL, use_responses_api=True, store=False, include=["reasoning.encrypted_content"]
).bind_tools([calculator, chart])
files = [as_block("image", PICTURE), as_block("file", REPORT)]
question = HumanMessage([{"type": "text", "text": QUESTION}, *files])
messages: list[BaseMessage] = [SystemMessage(INSTRUCTION), question]
while (answer := model.invoke(messages)).tool_calls:
    messages.append(answer)
    for call in answer.tool_calls:
        result: Any = {"calculator": calculator, "chart": chart}[call["name"]](**call["args"])
        messages.append(ToolMessage(result, tool_call_id=call["id"]))
messages.append(answer)
write(messages, [message_to_dict(message) for message in messages])
