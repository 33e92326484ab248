"""An agent that asks before it sends money, and goes on after a restart: what waits for an answer lies in `waiting.json`.

`OPENAI_API_KEY=... APPROVAL_KEY=... python approval_agent.py "Send money: recipient Ann, euros 5"`, and after a restart without a question. `APPROVAL_KEY` has 16 letters or more that nobody else knows.
"""

import json
import os
import sys
from pathlib import Path

from agent_driver import drive
from agent_loop import AgentRun, AskApproval, Decision, Finished, ShowText
from agent_tooling import ApprovalRules
from gpt5_responses import ModelConfig, ResponsesClient


def send_money(recipient: str, euros: int) -> str:
    """Send money to a recipient."""
    print(f"[sending {recipient} {euros} euros]")
    return "sent"


WAITING = Path("waiting.json")
config = ModelConfig.from_env()
rules = ApprovalRules.parse({"send_money": "always"})
asked = bool(sys.argv[1:])
while asked or WAITING.exists():
    resume = decisions = None
    if not asked:
        waiting, decisions = json.loads(WAITING.read_text(encoding="utf-8")), {}
        for call_id, name, arguments in waiting["calls"]:
            said = input(f"{name} {arguments}? (yes, or why not) ")
            is_yes = said == "yes"
            decisions[call_id] = Decision(call_id=call_id, is_approved=is_yes, reason=said)
        WAITING.unlink()  # Before the call is made: of two processes, the other one fails here.
        resume = waiting["snapshot"]
    messages = [{"role": "user", "content": " ".join(sys.argv[1:])}]
    asked, run = False, AgentRun(messages, maximum_iterations=10, approval_rules=rules)
    key = os.environ["APPROVAL_KEY"].encode()
    model, again = ResponsesClient(config).answer, {"resume": resume, "decisions": decisions}
    for event in drive(run, model, [send_money], snapshot_key=key, **again):
        if isinstance(event, ShowText):
            print(event.text, end="", flush=True)
        elif isinstance(event, AskApproval):
            calls = [(call.call_id, call.name, call.arguments) for call in event.calls]
            WAITING.write_text(json.dumps({"calls": calls, "snapshot": event.snapshot}))
        elif isinstance(event, Finished):
            print("" if event.is_answered else event.error)
