"""What is wrong with a file is told, and everything else is read."""

import json
import shutil
import signal
import subprocess
import sys
import tracemalloc

import pytest
from written import find, read_lines, temporary_log, write_everything

from run_log import VERSION, RunFile, RunLog, RunLogError, list_runs, read_schema, read_summary


@pytest.fixture
def path(tmp_path):
    """The file of a run of two requests."""
    with RunLog(tmp_path, about={"program": "test"}).begin() as run:
        run.request(1, [{"content": "a"}], {"model": "m"})
        run.result("c1", "done", "x" * 5_000)
        run.request(2, [{"content": "a"}, {"content": "b"}], {"model": "m"})
        run.end("answered")
    return run.path


def read(path, **options):
    """Return the types of the records, the numbers of messages in the requests, and the problems."""
    file = RunFile(path, **options)
    kinds = [record["type"] for record in file.iter_records()]
    counts = [len(request.messages) for request in file.iter_requests()]
    return kinds, counts, [str(problem) for problem in file.problems]


KINDS = ["start", "request", "long_text", "result", "request", "end"]
CUT = "cut off: the process that wrote it was ended, or is still writing"
UNFINISHED = "the run has no end: its process was ended, or it is still going on"


def test_a_whole_file_has_no_problems(path):
    assert read(path) == (KINDS, [1, 2], [])


def test_every_record_fulfils_the_schema():
    with temporary_log(about={"program": "test"}) as log:
        run = log.begin()
        write_everything(run, "some text " * 600)
        kinds = {record["type"] for record in read_lines(run)}
    schema = read_schema()
    assert kinds == {reference["$ref"].rpartition("/")[2] for reference in schema["oneOf"]}
    assert schema["$defs"]["start"]["properties"]["v"] == {"const": VERSION}


def test_every_field_of_the_schema_is_written_by_someone():
    with temporary_log() as log:
        run = log.begin(resumes="run-1")
        write_everything(run, "some text " * 600)
        written = {(record["type"], name) for record in read_lines(run) for name in record}
    schema = read_schema()["$defs"]
    known = {
        (kind, name)
        for kind, declared in schema.items()
        for name in declared.get("properties", {})
        if "v" in declared["properties"]
    }
    assert known - written == {("long_text", "is_omitted"), ("end", "is_cut")}


def test_of_a_file_that_is_cut_anywhere_all_whole_lines_are_read():
    with temporary_log() as log:
        with log.begin() as run:
            run.request(1, [{"content": "ä\U0001f600"}], {})
            run.delta(1, "words and words and words and words")
        whole = run.path.read_bytes()
        for at in range(len(whole)):
            run.path.write_bytes(whole[:at])
            kinds, _, problems = read(run.path)
            is_line = whole[at : at + 1] == b"\n"  # All of a line, but for its break.
            lines = whole[:at].count(b"\n") + is_line
            assert len(kinds) == lines
            is_cut = not is_line and at > 0 and whole[at - 1 : at] != b"\n"
            assert (f"line {lines + 1}: {CUT}" in problems) == is_cut
            assert (UNFINISHED in problems) == (0 < lines < len(whole.splitlines()))


def test_lines_that_are_no_records_are_left_out_and_counted(path):
    lines = path.read_bytes().splitlines(keepends=True)
    broken = [
        b"\xff\n",
        b"[]\n",
        b"{}\n",
        b'{"v": 1, "type": "delta", "round": "1", "text": ""}\n',
        b'{"v": true, "type": "end"}\n',
        b"[" * 5_000 + b"\n",
        b"\n",
        b'{"v": 1, "type": "end", "reason": {"$long_text": 5}, "time": ""}\n',
        b'{"v": 1, "type": "answer", "round": 1, "calls": 0.5}\n',
        b'{"v": 1, "type": "answer", "round": 1, "usage": "much"}\n',
        b'{"v": 1, "type": "answer", "round": 1, "t": 1%s}\n' % (b"0" * 400),
        b'{"v": 1, "type": "answer", "round": -1, "t": null}\n',
    ]
    path.write_bytes(b"".join([*lines[:2], *broken, *lines[2:]]))
    assert read(path) == (KINDS, [1, 2], ["line 3 and 11 more: expected a record of a run log"])


def test_a_newer_version_is_told_and_what_is_of_this_one_is_read(path):
    newer = json.dumps({"v": 2, "type": "thought", "t": 1.0}).encode()
    unknown = json.dumps({"v": 1, "type": "thought", "t": 1.0}).encode()
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], newer, unknown, newer, *lines[1:]]) + b"\n")
    assert read(path) == (
        KINDS,
        [1, 2],
        [
            "line 2 and 1 more: of a newer version of the format: a newer gpt5-run-log reads it",
            "line 3: a record of an unknown type",
        ],
    )
    path.write_bytes(newer + b"\n")
    kinds, _, problems = read(path)
    assert (kinds, len(problems)) == ([], 2)
    assert read_summary(path).problems[-1].kind == "newer"


def test_a_line_that_is_too_long_is_left_out(path):
    kinds, counts, problems = read(path, max_line_bytes=4_000)
    assert kinds == [kind for kind in KINDS if kind != "long_text"]
    assert (counts, problems) == ([1, 2], ["line 3: longer than this reader takes"])
    path.write_bytes(path.read_bytes().replace(b"\n", b" ") * 3)
    assert read(path, max_line_bytes=4_000)[2] == [
        "holds no record of a run log",
        "line 1: longer than this reader takes",
    ]


def test_a_request_whose_lines_are_missing_or_changed_is_not_made_up(path):
    lines = path.read_bytes().splitlines(keepends=True)
    told = "a request that cannot be put together, because lines before it are missing or changed"
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    assert read(path)[1:] == ([], [f"line 4: {told}"])
    path.write_bytes(b"".join(lines).replace(b'"content":"a"', b'"content":"A"'))
    assert read(path)[1:] == ([], [f"line 2 and 1 more: {told}"])
    path.write_bytes(b"".join(lines).replace(b'"kept":1', b'"kept":7'))
    assert read(path)[1:] == ([1], [f"line 5: {told}"])


def test_a_text_whose_part_is_missing_stays_a_reference(path):
    [long] = [record for record in RunFile(path).iter_records() if record["type"] == "long_text"]
    reference = {"$long_text": long["digest"]}
    file = RunFile(path)
    list(file.iter_records())
    assert file.expand([reference]) == ["x" * 5_000]
    path.write_bytes(b"\n" * 10_000)
    assert file.expand([reference]) == [reference]
    path.unlink()
    with pytest.raises(RunLogError, match="cannot be read: No such file"):
        file.expand(reference)
    assert RunFile(path).expand(reference) == reference


def test_a_file_that_cannot_be_read_is_told_with_its_name(tmp_path):
    for call in (read, read_summary, list_runs):
        with pytest.raises(RunLogError, match=r"^.*/none: cannot be read: No such file"):
            call(tmp_path / "none")
    with pytest.raises(RunLogError, match="Is a directory"):
        RunFile(tmp_path).read_end()


def test_an_empty_file_is_told(path):
    path.write_bytes(b"")
    assert read(path) == ([], [], ["holds no record of a run log"])
    summary = read_summary(path)
    assert (summary.run, summary.time, summary.end) == (path.stem, "", None)


def test_runs_are_listed_by_their_first_line_and_their_last(path, tmp_path):
    with RunLog(tmp_path, about={"program": "x" * 5_000}).begin() as open_run:
        open_run.call("c1", "a", "{}")
        open_run.delta(1, "unfinished")
        shutil.copy(open_run.path, tmp_path / "run-20990101T000000Z-001122334455.jsonl")
    (tmp_path / "run-20980101T000000Z-001122334455.jsonl").write_bytes(b"\xff")
    gone = tmp_path / "run-20970101T000000Z-001122334455.jsonl"
    gone.mkdir()
    copied, broken, *others = list_runs(tmp_path)
    assert {run.path for run in others} == {path, open_run.path}
    assert (copied.about, copied.end) == ({"program": "x" * 5_000}, None)
    assert [problem.kind for problem in broken.problems] == ["empty", "cut"]
    [first] = [run for run in others if run.path == path]
    assert (first.run, first.about, first.end["reason"]) == (
        path.stem,
        {"program": "test"},
        "answered",
    )
    assert (first.size_bytes, first.time[:2]) == (path.stat().st_size, "20")


def test_a_run_that_is_not_for_this_user_is_listed_with_its_reason(path, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    [run] = list_runs(tmp_path)
    assert run.error == f"{path}: cannot be read: Permission denied"


KILLED = """
import os, signal, sys
from run_log import RunLog
run = RunLog(sys.argv[1]).begin()
for number in range(10_000):
    run.request(number, [{"content": f"{each}"} for each in range(number)], {})
    print(number, flush=True)
"""


def test_what_a_killed_process_has_written_is_read(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    written = 0
    while written < 20:
        written = int(process.stdout.readline())
    process.kill()
    written = max(written, *map(int, process.communicate()[0].split() or [0]))
    assert process.returncode == -signal.SIGKILL
    [run] = list_runs(tmp_path)
    file = RunFile(run.path)
    requests = list(file.iter_requests())
    assert len(requests) >= written + 1
    assert [len(request.messages) for request in requests] == list(range(len(requests)))
    assert UNFINISHED in [str(problem) for problem in file.problems]


def test_memory_does_not_grow_with_the_file(tmp_path):
    with RunLog(tmp_path).begin() as run:
        for number in range(60):
            run.result(f"c{number}", "done", f"{number} {'x' * 60_000}")
    size = run.path.stat().st_size
    assert size > 3_600_000
    tracemalloc.start()
    count = sum(1 for _ in RunFile(run.path).iter_records())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 122
    assert peak < 900_000


def test_deltas_are_collected_until_they_are_due(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with temporary_log() as log:
        with log.begin() as run:
            run.request(1, [], {})
            for number in range(30):
                now[0] = 1 + number / 10
                run.delta(1, f"word{number} ", phase="commentary" if number < 20 else None)
            run.delta(1)
            run.answer(1)
            run.request(2, [], {})
            run.delta(2)
            run.answer(2)
            run.delta(3, "x " * 10_000)
            run.answer(3)
        deltas = find(run, "delta")
        text = "".join(f"word{number} " for number in range(30))
        assert "".join(delta["text"] for delta in deltas if delta["round"] == 1) == text
        assert 5 < len(deltas) < 10
        assert sum(delta["pieces"] for delta in deltas) == 31
        assert [answer.get("first") for answer in find(run, "answer")] == [1.0, 3.9, 3.9]
        assert deltas[0]["since"] == 1.0
        assert deltas[0]["phase"] == "commentary"


def test_a_call_with_long_arguments_and_an_end_with_a_long_reason_are_read(tmp_path):
    arguments = '{"text": "' + "x" * 9_000 + '"}'
    with RunLog(tmp_path).begin() as run:
        run.call("c1", "n" * 5_000, arguments)
        run.end("r" * 5_000)
    file = RunFile(run.path)
    found = {record["type"]: file.expand(record) for record in file.iter_records()}
    assert file.problems == ()
    assert (found["call"]["name"], found["call"]["arguments"]) == ("n" * 5_000, arguments)
    assert found["end"]["reason"] == "r" * 5_000
