"""One run of an agent, from its input to its result."""

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

from agent_runner._agent import (
    ATTEMPT_VARIABLE,
    SCRIPT,
    EnvironmentSettings,
    build_environment,
    build_payload,
    read_folder,
    run_folder,
    written_files,
)
from agent_runner._errors import ConfigurationError
from agent_runner._output import ErrorOutput, JsonOutput, Output, classify_error, classify_line
from agent_runner._process import Ended, Launch, Lines, ProcessLimits, run_process
from stream_text import KnownSecrets, is_secret_setting

from .log import LOG_FOLDER, RunLog
from .result import RunResult


_MIB = 1024 * 1024
# People give scripts short passwords; the names of variables tell which they are.
_SHORTEST_SECRET = 4


class AgentRunner:
    """A runner of agents: folders with a `main.py` that reads JSON from stdin and writes lines to stdout.

    One runner may run any number of agents at a time.
    """

    def __init__(  # noqa: PLR0913 - settings, each with a default
        self,
        *,
        command: Sequence[str] | None = None,
        default_model: str | None = None,
        production_env: Mapping[str, str] | None = None,
        pass_env: Sequence[str] = (),
        timeout_seconds: float = 600.0,
        terminate_seconds: float = 5.0,
        max_line_bytes: int = 32 * _MIB,
        max_output_bytes: int = 64 * _MIB,
        max_output_lines: int = 1_000_000,
        keep_logs: int = 50,
    ) -> None:
        """Check the settings, which are those of all runs.

        Args:
            command: What is run in the agent's folder; by default uv, with the dependencies that `main.py` declares (PEP 723).
            default_model: Value of `OPENAI_DEFAULT_MODEL` where the agent's `.env` sets none.
            production_env: Variables that win over the agent's `.env`.
            pass_env: Names of variables of this process that scripts may see beside what every process needs.
            timeout_seconds: From start to exit, above 0.
            terminate_seconds: From SIGTERM to SIGKILL where a run has to be ended, 0 or more.
            max_line_bytes: Of one line. A script that writes a longer one is ended.
            max_output_bytes: Of stdout and stderr together. A script that writes more is ended.
            max_output_lines: Of stdout and stderr together. A script that writes more is ended.
            keep_logs: How many log files stay in an agent's `logs` folder; 0 writes none.

        Raises:
            ConfigurationError: If a number is out of its range, or the command is empty.
        """
        _validate_above_zero("timeout_seconds", timeout_seconds)
        _validate_above_zero("max_line_bytes", max_line_bytes)
        _validate_above_zero("max_output_bytes", max_output_bytes)
        _validate_above_zero("max_output_lines", max_output_lines)
        _validate_not_negative("terminate_seconds", terminate_seconds)
        _validate_not_negative("keep_logs", keep_logs)
        if command is not None and not command:
            raise ConfigurationError("command", "expected a program, got nothing")
        self._command = tuple(command) if command is not None else None
        self._environment = EnvironmentSettings(
            default_model=default_model,
            production_env=dict(production_env or {}),
            pass_env=tuple(pass_env),
        )
        self._limits = ProcessLimits(
            timeout_seconds=timeout_seconds,
            terminate_seconds=terminate_seconds,
            max_line_bytes=max_line_bytes,
            max_output_bytes=max_output_bytes,
            max_output_lines=max_output_lines,
        )
        self._keep_logs = keep_logs

    def run(  # noqa: PLR0913 - by their names
        self,
        folder: str | os.PathLike[str],
        input: Mapping[str, Any],  # noqa: A002 - the word of the contract
        *,
        client_request_id: str | None = None,
        runner_request_id: uuid.UUID | None = None,
        attempt_id: str | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> AsyncGenerator[Output | RunResult]:
        """Return the outputs of a run as they come, and at last its result.

        The script starts when the first output is asked for. Where the caller may stop early, close the generator
        (`contextlib.aclosing`): that ends the script, as does cancelling the task that waits.

        Args:
            folder: The agent.
            input: The fields for the script, as its `input_schema.json` expects them.
            client_request_id: The caller's own id for the run, handed to the script.
            runner_request_id: The runner's id for the run where it was given one before, say in a queue; by default a new one.
            attempt_id: Tells this attempt at the run from others of the same `runner_request_id`, so that none ends the processes of another or takes its
                files away: a name that a file can have; by default the runner's id.
            files: Contents by name, for the script to find: at most 20 and 8 MiB in all. The script gets their paths as its field `files`; they are
                gone when the run has ended.

        Raises:
            InputError: If a field or a file is not what the agent expects; at once, without starting the script.
            ConfigurationError: If the agent cannot be run as it is set up; at once, or with the first output where only starting shows it.
        """
        agent = read_folder(Path(folder))
        ids = _Ids(runner=str(runner_request_id or uuid.uuid4()), client=client_request_id)
        attempt_id = attempt_id or ids.runner
        payload = build_payload(
            agent,
            input,
            runner_request_id=ids.runner,
            attempt_id=attempt_id,
            client_request_id=ids.client,
            files=files,
        )
        environment = build_environment(
            agent.path,
            self._environment,
            parent=os.environ,
            runner_request_id=ids.runner,
            attempt_id=attempt_id,
        )
        launch = Launch(
            command=self._command or _uv_command(),
            folder=agent.path,
            environment=environment,
            stdin=payload,
            marker=f"{ATTEMPT_VARIABLE}={attempt_id}",
            scratch=run_folder(attempt_id),
        )
        return self._iterate(launch, ids, dict(files or {}))

    def find_secrets(self, folder: str | os.PathLike[str]) -> KnownSecrets:
        """Return the secrets among the variables that an agent's script sees, by which they can be kept out of logs.

        Raises:
            ConfigurationError: If the agent cannot be run as it is set up.
        """
        path = read_folder(Path(folder)).path
        environment = build_environment(
            path, self._environment, parent=os.environ, runner_request_id="", attempt_id=""
        )
        return _known_secrets(environment)

    async def _iterate(
        self, launch: Launch, ids: "_Ids", files: Mapping[str, bytes]
    ) -> AsyncGenerator[Output | RunResult]:
        log = RunLog(
            launch.folder / LOG_FOLDER,
            runner_request_id=ids.runner,
            keep=self._keep_logs,
            redact=_known_secrets(launch.environment).redact,
        )
        run = _Run(ids, log, self._limits)
        with log, written_files(launch.scratch, files):
            run.log_start(launch, files)
            async with aclosing(run_process(launch, self._limits)) as events:
                async for event in events:
                    for output in run.outputs(event):
                        yield output


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ids:
    runner: str
    client: str | None


class _Run:
    """What happened in a run so far, and what its caller is told of it."""

    def __init__(self, ids: _Ids, log: RunLog, limits: ProcessLimits) -> None:
        self._ids = ids
        self._log = log
        self._limits = limits
        self._started = time.monotonic()
        self._metadata: dict[str, list[Any]] = {}
        self._wrote_errors = False

    def log_start(self, launch: Launch, files: Mapping[str, bytes]) -> None:
        """Write down which agent runs, with the names of its variables and never their values, and of its files digests."""
        self._log.write(
            "started",
            folder=str(launch.folder),
            runner_request_id=self._ids.runner,
            client_request_id=self._ids.client,
            input_bytes=len(launch.stdin),
            input_sha256=hashlib.sha256(launch.stdin).hexdigest(),
            environment=sorted(launch.environment),
            files=[
                {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                for name, content in files.items()
            ],
        )

    def outputs(self, event: Lines | Ended) -> Iterator[Output | RunResult]:
        """Yield what the event means to the caller."""
        match event:
            case Lines(source="stdout", lines=lines):
                yield from self._stdout(lines)
            case Lines(lines=lines):
                yield from self._stderr(lines)
            case _:
                yield from self._end(event)

    def _stdout(self, lines: Sequence[bytes]) -> Iterator[Output]:
        outputs = [classify_line(line) for line in lines]
        self._log.write_lines("stdout", lines, types=[output.type for output in outputs])
        for output in outputs:
            if isinstance(output, JsonOutput) and output.metadata:
                yield from self._without_metadata(output)
            else:
                yield output

    def _without_metadata(self, output: JsonOutput) -> Iterator[Output]:
        """Keep the metadata; an object that held nothing else is not for the caller."""
        for name, value in output.metadata.items():
            self._metadata.setdefault(name, []).append(value)
        if output.value:
            yield JsonOutput(value=output.value, invalid_utf8=output.invalid_utf8)

    def _stderr(self, lines: Sequence[bytes]) -> Iterator[Output]:
        self._wrote_errors = True
        self._log.write_lines("stderr", lines, types=[ErrorOutput.type] * len(lines))
        yield from map(classify_error, lines)

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
            case Ended(exit_code=code) if code and not self._wrote_errors:
                return f"{SCRIPT} {_describe_exit(code)}"
            case _:
                return None


_SUCCESS = Ended(exit_code=0, stop_reason="exited")


def _validate_above_zero(name: str, value: float) -> None:
    if not value > 0:
        raise ConfigurationError(name, f"expected a number above 0, got {value!r}")


def _validate_not_negative(name: str, value: float) -> None:
    if not value >= 0:
        raise ConfigurationError(name, f"expected 0 or more, got {value!r}")


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
    """Return the command for a script that is no part of a project around it.

    Source: docs/contracts/agent-runner.md, E1 and E3.
    """
    return (uv.find_uv_bin(), "run", "--quiet", "--no-project", "--script", SCRIPT)
