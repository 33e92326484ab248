"""openai-agents: `Runner.run_streamed` of an `Agent` with `function_tool`s."""

from agents import Agent, Runner, function_tool, set_tracing_disabled
from serving import MODEL, TOOL_SECONDS, Case, serve


set_tracing_disabled(disabled=True)


async def answer(case: Case) -> str:
    tools = [
        function_tool(one, timeout=TOOL_SECONDS, needs_approval=one.__name__ == case.asks)
        for one in case.functions(is_async=True)  # which alone may have a time limit
    ]
    agent = Agent(name="agent", instructions=case.instruction, model=MODEL, tools=tools)
    given = case.question
    if case.open_call:
        given = [
            {"role": "user", "content": case.question},
            {"type": "function_call", **case.open_call},
            {"role": "user", "content": "Go on."},
        ]
    result = await run(agent, given)
    while result.interruptions:
        state = result.to_state()
        for one in result.interruptions:
            state.reject(one)
        result = await run(agent, state)
    return str(result.final_output or "")


async def run(agent, given):
    result = Runner.run_streamed(agent, given)
    async for _ in result.stream_events():
        pass
    return result


serve(answer)
