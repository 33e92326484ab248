"""Two runs side by side."""

from starlette.testclient import TestClient

from run_log import RunLog
from run_log.view import create_app


SYSTEM = {"role": "system", "content": "Add."}
LONG = "The whole book. " * 400


def write(folder, *, model="a", answer="Four.", more=(), arguments="{}", rounds=2):
    with RunLog(folder).begin({"model": model}) as run:
        messages = [SYSTEM, {"role": "user", "content": "2 + 2?"}]
        for number in range(1, rounds + 1):
            run.request(number, messages, {"model": model, "effort": "low"})
            run.delta(number, answer)
            calls = [{"call_id": run.path.stem, "name": "add", "arguments": arguments}, "odd"]
            run.answer(number, calls=calls if number == 1 else [])
            messages = [*messages, {"role": "assistant", "content": answer}, *more]
        run.end("answered")
    return run.path.stem


def compare(folder, one, other):
    client = TestClient(create_app(folder, key="key"), base_url="http://127.0.0.1")
    answer = client.get(f"/key/api/runs/{one}/compare/{other}")
    return answer.json() if answer.status_code == 200 else answer.status_code


def test_runs_that_say_the_same_do_not_differ_by_the_ids_of_their_calls(tmp_path):
    found = compare(tmp_path, write(tmp_path), write(tmp_path))
    assert (found["settings"], found["request"], found["answer"]) == (None, None, None)
    assert [run["rounds"] for run in found["runs"]] == [2, 2]
    assert all(pair["request"] and pair["added"] and pair["answer"] for pair in found["rounds"])


def test_the_first_difference_of_each_kind_is_told_with_its_place(tmp_path):
    one, other = write(tmp_path), write(tmp_path, model="b", answer="Five.", rounds=3)
    found = compare(tmp_path, one, other)
    assert found["settings"]["names"] == ["model"]
    assert (found["settings"]["path"], found["settings"]["before"]) == ("model", "a")
    assert (found["answer"]["round"], found["answer"]["path"]) == (0, "answer.text")
    assert (found["answer"]["position"], found["answer"]["now"]) == (1, "Five.")
    assert (found["request"]["round"], found["request"]["path"]) == (1, "messages[2].content")
    assert [pair["rows"][0] is None for pair in found["rounds"]] == [False, False, True]


def test_what_stands_after_a_difference_is_known_as_the_same(tmp_path):
    odd = {"role": "user", "content": "Odd."}
    one = write(tmp_path, rounds=3)
    other = write(tmp_path, rounds=3)
    path = tmp_path / f"{other}.jsonl"
    changed = path.read_text().replace("2 + 2?", "2 + 3?")
    path.write_text(changed)
    found = compare(tmp_path, one, other)
    assert [pair["added"] for pair in found["rounds"]] == [False, True, True]
    assert [pair["request"] for pair in found["rounds"]] == [False, False, False]
    found = compare(tmp_path, one, write(tmp_path, more=[odd]))
    assert (found["request"]["path"], found["request"]["before"]) == ("messages[3]", None)
    assert found["request"]["now"] == odd


def test_calls_with_other_arguments_are_another_answer(tmp_path):
    found = compare(tmp_path, write(tmp_path), write(tmp_path, arguments='{"a": 1}'))
    assert found["answer"]["path"] == "answer.calls[0].arguments"


def test_long_texts_are_compared_to_the_letter(tmp_path):
    one, other = write(tmp_path, answer=LONG), write(tmp_path, answer=LONG + "The end.")
    found = compare(tmp_path, one, other)
    assert found["answer"]["position"] == len(LONG)
    assert found["answer"]["now"].endswith("The end.")
    assert found["request"]["position"] == len(LONG)


def test_a_run_that_is_not_there_is_told(tmp_path):
    run = write(tmp_path)
    assert compare(tmp_path, run, "run-20261123T010000Z-0123456789ab") == 404
    assert compare(tmp_path, run, "..%2f..%2fetc%2fpasswd") == 404
