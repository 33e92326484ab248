"""Runs as OpenTelemetry spans: checked against the names that OpenTelemetry publishes, and received over OTLP by its own messages."""

import importlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from run_log import RunFeed, RunFile, RunLog
from run_log.traces import Traces


# Its names of attributes stand in a private module as long as they are not stable.
gen_ai_attributes = importlib.import_module("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")  # fmt: skip
error_attributes = importlib.import_module("opentelemetry.semconv.attributes.error_attributes")

SECRET = "hunter22-hunter22"
LONG = "long " * 2_000
TOOLS = [{"name": "add", "description": "Add.", "parameters": {"type": "object"}}]
OURS = {"run_log.run", "run_log.outcome", "run_log.end_reason", "run_log.total_price", "run_log.currency", "run_log.waiting_tools"}  # fmt: skip


@pytest.fixture
def spans():
    """Return the exporter whose spans are looked at, and the provider before it."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    exporter.provider = provider
    return exporter


def write_run(feed, about=None):
    """Write a run of two rounds: a call that is made, one that fails, one that is refused, one that is not over when the run is."""
    run = feed.begin(about)
    question = {"role": "user", "content": [{"type": "text", "text": f"{SECRET}? {LONG}"}, {"type": "image", "size": 3}]}  # fmt: skip
    run.request(1, [{"role": "system", "content": "Be nice."}, question], {"model": "gpt-5.5", "tools": TOOLS})  # fmt: skip
    run.delta(1, "Let me ")
    run.delta(1, "see.")
    calls = [{"call_id": f"c{number}", "name": "add", "arguments": "{}"} for number in (1, 2, 3, 4)]
    usage = {"input_tokens": 12, "cached_tokens": 8, "output_tokens": 4, "reasoning_tokens": 2, "total_price": "0.5", "currency": "USD"}  # fmt: skip
    run.answer(1, calls=calls, usage=usage, finish_reason="tool_calls")
    for call in calls:
        run.call(**call)
    run.result("c3", "refused", "no such tool", error="no such tool")
    run.started("c1")
    run.started("c2")
    run.started("c4")
    run.result("c1", "done", "4")
    run.result("c2", "failed", f"broken: {SECRET}", error="broken", cause=ValueError("broken"))
    answered = {"role": "assistant", "content": None, "tool_calls": calls}
    run.request(2, [{"role": "system", "content": "Be nice."}, question, answered, {"role": "tool", "tool_call_id": "c1", "content": "4"}], {"model": "gpt-5.5", "tools": TOOLS})  # fmt: skip
    run.answer(2, error="the model is gone")
    run.end("error", rounds=2, usage=usage, error="the model is gone")
    return run


def by_name(exporter):
    return {span.name: span for span in exporter.get_finished_spans()}


def test_a_run_is_an_agent_with_its_model_calls_and_tool_calls_below(spans):
    write_run(RunFeed([Traces(spans.provider)], about={"agent": "clerk", "model": "gpt-5.5"}))
    found = spans.get_finished_spans()
    [agent] = [span for span in found if span.parent is None]
    assert agent.name == "invoke_agent clerk"
    below = [span for span in found if span.parent is not None]
    assert sorted(span.name for span in below) == ["chat gpt-5.5"] * 2 + ["execute_tool add"] * 4
    assert {span.parent.span_id for span in below} == {agent.context.span_id}
    assert {span.kind for span in below if span.name.startswith("chat")} == {SpanKind.CLIENT}
    assert all(span.start_time <= span.end_time for span in found)
    assert all(agent.start_time <= span.start_time for span in below)


def test_usage_reasons_and_tools_are_told_by_the_published_names(spans):
    write_run(RunFeed([Traces(spans.provider, content=True)], about={"agent": "clerk"}))
    published = {value for module in (gen_ai_attributes, error_attributes) for name, value in vars(module).items() if name.isupper()}  # fmt: skip
    told = {name for span in spans.get_finished_spans() for name in span.attributes}
    assert told - OURS <= published
    assert told >= OURS - {"run_log.waiting_tools"}
    operations = {value.value for value in gen_ai_attributes.GenAiOperationNameValues}
    assert {span.attributes["gen_ai.operation.name"] for span in spans.get_finished_spans()} <= operations  # fmt: skip
    [first, _] = [span for span in spans.get_finished_spans() if span.name == "chat gpt-5.5"]
    assert first.attributes["gen_ai.usage.input_tokens"] == 12
    assert first.attributes["gen_ai.usage.cache_read.input_tokens"] == 8
    assert first.attributes["gen_ai.usage.output_tokens"] == 4
    assert first.attributes["gen_ai.usage.reasoning.output_tokens"] == 2
    assert first.attributes["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert first.attributes["gen_ai.response.time_to_first_chunk"] >= 0
    assert json.loads(first.attributes["gen_ai.tool.definitions"])[0]["name"] == "add"


def test_texts_go_along_only_when_they_are_asked_for_and_secrets_never(spans):
    write_run(RunFeed([Traces(spans.provider)], known=[SECRET], about={"agent": "clerk"}))
    told = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "Be nice" not in told
    assert "broken" not in told
    assert "gone" not in told
    spans.clear()
    write_run(RunFeed([Traces(spans.provider, content=True)], known=[SECRET], about={"agent": "clerk"}))  # fmt: skip
    told = "".join(span.to_json() for span in spans.get_finished_spans())
    assert SECRET not in told
    [first, second] = [span for span in spans.get_finished_spans() if span.name == "chat gpt-5.5"]
    asked = json.loads(first.attributes["gen_ai.input.messages"])
    assert [message["role"] for message in asked] == ["system", "user"]
    assert asked[1]["parts"][0] == {"type": "text", "content": f"[redacted]? {LONG}"}
    assert asked[1]["parts"][1]["size"] == 3
    [said] = json.loads(first.attributes["gen_ai.output.messages"])
    assert said["parts"][0] == {"type": "text", "content": "Let me see."}
    assert [part["type"] for part in said["parts"][1:]] == ["tool_call"] * 4
    assert said["finish_reason"] == "tool_calls"
    asked = json.loads(second.attributes["gen_ai.input.messages"])
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "tool"]
    assert asked[3]["parts"] == [{"type": "tool_call_response", "response": "4", "id": "c1"}]


def test_what_fails_is_an_error_and_what_was_not_over_ends_with_the_run(spans):
    write_run(RunFeed([Traces(spans.provider)], about={"agent": "clerk"}))
    found = spans.get_finished_spans()
    tools = {span.attributes["gen_ai.tool.call.id"]: span for span in found if "gen_ai.tool.call.id" in span.attributes}  # fmt: skip
    kinds = {call_id: span.attributes.get("error.type") for call_id, span in tools.items()}
    assert kinds == {"c1": None, "c2": "ValueError", "c3": "refused", "c4": "unfinished"}
    assert tools["c1"].status.status_code is StatusCode.UNSET
    assert tools["c2"].status.status_code is StatusCode.ERROR
    assert by_name(spans)["invoke_agent clerk"].attributes["error.type"] == "error"
    assert by_name(spans)["invoke_agent clerk"].attributes["run_log.end_reason"] == "error"


def test_each_try_of_a_call_has_a_span(spans):
    run = RunFeed([Traces(spans.provider)]).begin({"agent": "clerk"})
    run.call("c1", "look_up", "{}")
    run.retry("c1", 1, "failed")  # That never began.
    run.started("c1")
    run.retry("c1", 1, "unfinished", cause=TimeoutError("late"))
    run.started("c1")
    run.result("c1", "done", "4")
    run.end("answered")
    tries = [span.attributes for span in spans.get_finished_spans() if "look_up" in span.name]
    assert [found["run_log.outcome"] for found in tries] == ["unfinished", "done"]
    assert [found.get("error.type") for found in tries] == ["TimeoutError", None]


def test_a_run_that_breaks_says_what_broke_it(spans):
    run = RunFeed([Traces(spans.provider)]).begin({"program": "x"})
    run.request(1, ["2 + 2?"], {})
    run.error(RuntimeError("no"))
    run.close()
    assert by_name(spans)["invoke_agent x"].attributes["error.type"] == "RuntimeError"
    assert by_name(spans)["chat"].attributes["error.type"] == "unfinished"


def test_an_agent_that_is_a_tool_stands_below_its_call(spans):
    # A server says so of all that one of its runs does.
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    server = {"traceparent": caller, "run_id": "r1", "tenant": "ada", "attempt": "2"}
    feed = RunFeed().extended(server, [Traces(spans.provider)])
    parent = feed.begin({"agent": "boss"})
    parent.call("c1", "research", "{}")
    parent.started("c1")
    child = feed.begin({"agent": "clerk", "called_by": {"run": parent.path.stem, "call_id": "c1"}})
    child.end("answered")
    stray = feed.begin({"agent": "stray", "called_by": {"run": "another", "call_id": "c1"}})
    stray.end("answered")
    parent.result("c1", "done", "4")
    parent.end("answered")
    found = by_name(spans)
    call = found["execute_tool research"]
    assert found["invoke_agent clerk"].parent.span_id == call.context.span_id
    assert found["invoke_agent stray"].parent is None
    boss = found["invoke_agent boss"]
    assert format(boss.context.trace_id, "032x") == caller.split("-")[1]
    assert format(boss.parent.span_id, "016x") == caller.split("-")[2]
    told = {key: boss.attributes[f"agent_server.{key}"] for key in ("run.id", "tenant", "attempt")}
    assert told == {"run.id": "r1", "tenant": "ada", "attempt": "2"}


@pytest.mark.parametrize(
    ("told", "named"),
    [
        (None, "openai"),
        ("openai", "openai"),
        ("langgenius/openai/openai", "openai"),
        ("langgenius/azure_openai/azure_openai", "azure.ai.openai"),
        ("somebody/moonshot/moonshot", "moonshot"),
    ],
)
def test_who_offers_the_model_is_named_as_published(spans, told, named):
    RunFeed([Traces(spans.provider)], about={"provider": told}).begin().end("answered")
    assert by_name(spans)["invoke_agent"].attributes["gen_ai.provider.name"] == named


def test_a_model_is_named_without_who_offers_it(spans):
    run = RunFeed([Traces(spans.provider, content=True)], about={"provider": "a/b/c"}).begin()
    run.request(1, ["2 + 2?"], {"model": "a/b/c/gpt-5.5"})
    run.answer(1)
    run.end("answered")
    chat = by_name(spans)["chat gpt-5.5"].attributes
    assert chat["gen_ai.request.model"] == "gpt-5.5"
    asked = [{"role": "user", "parts": [{"type": "text", "content": "2 + 2?"}]}]
    assert json.loads(chat["gen_ai.input.messages"]) == asked


def test_a_log_that_was_written_before_gives_the_same_spans(spans, tmp_path):
    run = write_run(RunLog(tmp_path, about={"agent": "clerk"}, observers=[Traces(spans.provider, content=True)]))  # fmt: skip
    live = [(span.name, dict(span.attributes)) for span in spans.get_finished_spans()]
    spans.clear()
    traces = Traces(spans.provider, content=True)
    for record in RunFile(run.path).iter_records():
        traces.take(run.path.stem, record)
    assert [(span.name, dict(span.attributes)) for span in spans.get_finished_spans()] == live


def test_records_of_a_run_whose_start_was_not_seen_are_no_spans(spans):
    traces = Traces(spans.provider)
    traces.take("run-1", {"v": 1, "type": "answer", "t": 1.0, "round": 1})
    run = RunFeed([traces]).begin()
    run.answer(1)
    run.result("c" * 5_000, "done", "4")
    run.end("answered")
    assert {span.name for span in spans.get_finished_spans()} == {"invoke_agent", "execute_tool"}


class Broken:
    def take(self, *_):
        raise OSError("no")


def test_an_observer_that_fails_ends_neither_the_run_nor_its_log(tmp_path, caplog):
    run = write_run(RunLog(tmp_path, observers=[Broken()]))
    assert [*RunFile(run.path).iter_records()][-1]["type"] == "end"
    assert [record.message for record in caplog.records] == [f"the run {run.path.stem} is observed no more: OSError"]  # fmt: skip


def test_observers_are_told_where_no_file_can_be_made(tmp_path, spans):
    (tmp_path / "file").write_text("")
    write_run(RunLog(tmp_path / "file" / "runs", observers=[Traces(spans.provider)]))
    assert len(spans.get_finished_spans()) == 7


class Receiver(BaseHTTPRequestHandler):
    """What takes spans over OTLP."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.received.append((self.path, ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        """Be silent."""


def test_spans_arrive_over_otlp_where_the_environment_says(monkeypatch):
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.received = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
        traces = Traces.from_env({"OTEL_EXPORTER_OTLP_ENDPOINT": address}, service="tests")
        write_run(RunFeed([traces], about={"agent": "clerk"}))
        traces.close()
        server.shutdown()
        thread.join()
    [(path, request)] = server.received
    [resource] = request.resource_spans
    names = [span.name for scope in resource.scope_spans for span in scope.spans]
    assert path == "/v1/traces"
    assert "invoke_agent clerk" in names
    assert len(names) == 7
    attributes = {entry.key: entry.value.string_value for entry in resource.resource.attributes}
    assert attributes["service.name"] == "tests"


def test_without_an_address_nothing_is_sent():
    assert Traces.from_env({}, service="tests") is None
    Traces().close()


class Slow(SpanExporter):
    """An exporter that is done when it is let."""

    def __init__(self):
        self.asked, self.may_end, self.names = threading.Event(), threading.Event(), []

    def export(self, spans):
        self.asked.set()
        assert self.may_end.wait(60)
        self.names.extend(span.name for span in spans)
        return SpanExportResult.SUCCESS


@pytest.fixture
def slow():
    exporter = Slow()
    exporter.provider = TracerProvider()
    exporter.provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=60_000))
    yield exporter
    exporter.may_end.set()
    exporter.provider.shutdown()


def test_what_was_not_sent_is_sent_at_once_when_it_is_asked_for(slow):
    slow.may_end.set()
    traces = Traces(slow.provider)
    RunFeed([traces], about={"agent": "clerk"}).begin().end("answered")
    assert slow.names == []
    assert traces.flush(20)
    assert slow.names == ["invoke_agent clerk"]


def test_who_takes_too_long_is_waited_for_once_and_gets_everything(slow):
    traces = Traces(slow.provider)
    feed = RunFeed([traces])
    feed.begin({"agent": "one"}).end("answered")
    assert not traces.flush(0.01)
    assert slow.asked.wait(60)
    feed.begin({"agent": "two"}).end("answered")
    assert not traces.flush(3_600)  # One sending is under way: nobody waits for a second.
    slow.may_end.set()
    while not traces.flush(20):
        time.sleep(0.005)
    assert slow.names == ["invoke_agent one", "invoke_agent two"]


def test_a_provider_of_the_programs_own_is_left_to_it():
    assert Traces().flush(3_600)


def test_a_run_that_waits_for_somebody_names_the_tools_that_wait_and_has_not_failed(spans):
    run = RunFeed([Traces(spans.provider)]).begin({"agent": "clerk"})
    run.request(1, ["Pay."], {})
    calls = [{"call_id": name, "name": f"pay_{name}", "arguments": "{}"} for name in ("c1", "c2")]
    run.answer(1, calls=[*calls, "no call"])
    run.call(**calls[0])
    run.result("c1", "done", "paid")
    run.end("approval", rounds=1)
    agent = by_name(spans)["invoke_agent clerk"]
    assert agent.attributes["run_log.waiting_tools"] == ("pay_c2",)
    assert agent.status.status_code is StatusCode.UNSET
    assert {span.name for span in spans.get_finished_spans()} == {"invoke_agent clerk", "chat", "execute_tool pay_c1"}  # fmt: skip


def test_a_tool_that_another_has_called_is_the_one_that_is_named(spans):
    run = RunFeed([Traces(spans.provider)]).begin({"agent": "clerk"})
    run.call("c1", "call_tool", "{}")
    run.bound("c1", {}, [], tool="look_up")
    run.bound("c2", {}, [])
    run.started("c1")
    run.result("c1", "done", "Ann is known.")
    run.end("answered")
    call = by_name(spans)["execute_tool look_up"]
    assert call.attributes["gen_ai.tool.name"] == "look_up"


def test_a_run_that_was_made_shorter_and_one_whose_model_changed_say_so(spans):
    run = RunFeed([Traces(spans.provider)]).begin({"agent": "clerk"})
    run.request(1, ["Go on."], {"model": "a"}, is_compaction=True)
    run.answer(1, error="overloaded")
    run.compaction(1, "dropped", replaced=4, tokens_before=9_000, tokens_after=900)
    run.request(2, ["Go on."], {"model": "b"})
    run.answer(2)
    run.end("answered")
    found = by_name(spans)
    [event] = found["invoke_agent clerk"].events
    told = dict(event.attributes)
    assert (event.name, told["run_log.compaction.tokens_after"]) == ("run_log.compaction", 900)
    assert found["chat a"].attributes["error.type"] == "model_call_failed"
    assert found["chat b"].status.status_code is StatusCode.UNSET
