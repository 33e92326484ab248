"""Microsoft Agent Framework: an `Agent` on `OpenAIChatClient`, which speaks the Responses API."""

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient
from serving import MODEL, Case, NotOffered, serve


async def answer(case: Case) -> str:
    if case.asks or case.open_call:
        raise NotOffered
    agent = Agent(
        client=OpenAIChatClient(model=MODEL), instructions=case.instruction, tools=case.functions()
    )
    return (await agent.run(case.question)).text


serve(answer)
