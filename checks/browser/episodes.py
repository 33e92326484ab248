"""A run that meets all that can happen to one.

A person is asked, a model gives up, the window fills, agents are called, tools are searched, results are read on, a
budget is used up.
"""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from agent_driver import Agent, agent_tool, drive
from agent_loop import (
    AgentRun,
    AskApproval,
    Budgets,
    CallModel,
    Decision,
    FallbackModel,
    ModelFailure,
    Window,
)
from agent_tooling import ApprovalRules, Tool, tool
from run_log import RunLog, list_runs


KEY = b"a key for the tests of the page!"
USAGE = {"input_tokens": 2_400, "cached_tokens": 1_900, "output_tokens": 90, "total_tokens": 2_490}


@tool
def look_up(name: str) -> str:
    """Look somebody up.

    Args:
        name: Who.
    """
    return f"{name} has an account."


@tool
def pay(to: str, euros: int) -> str:
    """Pay somebody.

    Args:
        to: Whom.
        euros: How much.
    """
    return f"{to} was paid {euros} euros."


@tool
def archive(year: int) -> str:
    """Return all letters of a year.

    Args:
        year: The year.
    """
    return "\n".join(f"{year}, letter {number}: the quay is silted up." for number in range(400))


def ask(name: str, number: int = 1, /, **arguments: object) -> dict[str, object]:
    """Return a model's call of a tool."""
    written = json.dumps(arguments)
    return {"call_id": f"call_{name}_{number}", "name": name, "arguments": written}


def say(text: str = "", *calls: dict[str, object]) -> dict[str, Any]:
    """Return an answer of a model."""
    placed = [{**call, "index": place} for place, call in enumerate(calls)]
    return {"text": text, "tool_calls": placed, "usage": USAGE}


class Script:
    """A model that says one thing after the other; asked for a summary it gives one.

    Args:
        steps: What it says.
    """

    def __init__(self, *steps: object) -> None:
        self._steps = iter(steps)

    def __call__(self, call: CallModel) -> Iterator[object]:
        """Say the next thing."""
        yield say("What was read: the quay is silted up.") if call.is_compaction else next(self._steps)  # fmt: skip


def _play(
    folder: Path, episode: str, script: Script, tools: Iterable[Tool], **given: Any
) -> object:
    driving = {
        name: given.pop(name)
        for name in ("snapshot_key", "resume", "decisions", "tool_search", "result_characters")
        if name in given
    }
    query = given.pop("query", "What of the quay?")
    log = RunLog(folder, about={"program": "episodes", "episode": episode, "query": query})
    run = AgentRun(
        [
            {"role": "system", "content": "You keep the harbour's books."},
            {"role": "user", "content": query},
        ],
        **{"maximum_iterations": 12, "model": "gpt-5.5", **given},
    )
    return list(drive(run, script, list(tools), log=log, **driving))[-1]


def write_episodes(folder: Path) -> dict[str, str]:
    """Log one run for each thing that can happen; return their names."""
    play = partial(_play, folder)
    rules = ApprovalRules.parse({"pay": "always"})
    wanted = [ask("look_up", name="Ann"), ask("pay", 1, to="Ann", euros=40), ask("pay", 2, to="Bob", euros=9_000)]  # fmt: skip
    script = Script(say("I look her up and pay.", *wanted), say("Ann was paid, Bob was not."))
    given = {"query": "Pay Ann and Bob.", "approval_rules": rules, "snapshot_key": KEY}
    asked = play("waits", script, [look_up, pay], **given)
    assert isinstance(asked, AskApproval)
    no = Decision(call_id="call_pay_2", is_approved=False, reason="Too much.")
    decisions = {"call_pay_1": True, "call_pay_2": no}
    play("resumed", script, [look_up, pay], **given, resume=asked.snapshot, decisions=decisions)

    gone = ModelFailure(message="rate limited", is_transient=True, may_pass_elsewhere=True)
    script = Script(say("", ask("look_up", name="Ann")), gone, say("Ann has an account."))
    play("fallback", script, [look_up], fallback=FallbackModel(name="gpt-5.4-mini"))

    read = [say(f"I read {year}.", ask("archive", year, year=year)) for year in range(1990, 1996)]
    script = Script(*[step | {"usage": {}} for step in read], say("It is silted up."))
    play("compacted", script, [archive], window=Window(tokens=20_000))

    clerk = Script(say("", ask("look_up", name="Ann")), say("Ann has an account."))
    agent = agent_tool(
        "clerk", "Looks people up.", Agent(clerk, [look_up], instruction="Be brief.")
    )
    play("agents", Script(say("", ask("clerk", task="Who is Ann?")), say("Ann is known.")), [agent])

    search = say("", ask("search_tools", query="look up a person"))
    call = say("", ask("call_tool", name="look_up", arguments={"name": "Ann"}))
    script = Script(search, call, say("Ann has an account."))
    play("searched", script, [look_up, pay, archive], tool_search=2)

    more = say("", ask("read_result", id="r1", offset=2_000))
    script = Script(say("", ask("archive", year=1990)), more, say("The quay is silted up."))
    play("read_on", script, [archive], result_characters=2_000)

    both = say("", ask("look_up", 1, name="Ann"), ask("look_up", 2, name="Bob"))
    script = Script(both, say("", ask("look_up", 3, name="Eve")), say("Ann is known."))
    play("budget", script, [look_up], budgets=Budgets(max_tool_calls=2))
    return {
        run.about["episode"]: run.path.stem
        for run in list_runs(folder)
        if "called_by" not in run.about
    }
