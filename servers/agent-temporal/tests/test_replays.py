"""Recorded histories, played again by the SDK's own replayer: by what is here now, and in the sandbox, where the agents may do nothing but decide.

They are the version before: whoever changes a workflow so that one of them cannot be played any more gives it a new number in `_names.py`.
"""

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
import sandboxed
from recorded import MOST_HISTORY, build_agents
from served import Whole
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.workflow import NondeterminismError, SandboxImportNotificationPolicy

from agent_endpoint import AgentExecutor
from agent_temporal._players import Player, add_player  # noqa: PLC2701 - as the engine does it
from agent_temporal._workflows import AgentRun, WholeRun  # noqa: PLC2701 - what is played


HISTORIES = Path(__file__).parent / "histories"
AGENT_RUNS = ["parallel", "answered", "cancelled", "continued_1", "continued_2"]
LARGEST_BYTES = 60_000
# Whose code plays nothing, or is Temporal's own; what decides is not among it.
PASSED = [
    *("agent_server", "attr", "attrs", "jsonschema", "jsonschema_specifications", "pydantic"),
    *("pydantic_core", "pydantic_settings", "referencing", "rpds", "sqlalchemy", "starlette"),
]
# What decides, which takes long to import anew and need not be where only a guardrail is looked at.
OURS = ["agent_driver", "agent_endpoint", "agent_temporal", "recorded"]


def player(executor, **changes):
    return Player(
        **{
            "executor": executor,
            "lease_seconds": 0.8,
            "max_attempts": 5,
            "waiting_seconds": 604800.0,
        }
        | {"most_waiting": 1000, "most_history": MOST_HISTORY}
        | changes
    )


def read(name):
    return WorkflowHistory.from_json(name, (HISTORIES / f"{name}.json").read_text())


async def replay(name, workflows, runner, **options):
    replayer = Replayer(workflows=workflows, workflow_runner=runner, **options)
    return await replayer.replay_workflow(read(name))


@pytest.mark.parametrize("name", [*AGENT_RUNS, "whole"])
async def test_what_was_recorded_is_played_again(name):
    executor = Whole() if name == "whole" else AgentExecutor(build_agents())
    most_history = MOST_HISTORY if name.startswith("continued") else 4000
    add_player("ReplayNamespace", "replay-None", player(executor, most_history=most_history))

    await replay(name, [AgentRun, WholeRun], UnsandboxedWorkflowRunner())


@pytest.mark.parametrize("name", AGENT_RUNS[:3])
async def test_what_decides_reads_no_clock_nothing_random_and_no_environment(name, caplog):
    await replay_in_sandbox(name, sandboxed.PlayedRun)

    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []


@pytest.mark.parametrize(
    ("reading", "found"),
    [("Clock", "time.time"), ("Random", "random.random"), ("Environment", "os.environ.get")],
)
async def test_an_agent_that_reads_a_clock_is_found(reading, found, caplog):
    with pytest.raises(NondeterminismError):
        await replay_in_sandbox("parallel", getattr(sandboxed, f"Reads{reading}"), *OURS)

    assert f"Cannot access {found}" in caplog.text


async def replay_in_sandbox(name, workflow, *passed):
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*PASSED, *passed)
    members = dict(restrictions.invalid_module_members.children)
    # agent_driver makes up a key when it is imported, which served agents replace.
    members["secrets"] = replace(members["secrets"], only_runtime=True)
    # Each run makes locks and futures, which it needs only where it begins threads.
    members["threading"] = replace(members["threading"], exclude={"Lock", "RLock"})
    futures = replace(members["concurrent"].children["futures"], exclude={"Future"})
    members["concurrent"] = replace(members["concurrent"], children={"futures": futures})
    invalid = replace(restrictions.invalid_module_members, children=members)
    # What is imported late is imported there as well.
    restrictions = replace(
        restrictions,
        invalid_module_members=invalid,
        import_notification_policy=SandboxImportNotificationPolicy.SILENT,
    )
    await replay(name, [workflow], SandboxedWorkflowRunner(restrictions=restrictions))


async def test_agents_that_decide_otherwise_than_before_are_found():
    agents = build_agents() | {"asking": build_agents()["adding"]}
    add_player("ReplayNamespace", "replay-None", player(AgentExecutor(agents)))

    with pytest.raises(NondeterminismError):
        await replay("parallel", [AgentRun], UnsandboxedWorkflowRunner())


@pytest.mark.parametrize("path", sorted(HISTORIES.glob("*.json")), ids=lambda path: path.stem)
def test_histories_are_small_and_refer_to_nothing(path):
    text = path.read_text()

    assert len(text) < LARGEST_BYTES
    assert "externalPayload" not in text
    assert "claim" not in json.dumps(json.loads(text)).lower()
