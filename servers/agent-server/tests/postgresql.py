"""A PostgreSQL server for tests, which needs Debian's package and no running service."""

import os
import shutil
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg


class Cluster:
    """A PostgreSQL server of its own, as Debian packages it, which can be stopped and started."""

    def __init__(self, folder):
        self.binaries = max(Path("/usr/lib/postgresql").glob("*/bin"))
        self.data = folder / "data"
        self.data.mkdir()
        # PostgreSQL does not run as root, and Debian's package has made a user for it.
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user:
            folder.chmod(0o755)
            shutil.chown(self.data, self._user)
        self._run("initdb", "--auth=trust", "--username=postgres", "--no-sync")
        self._used = 0
        self._paused = []

    def _run(self, program, *arguments):
        subprocess.run(
            [self.binaries / program, "--pgdata", self.data, *arguments],
            check=True,
            user=self._user,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )

    def start(self):
        options = f"-c listen_addresses='' -k {self.data} -c fsync=off"
        log = self.data / "log"
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
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
            postmaster = psutil.Process(pid)
        except (OSError, psutil.NoSuchProcess):
            return []
        return [*postmaster.children(), postmaster]

    @property
    def variables(self):
        """What its programs find it by."""
        return {"PGHOST": str(self.data), "PGUSER": "postgres"}

    def url(self, database):
        return f"postgresql://postgres@/{database}?host={self.data}"

    def execute(self, *statements):
        """Execute statements as its keeper, also while nobody may write."""
        writing = "-c default_transaction_read_only=off"
        with psycopg.connect(self.url("postgres"), autocommit=True, options=writing) as connection:
            for statement in statements:
                connection.execute(statement)

    @contextmanager
    def read_only(self):
        """Refuse whatever writes, in all databases, within the context."""
        reload = "SELECT pg_reload_conf()"
        self.execute("ALTER SYSTEM SET default_transaction_read_only = on", reload)
        try:
            yield
        finally:
            self.execute("ALTER SYSTEM RESET default_transaction_read_only", reload)

    def disconnect(self, name):
        """End all sessions with a database."""
        self.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        )

    def create(self):
        """Return the URL of a database that nobody has used yet."""
        self._used += 1
        name = f"runs_{self._used}_{time.monotonic_ns()}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)
