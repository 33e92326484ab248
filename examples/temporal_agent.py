"""An agent on Temporal, whose runs outlive this program: a worker, a client that starts a run and watches it, and another that approves what it asks.

Start Temporal, then in three shells `OPENAI_API_KEY=... python temporal_agent.py worker`,
`python temporal_agent.py start "Send Ann 5 euros"` and `python temporal_agent.py approve`. `TEMPORAL` is its URL
(`temporal://127.0.0.1:7233/default`). Stop and start the worker, or start a second one with another `PORT`: the run
goes on.
"""

import os
import sys
import time
from pathlib import Path

from agent_driver import Agent
from agent_endpoint import EndpointSettings, serve
from agent_server.client import Client
from agent_server.runs import FINISHED
from agent_tooling import tool
from gpt5_responses import ModelConfig, ResponsesClient


PORT = int(os.environ.get("PORT", "8080"))


@tool(approval="always")
def send_money(recipient: str, euros: int) -> str:
    """Send money to a recipient."""
    print(f"[sending {recipient} {euros} euros]")
    return "sent"


def work() -> None:
    """Serve the agent, and make the steps of its runs."""
    agent = Agent(ResponsesClient(ModelConfig.from_env()), [send_money])
    settings = EndpointSettings(
        engine=os.environ.get("TEMPORAL", "temporal://127.0.0.1:7233/default"),
        state=Path("temporal_agent"),
        port=PORT,
    )
    serve({"money": agent}, settings)


def start(question: str) -> None:
    """Start a run and watch it until it has ended, whoever approves."""
    run, seen = client.create("money", {"input": question}), 0
    while run.status not in FINISHED:
        for event in client.events(run.run_id, after=seen):
            print(event.type, event.data)
            seen = event.number
        time.sleep(1)  # It waits.
        run = client.get(run.run_id)
    print(run.output or run.error)


def approve() -> None:
    """Ask about everything that waits."""
    for run in client.list(status=["waiting"]):
        waiting = run.waiting_for
        if waiting is None:
            continue
        decisions = {
            call.call_id: input(f"{call.name} {call.arguments}? (yes or no) ") == "yes"
            for call in waiting.approvals
        }
        client.answer(run.run_id, waiting.wait_id, approvals=decisions)


# It waits for a worker that is started anew.
client = Client(f"http://127.0.0.1:{PORT}", retries=20)
match sys.argv[1:]:
    case ["worker"]:
        work()
    case ["start", *words]:
        start(" ".join(words))
    case ["approve"]:
        approve()
    case _:
        sys.exit("expected worker, start QUESTION or approve")
