"""The console agent, asynchronous: its tools wait for each other no more than the console does.

`OPENAI_API_KEY=... python async_console_agent.py`, with `gpt5-agent-driver` and `gpt5-responses` installed.
`OPENAI_BASE_URL` may name another server, `RUN_LOG` a folder to log runs in.
"""

import asyncio
from contextlib import suppress

from agent_driver import Agent, ShowText
from agent_driver.sessions import MemorySession
from gpt5_responses import AsyncResponsesClient, ModelConfig
from run_log import RunLog


async def wait(seconds: float) -> str:
    """Wait for some seconds, ten at most."""
    await asyncio.sleep(min(seconds, 10))
    return "done"


async def main() -> None:
    config, session = ModelConfig.from_env(), MemorySession()
    async with AsyncResponsesClient(config) as client:
        agent = Agent(client, [wait], log=RunLog.from_env(known=[config.api_key]))
        while asked := await asyncio.to_thread(input, "> "):
            async with agent.astream(asked, session=session) as events:
                async for event in events:
                    if isinstance(event, ShowText):
                        print(event.text, end="", flush=True)
            print(events.result.error or "")


with suppress(EOFError):  # Ctrl-D
    asyncio.run(main())
