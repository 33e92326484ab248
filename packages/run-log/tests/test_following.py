"""A file that is read while it grows."""

import json

import pytest
from written import temporary_log

from run_log import RunFile, RunLogError, find_difference, find_run


def types_of(placed):
    return [one.record["type"] for one in placed]


def test_what_has_come_is_read_once():
    with temporary_log() as log, log.begin() as run:
        file = RunFile(run.path)
        assert types_of(file.follow()) == ["start"]
        assert types_of(file.follow()) == []
        run.request(1, [{"role": "user", "content": "a"}], {})
        [placed] = file.follow()
        assert (placed.line, placed.record["round"]) == (2, 1)
        assert file.read_at(placed.offset) == placed.record


def test_a_line_that_is_being_written_is_left_for_later(tmp_path):
    path = tmp_path / "run.jsonl"
    line = json.dumps({"v": 1, "type": "start", "t": 0, "run": "r", "time": "", "about": {}})
    path.write_text(line[:20])
    file = RunFile(path)
    assert list(file.follow()) == []
    path.write_text(line + "\n")
    assert types_of(file.follow()) == ["start"]
    assert file.problems == ()


def test_a_long_text_is_found_without_being_read():
    with temporary_log() as log, log.begin() as run:
        run.request(1, [{"role": "user", "content": "long " * 2000}], {})
        file = RunFile(run.path)
        [_, text, request] = file.follow()
        assert "text" not in text.record
        assert text.record["size"] == 10_000
        assert file.find_text(text.record["digest"]) == "long " * 2000
        assert file.expand(request.record["added"])[0]["content"] == "long " * 2000
        assert file.find_text("0" * 64) is None


def test_a_long_text_of_another_writer_is_found_too(tmp_path):
    path = tmp_path / "run.jsonl"
    record = {"type": "long_text", "v": 1, "t": 0, "digest": "ab", "size": 3, "text": "abc"}
    omitted = {"v": 1, "type": "long_text", "t": 0, "digest": "cd", "size": 3, "is_omitted": True}
    path.write_text(json.dumps(record) + "\n" + json.dumps(omitted) + "\n")
    file = RunFile(path)
    assert types_of(file.follow()) == ["long_text", "long_text"]
    assert (file.find_text("ab"), file.find_text("cd")) == ("abc", None)
    path.write_text("{}\n" * 40)
    assert file.find_text("ab") is None


def test_records_of_unknown_types_are_handed_on_and_what_is_none_is_told(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"v":1,"type":"dream","t":1}\n{"v":2,"type":"start"}\n{"v":1}\nno\n' + "x" * 50 + "\n"
    )
    file = RunFile(path, max_line_bytes=40)
    assert types_of(file.follow()) == ["dream"]
    assert [problem.kind for problem in file.problems] == ["newer", "unknown", "broken", "long"]


def test_a_file_that_is_gone_is_told(tmp_path):
    file = RunFile(tmp_path / "none.jsonl")
    with pytest.raises(RunLogError, match="cannot be read"):
        list(file.follow())
    with pytest.raises(RunLogError, match="cannot be read"):
        file.read_at(0)


def test_a_record_that_is_no_longer_there_is_told(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("nothing\n")
    with pytest.raises(RunLogError, match="no record at byte 0"):
        RunFile(path).read_at(0)


def test_a_run_is_found_by_its_name_and_nothing_else_is(tmp_path):
    name = "run-20261123T010000Z-0123456789ab"
    (tmp_path / "secret.jsonl").write_text("{}")
    (tmp_path / f"{name}.jsonl").write_text("{}")
    linked = name.replace("0123", "9999")
    (tmp_path / f"{linked}.jsonl").symlink_to(tmp_path / "secret.jsonl")
    assert find_run(tmp_path, name) == tmp_path / f"{name}.jsonl"
    for other in ("secret", linked, f"../{tmp_path.name}/{name}", name + "\0", name[:-1], ""):
        assert find_run(tmp_path, other) is None


def test_the_first_difference_of_two_values_has_a_path():
    found = find_difference({"a": ["x", "yes"]}, {"a": ["x", "yet"]}, "value")
    assert (found.path, found.position) == ("value.a[1]", 2)
