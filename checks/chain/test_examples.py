"""The examples, each run as its reader would run it, against the simulator."""

import base64
import io
import json
import os
import re
import runpy
import shlex
import shutil
import sqlite3
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread
from unittest.mock import patch

import httpx
import pytest
from starlette.testclient import TestClient

from gpt5_simulator import (
    FunctionCall,
    OutputItem,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)
from run_log import RunFile, list_runs


EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def simulator():
    with ResponsesSimulator() as server:
        yield server


HOSTED = [
    [
        OutputItem(item={"type": "web_search_call", "action": {"type": "search", "query": "news"}}),
        FunctionCall(name="power", arguments={"base": 2, "exponent": 10}),
    ],
    [Text(text="There is no news, and it is 1024.")],
    [OutputItem(item={"type": "image_generation_call", "result": "iVBORw0KGgo="})],
]


@pytest.fixture
def run_example(simulator, tmp_path, monkeypatch, capsys):
    """Give out a function that runs an example in a folder of its own as `python NAME ARGUMENTS` does, and returns what it has told."""
    monkeypatch.chdir(tmp_path)

    def run(name, text, *arguments, **variables):
        own = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": simulator.base_url} | variables
        environment = {name: value for name, value in own.items() if value is not None}
        environment["SSL_CERT_DIR"] = os.environ["SSL_CERT_DIR"]
        program = str(EXAMPLES / name)
        monkeypatch.setattr(sys, "argv", [program, *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        with patch.dict(os.environ, environment, clear=True):
            runpy.run_path(program, run_name="__main__")
        told = capsys.readouterr()
        assert not told.err
        return told.out

    return run


def test_the_console_agent_uses_its_tools_and_keeps_its_reasoning(run_example, simulator, tmp_path):
    told = run_example(
        "console_agent.py",
        "What does the clock say, date and time, in UTC? And power: base 2, exponent 10.\n"
        "Again, power: base 3, exponent 4.\n\n",
    )
    assert "- power: 1024" in told
    assert "- power: 81" in told
    inputs = [request.body["input"] for request in simulator.requests]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(inputs))
    kinds = [item.get("type") for item in inputs[-1]]
    assert kinds.count("reasoning") == 3
    results = [
        json.dumps(item) for item in inputs[-1] if item.get("type") == "function_call_output"
    ]
    assert len(results) == 3
    assert not list(tmp_path.iterdir())  # no log unless one is asked for


@pytest.mark.parametrize("name", ["console_agent.py", "async_console_agent.py"])
def test_a_console_agent_logs_its_runs_and_ends_with_what_is_typed(name, run_example, tmp_path):
    folder = tmp_path / "runs"
    key = "unguessable-key"
    is_async = name == "async_console_agent.py"
    first = "Please wait for 0.01 seconds." if is_async else "Hello."
    told = run_example(name, f"{first}\nIt is {key}.", OPENAI_API_KEY=key, RUN_LOG=str(folder))
    assert told
    assert ("- wait: done" in told) == is_async
    runs = list_runs(folder)
    assert [run.end["reason"] for run in runs] == ["answered"] * 2
    requests = [request for run in runs for request in RunFile(run.path).iter_requests()]
    assert len(requests) == 2 + is_async
    assert "It is [redacted]." in str([request.messages for request in requests])
    assert not any(key in run.path.read_text("utf-8") for run in runs)


def test_a_batch_answers_every_question(run_example, tmp_path):
    questions = tmp_path / "questions.txt"
    questions.write_text("One?\nTwo?\nThree?\n", encoding="utf-8")
    told = run_example("batch.py", "", str(questions))
    lines = [json.loads(line) for line in told.splitlines()]
    assert sorted(line["question"] for line in lines) == ["One?", "Three?", "Two?"]
    assert all(line["answer"] and line["tokens"] for line in lines)


def test_a_picture_and_a_document_are_sent_as_they_are(run_example, simulator, tmp_path):
    encoded = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
    (tmp_path / "chart.png").write_bytes(base64.b64decode(encoded))
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7")
    paths = [str(tmp_path / name) for name in ("chart.png", "report.pdf")]
    assert run_example("picture.py", "", "What is this?", *paths).strip()
    [message] = simulator.requests[0].body["input"]
    question, picture, document = message["content"]
    assert question == {"type": "input_text", "text": "What is this?"}
    assert (picture["type"], picture["image_url"]) == (
        "input_image",
        f"data:image/png;base64,{encoded}",
    )
    assert (document["type"], document["filename"]) == ("input_file", "report.pdf")
    assert document["file_data"] == "data:application/pdf;base64,JVBERi0xLjc="


def test_the_web_agent_streams_and_refuses_what_it_cannot_read(simulator, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", simulator.base_url)
    question = {"role": "user", "content": "What is the power of base 2 and exponent 10?"}
    with TestClient(runpy.run_path(str(EXAMPLES / "web_agent.py"))["app"]) as client:
        answer = client.post("/", json={"messages": [question]})
        refused = client.post("/", json={"messages": [5]})
        nonsense = client.post("/", content=b"{")
    assert (answer.status_code, "- power: 1024" in answer.text) == (200, True)
    assert (refused.status_code, nonsense.status_code) == (422, 422)
    assert "messages[0]" in refused.text


@pytest.mark.parametrize("page", ["from-openai-agents.md", "from-pydantic-ai.md", "from-openai.md"])
def test_our_side_of_a_page_that_compares_runs(page, simulator, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", simulator.base_url)
    text = (EXAMPLES.parent / "docs" / page).read_text(encoding="utf-8")
    _, ours = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(ours, page, "exec"), {"__name__": "page"})
    assert capsys.readouterr().out.strip()


def test_the_page_of_runs_under_control_runs_from_its_first_line_to_its_last(
    simulator, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    page = EXAMPLES.parent / "docs" / "runs-under-control.md"
    text = page.read_text(encoding="utf-8")
    first, *blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    space = {"__name__": "page"}
    [drawn] = [block for block in blocks if "image_generation_tool" in block]
    with ResponsesSimulator(model=ScriptedModel(HOSTED)) as server:
        for block in (first, *blocks):
            # The simulator plays no tool of the server by itself.
            address = server.base_url if block == drawn else simulator.base_url
            monkeypatch.setenv("OPENAI_BASE_URL", address)
            exec(compile(block, page.name, "exec"), space)
    assert len(blocks) >= 9
    assert all(len(block.splitlines()) <= 10 for block in blocks)


class _Desk(BaseHTTPRequestHandler):
    """The routes of OpenAI for files and batches, whose lines the simulator answers."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kept, state = self.server.kept, {}
        if self.path == "/v1/files":
            state = {"id": f"file_{len(kept)}", "object": "file"}
            kept[state["id"]] = body.split(b"\r\n\r\n")[-1].split(b"\r\n--")[0]
        else:
            asked = json.loads(body)
            assert asked["endpoint"] == "/v1/responses"
            answers = map(self._answer, kept[asked["input_file_id"]].splitlines())
            kept["answers"] = "\n".join(map(json.dumps, answers)).encode()
            state = {"id": "batch_1", "status": "completed", "output_file_id": "answers"}
            kept["batch_1"] = json.dumps(state).encode()
        self._send(json.dumps(state).encode())

    def do_GET(self):
        self._send(self.server.kept[self.path.removesuffix("/content").split("/")[-1]])

    def _answer(self, line):
        request = json.loads(line)
        url, key = f"{self.server.upstream}/responses", self.headers["Authorization"]
        answer = httpx.post(url, json=request["body"], headers={"Authorization": key}, timeout=120)
        assert answer.status_code == 200, answer.text
        return {"custom_id": request["custom_id"], "response": {"body": answer.json()}}

    def _send(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_the_recipes_run_from_the_first_to_the_last(monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    page = EXAMPLES.parent / "docs" / "recipes.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    space = {"__name__": "recipes"}
    models = ["gpt-5.5", "gpt-6.1-sol", "support", "anthropic/claude-sonnet-5"]
    with (
        ResponsesSimulator(models=models) as simulator,
        HTTPServer(("127.0.0.1", 0), _Desk) as desk,
    ):
        desk.kept, desk.upstream = {}, simulator.base_url
        Thread(target=desk.serve_forever, daemon=True).start()
        own = f"http://127.0.0.1:{desk.server_port}/v1"
        try:
            for block in blocks:
                address = own if "OpenAI()" in block else simulator.base_url
                monkeypatch.setenv("OPENAI_BASE_URL", address)
                exec(compile(block, page.name, "exec"), space)
        finally:
            desk.shutdown()
    told = capsys.readouterr().out
    assert re.search(r"^0\.0\d+ USD$", told, re.MULTILINE)
    assert len(re.findall("^(Ann|Bob) .+", told, re.MULTILINE)) == 2
    assert space["result"].answered
    sent = [json.dumps(request.body) for request in simulator.requests]
    assert any('"file_id": "file_0"' in body for body in sent)
    assert any("prompt_cache_breakpoint" in body for body in sent)
    assert [request.body["model"] for request in simulator.requests].count("support") == 1


def test_a_team_shares_one_budget(run_example, simulator):
    asked = 'Ask the reckoner, task "power: base 2, exponent 10"'
    told = run_example("team.py", "", asked)
    assert 'reckoner calls power with {"base":2,"exponent":10}' in told
    assert "- power: 1024" in told
    [own, whole] = [int(number) for number in re.findall(r"(\d+) tokens", told)]
    assert len(simulator.requests) == 4
    assert own < whole


APPROVAL_KEY = {"APPROVAL_KEY": "a key of thirty-two random bytes"}


def test_the_agent_that_asks_says_why_it_does_not_start_or_answer(run_example, simulator):
    for name in ("OPENAI_API_KEY", "APPROVAL_KEY"):
        with pytest.raises(SystemExit, match=f"^Not started.*{name}.*$"):
            run_example("approval_agent.py", "", "Hello", **APPROVAL_KEY | {name: None})
    nowhere = {"OPENAI_BASE_URL": f"{simulator.base_url}/nowhere"}
    told = run_example("approval_agent.py", "", "Hello", **APPROVAL_KEY, **nowhere)
    assert "The model call of round 1 failed" in told
    assert told.count("\n") == 1


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Kill an agent while it asks; return the folder that it has left, and what it had sent to its model."""
    folder = tmp_path_factory.mktemp("asked")
    with ResponsesSimulator() as simulator:
        asking = subprocess.Popen(
            [sys.executable, EXAMPLES / "approval_agent.py", "Send money: recipient Ann, euros 5"],
            env={"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": simulator.base_url, **APPROVAL_KEY},
            cwd=folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        told = _read(asking)
        asking.kill()
        asking.wait()
        asking.stdin.close()
        asking.stdout.close()
        assert "[sending" not in told
        [request] = simulator.requests
    return folder, request.body["input"]


@pytest.mark.parametrize(("said", "is_paid"), [("yes", True), ("Not Ann.", False)])
def test_an_agent_that_was_killed_while_it_asked_goes_on_where_it_was(
    said, is_paid, asked, run_example, simulator, tmp_path
):
    folder, first = asked
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)

    told = run_example("approval_agent.py", f"{said}\n", **APPROVAL_KEY)

    assert ("[sending" in told) == is_paid
    [second] = [request.body["input"] for request in simulator.requests]
    assert second[: len(first)] == first
    assert ("They said: Not Ann." in json.dumps(second)) == (not is_paid)
    with sqlite3.connect(tmp_path / "waiting.db") as database:
        assert database.execute("SELECT waiting FROM sessions").fetchall() == [(None,)]


def test_a_support_agent_asks_about_large_refunds_and_writes_a_ticket(run_example):
    typed = 'Find order: number "A1".\nRefund: number "A1", euros 20.\nRefund: number "A1", euros 60.\nyes\n'
    told = run_example("support_agent.py", typed, **APPROVAL_KEY)
    assert "order A1: 80.0 euros" in told
    assert "refunded 20.0 euros" in told
    assert told.count("(yes, or why not)") == 1
    assert "refunded 60.0 euros" in told
    assert told.splitlines()[-1].startswith("> Ticket(problem=")


MCP_SERVER = """
from mcp.server import MCPServer

server = MCPServer("clock")

@server.tool()
def get_current_time(timezone: str) -> str:
    return f"noon in {timezone}"

@server.tool()
def convert_time(hour: int) -> str:
    return f"{hour} here is midnight elsewhere"

server.run("stdio")
"""


def test_an_agent_with_an_mcp_server_asks_about_one_tool_and_writes_a_note(
    run_example, simulator, tmp_path
):
    program = tmp_path / "server.py"
    program.write_text(MCP_SERVER, encoding="utf-8")
    command = shlex.join([sys.executable, str(program)])
    asked = 'Get current: timezone "Bern". And convert: hour 12.'
    told = run_example("mcp_agent.py", "yes\n", asked, MCP_SERVER=command)
    assert told.count("(yes or no)") == 1
    assert "time_convert_time {" in told
    inputs = [json.dumps(request.body["input"]) for request in simulator.requests]
    assert "noon in " in inputs[1]
    assert "12 here is midnight elsewhere" in inputs[1]
    assert len(inputs) == 2


def _read(process):
    """Return what a process has said up to its question."""
    told = ""
    while not told.endswith("(yes, or why not) "):
        piece = process.stdout.read(1)
        assert piece, told
        told += piece
    return told


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("console_agent.py", 42),
        ("async_console_agent.py", 42),
        ("web_agent.py", 60),
        ("team.py", 45),
        ("approval_agent.py", 60),
        ("mcp_agent.py", 50),
        ("support_agent.py", 100),
    ],
)
def test_an_example_is_short_enough_to_read(name, lines):
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) <= lines
