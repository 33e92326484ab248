import json

import pytest

from run_log import RunLog
from run_log.replay import ReplayedRun, read_run, to_numbers
from run_log.view import write_fixture


QUESTION = {"role": "user", "content": "Who is Ann?"}
LONG = "A very long answer. " * 1_000


@pytest.fixture
def replay(tmp_path):
    """Read a run as the test that is made of it does."""

    def play(write):
        with RunLog(tmp_path).begin() as run:
            write(run)
            run.end("answered")
        _, texts, data = write_fixture(run.path).split('r"""\n')
        return ReplayedRun(read_run(texts.split('\n"""')[0], data.split('\n"""')[0]))

    return play


def ask_ann(run):
    run.request(1, [QUESTION], {"tools": [{"name": "look_up"}]})
    run.delta(1, "Let me see.", phase="commentary")
    call = {"call_id": "c1", "name": "look_up", "arguments": '{"who": "Ann"}'}
    run.answer(
        1, calls=[call], usage={"total_tokens": 7, "total_price": "0.5"}, finish_reason="tool_calls"
    )
    run.call("c1", "look_up", call["arguments"])
    run.bound("c1", {"who": "Ann", "key": "[hidden]"}, [])
    run.result("c1", "done", [{"type": "text", "text": LONG}])
    run.request(2, [QUESTION, {"role": "tool", "content": LONG}], {})
    run.answer(2, error="overloaded")
    run.request(3, [QUESTION, {"role": "tool", "content": LONG}], {})


def test_the_model_answers_in_each_round_as_it_did(replay):
    run = replay(ask_ann)
    text, end = run.answer([QUESTION])
    assert text == {"text": "Let me see.", "phase": "commentary"}
    assert [call["name"] for call in end["tool_calls"]] == ["look_up"]
    assert end["tool_calls"][0]["index"] == 0
    assert end["finish_reason"] == "tool_calls"
    assert end["usage"] == to_numbers({"total_tokens": 7, "total_price": "0.5"})
    assert list(run.answer([QUESTION])) == [{"message": "overloaded", "is_transient": True}]
    list(run.answer([QUESTION]))
    [further] = run.answer([QUESTION])
    assert "no further request" in further["message"]


def test_a_tool_answers_a_call_with_the_same_arguments_as_it_did(replay):
    run = replay(ask_ann)
    for _ in range(2):
        told = run.find_result("look_up", {"who": "Ann", "key": "[hidden]"})
        assert told == {"content": ({"type": "text", "text": LONG},), "error": None}
    assert "was not called" in run.find_result("look_up", {"who": "Bob"})["error"]


def test_the_first_request_that_differs_is_told_with_its_round(replay):
    run = replay(ask_ann)
    assert run.messages == [QUESTION]
    for request in run.requests[:2]:
        list(run.answer(request))
    assert run.difference() is None
    list(run.answer([QUESTION]))
    assert run.difference().startswith("the request of round 3 differs:\n")
    assert json.dumps(LONG)[1:20] in run.difference()


def test_a_text_that_says_what_a_long_text_looks_like_stays_what_it_is():
    run = read_run("{}", '{"a": {"$literal": {"$long_text": "x"}}, "b": {"$long_text": "y"}}')
    assert run["b"] == {"$long_text": "y"}
    assert run["a"] == {"$long_text": "x"}
