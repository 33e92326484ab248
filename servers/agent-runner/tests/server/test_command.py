"""`agent-runner serve` as a process."""

import json
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing

import psutil
import pytest

from gpt5_simulator import (
    CutStream,
    LateError,
    LateFailure,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)


COUNT = """
import json, sys, time
fields = json.load(sys.stdin)
with open("starts", "a") as starts:
    print(fields["number"], file=starts)
for step in range(5):
    print(json.dumps({"number": fields["number"], "step": step}))
    time.sleep(0.1)
"""
# Without a library of OpenAI's, which takes longer to load than all the rest.
STREAM = """
import json, sys
from urllib.request import Request, urlopen
fields = json.load(sys.stdin)
body = json.dumps({"model": "gpt-5", "input": "Hi", "stream": True}).encode()
headers = {"Authorization": "Bearer any", "Content-Type": "application/json"}
for line in urlopen(Request(fields["base_url"] + "/responses", body, headers)):
    event = json.loads(line[6:]) if line.startswith(b"data: {") else {}
    if event.get("type") == "response.output_text.delta":
        print(event["delta"], end="")
    if event.get("type") in ("response.failed", "error"):
        sys.exit("the model failed")
    if event.get("type") == "response.completed":
        sys.exit()
sys.exit("the stream was cut off")
"""
HIDE = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print("hidden", flush=True)
time.sleep(600)
"""
WAIT = """
import json, sys, time
from pathlib import Path
fields = json.load(sys.stdin)
Path("begun").touch()
while not (Path("go").exists() or "question" in fields):
    time.sleep(0.01)
print(Path(fields["files"][0]).read_text())
"""

# Asks before it begins, and then waits for a file, so that its server can die.
ASK = """
import json, sys, time
from pathlib import Path
fields = json.load(sys.stdin)
with open("starts", "a") as starts:
    print(json.dumps(fields.get("resume")), file=starts)
if "resume" not in fields:
    call = {"call_id": "c1", "name": "pay", "arguments": {"euros": 5}}
    question = {"text": "Why?", "schema": {"type": "string"}}
    request = {"approvals": [call], "question": question}
    print(json.dumps({"type": "input_required", "request": request, "state": "my-state"}))
    sys.exit()
while not Path("go").exists():
    time.sleep(0.01)
print(json.dumps([fields["prompt"], fields["resume"]["answer"]["answer"], fields["resume"]["state"]]))
"""


def processes(run_id):
    """List the living processes of a run, wherever they hide."""
    return [process for process in psutil.process_iter() if belongs(process, run_id)]


def belongs(process, run_id):
    try:
        return process.environ().get("AGENT_RUNNER_REQUEST_ID") == run_id
    except psutil.Error:
        return False


def wait_for(condition):
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def let_stand_still(server, state):
    """Stop a server's process at a moment at which it holds no lock on its database, which would hold up all others."""
    while True:
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        try:
            with closing(
                sqlite3.connect(state / "runs.sqlite", isolation_level=None, timeout=0)
            ) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            server.process.send_signal(signal.SIGCONT)
        else:
            return


def test_it_serves_what_a_folder_holds_and_says_where(make_agent, start_command, tmp_path):
    make_agent("print(1)", name="one")
    make_agent("print(2)", name="two")
    (tmp_path / "no-agent").mkdir()

    server = start_command(folder=tmp_path)

    assert server.lines[0].startswith("agent-runner listens on http://127.0.0.1:")
    agents = server.client.get("/v1/agents").json()["agents"]
    assert [agent["name"] for agent in agents] == ["one", "two"]
    told = server.follow(server.submit("two", {})["run_id"])
    assert [event["type"] for event in told] == ["run_started", "json_output", "run_succeeded"]
    path = {"agent": "two", "input": {"files": ["/etc/hostname"]}}
    refused = server.client.post("/v1/runs", json=path)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "input.files")
    assert server.stop() == 0


@pytest.mark.parametrize("policy", ["fail", "rerun"])
def test_killing_the_server_in_the_middle_of_ten_queued_runs_loses_none(
    make_agent, start_server, policy
):
    agent = make_agent(COUNT)
    server = start_server(agent, concurrency=3, on_crash=policy, lease_seconds=1)
    ids = [server.submit("agent", {"number": number})["run_id"] for number in range(10)]
    wait_for((agent / "starts").exists)
    time.sleep(random.uniform(0, 0.4))
    server.kill()

    server = start_server(agent, concurrency=3, on_crash=policy, lease_seconds=1)
    told = [server.follow(run_id) for run_id in ids]

    starts = (agent / "starts").read_text().split()
    ends = [events[-1]["data"]["error_type"] for events in told]
    assert [[event["number"] for event in events] for events in told] == [
        list(range(1, len(events) + 1)) for events in told
    ]
    done = {str(number) for number, end in enumerate(ends) if end is None}
    if policy == "fail":
        assert done <= set(starts)
        assert len(starts) == len(set(starts))
        assert ends.count("interrupted") == 10 - len(done) <= 3
    else:
        assert len(done) == 10
        assert set(starts) == done
        assert len(starts) <= 13


def test_a_killed_server_leaves_no_process_of_its_scripts(make_agent, start_server):
    agent = make_agent(HIDE)
    server = start_server(agent, lease_seconds=1)
    run_id = server.submit("agent", {})["run_id"]
    wait_for(lambda: len(processes(run_id)) > 1)
    server.kill()
    server = start_server(agent, lease_seconds=1)
    assert server.follow(run_id)[-1]["data"]["error_type"] == "interrupted"
    # The kernel may take a moment to remove a killed process.
    wait_for(lambda: processes(run_id) == [])


def test_a_server_that_wakes_after_its_lease_ends_no_script_of_the_next_attempt(
    make_agent, start_server, tmp_path
):
    agent = make_agent(WAIT)
    settings = {"on_crash": "rerun", "concurrency": 1}
    # Who wakes waits far longer before it takes the other for dead, which may be late on a busy machine.
    sleeper = start_server(agent, lease_seconds=12, **settings)
    file = {"name": "a.txt", "data": "aW5zaWRl"}
    run_id = sleeper.submit("agent", {}, files=[file])["run_id"]
    wait_for((agent / "begun").exists)
    (agent / "begun").unlink()
    let_stand_still(sleeper, tmp_path / "state")
    try:
        server = start_server(agent, lease_seconds=4, **settings)
        wait_for((agent / "begun").exists)
    finally:
        sleeper.process.send_signal(signal.SIGCONT)
    wait_for(lambda: any("took this server for dead" in line for line in sleeper.lines))
    # It has let its attempt go once it executes something else.
    sleeper.follow(sleeper.submit("agent", {"question": "any"}, files=[file])["run_id"])
    assert server.find(run_id)["status"] == "running"
    (agent / "go").touch()

    told = server.follow(run_id)

    assert [one["data"]["attempt"] for one in told if one["type"] == "run_started"] == [1, 2]
    assert (told[-1]["type"], told[-1]["data"]["output"]) == ("run_succeeded", "inside")


def answer(server, run_id, reason):
    """Answer a run that asks before it begins."""
    wait_id = server.find(run_id)["waiting_for"]["wait_id"]
    body = {"wait_id": wait_id, "approvals": {"c1": {"approved": True}}, "answer": reason}
    return server.client.post(f"/v1/runs/{run_id}/input", json=body)


@pytest.mark.parametrize("policy", ["fail", "rerun"])
def test_a_run_that_waits_outlives_its_server_and_a_lost_part_starts_from_the_same_answer(
    make_agent, start_server, policy
):
    agent = make_agent(ASK)
    settings = {"on_crash": policy, "lease_seconds": 1}
    server = start_server(agent, **settings)
    run_id = server.submit("agent", {"prompt": "Pay."})["run_id"]
    asked = server.follow(run_id)[-1]
    server.kill()
    server = start_server(agent, **settings)
    refused = answer(server, run_id, 1)
    answer(server, run_id, "fun").raise_for_status()
    wait_for(lambda: len((agent / "starts").read_text().splitlines()) == 2)
    server.kill()
    (agent / "go").touch()
    server = start_server(agent, **settings)
    told = server.follow(run_id)
    run = server.find(run_id)

    assert (asked["type"], asked["data"]["question"]["text"]) == ("run_waiting", "Why?")
    problem = {"field": "answer", "message": "expected type 'string'"}
    assert (refused.status_code, refused.json()["errors"]) == (422, [problem])
    starts = [json.loads(one) for one in (agent / "starts").read_text().splitlines()]
    assert starts[0] is None
    if policy == "fail":
        assert (run["error"]["type"], len(starts)) == ("interrupted", 2)
    else:
        assert run["output"] == ["Pay.", "fun", "my-state"]
        assert starts[1] == starts[2]
    attempts = [one["data"]["attempt"] for one in told if one["type"] == "run_started"]
    assert attempts == [1, 2, 3]


def test_without_logs_an_agents_folder_need_not_be_writable(make_agent, start_server):
    agent = make_agent("print(1)")
    (
        agent / "logs"
    ).touch()  # as good as a folder that nothing can be written to, and that for anybody

    server = start_server(agent, keep_logs=0)
    told = server.follow(server.submit("agent", {})["run_id"])

    assert told[-1]["type"] == "run_succeeded"


def test_a_run_that_starts_over_finds_its_files_again(make_agent, start_server):
    agent = make_agent("""
        import json, pathlib, sys, time
        path = pathlib.Path(json.load(sys.stdin)["files"][0])
        print(json.dumps([path.read_text(), sorted(each.name for each in path.parent.iterdir())]))
        path.write_text("spoilt")
        (path.parent / "left").touch()
        pathlib.Path("starts").touch()
        while not pathlib.Path("go").exists():
            time.sleep(0.01)
    """)
    server = start_server(agent, on_crash="rerun", lease_seconds=1)
    run_id = server.submit("agent", {}, files=[{"name": "a.txt", "data": "YQ=="}])["run_id"]
    wait_for((agent / "starts").exists)
    server.kill()
    (agent / "go").touch()
    server = start_server(agent, on_crash="rerun", lease_seconds=1)
    server.follow(run_id)
    assert server.find(run_id)["output"] == ["a", ["a.txt"]]


def test_what_users_said_is_the_owners_only_and_secrets_are_not_kept(
    make_agent, start_server, tmp_path
):
    agent = make_agent("import json, sys; print(json.load(sys.stdin)['prompt'])")
    server = start_server(agent, production_env="MY_TOKEN=tok-1234tok-1234")
    server.follow(server.submit("agent", {"prompt": "my-private-prompt"})["run_id"])
    state = tmp_path / "state"
    files = [path for path in state.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert not any(b"tok-1234" in path.read_bytes() for path in files)


@pytest.mark.parametrize("fault", [CutStream, LateError, LateFailure])
def test_text_before_a_model_failure_is_kept(make_agent, start_server, fault):
    answer = "a word " * 100
    server = start_server(make_agent(STREAM))
    model = ScriptedModel([[Text(text=answer)]])
    with ResponsesSimulator(model=model, faults=[fault(after_events=7)]) as simulator:
        told = server.follow(server.submit("agent", {"base_url": simulator.base_url})["run_id"])
    [text] = [event["data"]["text"] for event in told if event["type"] == "text_output"]
    assert answer.startswith(text)
    assert 0 < len(text) < len(answer)
    assert told[-1]["type"] == "run_failed"


def test_a_server_that_is_asked_to_stop_finishes_its_runs_first(make_agent, start_server):
    agent = make_agent("import time\nprint('begun', flush=True)\ntime.sleep(0.5)\nprint('done')")
    server = start_server(agent, stop_seconds=600)
    run_id = server.submit("agent", {})["run_id"]
    wait_for(lambda: server.find(run_id)["last_event"] > 1)
    assert server.stop() == 0
    assert start_server(agent).find(run_id)["output"] == "begun\ndone"


def test_what_is_wrong_with_a_request_is_told_by_its_field(make_agent, start_server):
    server = start_server(make_agent("", schema={"required": ["question"]}))
    response = server.client.post("/v1/runs", json={"agent": "agent", "input": {}})
    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == ["input.question"]


def test_an_agent_that_cannot_be_run_is_the_owners_to_mend(make_agent, start_server):
    agent = make_agent("")
    server = start_server(agent)
    shutil.rmtree(agent)
    response = server.client.post("/v1/runs", json={"agent": "agent", "input": {}})
    assert response.status_code == 500
    assert str(agent) not in response.text
    server.stop()
    assert str(agent) in "".join(server.lines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_crash": "ask"}, "--on-crash: expected 'fail' or 'rerun'"),
        ({"timeout": "0"}, "--timeout: expected more than 0"),
        ({"production_env": "x"}, "agent-runner: production env: expected NAME=VALUE"),
        ({"folder": "nowhere"}, "agent-runner: nowhere: expected a folder that holds agents"),
    ],
)
def test_a_setting_that_is_wrong_is_told(make_agent, start_server, options, message):
    server = start_server(make_agent(""), **options)
    assert server.wait() == 2
    assert server.lines[-1].startswith(message)


def test_agents_need_names_of_their_own(make_agent, start_server, tmp_path):
    (tmp_path / "other").mkdir()
    first = make_agent("")
    second = shutil.copytree(first, tmp_path / "other" / "agent")
    odd = shutil.copytree(first, tmp_path / "a b")
    (tmp_path / "none" / "nothing").mkdir(parents=True)
    for folders, message in [
        ([first, second], "expected a name that no other agent has"),
        ([odd], "expected a folder's name of letters, digits, dots, hyphens and underscores"),
        ([tmp_path / "none"], "main.py"),
        ([], "--folder: expected an agent's folder, or one that holds some"),
    ]:
        server = start_server(*folders)
        assert server.wait() == 2
        assert message in server.lines[-1]
    server = start_server(folder=tmp_path / "none")
    assert server.wait() == 2
    assert "expected a folder that holds folders with a main.py each" in server.lines[-1]


def test_without_the_extra_it_says_what_to_install():
    code = (
        "import sys; sys.modules['agent_server'] = None; sys.argv[1:] = ['serve', '.'];"
        "from agent_runner._command.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        "expected agent_server to be installed; it comes with the extra 'server': gpt5-agent-runner[server]"
        in (done.stderr)
    )


def test_the_other_commands_do_not_load_what_only_the_server_needs():
    code = "import sys, agent_runner._command.cli; print('agent_server' in sys.modules, 'run_log' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_help_names_each_setting_with_its_variable(preloaded):
    process = preloaded.start_server(["serve", "--help"], {"COLUMNS": "80"})
    text = " ".join(process.stdout.read().split())
    process.stdout.close()
    assert process.wait() == 0
    for flag in ("--folder", "--on-crash", "--database", "(AGENT_RUNNER_DATABASE)", "--timeout"):
        assert flag in text
    assert "`tenant:key:start` may start runs" in text
