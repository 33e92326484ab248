"""Runs that wait for a person, or for their client."""

import asyncio
import logging

import pytest
from agents import (
    OPEN,
    PAY,
    Scripted,
    engine,
    eventually,
    finish,
    let_server_die,
    new_run,
    pay,
    query,
    start,
    until,
    watch,
)
from cryptography.fernet import Fernet

from agent_server.executor import (
    AgentDescription,
    Approval,
    InputAnswer,
    InputRequest,
    Problem,
    Question,
    RequestRefusedError,
    RunResult,
    Waiting,
)
from agent_server.runs import (
    AnswerConflictError,
    NewAnswer,
    QueueFullError,
    RunActiveError,
    RunNotFoundError,
)


YES = {"c1": Approval(approved=True)}


async def waits(runs, run_id, tenant="ada"):
    """Return what a run waits for, once it waits."""
    run = await until(runs, run_id, lambda run: run.status == "waiting", tenant)
    return run.waiting_for


async def answer(runs, run_id, wait_id, tenant="ada", key=None, **given):
    new = NewAnswer(wait_id=wait_id, answer=InputAnswer(**given), key=key)
    return await runs.answer(run_id, new, tenant=tenant)


async def test_a_run_waits_until_it_is_answered_and_goes_on_from_its_state(database, caplog):
    caplog.set_level(logging.INFO, "agent_server")
    async with engine(database, Scripted(pay=pay), lease_seconds=0.2) as runs:
        run_id = await start(runs, "pay")
        first = await waits(runs, run_id)
        await eventually(lambda: runs.statistics().oldest_unanswered_seconds > 0)
        seen = await watch(runs, run_id)
        await eventually(lambda: runs.statistics().executing == 0)
        run, is_new = await answer(
            runs, run_id, first.wait_id, approvals=YES, results={"c2": {"open": 1}}, key="ab12"
        )
        second = await waits(runs, run_id)
        await answer(runs, run_id, second.wait_id, answer="good")
        ended = await finish(runs, run_id)
        state = await runs.read_state(run_id, tenant="ada")
        events = await watch(runs, run_id)

    assert [one.getMessage() for one in caplog.records] == [
        "the run waits for approval of pay; the client's results of open_door",
        "the run waits for an answer to a question",
    ]
    assert first.request == InputRequest(approvals=[PAY], results=[OPEN])
    assert second.request.question == Question(text="How was it?", schema={"type": "string"})
    assert [event.type for event in seen] == ["run_started", "text", "run_waiting"]
    # It may have asked the next question by then.
    asked = None if run.waiting_for is None else run.waiting_for.wait_id
    assert (asked != first.wait_id, run.part, is_new) == (True, 1, True)
    assert ended.result.output == {"paid": True, "door": {"open": 1}, "was": "good", "part": 2}
    assert (ended.waiting_for, ended.attempt, state) == (None, 3, b"the conversation")
    assert [event.number for event in events] == list(range(1, 10))
    asked, answered = events[2], events[3]
    assert asked.data["wait_id"] == first.wait_id
    assert asked.data["approvals"][0]["name"] == "pay"
    assert (answered.type, answered.data) == (
        "run_answered",
        {
            "wait_id": first.wait_id,
            "approvals": {"c1": {"approved": True, "reason": None}},
            "results": {"c2": {"open": 1}},
            "answer": None,
            "key": "ab12",
        },
    )
    assert [one.type for one in events[4:]] == [
        *("run_started", "run_waiting", "run_answered", "run_started", "run_succeeded")
    ]


async def test_the_same_answer_may_come_again_and_no_other(database):
    async with engine(database, Scripted(pay=pay)) as runs:
        run_id = await start(runs, "pay")
        wait = await waits(runs, run_id)
        given = {"approvals": YES, "results": {"c2": "x"}}
        for wrong in ("0" * 32, "\0", ""):
            with pytest.raises(AnswerConflictError, match="waits for another"):
                await answer(runs, run_id, wrong, **given)
        await answer(runs, run_id, wait.wait_id, **given)
        _, is_new = await answer(runs, run_id, wait.wait_id, **given)
        with pytest.raises(AnswerConflictError, match="another answer"):
            await answer(runs, run_id, wait.wait_id, approvals=YES, results={"c2": "y"})
        after = await waits(runs, run_id)
        await answer(runs, run_id, after.wait_id, answer="good")
        await finish(runs, run_id)
        _, is_new_later = await answer(runs, run_id, wait.wait_id, **given)
        with pytest.raises(RunNotFoundError):
            await answer(runs, run_id, wait.wait_id, tenant="bob", **given)

    assert (is_new, is_new_later) == (False, False)


def test_an_answer_is_told_without_a_copy_of_what_may_be_large():
    result = [{"a": 1}]
    given = InputAnswer(approvals={"c1": Approval(approved=True)}, results={"c2": result})

    told = given.to_dict()

    approval = {"approved": True, "reason": None}
    assert told == {"approvals": {"c1": approval}, "results": {"c2": result}, "answer": None}
    assert told["results"]["c2"] is result


async def test_of_many_answers_at_once_one_is_used(database):
    async with engine(database, Scripted(pay=pay)) as runs:
        run_id = await start(runs, "pay")
        wait = await waits(runs, run_id)
        given = [
            answer(runs, run_id, wait.wait_id, approvals=YES, results={"c2": number})
            for number in range(10)
        ]
        outcomes = await asyncio.gather(*given, return_exceptions=True)
        await waits(runs, run_id)
        events = await watch(runs, run_id)

    assert sum(isinstance(one, AnswerConflictError) for one in outcomes) == 9
    assert [one.type for one in events].count("run_answered") == 1


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({}, ["approvals.c1", "results.c2"]),
        ({"approvals": YES}, ["results.c2"]),
        ({"approvals": YES, "results": {"c1": 1, "c2": 1}}, ["results.c1"]),
        ({"approvals": YES, "results": {"c2": 1}, "answer": 1}, ["answer"]),
    ],
)
async def test_an_answer_has_all_that_was_asked_for_and_nothing_else(tmp_path, given, fields):
    async with engine(f"sqlite:///{tmp_path}/runs.sqlite", Scripted(pay=pay)) as runs:
        run_id = await start(runs, "pay")
        wait = await waits(runs, run_id)
        with pytest.raises(RequestRefusedError) as refused:
            await answer(runs, run_id, wait.wait_id, **given)
        still = await waits(runs, run_id)

    assert [one.field for one in refused.value.problems] == fields
    assert still == wait


class Strict(Scripted):
    def check_answer(self, agent, asked, given):
        if asked.question and given.answer is None:
            raise RequestRefusedError(
                Problem(field="answer", message=f"expected what {agent} asks")
            )


async def test_an_executor_may_refuse_an_answer(tmp_path):
    async with engine(f"sqlite:///{tmp_path}/runs.sqlite", Strict(pay=pay)) as runs:
        run_id = await start(runs, "pay")
        wait = await waits(runs, run_id)
        await answer(runs, run_id, wait.wait_id, approvals=YES, results={"c2": 1})
        wait = await waits(runs, run_id)
        with pytest.raises(AnswerConflictError):
            await answer(runs, run_id, "0" * 32)
        with pytest.raises(RequestRefusedError, match="answer: expected what pay asks"):
            await answer(runs, run_id, wait.wait_id)
        await answer(runs, run_id, wait.wait_id, answer="fine")
        ended = await finish(runs, run_id)

    assert ended.status == "succeeded"


async def test_any_server_goes_on_with_a_run_that_waits(database):
    async with engine(database, Scripted(pay=pay)) as one:
        run_id = await start(one, "pay")
        wait = await waits(one, run_id)
    async with engine(database, Scripted(pay=pay)) as two:
        waiting = await two.get(run_id, tenant="ada")
        await answer(two, run_id, wait.wait_id, approvals=YES, results={"c2": 1})
        after = await waits(two, run_id)

    assert waiting.waiting_for == wait
    assert after.request.question is not None


@pytest.mark.usefixtures("living")
async def test_who_watches_another_server_hears_that_a_run_waits_and_goes_on(database):
    async with engine(database, Scripted(pay=pay)) as one, engine(database, Scripted()) as two:
        run_id = await start(one, "pay")
        seen = await watch(two, run_id)
        wait = await waits(two, run_id)
        await answer(two, run_id, wait.wait_id, approvals=YES, results={"c2": 1})
        more = await watch(two, run_id, after=seen[-1].number)

    assert seen[-1].type == "run_waiting"
    assert [event.type for event in more] == ["run_answered", "run_started", "run_waiting"]


async def test_waiting_is_no_lost_attempt(database):
    """What a guard refuses to begin again is not a run that was answered."""

    def refuse(_run_id, attempts):
        return RunResult(status="failed", error=f"attempt {attempts}", error_type="interrupted")

    executor = Scripted(pay=pay, interrupted=refuse)
    async with engine(database, executor) as runs:
        run_id = await start(runs, "pay")
        wait = await waits(runs, run_id)
        await answer(runs, run_id, wait.wait_id, approvals=YES, results={"c2": 1})
        await waits(runs, run_id)
        other = await start(runs, "pay")
        wait = await waits(runs, other)
    async with engine(database, executor, concurrency=1) as runs:
        # Answered while no server could take it up, and then its server dies.
        await answer(runs, other, wait.wait_id, approvals=YES, results={"c2": 1})
        await waits(runs, other)


async def die_once(run):
    """Wait, then die in the middle of a step after the answer, as seen from the next attempt."""
    if run.resumption is None:
        await run.step("model:1", _say(b"before"))
        return Waiting(request=InputRequest(approvals=[PAY]), state=b"s")
    seen = [event.type for event in await run.read_events()]
    recorded = await run.step("model:1", _say(b"after"))
    if run.attempt == 2:
        await run.tell("text", {"text": "half"})
        await asyncio.sleep(600)
    return RunResult(status="succeeded", output=[recorded.decode(), run.part, seen])


def _say(text):
    async def work():
        return text

    return work


async def test_after_a_death_the_run_goes_on_from_its_answer_with_the_steps_since(database):
    async with engine(database, Scripted(die_once=die_once)) as runs:
        run_id = await start(runs, "die_once")
        wait = await waits(runs, run_id)
        await answer(runs, run_id, wait.wait_id, approvals=YES)
        await until(runs, run_id, lambda run: run.last_event >= 5)
    let_server_die(database)
    async with engine(database, Scripted(die_once=die_once)) as runs:
        ended = await finish(runs, run_id)

    assert ended.result.output == ["after", 1, ["run_started", "text"]]
    assert ended.attempt == 3


async def test_a_waiting_run_can_be_cancelled(database):
    async with engine(database, Scripted(pay=pay)) as runs:
        run_id = await start(runs, "pay")
        wait = await waits(runs, run_id)
        run = await runs.cancel(run_id, tenant="ada", reason="enough")
        with pytest.raises(AnswerConflictError):
            await answer(runs, run_id, wait.wait_id, approvals=YES, results={"c2": 1})
        events = await watch(runs, run_id)

    assert (run.status, run.waiting_for) == ("cancelled", None)
    assert [event.type for event in events][-2:] == ["run_waiting", "run_cancelled"]


async def wait_anyway(run):
    try:
        await run.tell("ready", {})
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        return Waiting(request=InputRequest(approvals=[PAY]), state=b"s")


async def test_a_run_that_is_being_cancelled_does_not_wait(database):
    async with engine(database, Scripted(wait_anyway=wait_anyway)) as runs:
        run_id = await start(runs, "wait_anyway")
        await until(runs, run_id, lambda run: run.last_event >= 2)
        await runs.cancel(run_id, tenant="ada")
        ended = await finish(runs, run_id)

    assert ended.status == "cancelled"


async def cancel_meanwhile(run):
    """Wait just when another server's client cancels, of which this server has not heard."""
    query(
        run.metadata["database"],
        f"UPDATE agent_runs SET cancel_requested = true WHERE run_id = '{run.run_id}'",
    )
    return Waiting(request=InputRequest(approvals=[PAY]), state=b"s")


async def test_a_cancel_that_crosses_the_wait_ends_the_run(database):
    executor = Scripted(cancel_meanwhile=cancel_meanwhile)
    async with engine(database, executor) as runs:
        run_id = await start(runs, "cancel_meanwhile", metadata={"database": database})
        ended = await finish(runs, run_id)

    assert ended.status == "cancelled"


async def test_a_run_that_waits_for_nothing_is_a_mistake_of_its_executor(tmp_path, caplog):
    async def nothing(_run):
        return Waiting(request=InputRequest(), state=b"")

    caplog.set_level(logging.CRITICAL, "agent_server")
    async with engine(f"sqlite:///{tmp_path}/runs.sqlite", Scripted(nothing=nothing)) as runs:
        ended = await finish(runs, await start(runs, "nothing"))

    assert ended.result.error_type == "internal_error"


async def test_waiting_runs_are_not_active_and_have_a_limit_of_their_own(database):
    settings = {"max_active_per_tenant": 1, "max_waiting_per_tenant": 2}
    async with engine(database, Scripted(pay=pay), **settings) as runs:
        for _ in range(2):
            await waits(runs, await start(runs, "pay"))
        failed = await finish(runs, await start(runs, "pay"))
        await waits(runs, await start(runs, "pay", tenant="bob"), tenant="bob")
        with pytest.raises(QueueFullError):
            await asyncio.gather(start(runs, "pay"), start(runs, "pay"))

    assert failed.result.error_type == "too_many_waiting"


async def test_a_run_that_nobody_answers_fails_after_some_days(database):
    async with engine(database, Scripted(pay=pay)) as runs:
        run_id = await start(runs, "pay")
        await waits(runs, run_id)
    async with engine(database, Scripted(pay=pay), keep_waiting_days=0.000001) as runs:
        ended = await finish(runs, run_id)

    assert (ended.result.error_type, ended.finished_at is not None) == ("input_expired", True)


async def test_a_run_that_is_kept_for_a_shorter_time_waits_as_long_as_any(database):
    async with engine(database, Scripted(pay=pay)) as runs:
        run_id = await start(runs, "pay", keep_seconds=0)
        await waits(runs, run_id)
        ended = await start(runs, keep_seconds=0)
        with pytest.raises(RunNotFoundError):
            await until(runs, ended, lambda _: False)
        kept = await runs.get(run_id, tenant="ada")
        await runs.cancel(run_id, tenant="ada")
        with pytest.raises(RunNotFoundError):
            await until(runs, run_id, lambda _: False)

    assert kept.status == "waiting"


class Versioned(Scripted):
    def __init__(self, version, **scripts):
        super().__init__(**scripts)
        self.of_agent = version

    def agents(self):
        return [AgentDescription(name=name, version=self.of_agent) for name in self.scripts]


async def test_a_version_that_cannot_go_on_ends_a_waiting_run_at_its_start(database):
    async with engine(database, Versioned("a", pay=pay)) as runs:
        run_id = await start(runs, "pay")
        wait = await waits(runs, run_id)
    async with engine(database, Versioned("a", pay=pay)) as runs:
        again = await waits(runs, run_id)
    async with engine(database, Versioned("b", pay=pay)) as runs:
        ended = await finish(runs, run_id)
        echoed = await finish(runs, await start(runs))

    assert again == wait
    assert ended.result.error_type == "version_changed"
    assert echoed.status == "succeeded"


async def test_question_answer_and_state_are_encrypted_and_go_with_the_run(database):
    key = Fernet.generate_key().decode()
    async with engine(database, Scripted(pay=pay), storage_keys=key) as runs:
        run_id = await start(runs, "pay")
        wait = await waits(runs, run_id)
        columns = "SELECT question, state, answer FROM agent_runs"
        [asked] = query(database, columns)
        await answer(runs, run_id, wait.wait_id, approvals=YES, results={"c2": "secret"})
        wait = await waits(runs, run_id)
        stored = b"".join(map(bytes, query(database, "SELECT body FROM agent_run_events")[0]))
        await answer(runs, run_id, wait.wait_id, answer="good")
        await finish(runs, run_id)
        [left] = query(database, columns)

    assert asked.answer is None
    assert b"euros" not in bytes(asked.question)
    assert b"first" not in bytes(asked.state)
    assert b"secret" not in stored
    assert (left.question, left.answer) == (None, None)
    assert b"conversation" not in bytes(left.state)


async def test_what_is_large_of_a_run_goes_on_with_it_under_a_new_key_and_goes_at_its_end(database):
    """It stands beside the run's row, which SQLite writes anew with each batch of events."""
    old, new = (Fernet.generate_key().decode() for _ in range(2))
    large = "x" * 200_000

    def find_apart():
        return sorted(name for (name,) in query(database, "SELECT id FROM agent_run_payloads"))

    async with engine(database, Scripted(pay=pay), storage_keys=old) as runs:
        run_id = await start(runs, "pay", request={"input": large}, shown={"input": large})
        wait = await waits(runs, run_id)
    async with engine(database, Scripted(pay=pay), storage_keys=f"{new},{old}") as runs:
        await answer(runs, run_id, wait.wait_id, approvals=YES, results={"c2": large})
        wait = await waits(runs, run_id)
        while_waiting = find_apart()
        await answer(runs, run_id, wait.wait_id, answer="good")
        ended = await finish(runs, run_id)
        at_the_end, shown = find_apart(), await runs.read_shown(run_id, tenant="ada")
        await runs.delete(run_id, tenant="ada")

    assert (ended.result.output["door"], shown) == (large, {"input": large})
    assert while_waiting == ["request", "shown", "state"]
    assert at_the_end == ["shown"]
    assert find_apart() == []


async def test_content_of_a_lost_key_ends_the_run(database):
    async with engine(database, Scripted(pay=pay)) as runs:
        run_id = await start(runs, "pay")
        wait = await waits(runs, run_id)
        broken = "X'6e6f6e656e6f6e65'" if "sqlite" in database else "'\\x6e6f6e656e6f6e65'"
        query(database, f"UPDATE agent_runs SET state = {broken}".replace(":", "\\:"))
        await answer(runs, run_id, wait.wait_id, approvals=YES, results={"c2": 1})
        ended = await finish(runs, run_id)

    assert ended.result.error_type == "unreadable"


async def test_a_run_is_deleted_once_it_has_ended(database):
    async with engine(database, Scripted(pay=pay)) as runs:
        run_id = await start(runs, "pay")
        await waits(runs, run_id)
        with pytest.raises(RunActiveError):
            await runs.delete(run_id, tenant="ada")
        assert await runs.read_state(run_id, tenant="ada") is None
        await runs.cancel(run_id, tenant="ada")
        with pytest.raises(RunNotFoundError):
            await runs.delete(run_id, tenant="bob")
        await runs.delete(run_id, tenant="ada")
        with pytest.raises(RunNotFoundError):
            await runs.get(run_id, tenant="ada")
        assert query(database, "SELECT count(*) FROM agent_run_events") == [(0,)]


async def test_a_run_may_be_kept_for_a_shorter_time(database):
    async with engine(database) as runs:
        kept, brief = [
            (await runs.create(new_run(keep_seconds=seconds)))[0] for seconds in (None, 0.01)
        ]
        await finish(runs, kept.run_id)
        with pytest.raises(RunNotFoundError):
            await until(runs, brief.run_id, lambda _: False)
        assert (await runs.get(kept.run_id, tenant="ada")).is_kept
    assert not brief.is_kept
