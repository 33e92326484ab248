"""A server process of agents that count each call of a model and a tool in a ledger outside: `dying_server.py DATABASE NAME LEDGER`."""

import asyncio
import sys
from pathlib import Path

from scripted import call, calls

from agent_driver import Agent
from agent_endpoint import EndpointSettings, serve


DATABASE, NAME, LEDGER = sys.argv[1:4]
ROUNDS = 6


def note(line: str) -> None:
    with Path(LEDGER).open("a") as ledger:
        ledger.write(f"{line}\n")


async def model(asked):
    """Call two tools a round, the first of which waits in every second round, then answer."""
    number = sum(one.role == "assistant" for one in asked.messages) + 1
    note(f"model {number}")
    for piece in ("I ", "am ", "at ", f"{number}. "):
        yield piece
        await asyncio.sleep(0.01)
    if number < ROUNDS:
        name = "pay" if number % 2 else "look"
        yield calls(call(name, f"a{number}", n=number), call("look", f"b{number}", n=number))
    yield {"usage": {"input_tokens": number, "output_tokens": 1, "total_tokens": number + 1}}


async def pay(n: int) -> str:
    """Pay."""
    note(f"begin pay {n}")
    await asyncio.sleep(0.02)
    note(f"end pay {n}")
    return f"paid {n}"


async def look(n: int) -> str:
    """Look."""
    note(f"begin look {n}")
    await asyncio.sleep(0.02)
    note(f"end look {n}")
    return f"seen {n}"


agent = Agent(
    model,
    [pay, look],
    approval_rules={"pay": "always"},
    emit_intermediate_thoughts=True,
    maximum_iterations=ROUNDS + 1,
)

if __name__ == "__main__":
    settings = EndpointSettings(
        database=DATABASE, server_name=NAME, port=0, lease_seconds=1, stop_seconds=0.1
    )
    serve({"agent": agent}, settings)
