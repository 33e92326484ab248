"""The console agents of `contenders/`: a program for each way to write one, in an environment of its own that uv makes of its first lines."""

import ast
import io
import subprocess
import sys
import time
import tokenize
from dataclasses import dataclass
from pathlib import Path

from gpt5_simulator import SIMULATOR_KEY

from ._agent_server import END
from ._beside import Beside
from ._pairs import build_environment
from ._table import Figures
from ._usage import cpu_seconds, peak_bytes


_FOLDER = Path(__file__).parent / "contenders"
_RUNS = 10
_REST_SECONDS = 0.2  # for what a program does when its answer has been shown
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A way to write a console agent.

    Attributes:
        title: What stands over its column.
        script: The program.
        is_ours: Whether it is made of the packages of this repository.
    """

    title: str
    script: Path
    is_ours: bool = False

    def prepare(self) -> str:
        """Make the program's environment, unless it is there, and return its interpreter."""
        subprocess.run(  # noqa: S603 - our own program
            ["uv", "sync", "--quiet", "--script", self.script, "--python", sys.executable],  # noqa: S607
            check=True,
        )
        found = subprocess.run(  # noqa: S603 - our own program
            ["uv", "python", "find", "--script", self.script],  # noqa: S607
            check=True,
            capture_output=True,
            text=True,
        )
        return found.stdout.strip()

    def measure(self, python: str, server: Beside) -> Figures:
        """Start the program and ask it one question often; its first answer counts only for when it asked the server first."""
        variables = {"OPENAI_API_KEY": SIMULATOR_KEY, "OPENAI_BASE_URL": server.base_url}
        started = time.monotonic()
        with subprocess.Popen(  # noqa: S603 - our own program
            [python, self.script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**build_environment(), **variables},
        ) as process:
            self._ask(process)
            first = server.report()
            time.sleep(_REST_SECONDS)
            before = cpu_seconds(process.pid)
            for _ in range(_RUNS):
                self._ask(process)
            time.sleep(_REST_SECONDS)
            cpu = (cpu_seconds(process.pid) - before) / _RUNS
            memory = peak_bytes(process.pid)
            process.communicate()
        server.report()
        return {
            "lines": count_lines(self.script.read_text(encoding="utf-8")),
            "agent_cpu": cpu,
            "agent_memory": memory,
            "sent": first["sent"],
            "agent_extending": first["extending"],
            "agent_reasoning": first["reasoning_kept"],
            "first_use": first["first_request_at"] - started,
        }

    def _ask(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None and process.stdout is not None  # noqa: PT018, S101 - pipes were asked for
        process.stdin.write("What is there?\n")
        process.stdin.flush()
        if not any(END in line for line in process.stdout):
            raise RuntimeError(f"{self.script.name}: ended without the answer")


CONTENDERS = (
    Contender(title="openai-agents 0.24", script=_FOLDER / "with_openai_agents.py"),
    Contender(title="pydantic-ai 2.68", script=_FOLDER / "with_pydantic_ai.py"),
    Contender(title="ours", script=_FOLDER / "with_ours.py", is_ours=True),
    Contender(title="ours, asynchronous", script=_FOLDER / "with_ours_async.py", is_ours=True),
)


def count_lines(source: str) -> int:
    """Count a program's lines of code: those with more than comments and docstrings."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    rows = {
        row
        for token in tokens
        if token.type not in _NO_CODE
        for row in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            if ast.get_docstring(node) is not None:
                rows -= set(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(rows)
