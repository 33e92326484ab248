"""Agno: an `Agent` on `OpenAIResponses`."""

from agno.agent import Agent
from agno.models.openai import OpenAIResponses
from serving import MODEL, Case, NotOffered, serve


async def answer(case: Case) -> str:
    if case.asks or case.open_call:
        raise NotOffered
    agent = Agent(
        model=OpenAIResponses(id=MODEL), instructions=case.instruction, tools=case.functions()
    )
    return (await agent.arun(case.question)).content


serve(answer)
