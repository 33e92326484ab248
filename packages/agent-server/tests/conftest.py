import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest
from hypothesis import HealthCheck, settings


# A busy machine must not fail a law that holds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


class Cluster:
    """A PostgreSQL server of its own, as Debian packages it, which can be stopped and started."""

    def __init__(self, folder):
        self._binaries = max(Path("/usr/lib/postgresql").glob("*/bin"))
        self._data = folder / "data"
        self._data.mkdir()
        # PostgreSQL does not run as root, and Debian's package has made a user for it.
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user:
            folder.chmod(0o755)
            shutil.chown(self._data, self._user)
        self._run("initdb", "--auth=trust", "--username=postgres", "--no-sync")
        self._used = 0
        self._paused = []

    def _run(self, program, *arguments):
        subprocess.run(
            [self._binaries / program, "--pgdata", self._data, *arguments],
            check=True,
            user=self._user,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )

    def start(self):
        options = f"-c listen_addresses='' -k {self._data} -c fsync=off"
        log = self._data / "log"
        self._run("pg_ctl", "start", "--wait", "--options", options, "--log", log)

    def stop(self):
        with suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "stop", "--wait", "--mode=immediate")

    def pause(self):
        """Let it be as silent as behind a broken line."""
        self._paused = self._processes()
        for process in self._paused:
            process.suspend()

    def go_on(self):
        """Let it answer again, if it does not."""
        for process in self._paused:
            process.resume()
        self._paused = []
        if not self._processes():
            self.start()

    def _processes(self):
        try:
            pid = int((self._data / "postmaster.pid").read_text().split()[0])
            postmaster = psutil.Process(pid)
        except (OSError, psutil.NoSuchProcess):
            return []
        return [*postmaster.children(), postmaster]

    def url(self, database):
        return f"postgresql://postgres@/{database}?host={self._data}"

    def create(self):
        """Return the URL of a database that nobody has used yet."""
        self._used += 1
        name = f"runs_{self._used}_{time.monotonic_ns()}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)


@pytest.fixture(scope="session")
def cluster():
    """A PostgreSQL server; only tests with the mark `postgresql` may ask for it."""
    # Not a folder of pytest's, which nobody but its owner can enter.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cluster = Cluster(Path(folder))
        cluster.start()
        yield cluster
        cluster.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def database(request, tmp_path):
    """The URL of an empty database, on both systems."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'runs.sqlite'}"
    return request.getfixturevalue("cluster").create()


class DyingServer:
    """A server in a process of its own."""

    def __init__(self, *arguments):
        script = Path(__file__).with_name("dying_server.py")
        self._process = subprocess.Popen(
            [sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True
        )

    def wait_for(self, line):
        assert self._process.stdout.readline().strip() == line

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture
def dying():
    """Return a function that starts a server with a run of three steps."""
    started = []

    def start(database, *, name):
        started.append(DyingServer(database, name))
        return started[-1]

    yield start
    for server in started:
        server.kill()
