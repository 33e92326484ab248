import asyncio
import sys
import time
from contextlib import aclosing

import psutil
import pytest

from agent_runner import AgentRunner, ErrorOutput, JsonOutput, TextOutput


def _processes(request_id):
    """List the living processes of a run, wherever they hide."""
    return [process for process in psutil.process_iter() if _belongs(process, request_id)]


def _belongs(process, request_id):
    try:
        return process.environ().get("AGENT_RUNNER_REQUEST_ID") == request_id
    except psutil.Error:
        return False


def _wait_until_gone(processes):
    _, alive = psutil.wait_procs(processes, timeout=600)
    return not alive


SPAWN = """
import subprocess, sys, time
def spawn(code, **options):
    return subprocess.Popen([sys.executable, "-c", code], **options)
"""
SLEEP = "import time; time.sleep(600)"
STUBBORN = (
    "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
)


# Scripts whose end takes seconds, by the names under which the tests find how they ended.
LEAVING = {
    "leaves a child": f"{SPAWN}\nspawn({SLEEP!r})\nprint('done')",
    "leaves a session": f"{SPAWN}\nspawn({SLEEP!r}, start_new_session=True)\nprint('done')",
    "leaves an orphan": f"{SPAWN}\nprint(spawn({SLEEP!r}, start_new_session=True, env={{}}).pid)",
}
# With how many lines they print before their time is over, and how long they may take to end then.
LASTING = {
    "says something": (f"print('so far'); {SLEEP}", 1, 600),
    "cleans up": (
        f"import signal, sys; signal.signal(15, lambda *_: (print('bye'), sys.exit(0))); print('so far'); {SLEEP}",
        1,
        600,
    ),
    "ignores SIGTERM": (STUBBORN, 1, 0.2),
    "forks": (f"{SPAWN}\n[spawn({STUBBORN!r}) for _ in range(5)]\n{STUBBORN}", 6, 0.2),
}


@pytest.fixture(scope="module")
def slow_runs(tmp_path_factory):
    """Return outputs and results of the slow scripts, which run at the same time."""

    async def run(script, lines=0, act=None, **limits):
        folder, outputs = tmp_path_factory.mktemp("slow"), []
        (folder / "main.py").write_text(script)
        runner = AgentRunner(command=[sys.executable, "main.py"], **limits)
        async for output in runner.run(folder, {}):
            outputs.append(output)
            if len(outputs) == lines:
                await act()
        *outputs, result = outputs
        return outputs, result

    async def run_leaving():
        return await asyncio.gather(*map(run, LEAVING.values()))

    async def run_lasting():
        loop, all_last = asyncio.get_running_loop(), asyncio.Barrier(len(LASTING))
        read = loop.time

        async def let_time_pass():
            if await all_last.wait() == 0:
                loop.time = lambda: read() + 600

        return await asyncio.gather(
            *(
                run(script, lines, let_time_pass, timeout_seconds=600, terminate_seconds=seconds)
                for script, lines, seconds in LASTING.values()
            )
        )

    runs = dict(zip(LEAVING, asyncio.run(run_leaving()), strict=True))
    runs |= zip(LASTING, asyncio.run(run_lasting()), strict=True)
    yield runs
    psutil.Process(runs["leaves an orphan"][0][0].value).kill()


def test_a_run_out_of_time_ends_and_keeps_what_it_said(slow_runs):
    outputs, result = slow_runs["says something"]
    assert outputs == [
        TextOutput(text="so far"),
        ErrorOutput(message="timed out after 600 s", source="runner"),
    ]
    assert (result.status, result.stop_reason, result.exit_code) == ("failed", "timed_out", -15)


def test_a_script_may_clean_up_when_its_time_is_over(slow_runs):
    outputs, result = slow_runs["cleans up"]
    assert outputs[:2] == [TextOutput(text="so far"), TextOutput(text="bye")]
    assert (result.status, result.stop_reason, result.exit_code) == ("failed", "timed_out", 0)


def test_a_script_that_ignores_sigterm_is_killed(slow_runs):
    _, result = slow_runs["ignores SIGTERM"]
    assert (result.stop_reason, result.exit_code) == ("timed_out", -9)


async def test_a_script_that_floods_both_pipes_loses_no_line(make_agent, run_agent):
    folder = make_agent(
        """
        import sys, threading
        def flood(stream, start):
            for number in range(start, start + 12_000):
                stream.write(f"{number}\\n")
        threads = [threading.Thread(target=flood, args=pair) for pair in ((sys.stdout, 0), (sys.stderr, 50_000))]
        [thread.start() for thread in threads]; [thread.join() for thread in threads]
        """
    )
    outputs, result = await run_agent(folder)
    numbers = [output.value for output in outputs if isinstance(output, JsonOutput)]
    errors = [int(output.message) for output in outputs if isinstance(output, ErrorOutput)]
    assert numbers == list(range(12_000))
    assert errors == list(range(50_000, 62_000))
    assert result.status == "succeeded"


@pytest.mark.untraced
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("line", ["y\\n", "y"])
async def test_a_script_that_writes_without_end_is_ended(make_agent, run_agent, stream, line):
    folder = make_agent(f"import sys\nwhile True: sys.{stream}.write('{line}' * 10_000)")
    outputs, result = await run_agent(folder, max_line_bytes=50_000, max_output_bytes=60_000)
    assert outputs[-1].source == "runner"
    assert outputs[-1].message.startswith(
        "ended because it wrote too much; the limits are 50000 bytes"
    )
    assert (result.status, result.stop_reason) == ("failed", "output_limit")
    # Of two bytes each: what is allowed, what one read may bring on top of that, and why it was ended.
    assert len(outputs) <= (60_000 + 64 * 1024) // 2 + 1


@pytest.mark.untraced
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_script_that_writes_empty_lines_without_end_is_ended(make_agent, run_agent, stream):
    folder = make_agent(f"import sys\nwhile True: sys.{stream}.write('\\n' * 10_000)")
    outputs, result = await run_agent(folder, max_output_lines=1_000)
    assert outputs[-1].message.endswith(" bytes and 1000 lines in all")
    assert (result.status, result.stop_reason) == ("failed", "output_limit")


async def test_a_script_that_never_reads_its_input_is_not_waited_for(make_agent, run_agent):
    outputs, result = await run_agent(make_agent("print('done')"), {"prompt": "x" * 1_000_000})
    assert (outputs, result.status) == ([TextOutput(text="done")], "succeeded")


@pytest.mark.parametrize("name", ["leaves a child", "leaves a session"])
def test_what_a_script_leaves_running_is_ended_with_it(slow_runs, name):
    outputs, result = slow_runs[name]
    assert (outputs, result.status) == ([TextOutput(text="done")], "succeeded")
    assert _wait_until_gone(_processes(result.runner_request_id))


def test_an_orphan_that_cannot_be_found_makes_nobody_wait(slow_runs):
    outputs, result = slow_runs["leaves an orphan"]
    assert psutil.Process(outputs[0].value).is_running()
    assert result.status == "succeeded"


async def test_an_orphan_that_floods_is_stopped(make_agent, run_agent):
    flood = "while True: print('y' * 1000)"
    folder = make_agent(f"{SPAWN}\nspawn({flood!r}, start_new_session=True)")
    outputs, result = await run_agent(folder, max_output_bytes=3_000_000_000)
    assert set(map(type, outputs)) <= {TextOutput}
    assert result.status == "succeeded"
    assert _wait_until_gone(_processes(result.runner_request_id))


async def test_an_orphan_that_writes_too_much_fails_the_run(make_agent, run_agent):
    flood = "while True: print('y' * 1000)"
    folder = make_agent(f"{SPAWN}\nspawn({flood!r})")
    _, result = await run_agent(folder, max_output_bytes=100_000)
    assert (result.status, result.stop_reason) == ("failed", "output_limit")


def test_a_script_that_forks_stubborn_children_is_ended_whole(slow_runs):
    _, result = slow_runs["forks"]
    assert result.stop_reason == "timed_out"
    assert _wait_until_gone(_processes(result.runner_request_id))


async def test_a_caller_that_leaves_ends_the_script(make_agent, make_runner):
    folder = make_agent(
        f"import json, os\nprint(json.dumps(os.environ['AGENT_RUNNER_REQUEST_ID']))\n{SLEEP}"
    )

    async with aclosing(make_runner().run(folder, {})) as outputs:
        request_id = (await anext(outputs)).value

    assert _processes(request_id) == []


async def test_cancelling_the_caller_ends_the_script_and_what_it_started(make_agent, make_runner):
    folder = make_agent(
        f"{SPAWN}\nimport json, os\nspawn({STUBBORN!r}, start_new_session=True, stdout=subprocess.DEVNULL)\n"
        f"print(json.dumps(os.environ['AGENT_RUNNER_REQUEST_ID']))\n{STUBBORN}"
    )
    seen = []

    async def consume(started):
        async for output in make_runner(terminate_seconds=0.1).run(folder, {}):
            seen.append(output.value)
            if len(seen) == 2:
                started.set()

    started = asyncio.Event()
    task = asyncio.create_task(consume(started))
    await started.wait()
    task.cancel()
    await asyncio.wait({task})

    assert task.cancelled()
    assert _wait_until_gone(_processes(seen[0]))


async def test_a_slow_consumer_loses_nothing_and_time_still_runs_out(make_agent, make_runner):
    folder = make_agent("for number in range(10**9): print(number)")

    seen = []
    async for output in make_runner(timeout_seconds=1).run(folder, {}):
        if not seen:
            await asyncio.to_thread(time.sleep, 2)
        seen.append(output)
    *numbers, _, result = seen
    assert [output.value for output in numbers[:-1]] == list(range(len(numbers) - 1))
    assert result.stop_reason == "timed_out"


async def test_garbage_is_outputs_like_any_other(make_agent, run_agent):
    folder = make_agent(
        """
        import os, sys
        garbage = bytes(range(256)) * 40 + os.urandom(100_000) + b"[" * 100_000 + b"\\n" + b"9" * 5000 + b"\\nNaN\\n"
        sys.stdout.buffer.write(garbage)
        sys.stderr.buffer.write(garbage)
        """
    )
    outputs, result = await run_agent(folder)
    assert TextOutput(text="9" * 5000) in outputs
    assert TextOutput(text="NaN") in outputs
    assert result.status == "succeeded"
