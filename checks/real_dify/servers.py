"""PostgreSQL, Redis and the plugin daemon itself, each of its own, in a folder that goes away, on loopback only.

Source: `.env.example`, `cmd/server` and `internal/types/app/config.go` of langgenius/dify-plugin-daemon at bdb5642a.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import uv


SERVER_KEY = "a-key-of-the-tests"
INNER_KEY = "a-key-of-the-inner-api"
_START_SECONDS = 60


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@dataclass
class Databases:
    """PostgreSQL and Redis servers, in which every daemon gets databases of its own."""

    postgres_port: int
    redis_port: int
    used: int = 0

    def create(self) -> Mapping[str, str]:
        """Return the environment of a daemon on databases that nobody has used yet."""
        self.used += 1
        return {
            "DB_TYPE": "postgresql",
            "DB_HOST": "127.0.0.1",
            "DB_SSL_MODE": "disable",
            "DB_PORT": str(self.postgres_port),
            "DB_DATABASE": f"daemon_{self.used}",
            "DB_USERNAME": "postgres",
            "DB_PASSWORD": "unused",
            "REDIS_HOST": "127.0.0.1",
            "REDIS_PORT": str(self.redis_port),
            "REDIS_DB": str(self.used),
        }


@contextlib.contextmanager
def run_databases(folder: Path) -> Generator[Databases]:
    """Run PostgreSQL and Redis below `folder`, as Debian packages them."""
    redis, postgres = free_port(), free_port()
    binaries = max(Path("/usr/lib/postgresql").glob("*/bin"))
    data = folder / "postgres"
    data.mkdir()
    # PostgreSQL does not run as root, and Debian's package has made a user for it.
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        folder.chmod(0o755)
        shutil.chown(data, user)
    run = ["initdb", "--auth=trust", "--username=postgres", "--no-sync", "--pgdata", str(data)]
    subprocess.run([binaries / run[0], *run[1:]], check=True, user=user, stdout=subprocess.DEVNULL)
    server = [binaries / "postgres", "-D", data, "-p", str(postgres), "-k", data, "-h", "127.0.0.1"]
    store = ["redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", ""]
    log = (folder / "databases.log").open("w")
    with (
        log,
        running([*server, "-F"], user=user, stdout=log, stderr=log),
        running([*store, "--dir", folder, "--databases", "64"], stdout=log),
    ):
        for port in (redis, postgres):
            wait_until(lambda port=port: _listens(port), f"port {port}")
        yield Databases(postgres, redis)


@dataclass
class Daemon:
    """The real plugin daemon, which may be killed and started again.

    Attributes:
        programs: The folder with its programs.
        folder: Where it keeps packages and installed plugins.
        environment: What distinguishes it from others.
    """

    programs: Path
    folder: Path
    environment: Mapping[str, str]
    port: int = field(default_factory=free_port)
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What it has written so far."""
        return (self.folder / "daemon.log").read_text(errors="replace")

    def start(self) -> None:
        """Prepare its database and start it, until it answers."""
        self.folder.mkdir(exist_ok=True)
        environment = {**os.environ, **self._environment()}
        log = self._stack.enter_context((self.folder / "daemon.log").open("a"))
        for command in (["commandline", "migrate"], ["server"]):
            process = subprocess.Popen(
                [self.programs / command[0], *command[1:]],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            if command == ["server"]:
                self._process = process
            elif process.wait(timeout=_START_SECONDS):
                raise RuntimeError(f"{command} failed:\n{self.log[-2000:]}")
        wait_until(lambda: _listens(self.port) and self._is_healthy(), "the daemon")

    def kill(self) -> None:
        """End it at once, with no chance to say anything; its plugins end by themselves when they notice."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End it and its plugins."""
        plugins = self.plugin_pids()
        self.kill()
        for pid in plugins:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._stack.close()

    def plugin_pids(self, name: str = "") -> list[int]:
        """Return the processes of the plugins that it runs, or of those whose folder has `name` in it."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                folder = (process / "cwd").readlink()
                if folder.is_relative_to(self.folder / "cwd") and name in str(folder):
                    found.append(int(process.name))
        return found

    def _environment(self) -> dict[str, str]:
        # Not that of a virtual environment, in which uv does not look for a Python.
        interpreter = Path(sys.executable).resolve()
        return {
            "SERVER_HOST": "127.0.0.1",
            "SERVER_PORT": str(self.port),
            "SERVER_KEY": SERVER_KEY,
            "GIN_MODE": "release",
            "PLATFORM": "local",
            "DIFY_INNER_API_KEY": INNER_KEY,
            "PLUGIN_STORAGE_TYPE": "local",
            "PLUGIN_STORAGE_LOCAL_ROOT": str(self.folder),
            "PLUGIN_WORKING_PATH": str(self.folder / "cwd"),
            "ROUTINE_POOL_SIZE": "1024",
            "PLUGIN_REMOTE_INSTALLING_ENABLED": "false",
            "PIP_MIRROR_AUTO_DETECT": "false",
            "FORCE_VERIFYING_SIGNATURE": "false",
            "PLUGIN_MAX_EXECUTION_TIMEOUT": "60",
            "PYTHON_INTERPRETER_PATH": str(interpreter),
            "UV_PATH": uv.find_uv_bin(),
            "PATH": f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}",
            **self.environment,
        }

    def _is_healthy(self) -> bool:
        return httpx.get(f"{self.base_url}/health/check", trust_env=False).is_success


@contextlib.contextmanager
def running(command: list[object], **options: object) -> Generator[subprocess.Popen[bytes]]:
    """Run a program while the block runs."""
    process = subprocess.Popen(list(map(str, command)), **options)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)  # at which PostgreSQL waits for nobody
        process.wait(timeout=_START_SECONDS)


def wait_until(holds: Callable[[], object], what: str, seconds: float = _START_SECONDS) -> None:
    """Wait until something holds, and fail with its name if it does not in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.05)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
