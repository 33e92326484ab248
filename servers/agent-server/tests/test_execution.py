"""What an executor is given, and what becomes of what it does."""

import asyncio
import gc
import re
import secrets
import threading
import weakref

import pytest
from agents import Scripted, engine, eventually, finish, new_run, query, start, until, watch

from agent_server.executor import RunFailedError, RunResult, TransientError, Usage
from agent_server.logs import read_about


async def play(script, tmp_path, *, cancel=False, **settings):
    """Execute a script as a run, and return the run, its events and the server's figures."""

    database = f"sqlite:///{tmp_path}/runs.sqlite"
    async with engine(database, Scripted(script=script), **settings) as runs:
        run_id = await start(runs, "script", metadata={"case": "1"})
        if cancel:
            await until(runs, run_id, lambda run: run.last_event > 1)
            await runs.cancel(run_id, tenant="ada", reason="enough")
            await runs.cancel(run_id, tenant="ada", reason="too late")
        told = await watch(runs, run_id)
        await eventually(lambda: runs.statistics().ended)
        return await finish(runs, run_id), told, runs.statistics()


def faults(*whiles):
    """Return work that fails as often as there are arguments, each of which is awaited before."""
    left = list(whiles)

    async def work():
        if left:
            if (before := left.pop(0)) is not None:
                await before()
            raise TransientError("restarting", retry_after_seconds=0.01)
        return b"done"

    return work


async def test_an_executor_sees_its_run(tmp_path):
    async def script(run):
        await run.tell("seen", {})
        seen = [run.run_id, run.tenant, run.agent, run.request, dict(run.metadata), run.attempt]
        return RunResult(status="succeeded", output=[*seen, run.cancel_reason])

    run, _, _ = await play(script, tmp_path)

    question = {"question": "why"}
    assert run.result.output == [
        run.run_id,
        "ada",
        "script",
        question,
        {"case": "1"},
        1,
        None,
    ]


async def test_a_result_is_kept_with_usage_and_details(tmp_path):
    usage = Usage(input_tokens=5, output_tokens=7, cached_tokens=2, cost="0.01", currency="USD")
    result = RunResult(
        status="failed", error="no", error_type="model_error", usage=usage, details={"code": 3}
    )

    async def script(_run):
        return result

    run, told, figures = await play(script, tmp_path)

    assert (run.status, run.result) == ("failed", result)
    assert told[-1].type == "run_failed"
    assert told[-1].data["usage"]["input_tokens"] == 5
    assert figures.tokens == {"input": 5, "output": 7, "cached": 2, "reasoning": 0}
    assert figures.ended == {"failed": 1}
    assert figures.duration_seconds[float("inf")] == 1


@pytest.mark.parametrize("most", [1, 10_001], ids=["little", "much"])
async def test_only_much_that_a_run_tells_or_ends_with_is_written_beside_the_event_loop(
    tmp_path, most
):
    writers = set()

    class Details(dict):
        def items(self):
            writers.add(threading.current_thread().name.partition("_")[0])
            return super().items()

    said = [0] * most

    async def script(run):
        await run.tell("said", Details(said=said))
        return RunResult(status="succeeded", details=Details(said=said))

    run, told, _ = await play(script, tmp_path)

    beside = {threading.current_thread().name} if most == 1 else {"asyncio"}
    assert told[1].data == {"said": said}
    assert run.result.details == {"said": said}
    assert writers == {"agent-server-writer", *beside}


async def test_a_transient_fault_is_tried_again(tmp_path):
    async def script(run):
        done = await run.step("model", faults(None, None))
        return RunResult(status="succeeded", output=done.decode())

    run, _, _ = await play(script, tmp_path)

    assert run.result.output == "done"


async def test_without_a_time_to_wait_the_pauses_grow_and_the_log_says_why(tmp_path, caplog):
    tries = []

    async def work():
        tries.append(asyncio.get_running_loop().time())
        if len(tries) == 1:
            raise TransientError("restarting")
        return b"done"

    async def script(run):
        return RunResult(status="succeeded", output=(await run.step("model", work)).decode())

    run, _, _ = await play(script, tmp_path)

    assert run.result.output == "done"
    assert tries[1] - tries[0] > 0.3
    assert re.findall("a step is tried again in 0.[4-6] s, 1 of 4: restarting", caplog.text)


async def test_a_step_that_does_not_end_is_named_by_log_and_figures(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("agent_server._engine.underway._FIRST_SECONDS", 0.4)
    hanging, named = asyncio.Event(), []

    def note(_):
        named.append(read_about().get("tool"))
        return True

    class Key(str):
        __slots__ = ()
        tool = "refund"

    async def work():
        await hanging.wait()
        return b""

    async def script(run):
        await run.step(Key("tool:1.c1"), work)
        return RunResult(status="succeeded")

    database = f"sqlite:///{tmp_path}/runs.sqlite"
    with caplog.filtering(note):
        async with engine(database, Scripted(script=script), lease_seconds=0.2) as runs:
            run_id = await start(runs, "script")
            await eventually(lambda: "the step tool:1.c1 is still running after" in caplog.text)
            figures = [runs.statistics(tenant=one).longest_step_seconds for one in ("ada", "bob")]
            hanging.set()
            await finish(runs, run_id)
            after = runs.statistics().longest_step_seconds

    assert (figures[0]["tool"] > 0.4, figures[1], after) == (True, {}, {})
    assert "the step tool:1.c1 is over after" in caplog.text
    assert named.count("refund") >= 2


@pytest.mark.parametrize(
    ("fault_count", "options", "expected"),
    [
        (1, {}, "restarting"),
        (1, {"after_events": True}, "done"),
        (1, {"after_events": True, "retries": False}, "restarting"),
        (3, {"after_events": True}, "restarting"),
    ],
)
async def test_what_was_shown_already_is_tried_again_only_where_the_step_says_so(
    tmp_path, fault_count, options, expected
):
    async def script(run):
        async def tell():
            await run.tell("text", {"text": "half"})

        try:
            done = await run.step("model", faults(*[tell] * fault_count), **options)
        except TransientError as error:
            return RunResult(status="failed", error=str(error))
        return RunResult(status="succeeded", output=done.decode())

    run, told, _ = await play(script, tmp_path, retries=2)

    assert (run.result.error or run.result.output) == expected
    assert "text" in [event.type for event in told]


async def test_a_step_is_done_once_also_within_an_attempt(tmp_path):
    async def script(run):
        work = faults()
        done = await asyncio.gather(*(run.step("model", work) for _ in range(3)))
        failing = faults(None)
        with pytest.raises(TransientError):
            await run.step("tool", failing, retries=False)
        done.append(await run.step("tool", failing))
        return RunResult(status="succeeded", output=[one.decode() for one in done])

    run, _, _ = await play(script, tmp_path)

    assert run.result.output == ["done"] * 4


@pytest.mark.parametrize(
    ("settings", "size"), [({"max_events": 20}, 1), ({"max_event_bytes": 3000}, 100)]
)
async def test_who_tells_too_much_ends_failed_with_what_was_told(tmp_path, settings, size):
    async def script(run):
        while True:
            await run.tell("text", {"text": "x" * size})

    run, told, _ = await play(script, tmp_path, **settings)

    assert run.result.error_type == "event_limit"
    assert [event.type for event in told[1:-1]] == ["text"] * (len(told) - 2)
    assert len(told) > 10


@pytest.mark.parametrize(("type_", "data"), [("run_failed", {}), ("text", {"x": float("nan")})])
async def test_what_cannot_be_told_is_refused(tmp_path, type_, data):
    async def script(run):
        with pytest.raises(ValueError, match=r"type: expected|JSON"):
            await run.tell(type_, data)
        return RunResult(status="succeeded")

    run, told, _ = await play(script, tmp_path)

    assert run.status == "succeeded"
    assert len(told) == 2


async def test_much_text_is_kept_whole(tmp_path):
    async def script(run):
        for _ in range(40):
            await run.tell("text", {"text": "x" * 60_000})
        return RunResult(status="succeeded")

    _, told, _ = await play(script, tmp_path)

    assert [event.number for event in told] == list(range(1, 43))


@pytest.mark.parametrize(
    ("status", "expected"), [("failed", "cancelled"), ("succeeded", "succeeded")]
)
async def test_a_cancelled_executor_may_still_have_succeeded(tmp_path, status, expected):
    async def script(run):
        await run.tell("began", {})
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            return RunResult(status=status, output=run.cancel_reason)

    run, told, _ = await play(script, tmp_path, cancel=True)

    assert (run.status, run.cancel_reason) == (expected, "enough")
    assert told[-1].type == f"run_{expected}"


async def test_a_cancelled_run_tells_what_its_executor_has_left(tmp_path):
    async def script(run):
        await run.tell("began", {})
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            return RunResult(status="failed", usage=Usage(input_tokens=3), details={"half": 1})

    run, told, _ = await play(script, tmp_path, cancel=True)

    last = told[-1].data
    assert (run.status, run.result) == ("cancelled", None)
    assert (last["reason"], last["details"]) == ("enough", {"half": 1})
    assert last["usage"]["input_tokens"] == 3
    assert "error" not in last


async def test_an_executor_may_end_its_run_with_a_sentence(tmp_path):
    async def script(_run):
        raise RunFailedError("what was said is not there any more", error_type="lost")

    run, _, _ = await play(script, tmp_path)

    found = (run.status, run.result.error, run.result.error_type)
    assert found == ("failed", "what was said is not there any more", "lost")


async def test_an_error_of_an_executor_is_for_the_log_alone(tmp_path, caplog):
    async def script(run):
        await run.tell("text", {"text": "half"})
        raise RuntimeError("the secret is 42")

    run, told, _ = await play(script, tmp_path)

    assert run.result.error_type == "internal_error"
    assert "the secret" not in str(run)
    assert "the secret is 42" in caplog.text
    assert [event.type for event in told] == ["run_started", "text", "run_failed"]


async def test_a_run_of_a_stopping_server_may_end(tmp_path):
    async def script(run):
        await asyncio.sleep(0.2)
        return RunResult(status="succeeded", output=run.attempt)

    database = f"sqlite:///{tmp_path}/runs.sqlite"
    executor = Scripted(script=script)
    async with engine(database, executor, stop_seconds=60, lease_seconds=60) as runs:
        run, _ = await runs.create(new_run("script"))
        await until(runs, run.run_id, lambda run: run.attempt == 1)
    async with engine(database, executor) as runs:
        run = await runs.get(run.run_id, tenant="ada")

    assert run.result.output == 1


async def test_a_run_whose_step_cannot_be_stored_fails(tmp_path):
    async def work(run):
        await run.step("\udc80", lambda: asyncio.sleep(0, b"done"))  # no database takes it
        return RunResult(status="succeeded")

    async with engine(f"sqlite:///{tmp_path}/runs.sqlite", Scripted(work=work)) as runs:
        run = await finish(runs, await start(runs, "work"))

    assert (run.result.error_type, run.attempt) == ("internal_error", 1)


@pytest.mark.postgresql
async def test_a_step_that_postgresql_cannot_store_harms_its_run_alone(cluster):
    async def work(run):
        # No index takes so much that cannot be compressed.
        await run.step(secrets.token_hex(10_000), lambda: asyncio.sleep(0, b"done"))

    async with engine(cluster.create(), Scripted(work=work)) as runs:
        ids = [await start(runs, agent) for agent in ("work", "echo")]
        failed, other = [await finish(runs, run_id) for run_id in ids]

    assert (failed.result.error_type, other.status) == ("internal_error", "succeeded")


async def test_a_run_whose_events_cannot_be_stored_is_begun_as_often_as_servers_may_die_of_it(
    tmp_path,
):
    database = f"sqlite:///{tmp_path}/runs.sqlite"
    refusal = "WHEN length(NEW.body) > 300 BEGIN SELECT RAISE(ABORT, 'too large'); END"

    async def work(run):
        await run.tell("text", {"text": "x" * 300})
        await asyncio.sleep(600)

    async with engine(database, Scripted(work=work), max_attempts=2) as runs:
        query(database, f"CREATE TRIGGER refuses BEFORE INSERT ON agent_run_events {refusal}")
        run = await finish(runs, await start(runs, "work"))

    assert (run.result.error_type, run.attempt) == ("interrupted", 2)


class Key(str):
    """The key of a step, with what the step is made from."""

    __slots__ = ("__dict__", "__weakref__")


async def test_what_a_run_has_held_is_let_go_without_a_collector_of_circles(tmp_path):
    held = []

    async def work(run):
        key = Key("ask")
        held.extend([weakref.ref(run), weakref.ref(key)])
        await run.tell("text", {})
        await run.step(key, lambda: asyncio.sleep(0, b"done"))
        del key
        return RunResult(status="succeeded", output=held[1]() is None)

    gc.disable()
    try:
        async with engine(f"sqlite:///{tmp_path}/runs.sqlite", Scripted(work=work)) as runs:
            run = await finish(runs, await start(runs, "work"))
            await eventually(lambda: held[0]() is None)
    finally:
        gc.enable()

    assert run.result.output is True
