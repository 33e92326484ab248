"""Servers that begin, look after and end runs, while Temporal may be away or forget."""

import re
import time

import pytest
from served import Whole, adding, engine, eventually, paying, settings_of
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from agent_server.engine import EngineError
from agent_server.executor import AgentDescription, RunResult
from agent_server.runs import NewRun
from agent_server.store import open_store
from agent_temporal._engine import ENGINE  # noqa: PLC2701 - what the database calls it
from agent_temporal._names import queue_of  # noqa: PLC2701 - what a server polls
from agent_temporal._reach import Reach  # noqa: PLC2701 - as the sweep
from agent_temporal._runs import TemporalRuns, Workflows  # noqa: PLC2701 - without a sweep
from agent_temporal._sweep import Sweep  # noqa: PLC2701 - whose clock is the test's


AWAY = (RPCStatusCode.UNAVAILABLE, "Temporal is away")


class Sweeping:
    """A server whose sweep is the test's."""

    def __init__(self, store, executor, temporal):
        self.store, self.temporal, self.now = store, temporal, 1000.0
        workflows = Workflows(temporal, store, executor, Reach("here"))
        self.runs = TemporalRuns(store, executor, workflows)
        self._sweep = Sweep(store, workflows)

    async def start(self, agent="echo"):
        run, _ = await self.runs.create(NewRun(tenant="t", agent=agent, request={"question": "?"}))
        return run.run_id

    async def sweep(self, seconds=0.0):
        self.now += seconds
        await self._sweep._sweep(self.now)

    async def get(self, run_id):
        return await self.runs.get(run_id, tenant="t")


@pytest.fixture
async def sweeping(tmp_path, temporal, monkeypatch):
    """A server that nobody's workers serve."""
    monkeypatch.setattr("agent_temporal._sweep._YOUNG_SECONDS", 0)
    executor = Whole()
    async with open_store(settings_of(tmp_path), executor, engine=ENGINE) as store:
        yield Sweeping(store, executor, temporal)


async def test_a_run_that_temporal_was_not_told_of_is_started(sweeping, temporal):
    temporal.error = AWAY
    run_id = await sweeping.start()
    temporal.error = None
    await sweeping.sweep()
    await sweeping.sweep()

    assert len(temporal.executions[run_id]) == 1


@pytest.mark.parametrize("status", [None, "COMPLETED", "FAILED"])
async def test_a_run_that_temporal_knows_no_more_is_started(sweeping, temporal, status):
    run_id = await sweeping.start()
    if status is None:
        await temporal.forget(run_id)
    else:
        temporal.executions[run_id][-1].close(WorkflowExecutionStatus[status])
    await sweeping.sweep()

    assert temporal.is_running(run_id)


@pytest.mark.parametrize("status", ["TERMINATED", "CANCELED", "TIMED_OUT"])
async def test_a_run_whose_workflow_was_ended_from_outside_fails(sweeping, temporal, status):
    run_id = await sweeping.start()
    temporal.executions[run_id][-1].close(WorkflowExecutionStatus[status])
    await sweeping.sweep()

    assert (await sweeping.get(run_id)).result.error_type == "interrupted"


async def test_each_run_is_looked_at_seldom(sweeping, temporal):
    run_id = await sweeping.start()
    await sweeping.sweep()
    await temporal.forget(run_id)
    await sweeping.sweep(30)
    is_looked_at = temporal.is_running(run_id)
    await sweeping.sweep(31)

    assert (is_looked_at, temporal.is_running(run_id)) == (False, True)


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_cancelled_run_is_ended_once_temporal_is_back(sweeping, temporal, is_known):
    run_id = await sweeping.start()
    await sweeping.store.hold(run_id, "somebody")
    if not is_known:
        await temporal.forget(run_id)
    temporal.error = AWAY
    await sweeping.runs.cancel(run_id, tenant="t")
    temporal.error = None
    jobs = len(temporal.executions[run_id][0]._jobs) if is_known else 0
    await sweeping.sweep()
    run = await sweeping.get(run_id)

    assert run.status == ("running" if is_known else "cancelled")
    assert not is_known or len(temporal.executions[run_id][0]._jobs) == jobs + 1


async def test_what_fails_to_answer_is_not_taken_for_gone(sweeping, temporal):
    run_id = await sweeping.start()
    await sweeping.store.hold(run_id, "somebody")
    await sweeping.runs.cancel(run_id, tenant="t")
    temporal.error = AWAY
    with pytest.raises(RPCError, match="away"):
        await sweeping.sweep()

    assert (await sweeping.get(run_id)).status == "running"


class Older(Whole):
    """An executor of another version, with an agent more."""

    version = "0"

    def agents(self):
        return [*super().agents(), AgentDescription(name="gone")]

    def check(self, _agent, request, /):
        return request


@pytest.mark.parametrize(
    "gone",
    [("echo", True, "version_changed"), ("gone", False, "agent_gone"), ("echo", False, None)],
)
async def test_runs_whose_servers_are_gone_are_ended_or_taken_over(tmp_path, sweeping, gone):
    agent, is_begun, error = gone
    temporal = sweeping.temporal
    older = Older()
    async with open_store(settings_of(tmp_path), older, engine=ENGINE) as store:
        there = Sweeping(store, older, temporal)
        run_id = await there.start(agent)
        if is_begun:
            await store.hold(run_id, "somebody")
    await sweeping.sweep()
    await sweeping.sweep(599)
    before = await sweeping.get(run_id)
    await sweeping.sweep(61)
    run = await sweeping.get(run_id)

    assert before.result is None
    assert (run.result and run.result.error_type) == error
    if error is None:
        assert temporal.executions[run_id][-1].queue == queue_of("whole", "1")


@pytest.mark.parametrize(("is_begun", "error"), [(True, "version_changed"), (False, None)])
async def test_a_run_that_one_server_ends_or_takes_over_is_not_ended_otherwise_by_another(
    tmp_path, sweeping, monkeypatch, is_begun, error
):
    temporal = sweeping.temporal
    other = Sweeping(sweeping.store, Whole(), temporal)

    def looked_at(work):
        async def work_and_look(*args, **options):
            await work(*args, **options)
            await other.sweep(100)

        return work_and_look

    async with open_store(settings_of(tmp_path), Older(), engine=ENGINE) as store:
        run_id = await Sweeping(store, Older(), temporal).start()
        if is_begun:
            await store.hold(run_id, "somebody")
    await sweeping.sweep()
    for name in ("start", "terminate"):
        monkeypatch.setattr(Workflows, name, looked_at(getattr(Workflows, name)))
    await sweeping.sweep(660)
    run = await sweeping.get(run_id)

    assert (run.result and run.result.error_type) == error
    assert temporal.is_running(run_id) is not is_begun
    assert other.now > 1000


async def test_runs_whose_servers_poll_are_left_to_them(tmp_path, temporal, sweeping):
    older = Older()
    async with open_store(settings_of(tmp_path), older, engine=ENGINE) as store:
        run_id = await Sweeping(store, older, temporal).start()
    polled = temporal.worker(
        temporal, task_queue=queue_of("whole", "0"), workflows=[], activities=[]
    )
    temporal.executions[run_id][0].task.cancel()
    temporal.serve(queue_of("whole", "0"), polled._served)
    await sweeping.sweep()
    await sweeping.sweep(1000)
    polled._served.last_poll = time.time() - 100
    await sweeping.sweep(1000)
    before = await sweeping.get(run_id)
    await sweeping.sweep(1000)
    after = temporal.executions[run_id][-1].queue

    assert before.status == "queued"
    assert after == queue_of("whole", "1")


async def test_a_sweep_that_fails_is_made_again(tmp_path, temporal, monkeypatch, caplog):
    monkeypatch.setattr("agent_temporal._sweep._SWEEP_SECONDS", 0.02)
    monkeypatch.setattr("agent_temporal._sweep._LOOK_SECONDS", 0)
    monkeypatch.setattr("agent_temporal._sweep._YOUNG_SECONDS", 0)
    async with engine(tmp_path, Whole()) as here:
        temporal.error = AWAY
        run_id = await here.start("echo", question="why")
        temporal.namespace_error = AWAY
        await eventually(lambda: here.runs.statistics().engine_is_away)
        await here.runs.ping()
        temporal.namespace_error = None
        temporal.get_workflow_handle = None
        await eventually(lambda: "TypeError" in caplog.text)
        del temporal.get_workflow_handle
        temporal.error = None
        run = await here.ends(run_id)
        await eventually(lambda: not here.runs.statistics().engine_is_away)

    assert run.result.output == "why"
    lines = [one.getMessage() for one in caplog.records]
    assert sum("the engine is away, runs are accepted and wait" in one for one in lines) == 1
    assert sum("the engine is back after" in one for one in lines) == 1


async def test_a_sweep_notices_that_temporal_is_away(tmp_path, temporal, monkeypatch):
    monkeypatch.setattr("agent_temporal._sweep._SWEEP_SECONDS", 0.02)
    async with engine(tmp_path, Whole()) as here:
        temporal.namespace_error = AWAY
        await eventually(lambda: here.runs.statistics().engine_is_away)
        temporal.namespace_error = None
        await eventually(lambda: not here.runs.statistics().engine_is_away)


def test_what_comes_and_goes_within_a_minute_is_told_once(caplog):
    reach = Reach("temporal.example:7233")
    for _ in range(2):
        reach.lose(RPCError("no route", RPCStatusCode.UNAVAILABLE, b""))
        reach.lose(RPCError("no route", RPCStatusCode.UNAVAILABLE, b""))
        assert reach.is_away
        reach.regain()
        assert not reach.is_away

    assert [re.split(r":| \d+ s$", one)[0] for one in caplog.messages] == [
        "the engine is away, runs are accepted and wait",
        "the engine is back after",
    ]


async def test_there_is_a_worker_for_each_version(tmp_path, temporal):
    async with engine(tmp_path, {"adding": adding(), "paying": paying()}):
        served = set(temporal.served)

    assert len(served) == 3
    assert "agent-endpoint:1:1" in served
    assert {one.split()[1] for one in served if " " in one} == {"adding", "paying"}
    assert temporal.served == {}


async def test_agents_with_logs_are_refused(tmp_path):
    with pytest.raises(EngineError, match="run_logs"):
        async with engine(tmp_path, {"adding": adding()}, run_logs=tmp_path / "logs"):
            pass


async def test_temporal_has_to_be_there(tmp_path):
    with pytest.raises(EngineError, match=r"expected Temporal at 127\.0\.0\.1:1"):
        async with engine(tmp_path, Whole(), engine="temporal://127.0.0.1:1/tests"):
            pass


async def test_the_namespace_has_to_be_there(tmp_path, temporal):
    temporal.namespace_error = (RPCStatusCode.NOT_FOUND, "Namespace tests is not found.")
    with pytest.raises(EngineError, match="a namespace tests"):
        async with engine(tmp_path, Whole()):
            pass


async def test_a_whole_run_is_executed(tmp_path, temporal):
    async with engine(tmp_path, Whole()) as here:
        run_id = await here.start("echo", question="why")
        run = await here.ends(run_id)
        await eventually(lambda: temporal.executions[run_id][0].result)

    assert run.result == RunResult(status="succeeded", output="why")
    assert temporal.executions[run_id][0].result == {"abandoned": [], "status": "over"}
