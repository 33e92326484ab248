"""An agent on the console: two tools, streamed, its reasoning carried from turn to turn.

`OPENAI_API_KEY=... python console_agent.py`, with `gpt5-agent-driver` and `gpt5-responses` installed. `OPENAI_BASE_URL`
may name another server, `RUN_LOG` a folder to log runs in.
"""

from contextlib import suppress
from datetime import UTC, datetime

from agent_driver import Agent, ShowText
from agent_driver.sessions import MemorySession
from gpt5_responses import ModelConfig, ResponsesClient
from run_log import RunLog


def power(base: int, exponent: int) -> int:
    """Raise a whole number to a power."""
    return int(base ** min(exponent, 1_000))


def clock() -> str:
    """Tell the date and the time, in UTC."""
    return datetime.now(tz=UTC).isoformat(timespec="minutes")


config = ModelConfig.from_env()
log = RunLog.from_env(known=[config.api_key])
agent, session = Agent(ResponsesClient(config), [power, clock], log=log), MemorySession()
with suppress(EOFError):  # Ctrl-D
    while question := input("> "):
        with agent.stream(question, session=session) as events:
            for event in events:
                if isinstance(event, ShowText):
                    print(event.text, end="", flush=True)
        print(events.result.error or "")
