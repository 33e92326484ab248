"""Strands Agents: an `Agent` on `OpenAIResponsesModel`, streamed as it always is."""

import json

from serving import MODEL, Case, serve
from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent, HookProvider
from strands.models.openai_responses import OpenAIResponsesModel


class Asking(HookProvider):
    """A hook that asks before a tool is called."""

    def __init__(self, name):
        self.name = name

    def register_hooks(self, registry, **_):
        registry.add_callback(BeforeToolCallEvent, self.ask)

    def ask(self, event):
        if event.tool_use["name"] == self.name and not event.interrupt("leave", reason=self.name):
            event.cancel_tool = "The person said no."


async def answer(case: Case) -> str:
    messages = []
    question = case.question
    if call := case.open_call:
        used = {
            "toolUseId": call["call_id"],
            "name": call["name"],
            "input": json.loads(call["arguments"]),
        }
        messages = [
            {"role": "user", "content": [{"text": case.question}]},
            {"role": "assistant", "content": [{"toolUse": used}]},
        ]
        question = "Go on."
    agent = Agent(
        model=OpenAIResponsesModel(model_id=MODEL),
        tools=[tool(one) for one in case.functions()],
        system_prompt=case.instruction,
        messages=messages,
        hooks=[Asking(case.asks)] if case.asks else [],
    )
    result = await agent.invoke_async(question)
    while result.stop_reason == "interrupt":
        answers = [
            {"interruptResponse": {"interruptId": one.id, "response": False}}
            for one in result.interrupts
        ]
        result = await agent.invoke_async(answers)
    return "\n".join(block["text"] for block in result.message["content"] if "text" in block)


serve(answer)
