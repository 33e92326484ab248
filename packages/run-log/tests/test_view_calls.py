"""What the page is told of calls that were not made, and of those that a tool has made in another's place."""

import json

import pytest
from starlette.testclient import TestClient
from written import find

from run_log import RunLog, RunLogError
from run_log.view import create_app, write_fixture


ASKED = [{"call_id": name, "name": "pay", "arguments": "{}"} for name in ("c1", "c2")]


def ask(folder, path):
    client = TestClient(create_app(folder, key="key"), base_url="http://127.0.0.1")
    return client.get(f"/key/api/runs/{path}").json()


def read_calls(folder, run):
    [row] = ask(folder, f"{run.path.stem}/rounds?count=1")["rounds"]
    return {call["call_id"]: (call["name"], call["outcome"]) for call in row["calls"]}


def begin(folder):
    """Begin a run whose model has asked for two calls, of which one was made."""
    run = RunLog(folder).begin()
    run.request(1, [{"role": "user", "content": "Pay both."}], {})
    run.answer(1, calls=ASKED)
    run.call(**ASKED[0])
    run.result("c1", "done", "paid")
    return run


@pytest.mark.parametrize(("reason", "outcome"), [("approval", "waiting"), ("answered", "left")])
def test_a_call_that_has_never_begun_says_whether_somebody_is_asked(tmp_path, reason, outcome):
    run = begin(tmp_path)
    assert read_calls(tmp_path, run) == {"c1": ("pay", "done")}
    run.end(reason)
    assert read_calls(tmp_path, run) == {"c1": ("pay", "done"), "c2": ("pay", outcome)}


def test_a_run_that_goes_on_after_a_question_names_the_one_before_and_what_was_decided(tmp_path):
    first = begin(tmp_path)
    first.question(1, ASKED[1:])
    first.end("approval")
    with RunLog(tmp_path).begin(resumes=first.path.stem) as run:
        run.decision("c2", is_approved=False, by="Ann", reason="Too much.")
        run.request(2, [{"role": "user", "content": "Pay both."}], {})

    row, _ = ask(tmp_path, f"{first.path.stem}/rounds")["rounds"]
    assert row["others"] == {}
    part = ask(tmp_path, run.path.stem)["parts"][1]
    assert part["start"]["resumes"] == first.path.stem
    [decided] = [record for record in part["before"] if record["type"] == "decision"]
    assert (decided["call_id"], decided["by"], decided["reason"]) == ("c2", "Ann", "Too much.")


def test_a_run_that_goes_on_without_a_call_says_so(tmp_path):
    run = begin(tmp_path)
    run.request(2, [{"role": "user", "content": "Pay both."}], {})
    run.end("answered")
    assert read_calls(tmp_path, run)["c2"] == ("pay", "left")


def test_a_run_that_stops_before_its_first_request_has_no_calls(tmp_path):
    with RunLog(tmp_path).begin() as run:
        run.end("approval")
    assert ask(tmp_path, run.path.stem)["calls"] == 0


def test_what_another_has_written_as_calls_breaks_nothing(tmp_path):
    with RunLog(tmp_path).begin() as run:
        run.request(1, [], {})
        run.answer(
            1, calls=["no call", {"name": ["odd"]}, {"call_id": "c" * 5000, "name": "n" * 5000}]
        )
        run.end("approval")
    [row] = ask(tmp_path, f"{run.path.stem}/rounds")["rounds"]
    assert [(call["name"], call["outcome"]) for call in row["calls"]] == [
        ("['odd']", "waiting"),
        ("…", "waiting"),
    ]


def test_a_call_by_another_tool_names_both_and_is_played_again_as_the_model_wrote_it(tmp_path):
    written = '{"name": "look_up", "arguments": {"who": "Ann"}}'
    with RunLog(tmp_path).begin() as run:
        run.request(1, [{"role": "user", "content": "Who?"}], {"tools": []})
        run.call("c1", "call_tool", written)
        run.bound("c1", {"who": "Ann"}, [], tool="look_up")
        run.bound("c9", {}, [], tool="look_up")
        run.result("c1", "done", "She is known.")
        run.end("answered")
    [row] = ask(tmp_path, f"{run.path.stem}/rounds")["rounds"]
    assert [(call["name"], call["tool"]) for call in row["calls"]] == [("call_tool", "look_up")]
    source = write_fixture(run.path)
    data = source.split('r"""\n')[2].split('\n"""')[0]
    [result] = json.loads(data)["results"]
    assert (result["name"], result["arguments"]) == ("call_tool", json.loads(written))


def test_a_call_that_was_tried_again_says_how_often_and_began_with_its_first_try(tmp_path):
    with RunLog(tmp_path).begin() as run:
        run.request(1, [], {})
        run.call("c1", "look_up", "{}")
        run.started("c1")
        for attempt in (1, 2):
            run.retry("c1", attempt, "failed", cause=OSError("gone"))
            run.started("c1")
        run.result("c1", "done", "She is known.")
        run.retry("c9", 1, "failed")
    [row] = ask(tmp_path, f"{run.path.stem}/rounds")["rounds"]
    [call] = row["calls"]
    began, *_ = find(run, "started")
    assert (call["retries"], call["outcome"], call["started"]) == (2, "done", began["t"])
    assert [retry["attempt"] for retry in find(run, "retry")] == [1, 2, 1]
    assert row["others"] == {}


def test_a_call_that_was_given_up_is_played_again_as_what_the_model_read(tmp_path):
    with RunLog(tmp_path).begin() as run:
        run.request(1, [], {"tools": []})
        run.call("c1", "look_up", "{}")
        run.bound("c1", {}, [])
        run.result("c1", "unfinished", "no answer", error="no answer")
        run.end("answered")
    data = write_fixture(run.path).split('r"""\n')[2].split('\n"""')[0]
    [result] = json.loads(data)["results"]
    assert (result["name"], result["error"]) == ("look_up", "no answer")


def test_a_budget_that_was_used_up_is_what_ends_the_run_when_it_is_played_again(tmp_path):
    with RunLog(tmp_path).begin() as run:
        run.request(1, [{"role": "user", "content": "Who?"}], {})
        run.budgets({"max_tool_calls": (0, 0)})
        run.request(2, [{"role": "user", "content": "Who?"}], {}, is_closing=True)
        run.end("budget", budget="max_tool_calls")
    assert '"maximum_iterations": 3' in write_fixture(run.path)


def test_of_a_damaged_log_no_test_is_made_and_that_is_told(tmp_path):
    with RunLog(tmp_path).begin() as run:
        run.request(1, [{"role": "user", "content": "Who?"}], {"tools": ["no tool"]})
        run.end("answered")
    with pytest.raises(RunLogError, match=r"expected a whole log .* not what a run's log has"):
        write_fixture(run.path)
    run.path.write_text(run.path.read_text() + "broken\n")
    with pytest.raises(RunLogError, match="line 4: expected a record"):
        write_fixture(run.path)


def test_a_text_that_the_log_has_lost_is_shown_as_left_out(tmp_path):
    with RunLog(tmp_path).begin() as run:
        run.request(1, [], {})
        run.delta(1, "lost")
        run.answer(1)
    lost = json.dumps({"$long_text": "0" * 64})
    run.path.write_text(run.path.read_text().replace('"lost"', lost))
    [row] = ask(tmp_path, f"{run.path.stem}/rounds")["rounds"]
    assert row["head"] == "…"
