"""LangGraph's agent: LangChain's `create_agent` with `ChatOpenAI` on the Responses API."""

import json
import uuid

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from serving import MODEL, TOOL_SECONDS, Case, serve


async def answer(case: Case) -> str:
    model = ChatOpenAI(model=MODEL, use_responses_api=True, streaming=True)
    options = {}
    if case.asks:
        asking = HumanInTheLoopMiddleware(interrupt_on={case.asks: True})
        options = {"middleware": [asking], "checkpointer": InMemorySaver()}
    agent = create_agent(model, case.functions(), system_prompt=case.instruction, **options)
    agent.step_timeout = None if case.asks else 4 * TOOL_SECONDS
    messages = [HumanMessage(case.question)]
    if call := case.open_call:
        asked = {"id": call["call_id"], "name": call["name"], "args": json.loads(call["arguments"])}
        messages += [AIMessage("", tool_calls=[asked]), HumanMessage("Go on.")]
    thread = {"configurable": {"thread_id": uuid.uuid4().hex}}
    state = await agent.ainvoke({"messages": messages}, thread)
    while state.get("__interrupt__"):
        asked = [one for stop in state["__interrupt__"] for one in stop.value["action_requests"]]
        decisions = [{"type": "reject"} for _ in asked]
        state = await agent.ainvoke(Command(resume={"decisions": decisions}), thread)
    said = state["messages"][-1]
    # A refusal is a block of its own, and no text.
    blocks = [block for block in said.content if isinstance(block, dict)]
    return said.text or "".join(block.get("refusal", "") for block in blocks)


serve(answer)
