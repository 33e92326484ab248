"""Pydantic AI: an `Agent` on `openai-responses:`, streamed by `run_stream_events`."""

import json

from pydantic_ai import (
    Agent,
    AgentRunResultEvent,
    DeferredToolRequests,
    DeferredToolResults,
    Tool,
    ToolDenied,
)
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart
from serving import MODEL, TOOL_SECONDS, Case, serve


async def answer(case: Case) -> str:
    tools = [Tool(one, requires_approval=one.__name__ == case.asks) for one in case.functions()]
    agent = Agent(
        f"openai-responses:{MODEL}",
        instructions=case.instruction,
        tools=tools,
        tool_timeout=TOOL_SECONDS,
        output_type=[str, DeferredToolRequests] if case.asks else str,
    )
    options = {"user_prompt": case.question}
    if call := case.open_call:
        part = ToolCallPart(call["name"], json.loads(call["arguments"]), call["call_id"])
        history = [ModelRequest.user_text_prompt(case.question), ModelResponse([part])]
        options = {"user_prompt": "Go on.", "message_history": history}
    result = await run(agent, options)
    while isinstance(result.output, DeferredToolRequests):
        denied = {one.tool_call_id: ToolDenied() for one in result.output.approvals}
        results = DeferredToolResults(approvals=denied)
        result = await run(
            agent, {"message_history": result.all_messages(), "deferred_tool_results": results}
        )
    return result.output


async def run(agent, options):
    async with agent.run_stream_events(**options) as events:
        async for event in events:
            if isinstance(event, AgentRunResultEvent):
                return event.result
    raise RuntimeError("no result")


serve(answer)
