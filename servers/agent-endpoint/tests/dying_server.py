"""A server process of an agent whose models and tools note what they do in a ledger outside: `dying_server.py DATABASE NAME LEDGER`."""

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
    """Call two tools in each round, of which one asks a person in every second, then answer."""
    run = asked.messages[0].content
    number = sum(one.role == "assistant" for one in asked.messages) + 1
    note(f"{run} model {number}")
    for piece in ("I ", "am ", "at ", f"{number}. "):
        yield piece
        await asyncio.sleep(0.01)
    if number < ROUNDS:
        name = "pay" if number % 2 else "look"
        made = call(name, f"a{number}", run=run, n=number)
        yield calls(made, call("look", f"b{number}", run=run, n=-number))
    yield {"usage": {"input_tokens": number, "output_tokens": 1, "total_tokens": number + 1}}


async def pay(run: str, n: int) -> str:
    """Pay."""
    return await work(run, "pay", n)


async def look(run: str, n: int) -> str:
    """Look."""
    return await work(run, "look", n)


async def work(run, name, n):
    note(f"{run} begin {name} {n}")
    await asyncio.sleep(0.02)
    note(f"{run} end {name} {n}")
    return f"{name} {n}"


agent = Agent(
    model,
    [pay, look],
    approval_rules={"pay": "always"},
    emit_intermediate_thoughts=True,
    maximum_iterations=ROUNDS + 1,
)

if __name__ == "__main__":
    settings = EndpointSettings(
        database=DATABASE,
        server_name=NAME,
        port=0,
        lease_seconds=0.6,
        stop_seconds=0.1,
        unready_seconds=0,
        max_attempts=1000,
    )
    serve({"agent": agent}, settings)
