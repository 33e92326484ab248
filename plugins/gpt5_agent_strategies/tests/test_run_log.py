"""The log of whole runs, where the administrator wants one."""

import json
import stat
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from run_log import RunFile, list_runs
from scripted_dify import call, chunk, parameter, text_message, tool, usage
from test_approval import Storage, give_storage, said, turn


KEY = "unguessable/key"
SEARCH = tool(
    "search",
    parameter("query"),
    parameter("api_key", form="form"),
    runtime_parameters={"api_key": KEY},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("logs") / "runs"


@pytest.fixture(scope="module")
def logging_process(start_agent, folder):
    return start_agent(GPT5_AGENT_RUN_LOG=str(folder), GPT5_AGENT_RUN_LOG_DAYS="1")


def run_search(agent):
    agent.dify.model = [
        [
            chunk("<think>Look it up.</think>", usage=usage()),
            chunk(calls=[call("search", '{"query": "answers"}')], opaque={"responses_output": []}),
        ],
        [chunk("It is "), chunk("42.", usage=usage(), finish="stop")],
    ]
    agent.dify.tools["search"] = [text_message(f"Asked with {KEY}.")]
    return agent.run(tools=[SEARCH])


def test_a_run_is_written_whole_and_without_secrets(logging_process, folder):
    transcript = run_search(logging_process.reset())
    assert transcript.text.endswith("It is 42.")
    [run] = list_runs(folder)
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
    logging_process, folder
):
    agent = logging_process.reset()
    give_storage(agent, Storage())
    asked = turn(agent, "Pay Ann.", user="ann")
    turn(agent, "Not so much", user="ann", history=said(asked))

    logs = [RunFile(run.path).iter_records() for run in list_runs(folder)]
    records = [{record["type"]: record for record in log} for log in logs]
    [before] = [found for found in records if "question" in found]
    [after] = [found for found in records if "decision" in found]
    assert [one["name"] for one in before["question"]["calls"]] == ["pay"]
    assert after["start"]["resumes"] == before["start"]["run"]
    decision = after["decision"]
    assert (decision["is_approved"], decision["by"]) == (False, "ann")
    assert decision["reason"] == "Not so much"


def test_a_folder_that_is_none_ends_no_run_and_is_told_to_the_administrator(start_agent, tmp_path):
    (tmp_path / "runs").write_text("no folder")
    agent = start_agent(GPT5_AGENT_RUN_LOG=str(tmp_path / "runs"))
    assert run_search(agent).text.endswith("It is 42.")
    told = [notice.text for notice in agent.notices if "not logged" in notice.text]
    assert len(told) == 1
    assert f"{tmp_path}/runs: runs are not logged: " in told[0]


class Receiver(BaseHTTPRequestHandler):
    """What takes spans over OTLP."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.may_answer.wait(20)
        self.server.bodies.append(body)
        self.send_response(200)
        self.end_headers()
        self.server.has_come.set()

    def log_message(self, *_):
        """Be silent."""


@pytest.fixture
def receiver():
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.bodies, server.has_come = [], threading.Event()
        server.may_answer = threading.Event()
        server.may_answer.set()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_traces_are_sent_where_the_administrator_asks_for_them(start_agent, receiver, runner):
    address = f"http://127.0.0.1:{receiver.server_port}"
    agent = start_agent(GPT5_AGENT_TRACES="content", OTEL_EXPORTER_OTLP_ENDPOINT=address)
    receiver.may_answer.clear()
    for _ in range(2):  # It hangs, and no run waits until it gives up.
        assert run_search(agent.reset()).text.endswith("It is 42.")
    receiver.may_answer.set()
    assert run_search(agent.reset()).text.endswith("It is 42.")
    while count_agents(receiver) < 3:
        assert receiver.has_come.wait(20)
        receiver.has_come.clear()
    assert run_search(agent.reset()).text.endswith("It is 42.")
    runner.run(agent.process.stop())  # What is sent every five seconds only would be lost now.
    assert count_agents(receiver) == 4
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


def test_an_address_alone_sends_nothing_and_a_wish_alone_is_told(start_agent, receiver):
    address = f"http://127.0.0.1:{receiver.server_port}"
    silent = start_agent(OTEL_EXPORTER_OTLP_ENDPOINT=address, OTEL_BSP_SCHEDULE_DELAY="100")
    assert run_search(silent).text.endswith("It is 42.")
    assert not receiver.has_come.wait(1)
    wishing = start_agent(GPT5_AGENT_TRACES="on")
    assert run_search(wishing).text.endswith("It is 42.")
    told = [notice.text for notice in wishing.notices if "no traces" in notice.text]
    assert len(told) == 1
