"""A support agent: four tools, turns that survive a restart, a person's approval, budgets, Ctrl-C, and a typed ticket at the end.

`OPENAI_API_KEY=... APPROVAL_KEY=... python support_agent.py`, a line for each turn, Ctrl-D for the ticket. All is in `support.db`.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import BaseModel, Field

from agent_driver import Agent, AskApproval, Budgets, Decision, RunOptions, ShowText
from agent_driver.sessions import SqliteSession
from agent_tooling import Context, ToolError, tool
from gpt5_responses import ModelConfig, ResponsesClient


@dataclass
class Shop:
    """What the tools work on."""

    orders: dict[str, float]


@tool
def find_order(context: Context[Shop], number: str) -> str:
    """Look up an order."""
    if number not in context.deps.orders:
        raise ToolError(f"There is no order {number!r}.")
    return f"order {number}: {context.deps.orders[number]} euros"


@tool(timeout=5, retries=1)
def track_parcel(number: str) -> str:
    """Tell where the parcel of an order is."""
    return f"the parcel of {number} is on its way"


@tool(approval={"euros": {"above": 50}})
def refund(context: Context[Shop], number: str, euros: float) -> str:
    """Pay money back for an order."""
    context.deps.orders[number] -= euros
    return f"refunded {euros} euros"


def clock() -> str:
    """Tell the date and the time, in UTC."""
    return datetime.now(tz=UTC).isoformat(timespec="minutes")


class Ticket(BaseModel):
    """What is left of a conversation."""

    problem: str = Field(description="One sentence.")
    is_solved: bool


def decide(waiting: AskApproval) -> dict[str, bool | Decision]:
    """Ask about each call that waits."""
    decisions: dict[str, bool | Decision] = {}
    for call in waiting.calls:
        said = input(f"{call.name} {call.arguments}? (yes, or why not) ")
        no = Decision(call_id=call.call_id, is_approved=False, reason=said)
        decisions[call.call_id] = said == "yes" or no
    return decisions


agent = Agent(
    ResponsesClient(ModelConfig.from_env()),
    [find_order, track_parcel, refund, clock],
    deps=Shop,
    instruction="You help customers of a shop.",
    budgets=Budgets(max_total_tokens=100_000, max_seconds=300, max_tool_calls=20),
    snapshot_key=os.environ["APPROVAL_KEY"].encode(),
)
session, shop = SqliteSession("support.db", "ann"), Shop({"A1": 80.0})


def turn(question: str | None) -> None:
    """Play a turn until nothing waits, also what has waited since before a restart; Ctrl-C ends the turn and not the program."""
    options: RunOptions[Shop] = {"session": session, "deps": shop}
    with suppress(KeyboardInterrupt):
        while question is not None or session.load().waiting is not None:
            if waiting := session.load().waiting:
                question, options["decisions"] = None, decide(waiting)
            with agent.stream(question, **options) as events:
                for event in events:
                    if isinstance(event, ShowText):
                        print(event.text, end="", flush=True)
            print(events.result.error or "")
            question = None


with suppress(EOFError):  # Ctrl-D
    turn(None)
    while said := input("> "):
        turn(said)
ticket = agent.with_(answer=Ticket).run("Write the ticket.", session=session, deps=shop)
print(repr(ticket.value) if ticket.answered else ticket.error)
