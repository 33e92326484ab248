"""Runs that wait for an answer."""

import asyncio

import pytest
from served import Whole, engine, eventually, paying
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCStatusCode

from agent_server.executor import Approval, RequestRefusedError
from agent_server.runs import AnswerConflictError, DatabaseAwayError


YES, NO = (
    {"approvals": {"c1": Approval(approved=True)}},
    {"approvals": {"c1": Approval(approved=False)}},
)
AWAY = (RPCStatusCode.UNAVAILABLE, "Temporal is away")

pytestmark = pytest.mark.usefixtures("temporal")


async def test_the_same_answer_may_come_again_and_another_is_refused(tmp_path, temporal):
    async with engine(tmp_path, {"paying": paying()}) as here:
        waiting = await here.rests(await here.start("paying"))
        _, is_new = await here.answer(waiting, **YES)
        _, is_new_again = await here.answer(waiting, **YES)
        with pytest.raises(AnswerConflictError):
            await here.answer(waiting, **NO)
        run = await here.ends(waiting.run_id)

    assert (is_new, is_new_again) == (True, False)
    assert run.result.output == "All is paid. "
    assert len(temporal.made["answer"]) == 1


async def test_of_two_answers_at_once_one_is_taken(tmp_path):
    async with engine(tmp_path, {"paying": paying()}) as here:
        waiting = await here.rests(await here.start("paying"))
        answers = (here.answer(waiting, **one) for one in (YES, NO, YES))
        given = await asyncio.gather(*answers, return_exceptions=True)
        run = await here.ends(waiting.run_id)

    refused = [one for one in given if isinstance(one, AnswerConflictError)]
    news = [one[1] for one in given if one not in refused]
    assert news.count(True) == 1
    assert len(refused) == (1 if len(news) == 2 else 2)
    assert run.result.output == "All is paid. "


async def test_an_answer_that_is_not_complete_is_refused(tmp_path, temporal):
    async with engine(tmp_path, {"paying": paying()}) as here:
        waiting = await here.rests(await here.start("paying"))
        with pytest.raises(RequestRefusedError):
            await here.answer(waiting, approvals={})

    assert temporal.made["answer"] == []


async def test_a_run_that_nobody_answers_fails(tmp_path, temporal):
    temporal.pace = 24 * 3600 * 1000
    async with engine(tmp_path, {"paying": paying()}) as here:
        run = await here.ends(await here.start("paying"))

    assert (run.result.error_type, run.status) == ("input_expired", "failed")


async def test_an_answer_that_comes_at_the_last_moment_is_taken(tmp_path, temporal):
    late = asyncio.Event()

    async def before(name, _attempt):
        if name == "answer":
            [execution] = temporal.executions[waiting.run_id]
            for seq in list(execution.timers):
                execution.fire(seq)
            await eventually(lambda: execution.timers == {})
            await late.wait()

    temporal.before = before
    async with engine(tmp_path, {"paying": paying()}) as here:
        waiting = await here.rests(await here.start("paying"))
        answering = asyncio.create_task(here.answer(waiting, **YES))
        await asyncio.sleep(0.1)
        late.set()
        _, is_new = await answering
        run = await here.ends(waiting.run_id)

    assert is_new
    assert run.result.output == "All is paid. "


async def test_a_run_whose_workflow_is_forgotten_is_answered(tmp_path, temporal):
    async with engine(tmp_path, {"paying": paying()}) as here:
        waiting = await here.rests(await here.start("paying"))
        await temporal.forget(waiting.run_id)
        _, is_new = await here.answer(waiting, **YES)
        run = await here.ends(waiting.run_id)

    assert is_new
    assert run.result.output == "All is paid. "


@pytest.mark.parametrize("is_known", [True, False])
async def test_an_answer_is_not_taken_while_temporal_is_away(tmp_path, temporal, is_known):
    async with engine(tmp_path, {"paying": paying()}) as here:
        waiting = await here.rests(await here.start("paying"))
        if is_known:
            temporal.error = AWAY
        else:
            await temporal.forget(waiting.run_id)
            temporal.start_error = AWAY
        with pytest.raises(DatabaseAwayError):
            await here.answer(waiting, **YES)
        temporal.error = temporal.start_error = None
        await here.answer(waiting, **YES)
        run = await here.ends(waiting.run_id)

    assert run.status == "succeeded"


async def test_a_workflow_that_is_slow_to_answer_counts_as_away(tmp_path, temporal):
    async with engine(tmp_path, {"paying": paying()}) as here:
        waiting = await here.rests(await here.start("paying"))
        temporal.is_slow = True
        with pytest.raises(DatabaseAwayError):
            await here.answer(waiting, **YES)


async def test_a_workflow_that_never_comes_to_wait_counts_as_away(tmp_path, temporal, monkeypatch):
    monkeypatch.setattr("agent_temporal._runs._ANSWER_SECONDS", 0.3)

    async def never(_name, _attempt):
        await asyncio.Event().wait()

    async with engine(tmp_path, {"paying": paying()}) as here:
        waiting = await here.rests(await here.start("paying"))
        await temporal.forget(waiting.run_id)
        temporal.before = never
        with pytest.raises(DatabaseAwayError):
            await here.answer(waiting, **YES)


async def test_an_answer_that_a_workflow_cannot_take_now_is_asked_for_again(tmp_path, temporal):
    failures = ["odd"]

    async def before(name, _attempt):
        if name == "answer" and failures:
            failures.pop()
            raise ApplicationError("no", type="Odd", non_retryable=True)

    temporal.before = before
    async with engine(tmp_path, {"paying": paying()}) as here:
        waiting = await here.rests(await here.start("paying"))
        await here.answer(waiting, **YES)
        run = await here.ends(waiting.run_id)

    assert (run.status, failures) == ("succeeded", [])


async def test_a_tenant_has_so_many_runs_that_wait(tmp_path):
    async with engine(tmp_path, {"paying": paying()}, max_waiting_per_tenant=1) as here:
        await here.rests(await here.start("paying"))
        run = await here.ends(await here.start("paying"))

    assert run.result.error_type == "too_many_waiting"


@pytest.mark.parametrize("agent", ["whole", "paying"])
async def test_a_run_that_waits_is_cancelled(tmp_path, agent):
    executor = {"paying": paying()} if agent == "paying" else Whole()
    async with engine(tmp_path, executor) as here:
        waiting = await here.rests(
            await (
                here.start("paying") if agent == "paying" else here.start("wonder", question="?")
            )
        )
        await here.runs.cancel(waiting.run_id, tenant="ada", reason="no need")
        run = await here.ends(waiting.run_id)

    assert run.status == "cancelled"


async def test_a_whole_run_waits_and_goes_on(tmp_path, temporal):
    async with engine(tmp_path, Whole()) as here:
        waiting = await here.rests(await here.start("wonder", question="?"))
        await here.answer(waiting, answer="Because.")
        run = await here.ends(waiting.run_id)

    assert run.result.output == "Because."
    assert len(temporal.made["execute"]) == 2


async def test_a_whole_run_that_nobody_answers_fails(tmp_path, temporal):
    temporal.pace = 24 * 3600 * 1000
    async with engine(tmp_path, Whole()) as here:
        run = await here.ends(await here.start("wonder", question="?"))

    assert run.result.error_type == "input_expired"
