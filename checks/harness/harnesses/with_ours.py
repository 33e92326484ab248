"""The packages alone: `Agent` of gpt5-agent-driver on gpt5-responses, as their README has them."""

from serving import MODEL, TOOL_SECONDS, Case, serve

from agent_driver import Agent
from agent_tooling import tool
from gpt5_responses import AsyncResponsesClient, ModelConfig


client = AsyncResponsesClient(ModelConfig.from_env(model=MODEL))


async def answer(case: Case) -> str:
    tools = [
        tool(approval="always")(one) if one.__name__ == case.asks else one
        for one in case.functions()
    ]
    agent = Agent(client, tools, instruction=case.instruction, tool_timeout=TOOL_SECONDS)
    prompt, history = case.question, ()
    if call := case.open_call:
        history = (
            {"role": "user", "content": case.question},
            {"role": "assistant", "content": "", "tool_calls": [call]},
        )
        prompt = "Go on."
    result = await agent.arun(prompt, history=history)
    if result.reason == "approval":
        result = await agent.arun(resume=result.waiting, decisions=False)
    if not result.answered:
        raise RuntimeError(result.error)
    return result.text


serve(answer)
