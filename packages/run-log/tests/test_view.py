"""What the server of the page answers, and to whom."""

import base64
import json
import re
import shutil
import tracemalloc
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from run_log import RunLog, RunLogError, list_runs, read_summary
from run_log.view import RunAgain, create_app, create_pages, search_run, write_fixture


KEY = "the-key"
PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 5000).decode()
SETTINGS = {
    "model": "gpt-5.5",
    "effort": "low",
    "tools": [{"name": "add", "description": None, "parameters": {"type": "object"}}],
}


_OPEN = []


@pytest.fixture(autouse=True)
def _close_runs():
    yield
    while _OPEN:
        _OPEN.pop().close()


def begin(folder, about=None, **more):
    """Begin the log of a run, which is closed after the test."""
    run = RunLog(folder, about=about).begin(**more)
    _OPEN.append(run)
    return run


def write_run(folder, *, ends=True):
    """Log a run in which everything happens."""
    run = begin(folder, {"program": "test", "model": "gpt-5.5", "effort": "high"})
    question = {"role": "user", "content": "What is 2 + 2? " + "very long " * 1000}
    run.request(1, [{"role": "system", "content": "Add."}, question], SETTINGS, wait_seconds=0.5)
    run.delta(1, "<think>easy</think>I add. ", phase="commentary")
    run.delta(1, "x" * 600, phase="commentary")
    usage = {
        "input_tokens": 2000,
        "cached_tokens": 1000,
        "output_tokens": 9,
        "total_price": "0.5",
        "currency": "USD",
    }
    written = [{"call_id": "c1", "name": "add", "arguments": '{"a":2}'}]
    run.answer(1, calls=written, usage=usage, finish_reason="tool_calls", opaque_body={"a": 1})
    for call_id, arguments in (
        ("c1", '{"a":2}'),
        ("c2", "no"),
        ("c3", '{"a":3}'),
        ("c4", '{"a":2}'),
    ):
        run.call(call_id, "add", arguments)
    run.bound("c1", {"a": 2, "key": "hidden-one"}, ["key"])
    run.bound("c3", {"a": 3}, [])
    run.started("c1")
    run.result("c1", "done", [{"type": "image_url", "image_url": {"url": PNG}}], artifact=b"12345")
    run.result("c2", "refused", "no JSON", error="no JSON")
    run.result("c3", "failed", "broken", error="broken", cause=ValueError("why"))
    run.result("c4", "refused", "failed before", error="failed before")
    run.budgets({"max_tool_calls": (3, 10), "max_seconds": (1, 60)})
    messages = [{"role": "system", "content": "Add!"}, question]
    run.request(2, messages, {"effort": {"x": 1}}, is_closing=True, left_out=1)
    run.delta(2, "Four. " * 1200)
    run.answer(2, usage={"input_tokens": "many", "currency": ""}, error="cut " * 1100)
    if ends:
        run.end("answered", rounds=2)
    return run


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("written")).path


@pytest.fixture
def name(tmp_path, written):
    shutil.copy(written, tmp_path)
    return written.stem


def connect(folder, **settings):
    app = create_app(folder, key=KEY, **settings)
    return TestClient(app, base_url="http://127.0.0.1")


def ask(folder, path, **settings):
    answer = connect(folder, **settings).get(f"/{KEY}/{path}")
    return answer.json() if "json" in answer.headers["content-type"] else answer


def test_what_is_refused_is_told_as_a_problem_document(tmp_path):
    refused = connect(tmp_path).delete(f"/{KEY}/api/runs")
    assert refused.headers["content-type"] == "application/problem+json"
    assert "GET" in refused.headers["allow"]
    assert refused.json() == {
        "title": "Method Not Allowed",
        "status": 405,
        "detail": "Method Not Allowed",
    }


def test_nobody_without_the_key_is_told_anything(tmp_path, name):
    client = connect(tmp_path)
    for path in ("/", "/api/runs", f"/wrong/api/runs/{name}", f"//{KEY}/", "/%ff/", f"/{KEY}x/"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert name not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:9", "127.0.0.1.evil.example", ""])
def test_a_name_that_is_not_this_machines_is_refused(tmp_path, host):
    answer = connect(tmp_path).get(f"/{KEY}/", headers={"host": host})
    assert answer.status_code == 421


def test_the_port_is_part_of_the_name(tmp_path):
    client = connect(tmp_path, port=8123)
    assert client.get(f"/{KEY}/").status_code == 421
    assert client.get(f"/{KEY}/", headers={"host": "localhost:8123"}).status_code == 200


def test_every_answer_forbids_what_the_page_does_not_need(tmp_path):
    client = connect(tmp_path)
    for path in (f"/{KEY}/", f"/{KEY}/static/app.js", f"/{KEY}/api/runs", f"/{KEY}/none", "/"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_the_page_is_small_and_holds_no_script_of_its_own(tmp_path):
    page = ask(tmp_path, "")
    assert re.findall(r"<script(?![^>]*src=)|\son\w+=|style=", page.text) == []
    view = Path(__file__).parents[1] / "src/run_log/view"
    files = [*view.glob("static/*"), *view.glob("shared/*")]
    assert sum(path.stat().st_size for path in files) < 150_000
    for path in files:
        assert ask(tmp_path, f"static/{path.name}").status_code == 200
        if path.suffix != ".svg":
            assert re.findall(r"(?:https?:)?//[a-z]+\.", path.read_text("utf-8")) == []
            assert "innerHTML" not in path.read_text("utf-8")


def test_nothing_but_runs_is_read(tmp_path, name):
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "secret.txt")
    client = connect(tmp_path)
    paths = [
        "api/runs/secret.txt",
        "api/runs/..%2f..%2fetc%2fpasswd",
        "api/runs/link",
        "static/..%2f_app.py",
        "static/_app.py",
        "static/",
    ]
    for path in [*paths, f"api/runs/{name}.jsonl", f"api/runs/{name}%00"]:
        assert client.get(f"/{KEY}/{path}").status_code == 404


def test_runs_are_listed(tmp_path, name):
    [run] = ask(tmp_path, "api/runs")["runs"]
    assert (run["run"], run["about"]["program"], run["end"]["reason"]) == (name, "test", "answered")
    assert ask(tmp_path / "none", "api/runs")["runs"] == []


def test_the_head_of_a_run_has_its_figures(tmp_path, name):
    head = ask(tmp_path, f"api/runs/{name}")
    assert (head["rounds"], head["calls"], head["rewritten"], head["missed"]) == (2, 4, [1], [])
    assert head["totals"]["input_tokens"] == 2000
    assert head["totals"]["total_price"] == 0.5
    assert head["budgets"]["max_tool_calls"] == {"used": 3, "maximum": 10}
    assert head["problems"] == []
    assert not head["can_run_again"]


def test_totals_are_those_of_the_end_where_it_has_some(tmp_path):
    run = begin(tmp_path)
    run.end("answered", usage={"input_tokens": 7})
    assert ask(tmp_path, f"api/runs/{run.path.stem}")["totals"] == {"input_tokens": 7}


def test_a_round_whose_prefix_stood_and_was_not_in_the_cache_is_named(tmp_path):
    run = begin(tmp_path)
    for number, cached in enumerate((0, 1500, 0, 1900), 1):
        run.request(number, [{"role": "user", "content": str(n)} for n in range(number)], {})
        run.answer(number, usage={"input_tokens": 2000, "cached_tokens": cached})
    assert ask(tmp_path, f"api/runs/{run.path.stem}")["missed"] == [2]


def test_rows_tell_what_stands_out(tmp_path, name):
    first, second = ask(tmp_path, f"api/runs/{name}/rounds?count=99999")["rounds"]
    assert (first["model"], first["effort"], first["phases"], first["wait"]) == (
        "gpt-5.5",
        "low",
        ["commentary"],
        0.5,
    )
    assert [call["outcome"] for call in first["calls"]] == ["done", "refused", "failed", "refused"]
    assert first["calls"][0]["started"] is not None
    assert len(first["head"]) == 400
    assert (second["effort"], second["dropped"], second["is_closing"], second["left_out"]) == (
        "…",
        2,
        True,
        1,
    )
    assert second["error"] == "…"
    assert ask(tmp_path, f"api/runs/{name}/rounds?first=1&count=1")["rounds"] == [second]
    assert ask(tmp_path, f"api/runs/{name}/rounds?first=-1&count=x")["rounds"] == [first, second]


def test_effort_and_model_are_those_of_the_program_where_no_request_names_them(tmp_path):
    run = begin(tmp_path, {"model": "m", "reasoning_effort": "high"})
    run.request(1, [], {})
    run.request(2, [], {"model": None})
    run.delta(2, "", phase="x")
    other = begin(tmp_path, {"model": ["m"]})
    other.request(1, [], {"tool_choice": "auto"})
    other.request(2, [], {})
    rows = ask(tmp_path, f"api/runs/{run.path.stem}/rounds")["rounds"]
    assert [(row["model"], row["effort"]) for row in rows] == [("m", "high"), ("m", "high")]
    rows = ask(tmp_path, f"api/runs/{other.path.stem}/rounds")["rounds"]
    assert [(row["model"], row["tool_choice"]) for row in rows] == [("", "auto"), ("", "")]


def test_a_round_says_what_was_added_and_where_the_prefix_differs(tmp_path, name):
    detail = ask(tmp_path, f"api/runs/{name}/rounds/1")
    difference = detail["difference"]
    assert (difference["path"], difference["position"]) == ("messages[0].content", 3)
    assert (difference["before"], difference["now"]) == ("Add.", "Add!")
    assert detail["records"][0]["added"][0]["content"] == "Add!"
    assert "model" not in detail["settings"]
    assert ask(tmp_path, f"api/runs/{name}/rounds/7")["detail"] == "There is no such round."


def test_differences_of_other_kinds_are_shown_too(tmp_path):
    run = begin(tmp_path)
    run.request(1, [{"a": 1, "b": 2}, {"c": 1}], {})
    run.request(2, [{"a": 2, "b": 2}], {})
    run.request(3, [], {})
    run.request(4, [{"a": 2, "b": 1}], {})
    run.request(5, [{"b": 1, "a": 2}], {})
    found = [
        ask(tmp_path, f"api/runs/{run.path.stem}/rounds/{index}")["difference"]
        for index in range(5)
    ]
    assert [one and (one["path"], one["before"], one["now"]) for one in found] == [
        None,
        ("messages[0].a", 1, 2),
        ("messages[0]", {"a": 2, "b": 2}, None),
        None,
        ("messages[0]", None, None),
    ]


def test_texts_too_long_to_compare_are_compared_by_their_digests(tmp_path, monkeypatch):
    monkeypatch.setattr("run_log.view._index._MAX_DIFFERENCE_BYTES", 4_500)
    run = begin(tmp_path)
    for number, letter in enumerate("ab", 1):
        run.request(number, [{"role": "user", "content": letter * 5_000}], {})
    difference = ask(tmp_path, f"api/runs/{run.path.stem}/rounds/1")["difference"]
    assert difference["path"] == "messages[0].content.$long_text"


def test_long_texts_come_by_their_digest_and_bit_by_bit(tmp_path, name):
    detail = ask(tmp_path, f"api/runs/{name}/rounds/0")
    long = detail["records"][0]["added"][1]["content"]["$long_text"]
    assert long["size"] == 10_015
    assert long["head"].startswith("What is 2 + 2?")
    text = ask(tmp_path, f"api/runs/{name}/texts/{long['digest']}?first=5000")
    assert (text["first"], text["characters"], len(text["text"])) == (5000, 10_015, 5015)
    assert "not in the log" in ask(tmp_path, f"api/runs/{name}/texts/{'0' * 64}")["detail"]
    assert "no file" in ask(tmp_path, f"api/runs/{name}/files/{long['digest']}")["detail"]


def test_an_image_is_given_as_one(tmp_path, name):
    client = connect(tmp_path)
    detail = ask(tmp_path, f"api/runs/{name}/rounds/0")
    result = next(one for one in detail["records"] if one.get("outcome") == "done")
    long = result["content"][0]["image_url"]["url"]["$long_text"]
    assert long["media"] == "image/png"
    answer = client.get(f"/{KEY}/api/runs/{name}/files/{long['digest']}")
    assert answer.headers["content-type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("R0lGODlh" + "A" * 5000, "image/gif"),
        ("UklGRgAAAABXRUJQ" + "A" * 5000, "image/webp"),
        ("JVBERi0x" + "A" * 5000, "application/pdf"),
        ("data:text/html;base64,PHNjcmlwdD4" + "A" * 5000, ""),
        ("A" * 5000, ""),
        ("=" * 5000, ""),
        ("ä" * 5000, ""),
        ("A" * 5001, ""),
        ("AAA \n" * 2000, ""),
        ("short, and no base64 at all " * 200, ""),
    ],
)
def test_what_is_no_image_is_to_be_saved_and_never_opened(tmp_path, text, kind):
    run = begin(tmp_path)
    run.request(1, [text], {})
    detail = ask(tmp_path, f"api/runs/{run.path.stem}/rounds/0")
    long = detail["records"][0]["added"][0]["$long_text"]
    assert long["media"] == kind
    answer = connect(tmp_path).get(f"/{KEY}/api/runs/{run.path.stem}/files/{long['digest']}")
    if not kind.startswith("image/") and answer.status_code == 200:
        assert answer.headers["content-disposition"] == "attachment"
        assert "html" not in answer.headers["content-type"]


def test_records_of_unknown_types_are_shown_as_they_are(tmp_path):
    run = write_run(tmp_path, ends=False)
    with run.path.open("a") as file:
        file.write('{"v":1,"type":"dream","t":"late","round":2,"of":"sheep"}\n' * 2)
    detail = ask(tmp_path, f"api/runs/{run.path.stem}/rounds/1")
    assert detail["records"][-1]["of"] == "sheep"
    assert detail["row"]["others"] == {"dream": 2}


def test_a_damaged_log_is_shown_as_far_as_it_can_be_and_says_what_is_wrong(tmp_path):
    run = write_run(tmp_path, ends=False)
    lines = run.path.read_text().splitlines(keepends=True)
    run.path.write_text(
        "".join(
            [
                *lines[:1],
                "no record\n",
                '{"v":2,"type":"start"}\n',
                '{"v":1,"type":"dream","t":0}\n',
                *lines[1:],
            ]
        )
    )
    head = ask(tmp_path, f"api/runs/{run.path.stem}")
    assert head["rounds"] == 2
    assert head["problems"] == [
        "line 2: expected a record of a run log",
        "line 3: of a newer version of the format: a newer gpt5-run-log reads it",
    ]
    assert [one["type"] for one in head["parts"][0]["before"]] == ["start", "dream"]


def test_results_of_calls_that_are_not_there_break_nothing(tmp_path):
    run = begin(tmp_path)
    run.request(1, [], {})
    run.started("x")
    run.result("x", "done", "y")
    run.error(ValueError("broken"))
    [row] = ask(tmp_path, f"api/runs/{run.path.stem}/rounds")["rounds"]
    assert (row["calls"], row["error"]) == ([], "broken")


def test_a_run_is_searched_in_whatever_case_and_however_it_is_escaped(tmp_path, name):
    def find(text):
        return ask(tmp_path, f"api/runs/{name}/search?q={text}")["hits"]

    [hit] = find("VERY LONG")
    assert (hit["round"], hit["kind"], hit["count"]) == (0, "long_text", 1000)
    assert "2 + 2?" in hit["before"]
    assert [(hit["round"], hit["kind"]) for hit in find("Add!")] == [(1, "request")]
    assert {hit["kind"] for hit in find('"a":2')} >= {"answer", "call"}
    assert find("four. four.")[0]["round"] == 1
    assert find("") == []
    assert find("nowhere") == []
    assert [run["run"] for run in ask(tmp_path, "api/search?q=easy")["runs"]] == [name]
    assert ask(tmp_path, "api/search?q=")["runs"] == []
    assert ask(tmp_path, "api/search?q=nowhere")["runs"] == []


def test_a_long_record_is_searched_in_pieces_and_each_place_is_counted_once(tmp_path):
    run = begin(tmp_path)
    for size in range(65_400, 65_600, 7):
        run.request(1, ["x" * size + "needle" + "é" * 100_000 + "needle"], {})
    tracemalloc.start()
    hits = list(search_run(run.path, "NEEDLE"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {(hit.kind, hit.count, hit.found) for hit in hits} == {("long_text", 2, "needle")}
    assert len(hits) == len(range(65_400, 65_600, 7))
    assert peak < 2_000_000


def test_letters_that_change_their_number_with_their_case_are_found(tmp_path):
    run = begin(tmp_path)
    run.request(1, ["Straße İstanbul Needle"], {})
    run.request(2, ["Straße Needle"], {})
    path = f"api/runs/{run.path.stem}/search?q="
    assert [hit["found"] for hit in ask(tmp_path, path + "Needle")["hits"]] == ["Needle", "Needle"]
    with run.path.open("a") as file:
        file.write('{"kind":"none"} Needle\n{"type":"long_text","digest":"Needle"}')
    assert [hit["kind"] for hit in ask(tmp_path, path + "Needle")["hits"]][2:] == ["?", "long_text"]


def test_a_fixture_is_python_and_holds_the_run(tmp_path, name):
    source = ask(tmp_path, f"api/runs/{name}/fixture").text
    compile(source, "test_run.py", "exec")
    assert "very long very long" in source
    assert "hidden-one" not in source
    assert '"max_tool_calls": 10' in source
    assert '"maximum_iterations": 2' in source
    assert '"has_tool_choice": false' in source


def test_what_cannot_be_made_a_test_is_told(tmp_path):
    empty = begin(tmp_path)
    assert "expected a request" in ask(tmp_path, f"api/runs/{empty.path.stem}/fixture")["detail"]
    with empty.path.open("ab") as file:
        file.truncate(60_000_000)
    with pytest.raises(RunLogError, match="at most 50,000,000 bytes"):
        write_fixture(empty.path)


def test_what_a_test_cannot_play_again_is_told(tmp_path):
    compacted, stopped = begin(tmp_path), begin(tmp_path)
    for run in (compacted, stopped):
        run.request(1, [], {}, is_compaction=True)
    figures = {"reasoning_dropped": 0, "tokens_before": 9, "tokens_after": 1}
    compacted.compaction(2, "summary", replaced=4, **figures)
    stopped.end("approval")
    [row] = ask(tmp_path, f"api/runs/{compacted.path.stem}/rounds")["rounds"]
    assert (row["is_compaction"], row["others"]) == (True, {"compaction": 1})
    for run, problem in ((compacted, "was compacted"), (stopped, "a person's approval")):
        assert problem in ask(tmp_path, f"api/runs/{run.path.stem}/fixture")["detail"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('{"id": "r1"}', {"id": "r1"}),
        ('{"id": "' + "r" * 9_000 + '"}', {"id": "r" * 9_000}),
        ("[1]", {}),
        ("{", {}),
    ],
)
def test_what_a_run_has_answered_by_itself_is_in_the_fixture_by_what_was_written(
    tmp_path, written, read
):
    run = begin(tmp_path)
    run.request(1, [{"role": "user", "content": "Read on."}], SETTINGS)
    run.call("c1", "read_result", written)
    run.result("c1", "done", "the rest")
    run.call("c2", "read_result", written)
    run.result("c2", "recalled", "the rest")
    run.end("answered")
    source = write_fixture(run.path)
    data = json.loads(source.split('r"""\n')[2].split('\n"""')[0])
    told = {"name": "read_result", "arguments": read, "content": "the rest", "error": None}
    assert data["results"] == [told]


def test_a_run_that_goes_on_has_a_fixture_of_what_there_is(tmp_path):
    run = begin(tmp_path)
    run.request(1, [], {"tools": [{"name": "x"}]})
    run.call("c", "x", "{}")
    run.result("c", "done", "never bound")
    run.request(2, [], {"tools": [{"name": "x"}]})
    source = write_fixture(run.path)
    assert '"maximum_iterations": 3' in source
    assert '"is_repeated": true' in source


def test_news_come_until_the_run_has_ended(tmp_path, monkeypatch, at_look):
    monkeypatch.setattr("run_log.view._app._ALIVE_SECONDS", 0.01)
    run = write_run(tmp_path, ends=False)
    at_look("_LOOK_SECONDS", 5, lambda: run.end("answered"))
    text = connect(tmp_path).get(f"/{KEY}/api/runs/{run.path.stem}/events").text
    news = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    assert [one["is_over"] for one in news] == [False, True]
    assert ": still here" in text


def test_a_log_that_is_cut_or_replaced_while_it_is_open_is_read_anew(tmp_path):
    run = write_run(tmp_path)
    client, place = connect(tmp_path), f"/{KEY}/api/runs/{run.path.stem}"
    whole = run.path.read_bytes()
    before = client.get(place).json()
    lines = whole.splitlines(keepends=True)
    run.path.write_bytes(lines[0])
    assert client.get(place).json()["rounds"] == 0
    (tmp_path / "new").write_bytes(whole * 2)
    (tmp_path / "new").replace(run.path)
    assert client.get(place).json()["rounds"] == 2 * before["rounds"]
    assert client.get(f"{place}/rounds/0").status_code == 200


def test_who_follows_a_log_is_told_that_it_was_deleted(tmp_path, at_look):
    run = write_run(tmp_path, ends=False)
    at_look("_LOOK_SECONDS", 1, run.path.unlink)
    text = connect(tmp_path).get(f"/{KEY}/api/runs/{run.path.stem}/events").text
    assert "event: gone" in text.split("\n\n")[-2]
    assert "cannot be read: No such file" in text


def test_of_many_runs_as_many_are_listed_as_are_wanted_and_only_new_ones_read(
    tmp_path, monkeypatch
):
    for number in range(5):
        begin(tmp_path, {"number": number}).end("answered")
    (tmp_path / "run-of-nobody.jsonl").write_text("{}")
    client, read = connect(tmp_path), []

    def read_one(path):
        read.append(path)
        return read_summary(path)

    monkeypatch.setattr("run_log._reader.runs.read_summary", read_one)
    found = client.get(f"/{KEY}/api/runs?count=2").json()
    assert (found["total"], len(found["runs"]), len(read)) == (5, 2, 5)
    write_run(tmp_path)
    assert client.get(f"/{KEY}/api/runs").json()["total"] == 6
    assert len(read) == 6


def test_a_run_that_is_deleted_or_locked_while_runs_are_listed_is_left_out_or_told(
    tmp_path, monkeypatch
):
    run = write_run(tmp_path)

    def refuse(path):
        raise RunLogError(f"{path}: cannot be read")

    monkeypatch.setattr("run_log._reader.runs.read_summary", refuse)
    assert "cannot be read" in ask(tmp_path, "api/runs")["runs"][0]["error"]
    monkeypatch.setattr(
        "run_log.view._summaries.iter_paths", lambda _: [run.path.with_suffix(".gone")]
    )
    assert ask(tmp_path, "api/runs")["runs"] == []


def test_the_agents_that_a_run_has_called_are_found(tmp_path):
    outer = write_run(tmp_path)
    called = {"run": outer.path.stem, "call_id": "c1"}
    inner = begin(tmp_path, {"agent": "scout", "called_by": called})
    inner.end("answered")
    found = ask(tmp_path, f"api/runs?called_by={outer.path.stem}")["runs"]
    assert [one["run"] for one in found] == [inner.path.stem]


def test_an_address_without_its_last_slash_leads_to_the_page(tmp_path):
    answer = connect(tmp_path).get(f"/{KEY}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, f"/{KEY}/")


def test_a_run_is_run_again_by_whoever_opened_the_page(tmp_path, name):
    asked = []

    def again(wanted: RunAgain):
        asked.append(wanted)
        if wanted.model == "broken":
            raise ValueError("no such model")
        begin(tmp_path, {"again": wanted.about})

    headers = {"origin": "http://127.0.0.1"}
    with connect(tmp_path, again=again, models=("m",)) as client:
        assert client.get(f"/{KEY}/api/runs/{name}").json()["models"] == ["m"]
        for model in ("broken", ""):
            wanted = {"round": 2, "instruction": None, "model": model}
            path = f"/{KEY}/api/runs/{name}/again"
            assert client.post(path, json=wanted).status_code == 403
            assert (
                client.post(
                    path, content="{}", headers={**headers, "content-type": "text/plain"}
                ).status_code
                == 403
            )
            token = client.post(path, json=wanted, headers=headers).json()["token"]
            while (state := client.get(f"/{KEY}/api/again/{token}").json())["state"] == "running":
                pass
            if model:
                assert (state["state"], state["error"]) == ("failed", "no such model")
        [new] = [run for run in list_runs(tmp_path) if run.path.stem != name]
        assert (state["run"], new.about["again"]["of"]) == (new.path.stem, name)
        assert client.get(f"/{KEY}/api/again/other").status_code == 404
    assert [one.model for one in asked] == ["broken", None]
    assert {one.round for one in asked} == {2}


@pytest.mark.parametrize(
    "wanted",
    [
        [],
        {},
        "x",
        {"round": 0, "instruction": None, "model": None},
        {"round": 1, "instruction": 5, "model": None},
    ],
)
def test_what_cannot_be_run_again_is_told(tmp_path, name, wanted):
    client = connect(tmp_path, again=lambda _: None)
    path = f"/{KEY}/api/runs/{name}/again"
    assert client.post(path, json=wanted, headers={"origin": "http://127.0.0.1"}).status_code == 422


def test_without_anybody_to_run_it_nothing_is_run_again(tmp_path, name):
    path = f"/{KEY}/api/runs/{name}/again"
    answer = connect(tmp_path).post(path, json={}, headers={"origin": "http://127.0.0.1"})
    assert answer.status_code == 409


def test_only_the_runs_looked_at_last_are_kept_in_memory(tmp_path):
    names = [begin(tmp_path).path.stem for _ in range(10)]
    client = connect(tmp_path)
    for name in [*names, *names]:
        assert client.get(f"/{KEY}/api/runs/{name}").json()["run"] == name


@pytest.mark.usefixtures("name")
def test_a_run_that_is_deleted_while_it_is_searched_is_left_out(tmp_path, monkeypatch):
    def gone(*_):
        raise RunLogError("gone")

    monkeypatch.setattr("run_log.view._search.search_run", gone)
    assert ask(tmp_path, "api/search?q=easy")["runs"] == []


def test_a_run_that_cannot_be_searched_is_told(tmp_path):
    with pytest.raises(RunLogError, match="cannot be read"):
        list(search_run(tmp_path, "x"))


def test_the_page_can_be_part_of_another_application_that_looks_who_may_read(tmp_path):
    run = write_run(tmp_path)
    client = TestClient(Starlette(routes=[Mount("/logs", create_pages(tmp_path, name="ada"))]))

    page = client.get("/logs/")
    listed = client.get("/logs/api/runs")
    again = client.post(f"/logs/api/runs/{run.path.stem}/again", json={})

    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert listed.json()["folder"] == "ada"
    assert str(tmp_path) not in listed.text
    assert [one["run"] for one in listed.json()["runs"]] == [run.path.stem]
    assert again.status_code == 409
