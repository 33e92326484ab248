"""A run that waited for a person, and those that went on from it, on the page: one run."""

import json

import pytest
from starlette.testclient import TestClient

from run_log import RunLog, read_summary
from run_log.view import create_app


KEY = "key"
PAY = {"call_id": "c1", "name": "pay", "arguments": "{}"}
LONG = "a picture of " * 1000


def ask(folder, path):
    client = TestClient(create_app(folder, key=KEY), base_url="http://127.0.0.1")
    answer = client.get(f"/{KEY}/api/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


class Folder:
    """A folder of runs; the second of a run's name says which is newer."""

    def __init__(self, path):
        self.path = path
        self.count = 0

    def write(self, *, resumes=None, ends="approval", rounds=1, says="Pay.", about=None, **end):
        """Write a run of some rounds, the last of which asks for a call, and return its name."""
        self.count += 1
        # Apart until it is whole: a page that looks meanwhile must not see it renamed.
        apart = self.path / "apart"
        with RunLog(apart, about=about or {"query": says}).begin(resumes=resumes) as run:
            if resumes:
                run.decision("c1", is_approved=True, by="Ann", reason=says)
                run.call(**PAY)
                run.result("c1", "done", "paid")
            for number in range(1, rounds + 1):
                run.request(number, [{"role": "user", "content": says}], {"model": says})
                usage = {"input_tokens": 10, "total_price": "0.5", "currency": "USD"}
                run.answer(number, calls=[PAY] if number == rounds else [], usage=usage)
            run.end(ends, **end)
        path = self.path / f"run-20260101T0000{self.count:02}Z-{'0' * 12}.jsonl"
        return run.path.rename(path).stem

    def list(self, query=""):
        return ask(self.path, f"runs{query}")["runs"]

    def seconds(self, *runs):
        return sum(read_summary(self.path / f"{run}.jsonl").end["t"] for run in runs)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_a_run_that_waited_and_the_one_that_went_on_are_one_row(folder):
    first = folder.write(says="May I pay?")
    last = folder.write(
        resumes=first, says="Paid.", ends="answered", rounds=2, usage={"input_tokens": 30}
    )
    [row] = folder.list()
    assert (row["run"], row["parts"], row["about"]) == (last, 2, {"query": "May I pay?"})
    assert row["time"] == read_summary(folder.path / f"{first}.jsonl").time
    assert (row["end"]["reason"], row["end"]["usage"]) == ("answered", {"input_tokens": 30})
    assert row["seconds"] == folder.seconds(first, last)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_the_page_of_each_part_shows_all_of_them(folder, part):
    names = [folder.write(rounds=2)]
    names.append(folder.write(resumes=names[-1], says="Go on."))
    names.append(folder.write(resumes=names[-1], rounds=2, ends="cancelled"))
    head = ask(folder.path, f"runs/{names[part]}")
    assert (head["run"], head["rounds"], head["end"]["reason"]) == (names[part], 5, "cancelled")
    assert [(one["run"], one["first"]) for one in head["parts"]] == list(
        zip(names, (0, 2, 3), strict=True)
    )
    [decided] = [one for one in head["parts"][1]["before"] if one["type"] == "decision"]
    assert (decided["call_id"], decided["by"], decided["reason"]) == ("c1", "Ann", "Go on.")
    assert (head["totals"]["input_tokens"], head["totals"]["total_price"]) == (50, 2.5)
    rows = ask(folder.path, f"runs/{names[part]}/rounds?first=1&count=9")["rounds"]
    places = [(row["index"], row["run"], row["place"]) for row in rows]
    assert places == [
        *((1, names[0], 1), (2, names[1], 0)),
        *((3, names[2], 0), (4, names[2], 1)),
    ]
    asked = [[call["outcome"] for call in row["calls"]] for row in rows]
    assert asked == [["asked"], ["asked"], [], ["left"]]
    assert rows[1]["earlier"] == folder.seconds(names[0])
    detail = ask(folder.path, f"runs/{names[part]}/rounds/2")
    assert (detail["row"], detail["records"][0]["added"]) == (
        rows[1],
        [{"role": "user", "content": "Go on."}],
    )


def test_figures_of_the_end_count_what_came_before_it_only_once(folder):
    first = folder.write()
    last = folder.write(resumes=first, ends="answered", usage={"input_tokens": 20})
    assert ask(folder.path, f"runs/{first}")["totals"] == {"input_tokens": 20}
    assert ask(folder.path, f"runs/{last}")["seconds"] == folder.seconds(first, last)


def test_a_call_waits_until_a_run_goes_on(folder):
    first = folder.write()
    [row] = ask(folder.path, f"runs/{first}/rounds")["rounds"]
    assert row["calls"][0]["outcome"] == "waiting"
    folder.write(resumes=first, rounds=0)
    [row] = ask(folder.path, f"runs/{first}/rounds")["rounds"]
    assert row["calls"][0]["outcome"] == "asked"


def test_texts_of_all_parts_are_found(folder):
    first = folder.write(says=LONG)
    last = folder.write(resumes=first, says=LONG + "!", ends="answered")
    for part, says in ((0, LONG), (1, LONG + "!")):
        [message] = ask(folder.path, f"runs/{last}/rounds/{part}")["records"][0]["added"]
        digest = message["content"]["$long_text"]["digest"]
        assert ask(folder.path, f"runs/{first}/texts/{digest}")["text"] == says
    client = TestClient(create_app(folder.path, key=KEY), base_url="http://127.0.0.1")
    assert client.get(f"/{KEY}/api/runs/{last}/texts/{'0' * 64}").status_code == 404


def test_a_search_goes_over_all_parts(folder):
    first = folder.write(rounds=2)
    folder.write(resumes=first, says="Go on.", ends="answered")
    hits = ask(folder.path, f"runs/{first}/search?q=Go on")["hits"]
    assert [(hit["round"], hit["kind"]) for hit in hits] == [
        *((1, "start"), (1, "decision"), (2, "request")),
    ]


def test_two_runs_that_go_on_from_one_are_two_rows_of_which_its_page_shows_the_newer(folder):
    first = folder.write()
    second = folder.write(resumes=first, ends="answered")
    third = folder.write(resumes=first, ends="answered", says="Again.")
    assert [(row["run"], row["parts"]) for row in folder.list()] == [(third, 2), (second, 2)]
    for name, shown, others in ((first, third, [second]), (second, second, [third])):
        head = ask(folder.path, f"runs/{name}")
        assert [part["run"] for part in head["parts"]] == [first, shown]
        assert head["others"] == others


def test_a_part_that_is_not_there_any_more_is_named(folder):
    last = folder.write(resumes="run-gone", ends="answered")
    head = ask(folder.path, f"runs/{last}")
    assert (head["start"]["resumes"], len(head["parts"])) == ("run-gone", 1)
    assert [one["type"] for one in head["parts"][0]["before"]][1] == "decision"
    assert [row["run"] for row in folder.list()] == [last]


def test_logs_that_go_on_from_each_other_in_a_circle_are_all_shown(folder):
    names = [f"run-20260101T0000{number:02}Z-{'0' * 12}" for number in (1, 2, 3)]
    folder.write(resumes=names[1])
    folder.write(resumes=names[0])
    folder.write(resumes=names[2])
    assert [(row["run"], row["parts"]) for row in folder.list()] == [(names[2], 1), (names[1], 2)]
    for name, parts in ((names[0], 2), (names[1], 2), (names[2], 1)):
        assert len(ask(folder.path, f"runs/{name}")["parts"]) == parts


def test_a_name_that_is_no_text_joins_nothing(folder):
    first = folder.write()
    path = folder.path / f"{folder.write(resumes=first)}.jsonl"
    path.write_text(path.read_text().replace(f'"{first}"', "[]"))
    assert [row["parts"] for row in folder.list()] == [1, 1]
    assert len(ask(folder.path, f"runs/{path.stem}")["parts"]) == 1


def test_agents_that_any_part_has_called_are_found_as_one(folder):
    outer = folder.write()
    again = folder.write(resumes=outer, ends="answered")
    for name, resumes in ((outer, None), (again, f"run-20260101T000003Z-{'0' * 12}")):
        called = {"called_by": {"run": name, "call_id": "c1"}}
        inner = folder.write(about=called, resumes=resumes)
    [row] = folder.list(f"?called_by={outer}&called_by={again}")
    assert (row["run"], row["parts"]) == (inner, 2)
    assert [one["run"] for one in folder.list(f"?called_by={outer}")] == [inner]


def test_a_run_in_parts_is_compared_whole(folder):
    whole = folder.write(rounds=2, ends="answered")
    first = folder.write()
    last = folder.write(resumes=first, says="Go on.", ends="answered")
    found = ask(folder.path, f"runs/{whole}/compare/{last}")
    assert [run["rounds"] for run in found["runs"]] == [2, 2]
    assert [row["run"] for row in found["rounds"][1]["rows"]] == [whole, last]
    assert (found["request"]["round"], found["request"]["now"]) == (1, "Go on.")


def test_the_first_request_of_a_part_is_compared_as_if_nobody_had_waited(folder):
    question = [{"role": "user", "content": "Pay."}]
    answer = [*question, {"role": "assistant", "content": "Paid."}]
    whole, first, last = RunLog(folder.path), RunLog(folder.path), RunLog(folder.path)
    with whole.begin() as one:
        one.request(1, question, {"model": "a", "tools": []})
        one.request(2, answer, {"model": "a"})
    with first.begin() as two:
        two.request(1, question, {"model": "a", "tools": []})
        two.end("approval")
    with last.begin(resumes=two.path.stem) as three:
        three.request(2, answer, {"model": "a"})
    found = ask(folder.path, f"runs/{one.path.stem}/compare/{three.path.stem}")
    same = {"settings": True, "added": True, "request": True, "answer": True}
    assert [pair | {"rows": 0} for pair in found["rounds"]] == [same | {"rows": 0}] * 2


def test_news_of_a_run_that_waits_go_on_until_another_has_ended_it(folder, at_look):
    first = folder.write()
    at_look("_WAITING_LOOK_SECONDS", 1, lambda: folder.write(resumes=first, ends="answered"))
    client = TestClient(create_app(folder.path, key=KEY), base_url="http://127.0.0.1")
    text = client.get(f"/{KEY}/api/runs/{first}/events").text
    news = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    assert (news[0]["rounds"], news[0]["is_over"]) == (1, False)
    assert (news[-1]["rounds"], news[-1]["is_over"]) == (2, True)


@pytest.mark.parametrize("price", ["nan", "1e999", 10**400])
def test_figures_that_are_no_numbers_break_no_sum(folder, price):
    first = folder.write(rounds=0)
    with RunLog(folder.path).begin(resumes=first) as run:
        for cost in (price, 1.5):
            run.request(1, [], {})
            run.answer(1, usage={"total_price": cost})
        run.end("approval")
    totals = ask(folder.path, f"runs/{run.path.stem}")["totals"]
    assert totals["total_price"] == 1.5


def test_names_of_settings_that_are_none_break_no_page(folder):
    path = folder.path / f"{folder.write()}.jsonl"
    path.write_text(path.read_text().replace('"set":', '"unset":[["a"],3],"set":'))
    assert ask(folder.path, f"runs/{path.stem}")["rounds"] == 1
