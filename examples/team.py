"""A team: an agent whose tools are agents, all under one budget.

`OPENAI_API_KEY=... python team.py QUESTION`, with `gpt5-agent-driver` and `gpt5-responses` installed. `OPENAI_BASE_URL`
may name another server, `RUN_LOG` a folder to log runs in.
"""

import sys

from agent_driver import Agent, AgentEvent, Budgets, ShowText, ToolCallStarted, agent_tool
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
boss = Agent(
    client,
    [reckoner],
    budgets=Budgets(max_total_tokens=100_000, max_tool_calls=20),
    log=RunLog.from_env(known=[config.api_key]),
)
with boss.stream(" ".join(sys.argv[1:])) as events:
    for event in events:
        match event:
            case AgentEvent(path=path, agent=agent, event=ToolCallStarted(call=call)):
                print(f"{'  ' * len(path)}{agent} calls {call.name} with {call.arguments}")
            case ShowText(text=text):
                print(text, end="", flush=True)
            case _:
                pass
result = events.result
print(result.error or "")
for use in result.agents:
    print(f"{use.agent}: {use.model_calls} calls, {use.usage.total_tokens} tokens")
print(f"all: {result.usage.total_tokens} tokens, {result.cost} {result.usage.currency}")
