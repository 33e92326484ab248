"""LlamaIndex: a `FunctionAgent` on `OpenAIResponses`."""

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAIResponses
from serving import MODEL, Case, NotOffered, serve


async def answer(case: Case) -> str:
    if case.asks or case.open_call:
        raise NotOffered
    agent = FunctionAgent(
        tools=case.functions(), llm=OpenAIResponses(model=MODEL), system_prompt=case.instruction
    )
    return str(await agent.run(case.question))


serve(answer)
