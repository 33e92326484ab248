"""A server whose steps write to a ledger outside of its database: `python ledger_server.py LEDGER serve --database … --port 0`.

Each run goes through rounds of a step alone and three steps at once, with events between. A step writes `did RUN KEY`
when its work is done, and once the engine has recorded it, its run writes `has RUN KEY`: no `did` may come behind a
`has`.
"""

import asyncio
import os
import random
import sys
from functools import partial

import typer
from agents import Scripted

from agent_server.command import serve, takes_settings
from agent_server.executor import RunResult
from agent_server.settings import ServerSettings


LEDGER = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
ROUNDS = 3


async def go_through_rounds(run):
    for number in range(ROUNDS):
        await run.tell("round", {"number": number})
        await take_step(run, f"alone:{number}")
        await asyncio.gather(*(take_step(run, f"together:{number}:{one}") for one in range(3)))
    return RunResult(status="succeeded", output=run.request["number"])


async def take_step(run, key):
    await run.step(key, partial(work, run, key))
    note("has", run, key)


async def work(run, key):
    await run.tell("begun", {"key": key})
    await asyncio.sleep(random.uniform(0, 0.05))
    await run.tell("text", {"key": key, "text": "a word " * random.randrange(30)})
    note("did", run, key)
    return key.encode()


def note(what, run, key):
    os.write(LEDGER, f"{what} {run.run_id} {key}\n".encode())


app = typer.Typer()


@app.command()
@takes_settings(ServerSettings)
def command(settings: ServerSettings) -> None:
    serve(Scripted(rounds=go_through_rounds), settings)


if __name__ == "__main__":
    app()
