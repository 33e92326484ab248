"""The console agent, asynchronous: its tools wait for each other no more than the console does.

`OPENAI_API_KEY=... python async_console_agent.py`, with `gpt5-agent-driver` and `gpt5-responses` installed. `OPENAI_BASE_URL` may name another server, `RUN_LOG` a folder to log runs in.
"""

import asyncio
from contextlib import suppress
from typing import Any

from agent_driver import adrive
from agent_loop import AgentRun, Finished, ShowText
from gpt5_responses import AsyncResponsesClient, ModelConfig
from run_log import RunLog


async def wait(seconds: float) -> str:
    """Wait for some seconds, ten at most."""
    await asyncio.sleep(min(seconds, 10))
    return "done"


async def main() -> None:
    config = ModelConfig.from_env()
    log, messages = RunLog.from_env(known=[config.api_key]), list[Any]()
    async with AsyncResponsesClient(config) as client:
        while asked := await asyncio.to_thread(input, "> "):
            run = AgentRun([*messages, {"role": "user", "content": asked}], maximum_iterations=10)
            async for event in adrive(run, client.answer, [wait], log=log):
                if isinstance(event, ShowText):
                    print(event.text, end="", flush=True)
                elif isinstance(event, Finished):
                    messages = list(event.messages)
                    print("" if event.is_answered else event.error)


with suppress(EOFError):  # Ctrl-D
    asyncio.run(main())
