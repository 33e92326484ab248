"""What a served agent needs around it, each on this machine's loopback: its servers, a cluster of PostgreSQL, Temporal."""

import importlib
import os
import select
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg import sql


_SERVER = (
    *(str(Path(sys.executable).with_name("agent-endpoint")), "benchmarks._capacity_agents:agents"),
    *("--port", "0", "--max-active-per-tenant", "5000"),
)
_START_SECONDS = 60
_DEBIAN = Path("/usr/lib/postgresql")


@contextmanager
def served(number: int, database: str, engine: str | None, log: Path) -> Generator[dict[int, str]]:
    """Yield the addresses of servers that share a database, by their process."""
    command = [*_SERVER, "--database", database]
    if engine is not None:
        command += ["--engine", engine]
    processes: list[subprocess.Popen[str]] = []
    with log.open("a") as errors:
        try:
            addresses: dict[int, str] = {}
            for _ in range(number):
                process = subprocess.Popen(  # noqa: S603 - our own command
                    command, stdout=subprocess.PIPE, stderr=errors, text=True
                )
                processes.append(process)
                addresses[process.pid] = _read_address(process)
            yield addresses
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.communicate(timeout=_START_SECONDS)


def _read_address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    if not select.select([process.stdout], [], [], _START_SECONDS)[0]:
        raise TimeoutError("expected that the server says where it listens")
    return process.stdout.readline().split()[-1]


@contextmanager
def postgresql_cluster(folder: Path) -> Generator[str | None]:
    """Yield the URL of a PostgreSQL server of its own, with the settings that Debian's package has; None where that is not installed."""
    programs = max(_DEBIAN.glob("*/bin"), default=None)
    if programs is None:
        yield None
        return
    data = folder / "postgresql"
    data.mkdir()
    # It does not run as root, and Debian's package has made a user for it.
    user = "postgres" if os.geteuid() == 0 else None
    if user is not None:
        folder.chmod(0o755)
        shutil.chown(data, user)

    def run(program: str, *arguments: str) -> None:
        subprocess.run(  # noqa: S603 - Debian's programs
            [programs / program, "--pgdata", data, *arguments],
            check=True,
            user=user,
            stdout=subprocess.DEVNULL,
            cwd="/",
            timeout=_START_SECONDS,
        )

    run("initdb", "--auth=trust", "--username=postgres")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
    run("pg_ctl", "start", "--wait", "--options", options, "--log", str(data / "log"))
    try:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        run("pg_ctl", "stop", "--mode=fast")


@contextmanager
def postgresql_database(server: str, name: str) -> Generator[tuple[str, int]]:
    """Yield the URL of a new database, and the process that all others of PostgreSQL are children of."""
    named = sql.Identifier(name)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(named))
        connection.execute("CHECKPOINT")
        try:
            session = connection.info.backend_pid
            status = Path(f"/proc/{session}/stat").read_text(encoding="ascii")
            parent = int(status.rpartition(")")[2].split()[1])
            yield urlsplit(server)._replace(path=f"/{name}").geturl(), parent
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(named))


@contextmanager
def temporal(program: Path, folder: Path) -> Generator[tuple[str, int]]:
    """Yield the URL of a new engine, and the process of its Temporal, whose database is `temporal.sqlite` in a folder."""
    # What tests start it with as well; `checks` stands in the path of `nox -s bench`.
    starting: Any = importlib.import_module("temporal.temporal_server")
    starting.PROGRAM = str(program.resolve())
    server = starting.TemporalServer(folder)
    try:
        server.start()
        yield server.create("capacity"), server.pid
    finally:
        server.kill()


def sqlite_bytes(file: Path) -> int:
    """Return how large an SQLite database is without its free pages, which it will use for what comes."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)) as connection:
        [pages, free, size] = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size


def postgresql_bytes(url: str) -> int:
    """Return how large the tables of a database are, with their indexes and without the dead rows, whose room PostgreSQL will use for what comes."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute("SELECT relname FROM pg_stat_user_tables").fetchall()
        names: Sequence[str] = [row[0] for row in found]
        for name in names:
            connection.execute(sql.SQL("VACUUM FULL {}").format(sql.Identifier(name)))
        size = "SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables"
        row = connection.execute(size).fetchone()
    return int(row[0]) if row else 0
