"""An agent that asks before it sends money, and goes on after a restart: what waits for an answer lies in `waiting.db`, which gives it out once.

`OPENAI_API_KEY=... APPROVAL_KEY=... python approval_agent.py "Send money: recipient Ann, euros 5"`, and after a restart
without a question. `APPROVAL_KEY` has 16 letters or more that nobody else knows.
"""

import os
import sys

from agent_driver import Agent, AskApproval, Decision
from agent_driver.sessions import SqliteSession
from agent_tooling import tool
from gpt5_responses import ModelConfig, ResponsesClient, SettingsError


@tool(approval="always")
def send_money(recipient: str, euros: int) -> str:
    """Send money to a recipient."""
    print(f"[sending {recipient} {euros} euros]")
    return "sent"


def decide(waiting: AskApproval) -> dict[str, Decision]:
    """Ask about each call that waits."""
    decisions: dict[str, Decision] = {}
    for call in waiting.calls:
        said = input(f"{call.name} {call.arguments}? (yes, or why not) ")
        decisions[call.key] = Decision(call_id=call.key, is_approved=said == "yes", reason=said)
    return decisions


try:
    agent = Agent(
        ResponsesClient(ModelConfig.from_env()),
        [send_money],
        snapshot_key=os.environ["APPROVAL_KEY"].encode(),
    )
except (SettingsError, KeyError) as error:
    sys.exit(f"Not started, for want of a variable in the environment: {error}")
session = SqliteSession("waiting.db", "money")
if question := " ".join(sys.argv[1:]):
    result = agent.run(question, session=session)
    print(result.error or result.text)
if notice := session.load().notice:  # It has died over an approved call.
    print(notice)
while waiting := session.load().waiting:
    result = agent.run(session=session, decisions=decide(waiting))
    print(result.error or result.text)
