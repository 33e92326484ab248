"""The folder of runs: whose it is, how long it keeps, what happens where nothing can be written."""

import logging
import os
import resource
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from written import find, read_lines, temporary_log, write_everything

from run_log import LogSettings, RunFile, RunLog, list_runs


def age(path, days):
    """Make a file some days old."""
    then = time.time() - days * 86_400
    os.utime(path, (then, then))


def begin_all(folder, count, size=0, **settings):
    """Write some runs and return their paths."""
    log = RunLog(folder, settings=LogSettings(**settings))
    paths = []
    for _ in range(count):
        with log.begin() as run:
            run.call("c1", "a", "word " * (size // 5))
        paths.append(run.path)
    return paths


def test_only_its_owner_reads_a_run(tmp_path):
    old = os.umask(0)
    try:
        [path] = begin_all(tmp_path / "deep" / "runs", 1)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_runs_are_kept_for_so_many_days(tmp_path):
    old, young, _ = begin_all(tmp_path, 3)
    age(old, 30.1)
    age(young, 29.9)
    [new] = begin_all(tmp_path, 1)
    assert not old.exists()
    assert young.exists()
    begin_all(tmp_path, 1, max_age_days=10)
    assert not young.exists()
    assert new.exists()


def test_the_oldest_runs_go_first_where_all_take_too_much_room(tmp_path):
    paths = begin_all(tmp_path, 4, 3_000)
    for days, path in enumerate(reversed(paths)):
        age(path, days)
    size = paths[0].stat().st_size
    begin_all(tmp_path, 1, max_total_bytes=int(size * 2.5))
    assert [path.exists() for path in paths] == [False, False, True, True]
    [new] = begin_all(tmp_path, 1, 3_000, max_total_bytes=1)
    assert [path.exists() for path in [*paths, new]] == [False] * 4 + [True]


def test_a_full_folder_is_looked_through_when_it_has_grown_by_a_sixteenth(tmp_path):
    begin_all(tmp_path, 33)
    old, *_ = begin_all(tmp_path, 3)
    age(old, 31)
    begin_all(tmp_path, 1)
    left = [old.exists()]
    for _ in range(2):
        begin_all(tmp_path, 1)
        left.append(old.exists())
    assert left[0]
    assert not left[-1]


def test_an_environment_may_name_a_log(tmp_path, monkeypatch):
    old, young = begin_all(tmp_path, 2, 3_000)
    age(old, 8)
    age(young, 6)
    assert RunLog.from_env(environ={"RUN_LOG": " "}) is None
    monkeypatch.setenv("MY_LOG", str(tmp_path))
    monkeypatch.setenv("MY_LOG_DAYS", "7")
    monkeypatch.setenv("MY_LOG_MEGABYTES", "0.5")
    log = RunLog.from_env("MY_LOG", known=["hunter22"], about={"program": "hunter22"})
    with log.begin() as run:
        assert find(run, "start")[0]["about"] == {"program": "[redacted]"}
    assert (old.exists(), young.exists()) == (False, True)
    [big] = begin_all(tmp_path, 1, 1_200_000)
    age(big, 1)
    begin_all(tmp_path, 1)
    assert big.exists()
    RunLog.from_env("MY_LOG", {"MY_LOG": str(tmp_path), "MY_LOG_MEGABYTES": "1"}).begin().close()
    assert not big.exists()


def test_nothing_else_in_the_folder_is_deleted(tmp_path):
    names = ["notes.txt", "run-1.jsonl", "run-20260101T000000Z-00112233445.jsonl"]
    for name in names:
        (tmp_path / name).write_text("mine")
        age(tmp_path / name, 400)
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    link = tmp_path / "run-20260101T000000Z-001122334455.jsonl"
    link.symlink_to(outside)
    begin_all(tmp_path, 1, max_total_bytes=1)
    assert all((tmp_path / name).exists() for name in [*names, link.name, "outside.txt"])


def test_a_run_that_cannot_be_looked_at_stays(tmp_path, monkeypatch):
    old, *_ = begin_all(tmp_path, 2)
    age(old, 400)
    monkeypatch.setattr("pathlib.Path.unlink", lambda _: (_ for _ in ()).throw(PermissionError))
    [new] = begin_all(tmp_path, 1)
    assert old.exists()
    assert find_end(new) == "closed"


def find_end(path):
    [end] = [record for record in RunFile(path).iter_records() if record["type"] == "end"]
    return end["reason"]


def test_several_processes_write_into_one_folder(tmp_path):
    script = """
import sys
from run_log import RunLog, LogSettings
log = RunLog(sys.argv[1], settings=LogSettings(max_total_bytes=100_000))
for number in range(40):
    with log.begin() as run:
        run.call("c1", "a", "word " * 400)
        run.end(f"{number}")
"""
    command = [sys.executable, "-c", script, str(tmp_path)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    told = [process.communicate()[1] for process in processes]
    assert told == [b""] * 3
    runs = list_runs(tmp_path)
    assert 10 < len(runs) < 120
    assert all(run.end and not run.problems for run in runs)


def test_several_threads_write_one_run():
    with temporary_log() as log:
        with log.begin() as run, ThreadPoolExecutor(8) as pool:
            for number in range(200):
                pool.submit(run.result, f"c{number}", "done", "x" * 3_000)
        assert len(read_lines(run)) == 202


@pytest.mark.parametrize("cause", ["file", "folder"])
def test_what_cannot_be_begun_is_told_and_the_run_goes_on(tmp_path, caplog, cause):
    folder = tmp_path / "runs"
    folder.write_text("no folder")
    run = RunLog(folder if cause == "file" else folder / "deeper").begin()
    write_everything(run)
    assert not run.is_open
    [record] = caplog.records
    assert record.name == "run_log"
    assert str(folder) in record.getMessage()
    assert "runs are not logged" in record.getMessage()


def test_a_full_disk_is_told_once_and_leaves_whole_lines(caplog):
    with temporary_log() as log:
        run = log.begin()
        _, most = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, most))  # As near as a test comes to it.
        try:
            for number in range(100):
                run.call(f"c{number}", "a", "word " * 200)
            run.end("answered")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert not run.is_open
        file = RunFile(run.path)
        assert 30 < len(list(file.iter_records())) < 41
        assert [problem.kind for problem in file.problems] == ["unfinished"]
    [record] = caplog.records
    assert record.getMessage().endswith("ends here: [Errno 27] File too large")


def test_a_warning_is_seen_without_any_setting_up(tmp_path):
    (tmp_path / "runs").write_text("no folder")
    script = "import sys; from run_log import RunLog; RunLog(sys.argv[1]).begin()"
    command = [sys.executable, "-c", script, str(tmp_path / "runs")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == f"{tmp_path}/runs: runs are not logged: File exists\n"


def test_an_error_of_the_logs_own_ends_the_log_and_not_the_run(caplog):
    class Broken:
        @property
        def __class__(self):
            raise RuntimeError("with hunter22 in it")

    with temporary_log(known=["hunter22"]) as log:
        run = log.begin()
        run.call("c1", "a", "{}")
        run.result("c1", "done", Broken())
        run.end("answered")
        assert [record["type"] for record in read_lines(run)] == ["start", "call"]
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "with [redacted] in it"
    ]


def test_a_run_is_no_longer_than_it_may_be(caplog):
    with temporary_log(settings=LogSettings(max_run_bytes=10_000)) as log:
        run = log.begin()
        for number in range(20):
            run.call(f"c{number}", "a", "word " * 200)
        run.result("c1", "done", "x " * 4_000)
        run.end("answered", error="y " * 4_000)
        *_, end = read_lines(run)
        assert (end["reason"], end["is_cut"]) == ("answered", True)
        assert run.path.stat().st_size < 10_000 + 500
    [record] = caplog.records
    assert "is cut: it has more than 10000 bytes (max_run_bytes)" in record.getMessage()


@pytest.mark.parametrize("settings", [{"max_text_bytes": 4_999}, {"max_run_bytes": 4_900}])
def test_of_a_text_that_is_too_long_digest_and_size_are_kept(settings):
    with temporary_log(settings=LogSettings(**settings)) as log:
        with log.begin() as run:
            run.result("c1", "done", "x" * 5_000)
        [long] = find(run, "long_text")
        assert (long["size"], long["is_omitted"], "text" in long) == (5_000, True, False)
        [result] = find(run, "result")
        file = RunFile(run.path)
        assert file.expand(result["content"]) == {"$long_text": long["digest"]}
        read_lines(run)


@pytest.mark.parametrize(
    "setting", ["max_age_days", "max_total_bytes", "max_run_bytes", "max_text_bytes"]
)
def test_a_setting_that_no_log_could_keep_is_refused(setting):
    with pytest.raises(ValueError, match=f"^{setting}: expected .*, got -1"):
        LogSettings(**{setting: -1})
    if setting != "max_text_bytes":
        with pytest.raises(ValueError, match=setting):
            LogSettings(**{setting: 0})


def test_a_long_text_is_written_once_whatever_becomes_known_meanwhile():
    with temporary_log() as log:
        with log.begin() as run:
            run.result("c1", "done", "x" * 5_000)
            run.hide(["something"])
            run.result("c2", "done", "x" * 5_000)
            run.budgets({})
        kinds = [record["type"] for record in read_lines(run)]
        assert kinds == ["start", "long_text", "result", "result", "end"]


def test_nothing_is_written_after_the_end():
    with temporary_log() as log:
        run = log.begin()
        run.end("answered")
        write_everything(run)
        run.close()
        assert [record["type"] for record in read_lines(run)] == ["start", "end"]


def test_a_run_that_is_let_go_of_says_so():
    with temporary_log() as log:
        with log.begin() as run:
            run.call("c1", "a", "{}")
        assert find(run, "end")[0]["reason"] == "closed"
    assert logging.getLogger("run_log").handlers == []


@pytest.mark.parametrize(
    ("text", "more"), [('{"strategy":"s"}', {"strategy": "s"}), ("[1]", {}), ("{", {}), ("", {})]
)
def test_whoever_starts_the_process_says_what_else_stands_in_the_first_record(tmp_path, text, more):
    environ = {"RUN_LOG": str(tmp_path), "RUN_LOG_ABOUT": text}
    RunLog.from_env(environ=environ, about={"model": "m"}).begin().close()
    assert list_runs(tmp_path)[0].about == {"model": "m", **more}
