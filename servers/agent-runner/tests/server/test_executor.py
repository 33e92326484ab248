"""Scripts as runs, on the engine of agent-server."""

import base64
import json
from contextlib import asynccontextmanager

import pytest

from agent_runner import ConfigurationError
from agent_runner.server import ScriptExecutor, ScriptServerSettings
from agent_server.engine import open_engine
from agent_server.executor import RequestRefusedError, UnknownAgentError
from agent_server.runs import NewRun
from run_log import RunFile, list_runs


TENANT = "default"
FILE = {"name": "a", "data": ""}
ANSWER = """
import json, sys
fields = json.load(sys.stdin)
print("thinking")
print(json.dumps({"_llm_usage": {"requests": 2, "input_tokens": 5, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3}}}))
print(json.dumps({"told": fields["question"], "_profile_data": [1]}))
"""


@pytest.fixture
def make_executor(make_runner):
    """Return a function that makes what executes the agents in these folders."""

    def make(*folders, run_logs=None, on_crash="fail", **settings):
        agents = {folder.name: folder for folder in folders}
        runner = make_runner(**settings)
        return ScriptExecutor(agents, runner, on_crash=on_crash, run_logs=run_logs)

    return make


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens an engine; its state stays when it is closed."""

    @asynccontextmanager
    async def open_(executor, **settings):
        settings = ScriptServerSettings(state=tmp_path / "state", **settings)
        async with open_engine(settings, executor) as runs:
            yield runs

    return open_


async def create(runs, executor, agent="agent", **request):
    asked = executor.check(agent, {"input": {}, **request})
    run, _ = await runs.create(NewRun(tenant=TENANT, agent=agent, request=asked))
    return run.run_id


async def follow(runs, run_id):
    """Return the events of a run up to its end."""
    told = []
    async for batch in runs.watch_events(run_id, tenant=TENANT):
        told += batch
    return told


@pytest.fixture
def run_once(make_executor, opened):
    """Return a function that makes one run of an agent, and returns its events and how it ended."""

    async def once(folder, *, run_logs=None, limits=None, **request):
        executor = make_executor(folder, run_logs=run_logs, **limits or {})
        async with opened(executor) as runs:
            run_id = await create(runs, executor, folder.name, **request)
            told = await follow(runs, run_id)
            return told, await runs.get(run_id, tenant=TENANT)

    return once


def types(told):
    return [event.type for event in told]


async def test_outputs_are_events_and_the_last_value_is_the_answer(
    make_agent, run_once, monkeypatch
):
    executions, execute = [], ScriptExecutor.execute
    monkeypatch.setattr(
        ScriptExecutor, "execute", lambda self, run: executions.append(run) or execute(self, run)
    )
    told, run = await run_once(make_agent(ANSWER), input={"question": "Why?"})

    assert [one.request for one in executions] == [{}]  # Let go of: they may be large.
    assert types(told) == ["run_started", "text_output", "json_output", "run_succeeded"]
    assert told[2].data == {"type": "json_output", "value": {"told": "Why?"}}
    assert (run.result.status, run.result.output) == ("succeeded", {"told": "Why?"})
    assert (run.result.usage.model_requests, run.result.usage.reasoning_tokens) == (2, 3)
    assert run.result.details["exit_code"] == 0
    assert "profile" not in json.dumps([event.data for event in told])


async def test_text_is_the_answer_where_there_is_no_value(make_agent, run_once):
    told, run = await run_once(make_agent("print('Two')\nprint('lines.')"))
    assert (run.result.output, run.result.usage) == ("Two\nlines.", None)
    assert types(told)[1:3] == ["text_output", "text_output"]


async def test_what_a_script_prints_survives_whatever_it_is(make_agent, run_once):
    told, run = await run_once(make_agent(r"""print('{"odd": "\\u0000 \\ud800"}')"""))
    assert run.result.output == {"odd": "\x00 \ud800"}
    assert told[1].data["value"] == {"odd": "\x00 \ud800"}


@pytest.mark.parametrize(
    "line", ["'x' * 2_000_000", "__import__('json').dumps('x' * 2_000_000)"], ids=["text", "JSON"]
)
async def test_a_large_answer_stands_among_the_events_alone(make_agent, run_once, line):
    told, run = await run_once(make_agent(f"print({line})"))
    assert (run.result.status, run.result.output) == ("succeeded", None)
    assert len(json.dumps(told[1].data)) > 2_000_000


async def test_a_script_that_prints_nothing_or_an_image_has_no_answer(make_agent, run_once):
    told, run = await run_once(make_agent("""print('{"type": "image_output", "data": "aGk="}')"""))
    assert (run.result.output, types(told)[1]) == (None, "image_output")


async def test_a_script_that_fails_says_why_and_keeps_what_it_said(make_agent, run_once):
    script = "import sys\nprint('so far')\nsys.stdout.flush()\nprint('broken', file=sys.stderr)\nsys.exit(3)"
    told, run = await run_once(make_agent(script))
    assert "so far" in [event.data.get("text") for event in told]
    assert (run.result.error, run.result.error_type) == ("broken", "script_failed")
    assert run.result.details["exit_code"] == 3


async def test_a_script_that_takes_too_long_is_ended(make_agent, run_once):
    agent = make_agent("import time\ntime.sleep(600)")
    _, run = await run_once(agent, limits={"timeout_seconds": 0.5, "terminate_seconds": 0.1})
    assert (run.result.error_type, run.result.error) == ("timed_out", "timed out after 0.5 s")


async def test_files_reach_the_script(make_agent, run_once):
    agent = make_agent("import json, sys\nprint(open(json.load(sys.stdin)['files'][0]).read())")
    file = {"name": "a.txt", "data": base64.b64encode(b"inside").decode()}
    _, run = await run_once(agent, files=[file], client_request_id="mine")
    assert run.result.output == "inside"


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"input": []}, "input"),
        ({"input": {}, "question": 1}, "question"),
        ({"input": {"number": "one"}}, "input.number"),
        ({"input": {"runner_request_id": "x"}}, "input.runner_request_id"),
        ({"input": {"resume": {}}}, "input.resume"),
        ({"input": {}, "files": {}}, "files"),
        ({"input": {}, "files": [1]}, "files[0]"),
        ({"input": {}, "files": [{"name": "a", "data": "?"}]}, "files[0].data"),
        ({"input": {}, "files": [{"name": "a", "data": ""}] * 2}, "files[1].name"),
        ({"input": {}, "files": [{"name": "a", "data": ""}] * 21}, "files"),
        ({"input": {}, "files": [{"name": "../a", "data": ""}]}, "files[0].name"),
        ({"input": {}, "client_request_id": 1}, "client_request_id"),
        ({"input": {}, "client_request_id": "a\n"}, "client_request_id"),
    ],
)
def test_what_cannot_be_run_is_refused_by_field(make_agent, make_executor, request_, field):
    schema = {"properties": {"number": {"type": "integer"}}}
    executor = make_executor(make_agent("", schema=schema))
    with pytest.raises(RequestRefusedError) as caught:
        executor.check("agent", request_)
    assert [problem.field for problem in caught.value.problems] == [field]


@pytest.mark.parametrize(
    ("request_", "declares", "refusal"),
    [
        ({"input": {"files": ["/etc/hostname"]}}, False, ("input.files", 400)),
        ({"input": {"files": []}, "files": [FILE]}, False, ("input.files", 400)),
        ({"input": {}, "files": [FILE]}, True, ("files", 400)),
        ({"input": {"files": 1}}, True, ("input.files", 422)),
        ({"input": {"files": ["a"], "other": 1}}, True, ("input.other", 422)),
    ],
)
def test_files_of_a_client_and_paths_of_the_runner_never_share_a_field(
    make_agent, make_executor, request_, declares, refusal
):
    declared = {"files": {"type": "array"}} if declares else {}
    schema = {"properties": {"other": {"type": "string"}, **declared}}
    executor = make_executor(make_agent("", schema=schema))
    with pytest.raises(RequestRefusedError) as caught:
        executor.check("agent", request_)
    (problem,) = caught.value.problems
    assert (problem.field, caught.value.status) == refusal


def test_agents_are_told_with_their_schemas(make_agent, make_executor):
    executor = make_executor(make_agent("", schema={"type": "object"}), make_agent("", name="b"))
    told = [(agent.name, agent.input_schema) for agent in executor.agents()]
    assert told == [("agent", {"type": "object"}), ("b", None)]
    with pytest.raises(UnknownAgentError):
        executor.check("c", {"input": {}})


async def test_an_agent_that_is_gone_ends_its_run_and_names_no_folder(
    make_agent, make_executor, opened, caplog
):
    agent = make_agent("print(1)")
    executor, other = make_executor(agent), make_executor(make_agent("", name="b"))

    async with opened(executor, concurrency=1, stop_seconds=0) as runs:
        asked = executor.check("agent", {"input": {}})
        (agent / "main.py").unlink()
        run, _ = await runs.create(NewRun(tenant=TENANT, agent="agent", request=asked))
        await follow(runs, run.run_id)
        first = await runs.get(run.run_id, tenant=TENANT)
    async with opened(other) as runs:
        run, _ = await runs.create(NewRun(tenant=TENANT, agent="agent", request=asked))
        await follow(runs, run.run_id)
        result = first, await runs.get(run.run_id, tenant=TENANT)

    for run in result:
        assert run.result.error == "the agent cannot be run as it is set up"
        assert run.result.error_type == "not_started"
    assert "main.py" in caplog.text
    with pytest.raises(ConfigurationError):
        executor.agents()


async def test_a_cancelled_run_ends_its_script_and_keeps_when_it_began(
    make_agent, make_executor, opened
):
    agent = make_agent("""
        import pathlib, time
        try:
            print("begun", flush=True)
            time.sleep(600)
        finally:
            pathlib.Path("ended").touch()
    """)
    (agent / "main.py").write_text(
        "import signal, sys\nsignal.signal(15, lambda *_: sys.exit(1))\n"
        + (agent / "main.py").read_text()
    )
    executor = make_executor(agent)

    async with opened(executor) as runs:
        run_id = await create(runs, executor)
        async for batch in runs.watch_events(run_id, tenant=TENANT):
            if "text_output" in types(batch):
                await runs.cancel(run_id, tenant=TENANT, reason="enough")
        run = await runs.get(run_id, tenant=TENANT)
    assert (run.status, run.cancel_reason) == ("cancelled", "enough")
    assert run.started_at is not None
    assert (agent / "ended").exists()


@pytest.mark.parametrize("on_crash", ["fail", "rerun"])
async def test_what_becomes_of_a_run_whose_server_stopped_is_a_setting(
    make_agent, make_executor, opened, on_crash
):
    agent = make_agent("""
        import pathlib, time
        with open("starts", "a") as starts:
            print("start", file=starts)
        print("begun", flush=True)
        while not pathlib.Path("go").exists():
            time.sleep(0.01)
    """)
    executor = make_executor(agent, on_crash=on_crash)

    async with opened(executor, stop_seconds=0) as runs:
        run_id = await create(runs, executor)
        async for batch in runs.watch_events(run_id, tenant=TENANT):
            if "text_output" in types(batch):
                break
    (agent / "go").touch()
    async with opened(executor) as runs:
        told = await follow(runs, run_id)
        run = await runs.get(run_id, tenant=TENANT)
    assert [event.data["attempt"] for event in told if event.type == "run_started"] == [1, 2]
    starts = (agent / "starts").read_text().split()
    if on_crash == "fail":
        assert (run.result.error_type, len(starts)) == ("interrupted", 1)
        assert "not known" in told[-2].data["message"]
    else:
        assert (run.result.output, len(starts)) == ("begun", 2)


async def test_a_run_writes_its_log_without_secrets(make_agent, run_once, tmp_path):
    script = ANSWER.replace('"thinking"', '__import__("os").environ["MY_TOKEN"]')
    agent = make_agent(script, env="MY_TOKEN=hunter22hunter22")
    await run_once(agent, run_logs=tmp_path / "logs", input={"question": "hunter22hunter22?"})

    [summary] = list_runs(tmp_path / "logs" / TENANT)
    assert (summary.about["agent"], summary.end["reason"]) == ("agent", "answered")
    assert summary.about["provider"] == "unknown"
    text = summary.path.read_text()
    assert "hunter22" not in text
    assert '"_profile_data":[[1]]' in text.replace(" ", "")
    assert RunFile(summary.path).problems == ()
