"""What comes while a workflow decides, ends or goes on in a new history, in the order that would be rare."""

import asyncio

import pytest
from playing import Execution
from served import Whole, adding, engine, eventually, paying, searching
from test_odd_runs import DONE, Stepwise, step
from test_waiting import YES

from agent_server.runs import AnswerConflictError
from agent_temporal._sweep import Sweep  # noqa: PLC2701 - which would cancel again what was not heard


CONTINUE = "continue_as_new_workflow_execution"


@pytest.fixture(autouse=True)
def unswept(monkeypatch):
    """Have no sweep make up for what a workflow does not hear."""

    async def rest(_sweep):
        await asyncio.Event().wait()

    monkeypatch.setattr(Sweep, "work", rest)


async def nothing(_name, _attempt):
    return None


async def test_a_run_that_is_cancelled_as_it_goes_on_in_a_new_history_ends(tmp_path, temporal):
    temporal.weight = 600

    def cross(execution, kinds):
        if CONTINUE in kinds:
            execution.cancel()

    temporal.crossing = cross
    async with engine(tmp_path, {"long": searching(12)}) as here:
        run_id = await here.start("long")
        run = await here.ends(run_id)

    assert run.status == "cancelled"
    assert len(temporal.executions[run_id]) == 1


@pytest.mark.parametrize(
    ("agent", "activity"),
    [("long", "begin"), ("long", "tell"), ("paying", "wait"), ("wonder", "execute")],
)
async def test_a_run_that_is_cancelled_while_an_activity_is_done_all_the_same_ends(
    tmp_path, temporal, monkeypatch, agent, activity
):
    # The worker has its result, and the workflow has not heard of that.
    for kind in ("activity", "local_activity"):
        monkeypatch.setattr(
            Execution, f"_on_request_cancel_{kind}", lambda _execution, _asked: None
        )
    temporal.weight = 600 if activity == "tell" else temporal.weight

    async def before(name, _attempt):
        if name == activity:
            temporal.before = nothing
            [execution] = temporal.executions.values()
            played = execution[-1].activated
            execution[-1].cancel()
            await eventually(lambda: execution[-1].activated > played)

    temporal.before = before
    executor = Whole() if agent == "wonder" else {"long": searching(12), "paying": paying()}
    asked = {"question": "?"} if agent == "wonder" else {}
    async with engine(tmp_path, executor) as here:
        run_id = await here.start(agent, **asked)
        run = await here.ends(run_id)

    assert run.status == "cancelled"
    assert len(temporal.executions[run_id]) == 1


async def test_a_run_that_is_cancelled_while_it_tells_its_last_in_a_history_ends(
    tmp_path, temporal
):
    temporal.weight = 600

    async def before(name, _attempt):
        if name == "tell":
            temporal.before = nothing
            await here.runs.cancel(run_id, tenant="ada")
            await asyncio.Event().wait()

    temporal.before = before
    async with engine(tmp_path, {"long": searching(12)}) as here:
        run_id = await here.start("long")
        run = await here.ends(run_id)

    assert run.status == "cancelled"
    assert len(temporal.executions[run_id]) == 1


async def test_no_step_begins_once_a_run_is_cancelled(tmp_path, temporal):
    async def before(name, _attempt):
        if name == "tell":
            temporal.before = nothing
            await eventually(lambda: executor.made)
            await here.runs.cancel(run_id, tenant="ada")
            await asyncio.Event().wait()

    async def script(run):
        slow = asyncio.ensure_future(step(run, "slow"))
        await asyncio.sleep(0)
        await run.tell("text", {})
        await asyncio.gather(slow, step(run, "late"))
        return DONE

    temporal.before = before
    executor = Stepwise(script)
    async with engine(tmp_path, executor) as here:
        run_id = await here.start("odd")
        run = await here.ends(run_id)
        [execution] = temporal.executions[run_id]
        await eventually(lambda: execution.result)

    assert (run.status, executor.made) == ("cancelled", ["slow"])
    assert execution.result["abandoned"] == ["slow"]


async def test_a_history_is_not_left_between_what_a_step_tells_and_its_beginning(
    tmp_path, temporal
):
    asked, kinds = [], []

    async def before(name, _attempt):
        if name == "tell":
            # Full from here on, where one step waits for what it tells, and another one will for room.
            temporal.weight = 4000
            executor.slow.set()
            await eventually(lambda: asked)
            temporal.before, temporal.weight = nothing, 3

    async def script(run):
        slow = asyncio.ensure_future(step(run, "slow"))
        await asyncio.sleep(0)
        await run.tell("text", {})
        late = asyncio.ensure_future(step(run, "late"))
        await slow
        asked.append("next")
        await step(run, "next")
        await late
        return DONE

    temporal.before, temporal.crossing = before, lambda _execution, made: kinds.append({*made})
    executor = Stepwise(script)
    async with engine(tmp_path, executor) as here:
        run_id = await here.start("odd")
        run = await here.ends(run_id)

    assert run.status == "succeeded"
    assert not [one for one in kinds if {"schedule_activity", CONTINUE} <= one]
    assert executor.made == ["slow", "late", "next"]
    assert len(temporal.executions[run_id]) == 2


async def test_a_whole_run_that_is_cancelled_before_it_is_played_ends(tmp_path, temporal):
    start = temporal.start_workflow

    async def start_cancelled(*args, **options):
        await start(*args, **options)
        temporal.find(options["id"]).cancel()

    temporal.start_workflow = start_cancelled
    async with engine(tmp_path, Whole()) as here:
        run = await here.ends(await here.start("echo", question="?"))

    assert run.status == "cancelled"
    assert temporal.made["execute"] == []


async def test_a_timer_that_fires_as_its_workflow_cancels_it_is_not_heard(tmp_path, temporal):
    temporal.pace, fired = 0.001, []

    def cross(execution, kinds):
        if "cancel_timer" in kinds:
            fired.extend(execution.timers)
            for seq in fired:
                execution.fire(seq)

    async def script(run):
        slow = asyncio.ensure_future(step(run, "slow"))
        await asyncio.sleep(0)
        await run.tell("text", {})
        await step(run, "quick")
        await run.tell("text", {})
        slow.cancel()
        return DONE

    temporal.crossing = cross
    async with engine(tmp_path, Stepwise(script)) as here:
        run_id = await here.start("odd")
        run = await here.ends(run_id)
        [execution] = temporal.executions[run_id]
        await eventually(lambda: execution.result)

    assert (run.status, len(fired)) == ("succeeded", 1)
    assert execution.result["status"] == "succeeded"


@pytest.mark.parametrize("ends_first", [False, True], ids=["", "first"])
@pytest.mark.parametrize("agent", ["whole", "paying"])
async def test_a_run_that_is_cancelled_while_its_answer_is_stored_ends(
    tmp_path, temporal, agent, ends_first
):
    async def before(name, _attempt):
        if name == "answer":
            temporal.before = nothing
            await here.runs.cancel(waiting.run_id, tenant="ada")
            if ends_first:
                await heard.wait()

    def cross(execution, _kinds):
        if temporal.made["end"] and all(one.name != "end" for one in execution.making.values()):
            heard.set()

    heard = asyncio.Event()
    temporal.before, temporal.crossing = before, cross
    executor = Whole() if agent == "whole" else {"paying": paying()}
    async with engine(tmp_path, executor) as here:
        asking = ("wonder", {"question": "?"}) if agent == "whole" else ("paying", {})
        waiting = await here.rests(await here.start(asking[0], **asking[1]))
        given = {"answer": "Because."} if agent == "whole" else YES
        with pytest.raises(AnswerConflictError):
            await here.answer(waiting, **given)
        run = await here.ends(waiting.run_id)
        [execution] = temporal.executions[waiting.run_id]
        await eventually(lambda: execution.result)

    assert run.status == "cancelled"


async def test_a_run_that_is_cancelled_as_its_workflow_ends_has_succeeded(tmp_path, temporal):
    def cross(execution, kinds):
        if "complete_workflow_execution" in kinds:
            execution.cancel()

    temporal.crossing = cross
    async with engine(tmp_path, {"adding": adding()}) as here:
        run_id = await here.start("adding")
        run = await here.ends(run_id)
        [execution] = temporal.executions[run_id]
        await eventually(lambda: execution.result)

    assert run.status == "succeeded"
    assert len(temporal.made["make-step"]) == 4
