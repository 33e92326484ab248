import pathlib
import random
import shutil
import signal
import stat
import time

import httpx
import psutil
import pytest


def _processes(run_ids):
    """List the living processes of runs, wherever they hide."""
    return [process for process in psutil.process_iter() if _belongs(process, run_ids)]


def _belongs(process, run_ids):
    try:
        return process.environ().get("AGENT_RUNNER_REQUEST_ID") in run_ids
    except psutil.Error:
        return False


def _starts(folder):
    path = folder / "starts"
    return path.read_text().split() if path.exists() else []


def _wait_for_starts(folder, number):
    deadline = time.monotonic() + 60
    while len(_starts(folder)) < number:
        assert time.monotonic() < deadline
        time.sleep(0.02)


COUNT = """
import json, sys, time
fields = json.load(sys.stdin)
with open("starts", "a") as starts:
    print(fields["number"], file=starts)
for step in range(5):
    print(json.dumps({"number": fields["number"], "step": step}))
    time.sleep(0.1)
"""
WAIT = """
import json, pathlib, sys, time
fields = json.load(sys.stdin)
with open("starts", "a") as starts:
    print(fields["runner_request_id"], file=starts)
print("waiting")
while not pathlib.Path("go").exists():
    time.sleep(0.01)
print("done")
"""


@pytest.mark.parametrize("policy", ["fail", "rerun"])
def test_killing_the_server_in_the_middle_of_ten_queued_runs_loses_none(
    make_agent, start_server, policy
):
    folder = make_agent(COUNT)
    options = {"concurrency": 2, "on_crash": policy}
    server = start_server(folder, **options)
    runs = [server.submit("agent", {"number": number}).json()["run_id"] for number in range(10)]
    _wait_for_starts(folder, 3)
    server.kill()

    server = start_server(folder, **options)
    results = [server.follow(run)[-1][1] for run in runs]
    starts = _starts(folder)
    for number, (run, result) in enumerate(zip(runs, results, strict=True)):
        shown = server.client.get(f"/runs/{run}").json()
        steps = [output["value"]["step"] for output in shown["outputs"] if "value" in output]
        # Fewer where the server died just before the script could say that it had started.
        assert result["attempts"] - 1 <= starts.count(str(number)) <= result["attempts"] <= 2
        if result["status"] == "succeeded":
            assert steps == list(range(5))
        else:
            assert result["stop_reason"] == "interrupted"
            assert steps == list(range(len(steps)))
            assert shown["outputs"][-1]["message"].startswith("the server ended while")
    interrupted = [result for result in results if result["stop_reason"] == "interrupted"]
    again = [result for result in results if result["attempts"] == 2]
    assert 1 <= len(again if policy == "rerun" else interrupted) <= 2
    assert (interrupted if policy == "rerun" else again) == []
    assert server.stop() == 0
    assert _processes(runs) == []


@pytest.mark.long
@pytest.mark.parametrize("policy", ["fail", "rerun"])
def test_killing_the_server_again_and_again_loses_no_run(make_agent, start_server, policy):
    folder = make_agent(COUNT)
    options = {"concurrency": 2, "on_crash": policy}
    if policy == "rerun":
        options["max_attempts"] = 100
    server = start_server(folder, **options)
    runs = [server.submit("agent", {"number": number}).json()["run_id"] for number in range(100)]
    for _ in range(20):
        _wait_for_starts(folder, len(_starts(folder)) + 1)
        time.sleep(random.uniform(0, 0.5))
        server.kill()
        server = start_server(folder, **options)
    results = [server.follow(run)[-1][1] for run in runs]
    reasons = {"fail": {"exited", "interrupted"}, "rerun": {"exited"}}[policy]
    assert {result["stop_reason"] for result in results} <= reasons
    for number, result in enumerate(results):
        assert (result["status"] == "succeeded") == (result["stop_reason"] == "exited")
        starts = _starts(folder).count(str(number))
        assert starts <= result["attempts"]
        assert starts >= 1 or result["stop_reason"] == "interrupted"
    assert server.stop() == 0
    assert _processes(runs) == []


def test_a_run_that_is_run_again_keeps_its_id_and_marks_its_attempts(make_agent, start_server):
    folder = make_agent(WAIT)
    server = start_server(folder, on_crash="rerun")
    run = server.submit("agent", {}, client_request_id="mine").json()["run_id"]
    _wait_for_starts(folder, 1)
    server.kill()
    server = start_server(folder, on_crash="rerun")
    _wait_for_starts(folder, 2)
    (folder / "go").touch()
    events = [event for _, event in server.follow(run)]
    assert _starts(folder) == [run, run]
    assert [event["attempt"] for event in events if event["type"] == "attempt"] == [1, 2]
    assert events[-1]["attempts"] == 2
    outputs = server.client.get(f"/runs/{run}").json()["outputs"]
    assert [output["text"] for output in outputs] == ["waiting", "done"]


def test_a_run_that_kills_the_server_again_and_again_is_given_up(make_agent, start_server):
    folder = make_agent(WAIT)
    options = {"on_crash": "rerun", "max_attempts": 2}
    server = start_server(folder, **options)
    run = server.submit("agent", {}).json()["run_id"]
    for attempt in range(2):
        _wait_for_starts(folder, attempt + 1)
        server.kill()
        server = start_server(folder, **options)
    result = server.follow(run)[-1][1]
    assert (result["stop_reason"], result["attempts"]) == ("interrupted", 2)
    assert len(_starts(folder)) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_server_that_is_asked_to_stop_finishes_its_runs_first(make_agent, start_server, number):
    folder = make_agent(WAIT)
    # The queue is looked at once a second, so that it is not while the first run ends and the server stops.
    server = start_server(folder, concurrency=1, poll_seconds=1, stop_seconds=30)
    runs = [server.submit("agent", {}).json()["run_id"] for _ in range(2)]
    _wait_for_starts(folder, 1)
    with server.client.stream("GET", f"/runs/{runs[0]}/events") as response:
        server.process.send_signal(number)
        with pytest.raises(httpx.RemoteProtocolError):  # sent away, and free to come back
            response.read()
    (folder / "go").touch()
    assert server.wait() == 0
    assert _starts(folder) == runs[:1]
    server = start_server(folder)
    assert [server.follow(run)[-1][1]["status"] for run in runs] == ["succeeded"] * 2
    assert _starts(folder) == runs


def test_what_runs_for_too_long_when_the_server_stops_counts_as_interrupted(
    make_agent, start_server
):
    folder = make_agent(WAIT)
    server = start_server(folder, stop_seconds=0)
    run = server.submit("agent", {}).json()["run_id"]
    _wait_for_starts(folder, 1)
    assert server.stop() == 0
    assert _processes([run]) == []
    server = start_server(folder)
    assert server.follow(run)[-1][1]["stop_reason"] == "interrupted"


def test_no_more_runs_than_allowed_run_at_a_time_and_the_first_come_first(make_agent, start_server):
    folder = make_agent(WAIT)
    server = start_server(folder, concurrency=2)
    runs = [server.submit("agent", {}).json()["run_id"] for _ in range(4)]
    _wait_for_starts(folder, 2)
    shown = [server.client.get(f"/runs/{run}").json()["status"] for run in runs]
    assert shown == ["running", "running", "queued", "queued"]
    (folder / "go").touch()
    assert {server.follow(run)[-1][1]["status"] for run in runs} == {"succeeded"}
    assert set(_starts(folder)[:2]) == set(runs[:2])


def test_a_queue_that_is_full_takes_no_more(make_agent, start_server):
    folder = make_agent(WAIT)
    server = start_server(folder, concurrency=1, max_queued=1)
    server.submit("agent", {})
    _wait_for_starts(folder, 1)
    assert server.submit("agent", {}, client_request_id="a").status_code == 202
    refused = server.submit("agent", {})
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "10")
    assert server.submit("agent", {}, client_request_id="a").status_code == 200
    (folder / "go").touch()


def test_a_run_of_an_agent_that_is_gone_is_reported(make_agent, start_server):
    folder, other = make_agent(WAIT), make_agent("", name="other")
    server = start_server(folder, other, concurrency=1)
    server.submit("agent", {})
    waiting = server.submit("other", {}).json()["run_id"]
    _wait_for_starts(folder, 1)
    server.kill()
    server = start_server(folder)
    last = server.submit("agent", {}).json()["run_id"]
    (folder / "go").touch()
    server.follow(last)
    server.stop()
    result = start_server(other).follow(waiting)[-1][1]
    assert (result["status"], result["stop_reason"]) == ("failed", "not_started")


def test_an_agent_that_breaks_while_its_run_waits_fails_it(make_agent, start_server):
    folder = make_agent(WAIT)
    server = start_server(folder, concurrency=1)
    first, second = (server.submit("agent", {}).json()["run_id"] for _ in range(2))
    _wait_for_starts(folder, 1)
    (folder / ".env").write_bytes(b"A=\xff")
    (folder / "go").touch()
    server.follow(first)
    events = [event for _, event in server.follow(second)]
    assert events[-2]["message"] == "the agent cannot be run as it is set up"
    assert (events[-1]["stop_reason"], events[-1]["attempts"]) == ("not_started", 1)
    server.stop()
    assert any(f"run {second} of agent: {folder}/.env" in line for line in server.lines)


def test_a_server_that_fails_says_that_it_is_its_own_fault(make_agent, start_server, tmp_path):
    (tmp_path / "tmp").mkdir()
    server = start_server(make_agent(""), environment={"TMPDIR": str(tmp_path / "tmp")})
    first = server.submit("agent", {}).json()["run_id"]
    assert server.follow(first)[-1][1]["status"] == "succeeded"
    shutil.rmtree(tmp_path / "tmp")
    second = server.submit("agent", {}).json()["run_id"]
    result = server.follow(second)[-1][1]
    assert (result["status"], result["stop_reason"]) == ("failed", "internal_error")


def test_only_so_many_runs_are_kept(make_agent, start_server):
    folder = make_agent("print(1)")
    server = start_server(folder)
    runs = [server.submit("agent", {}).json()["run_id"] for _ in range(3)]
    for run in runs:
        server.follow(run)
    server.stop()
    server = start_server(folder, keep_runs=1)
    while len(kept := server.client.get("/agents/agent/runs").json()["runs"]) > 1:
        pass
    assert kept[0]["run_id"] in runs
    server.stop()
    server = start_server(folder, keep_days=0)
    while server.client.get("/agents/agent/runs").json()["runs"]:
        pass


def test_what_users_said_is_the_owners_only_and_secrets_are_not_kept(
    make_agent, start_server, tmp_path
):
    folder = make_agent("import json, sys; print(json.load(sys.stdin)['prompt'])")
    state = tmp_path / "new"
    server = start_server(folder, state=state, production_env="MY_TOKEN=tok-1234")
    run = server.submit("agent", {"prompt": "my-private-prompt"}).json()["run_id"]
    server.follow(run)
    files = list(state.iterdir())
    assert {path.name for path in files} >= {"lock", "runs.sqlite"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert not any(b"tok-1234" in path.read_bytes() for path in files)
    assert any(b"my-private-prompt" in path.read_bytes() for path in files)


def test_a_run_that_starts_over_finds_its_files_again(make_agent, start_server):
    script = """
import json, pathlib, sys, time
path = pathlib.Path(json.load(sys.stdin)["files"][0])
print(json.dumps([path.read_text(), sorted(each.name for each in path.parent.iterdir())]))
path.write_text("spoilt")
(path.parent / "left").touch()
with open("starts", "a") as starts:
    print(path.parent, file=starts)
while not pathlib.Path("go").exists():
    time.sleep(0.01)
"""
    folder = make_agent(script)
    server = start_server(folder, on_crash="rerun")
    files = [{"name": "a.txt", "data": "YQ=="}]
    run_id = server.submit(folder.name, {}, files=files).json()["run_id"]
    _wait_for_starts(folder, 1)
    server.kill()
    (folder / "go").touch()
    events = start_server(folder, on_crash="rerun").follow(run_id)
    said = [event["value"] for _, event in events if event["type"] == "json_output"]
    assert said[-1] == ["a", ["a.txt"]]
    assert events[-1][1]["status"] == "succeeded"
    assert not any(pathlib.Path(path).exists() for path in _starts(folder))
