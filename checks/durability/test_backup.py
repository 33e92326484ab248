"""Backups and restores by the commands of docs/operate.md, while runs go on."""

import os
import re
import sqlite3
import stat
import subprocess
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from systems import ask, create, finish, until


OPERATE = Path(__file__).parents[2] / "docs" / "operate.md"


def commands(number):
    """Return one of the blocks of commands on backups."""
    chapter = OPERATE.read_text().partition("## Backup")[2].partition("\n## ")[0]
    # The page's server is another; its folder is the only difference.
    chapter = chapter.replace("agent-endpoint", "agent-runner")
    return re.findall(r"```bash\n(.*?)```", chapter, re.DOTALL)[number]


def execute(script, folder, **environment):
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done


def busy_runs(system, server):
    """Return a run that has ended, one that will go on for long, and one that waits behind it."""
    ended = create(server, system.request(1, rounds=1, seconds=0.1))
    finish([server], ended)
    begun = create(server, system.request(2, rounds=20, seconds=0.5))
    until([server], begun, lambda run: run["last_event"] > 2)
    return ended, begun, create(server, system.request(3, rounds=1, seconds=0.1))


def check(system, server, ended, begun, waiting):
    """Look that everything is as it was at the backup, and goes on."""
    assert ask([server], "GET", f"/v1/runs/{ended}")["status"] == "succeeded"
    assert finish([server], waiting)["status"] == "succeeded"
    run = finish([server], begun)
    if system.name == "agent-runner":
        assert (run["status"], run["error"]["type"]) == ("failed", "interrupted")
    else:
        assert (run["status"], run["attempt"]) == ("succeeded", 2)
    listed = ask([server], "GET", "/v1/runs?limit=100")["runs"]
    ends = {run["run_id"]: finish([server], run["run_id"])["status"] for run in listed}
    assert set(ends) >= {ended, begun, waiting}
    assert set(ends.values()) <= {"succeeded", "failed"}
    finish([server], create(server, system.request(4, rounds=1)))


@contextmanager
def load(system, server):
    """Let a client create runs all the time."""
    is_over = threading.Event()

    def work():
        while not is_over.wait(0.1):
            create(server, system.request(100, rounds=0, seconds=0))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        is_over.set()
        worker.join()


@pytest.mark.parametrize("end", ["end", "kill"])
def test_a_sqlite_file_is_backed_up_under_load_and_restored(system, tmp_path, end):
    folder = tmp_path / ".local" / "state" / "agent-runner"
    database = folder / "runs.sqlite"
    url = f"sqlite:///{database}"
    server = system.start(url, concurrency=1)
    known = busy_runs(system, server)
    with load(system, server):
        execute(commands(0), tmp_path, HOME=str(tmp_path))
    later = create(server, system.request(9, rounds=1))
    getattr(server, end)()

    backup = tmp_path / "backup.sqlite"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with closing(sqlite3.connect(backup)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    if end == "kill":
        assert database.with_name("runs.sqlite-wal").stat().st_size > 0
    execute(commands(1), tmp_path, HOME=str(tmp_path))
    server = system.start(url, concurrency=1)
    assert server.client.get(f"/v1/runs/{later}").status_code == 404
    check(system, server, *known)
    assert server.end() == 0
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_backup_of_a_file_that_is_not_there_says_so_and_makes_none(tmp_path):
    with pytest.raises(AssertionError, match="unable to open database file"):
        execute(commands(0), tmp_path, HOME=str(tmp_path))
    assert not (tmp_path / "backup.sqlite").exists()


def test_a_postgresql_database_is_backed_up_under_load_and_restored(system, cluster, tmp_path):
    there = cluster.variables | {"PATH": f"{cluster.binaries}:{os.environ['PATH']}"}
    execute("dropdb --if-exists --force runs 2> dropped; createdb runs", tmp_path, **there)
    url = cluster.url("runs")
    server = system.start(url, concurrency=1)
    known = busy_runs(system, server)
    with load(system, server):
        execute(commands(2), tmp_path, **there)
    later = create(server, system.request(9, rounds=1))
    server.end()

    execute(commands(3), tmp_path, **there)
    server = system.start(url, concurrency=1)
    assert server.client.get(f"/v1/runs/{later}").status_code == 404
    check(system, server, *known)
    assert server.end() == 0
