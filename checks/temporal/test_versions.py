"""Workers of two versions of an agent, side by side."""

from agent_driver import Agent
from agent_server.executor import Approval, InputAnswer
from agent_server.runs import NewAnswer
from long_agents import engine, finish, rests, start


def pay(euros: int) -> str:
    """Pay somebody."""
    return f"paid {euros}"


def collect(euros: int) -> str:
    """Collect from somebody."""
    return f"collected {euros}"


def paying(version, tools):
    """Return a version of an agent, which says what it is in its answer."""

    async def model(asked):
        if any(getattr(one, "role", None) == "tool" for one in asked.messages):
            yield f"Paid by {version}."
        else:
            yield {"tool_calls": [{"call_id": "c1", "name": "pay", "arguments": '{"euros": 5}'}]}

    return Agent(model, tools, approval_rules={"pay": "always"})


async def approve(runs, run):
    asked = run.waiting_for
    approvals = {asked.request.approvals[0].call_id: Approval(approved=True)}
    answer = NewAnswer(wait_id=asked.wait_id, answer=InputAnswer(approvals=approvals))
    await runs.answer(run.run_id, answer, tenant="ada")


async def test_runs_go_on_with_the_version_that_began_them_whoever_is_asked(tmp_path, engine_url):
    first, second = paying("the first", [pay]), paying("the second", [pay, collect])
    async with (
        engine(tmp_path, engine_url, {"paying": first}) as old,
        engine(tmp_path, engine_url, {"paying": second}) as new,
    ):
        begun = [await start(runs, "paying") for runs in (old, new, old, new)]
        for run_id in begun:
            await approve(new, await rests(new, run_id))
        outputs = [(await finish(old, run_id)).result.output for run_id in begun]

    assert outputs == ["Paid by the first.", "Paid by the second."] * 2


async def test_a_run_whose_version_comes_back_goes_on(tmp_path, engine_url):
    first, second = paying("the first", [pay]), paying("the second", [pay, collect])
    async with engine(tmp_path, engine_url, {"paying": first}) as old:
        run_id = await start(old, "paying")
        waits = await rests(old, run_id)
    async with engine(tmp_path, engine_url, {"paying": second}) as new:
        later = await start(new, "paying")
        await rests(new, later)
    async with engine(tmp_path, engine_url, {"paying": first}) as old:
        await approve(old, waits)
        run = await finish(old, run_id)

    assert run.result.output == "Paid by the first."
