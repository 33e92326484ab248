"""Runs of executors that do what agents do not, and databases that go away."""

import asyncio
import math

import pytest
from served import Whole, engine, eventually, paying
from temporalio.client import WorkflowExecutionStatus, WorkflowUpdateFailedError
from temporalio.exceptions import ActivityError, ApplicationError

from agent_server.executor import InputRequest, Question, RunResult, Waiting
from agent_server.runs import DatabaseAwayError, NewRun
from agent_server.store import RunStore
from agent_temporal._messages import Answer, Given  # noqa: PLC2701 - what a client sends


pytestmark = pytest.mark.usefixtures("temporal")
DONE = RunResult(status="succeeded", output="done")


class Stepwise(Whole):
    """An executor whose runs are functions, and whose steps tell nothing and are their requests."""

    def __init__(self, script):
        super().__init__(odd=script)
        self.made, self.slow = [], asyncio.Event()

    async def make_step(self, run, request):
        self.made.append(run.key)
        if run.key == "slow":
            await self.slow.wait()
        return request


async def play(folder, script, **settings):
    async with engine(folder, Stepwise(script), **settings) as here:
        return await here.ends(await here.start("odd"))


async def step(run, key):
    return await run.step(key, None, request=key.encode())


@pytest.mark.parametrize(
    "told", [("run_succeeded", {}), ("text", {"x": math.nan}), ("text", {"x": b""})]
)
async def test_what_may_not_be_told_fails_the_run(tmp_path, told):
    async def script(run):
        await run.tell(*told)
        return DONE

    run = await play(tmp_path, script)

    assert run.result.error_type == "internal_error"


async def test_a_result_that_is_no_json_fails_the_run(tmp_path):
    async def script(run):
        # What it was told its steps read, where they are made.
        assert not await run.read_steered(0)
        return RunResult(status="succeeded", output=math.inf)

    run = await play(tmp_path, script)

    assert run.result.error_type == "internal_error"


async def test_a_run_that_tells_too_much_before_it_waits_fails_by_that(tmp_path):
    async def script(run):
        for _ in range(20):
            await run.tell("text", {})
        return Waiting(request=InputRequest(question=Question(text="?")), state=b"")

    run = await play(tmp_path, script, max_events=10)

    assert run.result.error_type == "event_limit"


async def test_a_run_that_tells_too_much_during_a_step_fails_by_the_next(tmp_path, temporal):
    temporal.pace = 1000

    async def script(run):
        slow = asyncio.create_task(step(run, "slow"))
        await step(run, "a")
        for _ in range(20):
            await run.tell("text", {})
        await slow
        await step(run, "b")
        return DONE

    executor = Stepwise(script)
    async with engine(tmp_path, executor, max_events=10) as here:
        run_id = await here.start("odd")
        await eventually(lambda: temporal.made["tell"])
        executor.slow.set()
        run = await here.ends(run_id)

    assert run.result.error_type == "event_limit"
    assert executor.made.count("b") == 0


async def test_what_is_told_before_a_step_is_told_once_beside_another(tmp_path, temporal):
    temporal.pace = 5

    async def script(run):
        slow = asyncio.create_task(step(run, "slow"))
        await step(run, "a")
        await run.tell("text", {"n": 1})
        await step(run, "b")
        await slow
        return DONE

    executor = Stepwise(script)
    async with engine(tmp_path, executor) as here:
        run_id = await here.start("odd")
        await eventually(lambda: "b" in executor.made)
        await eventually(lambda: temporal.executions[run_id][0].timers == {})
        executor.slow.set()
        run = await here.ends(run_id)

    assert run.status == "succeeded"
    # Stored before the step, so that it does not carry it, and nothing is left for later.
    assert [len(told.told.events) for [told] in temporal.made["tell"]] == [1]


async def test_a_run_that_cannot_be_stored_as_waiting_is_begun_anew(
    tmp_path, temporal, monkeypatch
):
    monkeypatch.setattr("agent_temporal._sweep._SWEEP_SECONDS", 0.02)
    monkeypatch.setattr("agent_temporal._sweep._YOUNG_SECONDS", 0)
    monkeypatch.setattr("agent_temporal._sweep._LOOK_SECONDS", 0)
    failed = []

    async def before(name, _attempt):
        if name == "wait" and not failed:
            failed.append(name)
            raise ApplicationError("no", type="Odd", non_retryable=True)

    temporal.before = before
    async with engine(tmp_path, {"paying": paying()}) as here:
        run = await here.rests(await here.start("paying"))
        first = temporal.executions[run.run_id][0]

    assert run.status == "waiting"
    assert first.status is WorkflowExecutionStatus.FAILED
    assert isinstance(first.error, ActivityError)


async def test_many_recorded_steps_are_played_in_pieces(tmp_path, temporal, monkeypatch):
    monkeypatch.setattr("agent_temporal._execution._STEPS_AT_A_TIME", 2)

    async def script(run):
        for key in ("a", "b", "c", "d", "e", "slow"):
            await step(run, key)
        return DONE

    executor = Stepwise(script)
    async with engine(tmp_path, executor) as here:
        run_id = await here.start("odd")
        queue = temporal.executions[run_id][0].queue
        await eventually(lambda: "slow" in executor.made)
        await temporal.forget(run_id)
        executor.slow.set()
        again = temporal.begin("agent-run", run_id, queue, [run_id])
        run = await here.ends(run_id)

    assert run.status == "succeeded"
    assert executor.made == ["a", "b", "c", "d", "e", "slow", "slow"]
    assert again.activated > 4


async def test_a_large_history_is_left_for_a_new_one(tmp_path, temporal):
    temporal.event_bytes = 1024 * 1024

    async def script(run):
        for key in "abcdefgh":
            await step(run, key)
        return DONE

    async with engine(tmp_path, Stepwise(script)) as here:
        run_id = await here.start("odd")
        run = await here.ends(run_id)

    assert run.status == "succeeded"
    assert len(temporal.executions[run_id]) > 1


async def test_a_run_that_ends_while_it_is_begun_is_over(tmp_path, temporal, monkeypatch):
    read_facts = RunStore.read_facts

    async def end_before(store, hold):
        [run_id] = temporal.executions
        await store.end_run(run_id, None)
        return await read_facts(store, hold)

    monkeypatch.setattr(RunStore, "read_facts", end_before)
    async with engine(tmp_path, {"paying": paying()}) as here:
        run_id = await here.start("paying")
        run = await here.ends(run_id)
        await eventually(lambda: temporal.executions[run_id][0].result)

    assert run.status == "cancelled"
    assert temporal.executions[run_id][0].result["status"] == "over"


async def test_an_activity_waits_for_the_database(tmp_path, monkeypatch):
    monkeypatch.setattr("agent_temporal._database._AWAY_SECONDS", 0.01)
    read_standing, tries = RunStore.read_standing, []

    async def be_away(store, run_id):
        tries.append(run_id)
        if len(tries) < 3:
            raise DatabaseAwayError
        return await read_standing(store, run_id)

    monkeypatch.setattr(RunStore, "read_standing", be_away)
    async with engine(tmp_path, Whole()) as here:
        run_id = await here.start("wonder", question="?")
        run = await here.rests(run_id)
        await eventually(lambda: len(tries) == 3)

    assert run.status == "waiting"


async def test_a_run_that_is_asked_for_twice_is_started_once(tmp_path, temporal):
    async with engine(tmp_path, Whole()) as here:
        new = NewRun(tenant="ada", agent="echo", request={"question": "?"}, idempotency_key="k")
        (first, _), (second, is_new) = [await here.runs.create(new) for _ in "12"]

    assert (first.run_id, False) == (second.run_id, is_new)
    assert len(temporal.executions) == 1


async def test_a_workflow_refuses_what_no_server_sends(tmp_path, temporal):
    async with engine(tmp_path, {"paying": paying()}) as here:
        run = await here.rests(await here.start("paying"))
        wait_id = run.waiting_for.wait_id
        answer = Answer(run_id=run.run_id, tenant="ada", wait_id=wait_id, given=Given())
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await temporal.find(run.run_id).update("answer", answer)

    assert refused.value.cause.type == "RequestRefusedError"
