"""The runner, which runs an agent from its input to its result."""

import hashlib
import os
import signal
import time
import uuid
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uv

from agent_runner._agent.environment import (
    ATTEMPT_VARIABLE,
    EnvironmentSettings,
    RunIds,
    build_environment,
)
from agent_runner._agent.files import run_folder, written_files
from agent_runner._agent.folder import SCRIPT, read_folder
from agent_runner._agent.input import build_payload
from agent_runner._errors import ConfigurationError
from agent_runner._output.classify import classify_error, classify_line
from agent_runner._output.outputs import ErrorOutput, JsonOutput, Output
from agent_runner._process.process import Ended, Launch, Lines, ProcessLimits, run_process
from stream_text import KnownSecrets, is_secret_setting

from .log import LOG_FOLDER, ScriptLog
from .result import RunResult


# Short, since people give scripts short passwords; the name of a variable says that it holds one.
_SHORTEST_SECRET = 4


@dataclass(kw_only=True, eq=False, repr=False)  # which would show secrets
class AgentRunner(EnvironmentSettings, ProcessLimits):
    """A runner of agents, which are folders with a `main.py` that reads JSON from stdin and writes lines to stdout.

    One runner may run any number of agents at a time. Its settings apply to all its runs.

    Attributes:
        command: The command to run in the agent's folder; by default uv, with the dependencies that `main.py` declares (PEP 723).
        default_model: Value of `OPENAI_DEFAULT_MODEL` if the agent's `.env` sets none.
        production_env: Variables that override the agent's `.env`.
        pass_env: Names of variables of this process that scripts may see besides those that every process needs.
        timeout_seconds: The time from start to exit, above 0.
        terminate_seconds: The time from SIGTERM to SIGKILL if a run has to be ended, 0 or more.
        max_line_bytes: The bytes of one line. A script that writes a longer one is ended.
        max_output_bytes: The bytes of stdout and stderr together. A script that writes more is ended.
        max_output_lines: The lines of stdout and stderr together. A script that writes more is ended.
        keep_logs: How many log files stay in an agent's `logs` folder; 0 writes none.

    Raises:
        ConfigurationError: If a number is out of its range, or the command is empty.
    """

    command: Sequence[str] | None = None
    keep_logs: int = 50

    def __post_init__(self) -> None:
        """Check the settings."""
        for name in ("timeout_seconds", "max_line_bytes", "max_output_bytes", "max_output_lines"):
            # Asked this way around, NaN is refused, too.
            if not (value := getattr(self, name)) > 0:
                raise ConfigurationError(name, f"expected a number above 0, got {value!r}")
        for name in ("terminate_seconds", "keep_logs"):
            if not (value := getattr(self, name)) >= 0:
                raise ConfigurationError(name, f"expected 0 or more, got {value!r}")
        if self.command is not None and not self.command:
            raise ConfigurationError("command", "expected a program, got nothing")
        # Copied, since the caller's own may change later.
        self.production_env = dict(self.production_env or {})
        self.pass_env = tuple(self.pass_env)

    def run(  # noqa: PLR0913 - by their names
        self,
        folder: str | os.PathLike[str],
        input: Mapping[str, Any],  # noqa: A002 - the word of the contract
        *,
        client_request_id: str | None = None,
        runner_request_id: uuid.UUID | None = None,
        attempt_id: str | None = None,
        files: Mapping[str, bytes] | None = None,
        resume: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Output | RunResult]:
        """Return the outputs of a run as they come, and finally its result.

        The script starts when the first output is requested. If the caller may stop early, it has to close the generator
        (`contextlib.aclosing`): that ends the script, and so does cancelling the task that iterates.

        Args:
            folder: The agent's folder.
            input: The fields for the script, as its `input_schema.json` expects them.
            client_request_id: The caller's own id for the run, which the script gets.
            runner_request_id: The runner's id for the run, if it has got one already, for instance in a queue; by default a new one.
            attempt_id: Distinguishes this attempt at the run from others with the same `runner_request_id`, so that none ends another's processes or
                deletes its files. It must be a valid file name; by default it is the runner's id.
            files: Contents by name, for the script: at most 20 and 8 MiB in all. The script gets their paths in its field `files`; they are deleted
                when the run has ended.
            resume: What the script continues from that has asked for input before: its `state` and the `answer`. It gets this as its field `resume`.

        Raises:
            InputError: If a field or a file does not fit the agent; raised at once, without starting the script.
            ConfigurationError: If the agent cannot run with its setup; raised at once, or with the first output if only starting it shows that.
        """
        agent = read_folder(Path(folder))
        own_id = str(runner_request_id or uuid.uuid4())
        ids = RunIds(runner=own_id, attempt=attempt_id or own_id, client=client_request_id)
        payload = build_payload(agent, input, ids, files or {}, resume=resume)
        launch = Launch(
            command=self.command or _uv_command(),
            folder=agent.path,
            environment=build_environment(agent.path, self, ids),
            stdin=[payload],
            marker=f"{ATTEMPT_VARIABLE}={ids.attempt}",
            scratch=run_folder(ids.attempt),
        )
        return self._iterate(launch, ids, dict(files or {}))

    def find_secrets(self, folder: str | os.PathLike[str]) -> KnownSecrets:
        """Return the secrets among a script's environment variables, to redact them in logs.

        Raises:
            ConfigurationError: If the agent cannot be run as it is set up.
        """
        path = read_folder(Path(folder)).path
        return _known_secrets(build_environment(path, self, RunIds()))

    async def _iterate(
        self, launch: Launch, ids: RunIds, files: dict[str, bytes]
    ) -> AsyncGenerator[Output | RunResult]:
        log = ScriptLog(
            launch.folder / LOG_FOLDER,
            runner_request_id=ids.runner,
            keep=self.keep_logs,
            redact=_known_secrets(launch.environment).redact,
        )
        run = _Run(ids, log, self)
        with log, written_files(launch.scratch, files):
            run.log_start(launch, files)
            files.clear()  # They may be large, and the script may run for long.
            async with aclosing(run_process(launch, self)) as events:
                async for event in events:
                    for output in run.outputs(event):
                        yield output
                        del output  # It may be large, and the next may not come soon.


class _Run:
    """The state of a run, which turns events of its process into outputs."""

    def __init__(self, ids: RunIds, log: ScriptLog, limits: ProcessLimits) -> None:
        self._ids = ids
        self._log = log
        self._limits = limits
        self._started = time.monotonic()
        self._metadata: dict[str, list[Any]] = {}
        self._wrote_errors = False

    def log_start(self, launch: Launch, files: Mapping[str, bytes]) -> None:
        """Log the start: the agent, the names of its variables (never their values), and digests of its files."""
        payload = b"".join(launch.stdin)
        self._log.write(
            "started",
            folder=str(launch.folder),
            runner_request_id=self._ids.runner,
            client_request_id=self._ids.client,
            input_bytes=len(payload),
            input_sha256=hashlib.sha256(payload).hexdigest(),
            environment=sorted(launch.environment),
            files=[
                {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                for name, content in files.items()
            ],
        )

    def outputs(self, event: Lines | Ended) -> Iterator[Output | RunResult]:
        """Yield the outputs of an event of the process."""
        if isinstance(event, Ended):
            yield from self._end(event)
            return
        classify = classify_line if event.source == "stdout" else classify_error
        # Large ones are let go of as soon as can be: parsed, they take many times their size.
        logged = [self._log.cut_line(line) for line in event.lines]
        outputs: list[Output] = []
        event.lines.reverse()
        while event.lines:
            outputs.append(classify(event.lines.pop()))
        self._log.write_lines(event.source, logged, types=[output.type for output in outputs])
        self._wrote_errors = self._wrote_errors or event.source == "stderr"
        for output in outputs:
            if isinstance(output, JsonOutput) and output.metadata:
                yield from self._without_metadata(output)
            else:
                yield output

    def _without_metadata(self, output: JsonOutput) -> Iterator[Output]:
        """Keep the metadata, and yield the rest of the output, if there is any."""
        for name, value in output.metadata.items():
            self._metadata.setdefault(name, []).append(value)
        if output.value:
            yield JsonOutput(value=output.value, invalid_utf8=output.invalid_utf8)

    def _end(self, end: Ended) -> Iterator[Output | RunResult]:
        message = self._end_message(end)
        if message is not None:
            yield ErrorOutput(message=message, source="runner")
        result = RunResult(
            status="succeeded" if end == _SUCCESS else "failed",
            stop_reason=end.stop_reason,
            exit_code=end.exit_code,
            runner_request_id=self._ids.runner,
            client_request_id=self._ids.client,
            duration_seconds=round(time.monotonic() - self._started, 3),
            metadata=self._metadata,
        )
        self._log.write("ended", message=message, **result.to_dict())
        yield result

    def _end_message(self, end: Ended) -> str | None:
        limits = self._limits
        match end:
            case Ended(stop_reason="timed_out"):
                return f"timed out after {limits.timeout_seconds:g} s"
            case Ended(stop_reason="output_limit"):
                return (
                    f"ended because it wrote too much; the limits are {limits.max_line_bytes} bytes for a line,"
                    f" {limits.max_output_bytes} bytes and {limits.max_output_lines} lines in all"
                )
            # A script that wrote to stderr has said why itself.
            case Ended(exit_code=code) if code and not self._wrote_errors:
                return f"{SCRIPT} {_describe_exit(code)}"
            case _:
                return None


_SUCCESS = Ended(exit_code=0, stop_reason="exited")


def _known_secrets(environment: Mapping[str, str]) -> KnownSecrets:
    values = (value for name, value in environment.items() if is_secret_setting(name, value))
    return KnownSecrets(values, shortest=_SHORTEST_SECRET)


def _describe_exit(code: int) -> str:
    if code > 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal
        return f"was ended by signal {-code}"


def _uv_command() -> tuple[str, ...]:
    """Return the command that runs the script with uv, independent of any project around it.

    Source: docs/contracts/agent-runner.md, E1 and E3.
    """
    return (uv.find_uv_bin(), "run", "--quiet", "--no-project", "--script", SCRIPT)
