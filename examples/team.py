"""A team: an agent whose tools are agents, all under one budget.

`OPENAI_API_KEY=... python team.py QUESTION`, with `gpt5-agent-driver` and `gpt5-responses` installed. `OPENAI_BASE_URL` may name another server, `RUN_LOG` a folder to log runs in.
"""

import sys

from agent_driver import Agent, agent_tool, drive
from agent_loop import AgentEvent, AgentRun, Budgets, Finished, ShowText, ToolCallStarted
from gpt5_responses import ModelConfig, ResponsesClient
from run_log import RunLog


def power(base: int, exponent: int) -> int:
    """Raise a whole number to a power."""
    return int(base ** min(exponent, 1_000))


config = ModelConfig.from_env()
client = ResponsesClient(config)
reckoner = agent_tool(
    "reckoner", "Works out numbers.", Agent(client, [power], instruction="Be brief.")
)
budgets = Budgets(max_total_tokens=100_000, max_tool_calls=20)
question = {"role": "user", "content": " ".join(sys.argv[1:])}
run = AgentRun([question], maximum_iterations=10, budgets=budgets)
for event in drive(run, client.answer, [reckoner], log=RunLog.from_env(known=[config.api_key])):
    match event:
        case AgentEvent(path=path, agent=agent, event=ToolCallStarted(call=call)):
            print(f"{'  ' * len(path)}{agent} calls {call.name} with {call.arguments}")
        case ShowText(text=text):
            print(text, end="", flush=True)
        case Finished(error=error, agents=agents, usage=usage):
            print(error or "")
            for use in agents:
                print(f"{use.agent}: {use.model_calls} calls, {use.usage.total_tokens} tokens")
            print(f"all: {usage.total_tokens} tokens")
