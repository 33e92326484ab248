"""Where the runs of an executor are told: in run logs, and as spans."""

import json

import pytest
from agents import Scripted, engine, finish, start
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent_server.executor import RunResult
from agent_server.logs import RunFeeds
from run_log import RunFeed, RunLog


@pytest.fixture
def exporter(monkeypatch):
    found = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(found))
    # A process may set its provider once, and other tests may have.
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return found


def telling(feeds, **options):
    async def script(run):
        if (feed := feeds.open(run, **options)) is not None:
            feed.begin().end("answered")
        return RunResult(status="succeeded")

    return Scripted(script=script)


async def play(tmp_path, executor, **settings):
    database = f"sqlite:///{tmp_path}/runs.sqlite"
    async with engine(database, executor, **settings) as runs:
        with trace.get_tracer("caller").start_as_current_span("caller") as span:
            run_id = await start(runs, "script")
        await finish(runs, run_id)
        return run_id, format(span.get_span_context().trace_id, "032x")


async def test_a_run_is_a_span_below_the_request_for_it(tmp_path, exporter):
    feeds = RunFeeds("scripted", None, traces=True)
    run_id, trace_id = await play(tmp_path, telling(feeds), traces=True)

    [span] = [one for one in exporter.get_finished_spans() if "invoke_agent" in one.name]
    assert format(span.context.trace_id, "032x") == trace_id
    assert dict(span.attributes) == dict(span.attributes) | {
        "agent_server.run.id": run_id,
        "agent_server.tenant": "ada",
        "agent_server.attempt": "1",
        "gen_ai.agent.name": "script",
        "gen_ai.conversation.id": run_id,
    }


async def test_a_log_of_the_agents_own_goes_on_beside_traces(tmp_path, exporter):
    own = RunLog(tmp_path / "own", about={"program": "mine"})
    feeds = RunFeeds("scripted", None, traces=True)
    run_id, _ = await play(tmp_path, telling(feeds, own=own), traces=True)

    [log] = (tmp_path / "own").glob("run-*.jsonl")
    about = json.loads(log.read_text().splitlines()[0])["about"]
    assert (about["program"], about["run_id"]) == ("mine", run_id)
    assert len(exporter.get_finished_spans()) == 2


async def test_each_tenant_has_a_folder(tmp_path):
    run_id, _ = await play(tmp_path, telling(RunFeeds("scripted", tmp_path / "logs")))

    [log] = (tmp_path / "logs" / "ada").glob("run-*.jsonl")
    assert json.loads(log.read_text().splitlines()[0])["about"]["run_id"] == run_id


async def test_without_a_place_a_run_is_told_where_its_agent_tells_it():
    own = RunFeed()

    assert RunFeeds("scripted", None).open(None, own=own) is own
