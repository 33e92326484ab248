"""What activities do when they are cut off, and how workflows take their errors."""

import asyncio

import pytest
from served import Whole, adding, call, calls, engine, eventually, script
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError

from agent_driver import Agent
from agent_server.executor import RunFailedError, RunResult


pytestmark = pytest.mark.usefixtures("temporal")


class Gate:
    """What a run waits at until the test goes on."""

    def __init__(self):
        self.entered, self.left, self.entries = asyncio.Event(), asyncio.Event(), 0

    async def here(self):
        self.entries += 1
        self.entered.set()
        await self.left.wait()

    def agent(self):
        async def look() -> str:
            """Look."""
            await self.here()
            return "seen"

        return Agent(script(calls(call("look")), "Done."), [look])

    def whole(self):
        async def wait(run):
            try:
                await self.here()
            except asyncio.CancelledError:
                self.reason = run.cancel_reason
                raise
            return RunResult(status="succeeded", output="Done.")

        return Whole(wait=wait)


@pytest.fixture
def gate():
    return Gate()


def executor_of(kind, gate):
    return {"wait": gate.agent()} if kind == "agent" else gate.whole()


def trying(temporal, run_id):
    """Return the environments of the tries that are under way."""
    making = temporal.executions[run_id][-1].making.values()
    return [one.environment for one in making if one.environment is not None]


@pytest.mark.parametrize("kind", ["agent", "whole"])
async def test_a_run_can_be_cancelled(tmp_path, temporal, gate, kind):
    async with engine(tmp_path, executor_of(kind, gate)) as here:
        run_id = await here.start("wait")
        await gate.entered.wait()
        await here.runs.cancel(run_id, tenant="ada", reason="no need")
        run = await here.ends(run_id)
        again = await here.runs.cancel(run_id, tenant="ada")
        [execution] = temporal.executions[run_id]
        await eventually(lambda: execution.result)

    assert (run.status, again.status) == ("cancelled", "cancelled")
    assert execution.result["status"] == "cancelled"
    assert execution.result["abandoned"] == (["tool:1.c1"] if kind == "agent" else [])
    assert kind == "agent" or gate.reason == "no need"


@pytest.mark.parametrize("kind", ["agent", "whole"])
async def test_a_run_that_is_cancelled_before_it_begins_is_not_begun(
    tmp_path, temporal, gate, kind
):
    async def before(_name, _attempt):
        await gate.here()

    temporal.before = before
    async with engine(tmp_path, executor_of(kind, Gate())) as here:
        run_id = await here.start("wait")
        await gate.entered.wait()
        gate.left.set()
        temporal.before = nothing
        await here.runs.cancel(run_id, tenant="ada")
        run = await here.ends(run_id)

    assert run.status == "cancelled"


async def nothing(_name, _attempt):
    return None


@pytest.mark.parametrize("kind", ["agent", "whole"])
@pytest.mark.parametrize("why", ["timed_out", "paused"])
async def test_what_temporal_has_lost_sight_of_is_made_again_and_not_cancelled(
    tmp_path, temporal, gate, kind, why
):
    async with engine(tmp_path, executor_of(kind, gate)) as here:
        run_id = await here.start("wait")
        await gate.entered.wait()
        await eventually(lambda: trying(temporal, run_id))
        [environment] = trying(temporal, run_id)
        environment.cancel(ActivityCancellationDetails(**{why: True}))
        await eventually(lambda: gate.entries == 2)
        gate.left.set()
        run = await here.ends(run_id)

    assert (run.status, gate.entries) == ("succeeded", 2)


@pytest.mark.parametrize("kind", ["agent", "whole"])
async def test_another_server_goes_on_where_one_stops(tmp_path, temporal, gate, kind):
    executor = executor_of(kind, gate)
    async with engine(tmp_path, executor) as here:
        run_id = await here.start("wait")
        await gate.entered.wait()
    gate.left.set()
    async with engine(tmp_path, executor) as here:
        run = await here.ends(run_id)

    assert (run.status, gate.entries) == ("succeeded", 2)
    assert len(temporal.executions[run_id]) == 1


async def test_activities_show_that_they_are_alive(tmp_path, temporal, gate):
    async with engine(tmp_path, {"wait": gate.agent()}, lease_seconds=0.03) as here:
        run_id = await here.start("wait")
        await gate.entered.wait()
        await eventually(lambda: len(temporal.beats["make-step"]) > 5)
        gate.left.set()
        await here.ends(run_id)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), "interrupted"),
        (ApplicationError("stops", type="ServerStopped"), "interrupted"),
        (ApplicationError("a secret", type="ValueError", non_retryable=True), "internal_error"),
    ],
)
async def test_a_step_that_is_begun_too_often_ends_its_run(tmp_path, temporal, error, kind):
    tries = []

    async def before(name, attempt):
        if name == "make-step":
            tries.append(attempt)
            raise error

    temporal.before = before
    async with engine(tmp_path, {"adding": adding()}, max_attempts=3) as here:
        run = await here.ends(await here.start("adding"))

    assert run.result.error_type == kind
    assert tries == ([1] if kind == "internal_error" else [1, 2, 3])


async def test_a_step_may_end_its_run_as_it_says(tmp_path):
    async with engine(tmp_path, {"adding": adding()}) as here:

        async def fail(*_):
            raise RunFailedError("gone", error_type="conversation_lost")

        here.executor.make_step = fail
        run = await here.ends(await here.start("adding"))

    assert (run.result.error, run.result.error_type) == ("gone", "conversation_lost")


async def test_a_run_that_tells_too_much_fails_by_that(tmp_path):
    async with engine(tmp_path, {"adding": adding()}, max_events=10) as here:
        run = await here.ends(await here.start("adding"))

    assert run.result.error_type == "event_limit"
