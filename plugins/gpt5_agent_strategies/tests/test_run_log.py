"""The log of whole runs, where the administrator wants one."""

import json
import stat

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from run_log import RunFile, list_runs
from scripted_dify import call, chunk, parameter, text_message, tool, usage
from span_receiver import receive_spans
from test_approval import Storage, give_storage, said, turn


KEY = "unguessable/key"
SEARCH = tool(
    "search",
    parameter("query"),
    parameter("api_key", form="form"),
    runtime_parameters={"api_key": KEY},
)


def run_search(agent):
    agent.dify.model = [
        [
            chunk("<think>Look it up.</think>", usage=usage()),
            chunk(calls=[call("search", '{"query": "answers"}')], opaque={"responses_output": []}),
        ],
        [chunk("It is "), chunk("42.", usage=usage(), finish="stop")],
    ]
    agent.dify.tools["search"] = [text_message(f"Asked with {KEY}.")]
    return agent.run(tools=[SEARCH], query="The answer?")


def test_a_run_is_written_whole_and_without_secrets(impatient_agent, runs_folder):
    transcript = run_search(impatient_agent)
    assert transcript.text.endswith("It is 42.")
    [run] = [run for run in list_runs(runs_folder) if run.about["query"] == "The answer?"]
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o600
    assert run.about["model"] == "gpt-5.2"
    assert (run.end["reason"], run.end["rounds"]) == ("answered", 2)
    assert run.end["usage"]["total_price"] == "0.0004"
    file = RunFile(run.path)
    records = list(file.iter_records())
    [bound] = [record for record in records if record["type"] == "bound"]
    assert bound["arguments"] == {"query": "answers", "api_key": "[hidden]"}
    [result] = [record for record in records if record["type"] == "result"]
    assert (result["outcome"], result["content"]) == ("done", "Asked with [redacted].")
    first, second = file.iter_requests()
    assert second.messages[: len(first.messages)] == first.messages
    assert [message["role"] for message in second.added] == ["assistant", "tool"]
    assert first.settings["tools"][0]["name"] == "search"
    assert file.problems == ()
    assert KEY not in json.dumps([file.expand(record) for record in records])


def test_a_question_and_what_its_user_has_decided_stand_in_the_logs_of_both_turns(
    impatient_agent, runs_folder
):
    give_storage(impatient_agent, Storage())
    asked = turn(impatient_agent, "Pay Ann.", user="ann")
    turn(impatient_agent, "Not so much", user="ann", history=said(asked))

    logs = [RunFile(run.path).iter_records() for run in list_runs(runs_folder)]
    records = [{record["type"]: record for record in log} for log in logs]
    [before] = [found for found in records if "question" in found]
    [after] = [found for found in records if "decision" in found]
    assert [one["name"] for one in before["question"]["calls"]] == ["pay"]
    assert after["start"]["resumes"] == before["start"]["run"]
    decision = after["decision"]
    assert (decision["is_approved"], decision["by"]) == (False, "ann")
    assert decision["reason"] == "Not so much"


def test_a_wish_for_traces_that_nobody_takes_is_told_to_the_administrator(short_agent):
    run_search(short_agent)
    told = [notice.text for notice in short_agent.notices if "no traces" in notice.text]
    assert len(told) == 1


def test_an_address_alone_sends_nothing(configured_agent, unasked_receiver):
    assert run_search(configured_agent).text.endswith("It is 42.")
    assert not unasked_receiver.has_come.wait(1)


@pytest.fixture(scope="module")
def receiver():
    with receive_spans() as running:
        yield running


@pytest.fixture(scope="module")
def traced(start_agent, receiver, tmp_path_factory):
    """A plugin whose administrator wants traces, and a log where there is no folder; with what it has told of its first run."""
    path = tmp_path_factory.mktemp("file") / "runs"
    path.write_text("no folder")
    agent = start_agent(
        GPT5_AGENT_RUN_LOG=str(path),
        GPT5_AGENT_TRACES="content",
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url,
        OTEL_EXPORTER_OTLP_TIMEOUT="600",  # or it may send what a busy machine has taken a second time
    )
    assert run_search(agent).text.endswith("It is 42.")
    return agent, list(agent.notices)


def test_a_folder_that_is_none_ends_no_run_and_is_told_to_the_administrator(traced):
    _, notices = traced
    told = [notice.text for notice in notices if "not logged" in notice.text]
    assert len(told) == 1
    assert "/runs: runs are not logged: " in told[0]


def test_traces_are_sent_where_the_administrator_asks_for_them(traced, receiver, runner):
    agent, _ = traced
    receiver.may_answer.clear()
    for _ in range(2):  # It hangs, and no run waits until it gives up.
        assert run_search(agent.reset()).text.endswith("It is 42.")
    receiver.may_answer.set()
    assert run_search(agent.reset()).text.endswith("It is 42.")
    while count_agents(receiver) < 4:
        assert receiver.has_come.wait(60)
        receiver.has_come.clear()
    assert run_search(agent.reset()).text.endswith("It is 42.")
    runner.run(agent.process.stop())  # What is sent every five seconds only would be lost now.
    assert count_agents(receiver) == 5
    assert {"chat gpt-5.2", "execute_tool search"} <= set(read_names(receiver))
    assert b"Asked with [redacted]." in b"".join(receiver.bodies)
    assert KEY.encode() not in b"".join(receiver.bodies)


def read_names(receiver):
    return [
        span.name
        for body in receiver.bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def count_agents(receiver):
    return sum(name.startswith("invoke_agent") for name in read_names(receiver))
