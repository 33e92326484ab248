"""Playing the cells: a program for each harness, in an environment of its own, that gets cases and says how they ended."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from benchmarks._usage import (  # noqa: PLC2701 - the one home of what Linux counts
    family_cpu_seconds,
    family_peak_bytes,
)
from gpt5_simulator import SIMULATOR_KEY

from .mutations import Case
from .server import MOST_MODEL_CALLS, HarnessServer, Run


type Ended = Literal["answered", "raised", "not offered", "hung", "died"]

_PROGRAMS = Path(__file__).with_name("harnesses")
_QUIET_SECONDS, _START_SECONDS = 20, 300
_LOOK_SECONDS = 0.1
_AT_ONCE, _WAITING_AT_ONCE = 4, 20


@dataclass(frozen=True, kw_only=True)
class Harness:
    """A harness of `harnesses.toml`.

    Attributes:
        requirements: What its environment holds; nothing for ours, which run in this one.
        options: What its program is told.
        needs: What has to be given for it to run, such as `official`.
    """

    name: str
    title: str
    program: str
    requirements: Sequence[str] = ()
    options: Sequence[str] = ()
    needs: str = ""

    def prepare(self, environments: Path) -> Path:
        """Make its environment, unless it is there, and return its interpreter."""
        if not self.requirements:
            return Path(sys.executable)
        place = environments / self.name
        if not place.exists():
            base = Path(sys.base_prefix, "bin", "python3")
            subprocess.run(["uv", "venv", "--quiet", "--python", base, place], check=True)
        install = ("uv", "pip", "install", "--quiet", "--python", place)
        subprocess.run([*install, *self.requirements], check=True)
        return place / "bin" / "python"


def read_harnesses() -> list[Harness]:
    """Return the harnesses of the table."""
    text = Path(__file__).with_name("harnesses.toml").read_text(encoding="utf-8")
    return [Harness(**one) for one in tomllib.loads(text)["harness"]]


@dataclass(kw_only=True)
class Played:
    """A run that is over: how it ended, and what the server saw of it."""

    run: Run
    ended: Ended
    text: str = ""


@dataclass
class Program:
    """The program of a harness, while its `with` block runs; it is started anew once it has hung or died.

    Attributes:
        harness: The harness.
        python: Its interpreter.
        server: The server that it is pointed at.
        environment: Further variables of its environment.
    """

    harness: Harness
    python: Path
    server: HarnessServer
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    _process: subprocess.Popen[str] | None = None
    _lines: "queue.Queue[dict[str, Any] | None]" = field(default_factory=queue.Queue)

    def __enter__(self) -> Self:
        """Start nothing yet: that is done with the first case."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the program."""
        self.stop()

    def play(self, cases: Sequence[Case]) -> list[Played]:
        """Make the runs of cases of one mutation, and return how each ended."""
        waits = cases[0].mutation.waits
        pending, running, played = list(cases), dict[str, Run](), list[Played]()
        self.server.runs = {}
        while pending or running:
            self._start()
            while pending and len(running) < (_WAITING_AT_ONCE if waits else _AT_ONCE):
                run = Run(case=pending.pop(0))
                self.server.runs[run.case.task.key] = running[run.case.task.key] = run
                self._send(run.case)
            played += self._collect(running)
        if any(one.ended == "hung" for one in played):
            self.stop()
        return played

    def measure(self) -> tuple[float, int]:
        """Return the processor seconds so far and the peak memory in bytes, of the program and all that it has started."""
        self._start()
        assert self._process is not None
        return family_cpu_seconds(self._process.pid), family_peak_bytes(self._process.pid)

    def _collect(self, running: dict[str, Run]) -> list[Played]:
        try:
            line = self._lines.get(timeout=_LOOK_SECONDS)
        except queue.Empty:
            now = time.monotonic()
            hung = [
                key
                for key, run in running.items()
                if now - run.seen_at > _QUIET_SECONDS or len(run.requests) > MOST_MODEL_CALLS
            ]
            return [Played(run=running.pop(key), ended="hung") for key in hung]
        if line is None:
            self.stop()
            died = [Played(run=run, ended="died") for run in running.values()]
            running.clear()
            return died
        run = running.pop(line["key"], None)
        return [Played(run=run, ended=line["ended"], text=line["text"])] if run else []

    def _send(self, case: Case) -> None:
        assert self._process is not None and self._process.stdin is not None  # noqa: PT018
        name, arguments = case.meant
        call = {"call_id": "call_lost", "name": name, "arguments": json.dumps(arguments)}
        told = {
            "key": case.task.key,
            "question": case.task.question,
            "instruction": case.task.instruction,
            "tools": [asdict(tool) for tool in case.task.tools],
            "asks": name if case.mutation.person else "",
            "open_call": call if case.mutation.history else None,
        }
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()

    def _start(self) -> None:
        if self._process is not None:
            return
        variables = {
            "OPENAI_API_KEY": SIMULATOR_KEY,
            "OPENAI_BASE_URL": self.server.base_url,
            "OPENAI_API_BASE": self.server.base_url,  # as LlamaIndex calls it
            "HARNESS_TOOLS": self.server.tools_url,
        }
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._process = subprocess.Popen(
            [str(self.python), str(_PROGRAMS / self.harness.program), *self.harness.options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if "HARNESS_SHOW" in os.environ else subprocess.DEVNULL,
            text=True,
            env=kept | variables | self.environment,
            start_new_session=True,
        )
        self._lines = queue.Queue()
        threading.Thread(target=self._read, args=[self._process, self._lines], daemon=True).start()
        if self._lines.get(timeout=_START_SECONDS) is None:
            raise RuntimeError(f"{self.harness.name} does not start; HARNESS_SHOW=1 shows why")

    @staticmethod
    def _read(process: subprocess.Popen[str], lines: "queue.Queue[dict[str, Any] | None]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(json.loads(line))
        lines.put(None)

    def stop(self) -> None:
        """End the program and all that it has started."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            with self._process:  # which closes its pipes
                self._process = None
