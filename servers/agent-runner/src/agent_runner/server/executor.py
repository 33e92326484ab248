"""The executor that runs scripts as runs of an agent server.

A script is one step, because nobody can know what half of it has done. So its start is recorded before it begins, and a later attempt that
finds the record knows that the script may have been running when the server died. A script that waits for input has ended, and so has its step:
once it is answered, the run continues with steps, and a script, that start over.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, closing
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Literal

from agent_runner._agent.environment import ATTEMPT_VARIABLE, RunIds
from agent_runner._agent.files import remove_folder, run_folder
from agent_runner._agent.folder import read_folder
from agent_runner._agent.input import build_payload, find_ambiguous_files
from agent_runner._errors import ConfigurationError, InputError, RunnerError
from agent_runner._output.outputs import ErrorOutput, Output
from agent_runner._process.sweep import kill_marked
from agent_runner._run.result import RunResult as ScriptResult
from agent_runner._run.runner import AgentRunner
from agent_server.executor import (
    AgentDescription,
    Execution,
    InputAnswer,
    InputRequest,
    JsonObject,
    Problem,
    RequestRefusedError,
    RunResult,
    StoredEvent,
    Turn,
    UnknownAgentError,
    Waiting,
)
from agent_server.logs import RunFeeds

from ._answer import ScriptAnswer
from ._conversation import show_output, to_request
from ._recorder import RunRecorder
from ._requests import parse_request, refuse
from ._waiting import (
    LastLine,
    Resumed,
    check_answer,
    dump_ending,
    load_ending,
    read_resumption,
    read_waiting,
)


__all__ = ["ScriptExecutor"]

_INTERRUPTED = (
    "the server ended while the script was running; what the script had done by then is not known"
)
_NOT_RUNNABLE = "the agent cannot be run as it is set up"
_MAX_SENTENCE = 1000

_logger = logging.getLogger("agent_runner")


class ScriptExecutor:
    """An executor of scripts. Each is an agent with the name of its folder.

    A run's events are its outputs in the form of `to_dict()`, under their `type`. Its output is the value of the last
    `json_output`, or all text if there is none.

    Args:
        agents: The agents' folders by name.
        runner: Runs the scripts.
        on_crash: What happens to a run whose script was running when its server died: it fails, or the script is run again from its start.
        run_logs: Folder for a log of each run, with a folder for each tenant; None for no logs.
        traces: Whether runs are reported as spans, to the provider that the process has set.
    """

    def __init__(
        self,
        agents: Mapping[str, Path],
        runner: AgentRunner,
        *,
        on_crash: Literal["fail", "rerun"] = "fail",
        run_logs: Path | None = None,
        traces: bool = False,
    ) -> None:
        self._agents = dict(agents)
        self._runner = runner
        self._on_crash = on_crash
        self._feeds = RunFeeds(self.name, run_logs, traces=traces)

    @property
    def name(self) -> str:
        """The name of the system."""
        return "agent-runner"

    @property
    def version(self) -> str:
        """The version of the recorded steps."""
        return "1"

    def agents(self) -> Sequence[AgentDescription]:
        """Return the agents, each with the schema of its input.

        Raises:
            ConfigurationError: If a folder or a schema can no longer be read.
        """
        return [
            AgentDescription(name=name, input_schema=read_folder(path).input_schema)
            for name, path in self._agents.items()
        ]

    def check(self, agent: str, request: JsonObject) -> JsonObject:
        """Return the request unchanged if its input and files fit the agent.

        Raises:
            UnknownAgentError: If there is no such agent.
            RequestRefusedError: If they do not fit.
            ConfigurationError: If the agent cannot run with its setup.
        """
        if agent not in self._agents:
            raise UnknownAgentError(agent)
        asked = parse_request(request)
        try:
            folder = read_folder(self._agents[agent])
            if ambiguous := find_ambiguous_files(folder, asked.input, asked.files):
                raise RequestRefusedError(
                    *(Problem(field=one.field, message=one.message) for one in ambiguous),
                    status=HTTPStatus.BAD_REQUEST,
                )
            build_payload(folder, asked.input, RunIds(), asked.files)
        except InputError as error:
            raise refuse(asked, error.problems) from None
        return request

    def begin_turn(self, agent: str, turn: Turn) -> JsonObject:
        """Return the request for a run whose input has what was said as `prompt`.

        Raises:
            UnknownAgentError: If there is no such agent.
            RequestRefusedError: If the agent does not accept it.
            ConfigurationError: If the agent cannot run with its setup.
        """
        return self.check(agent, to_request(turn))

    def show(self, event: StoredEvent) -> Sequence[tuple[str, JsonObject]]:
        """Return what an output shows as what an agent says."""
        return show_output(event)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Share nothing between runs: each script is a process of its own."""
        yield

    def check_answer(self, agent: str, asked: InputRequest, given: InputAnswer) -> None:  # noqa: ARG002 - the interface's
        """Check the answer to a question by its schema.

        Raises:
            RequestRefusedError: If it does not fit.
        """
        check_answer(asked, given)

    async def execute(self, run: Execution) -> RunResult | Waiting:
        """Run the script, unless an earlier attempt has, and return its result, or what it waits for."""

        # Recorded before the script starts: the number of the first attempt that began it, since the run
        # began or was answered. A later attempt reads the recorded number and so knows that it is not the first.
        async def begin() -> bytes:
            return str(run.attempt).encode()

        async def end() -> bytes:
            if is_lost:
                return dump_ending(await _fail(run, "interrupted", _INTERRUPTED))
            return dump_ending(await self._run_script(run))

        begun = int(await run.step("begin", begin))
        if begun < run.attempt:
            # Their guards should have ended them already; this makes sure of it.
            await asyncio.to_thread(
                _sweep, [_attempt_id(run, n) for n in range(begun, run.attempt)]
            )
        is_lost = begun < run.attempt and self._on_crash == "fail"
        return load_ending(await run.step("script", end, retries=False))

    def interrupted(self, run_id: str, attempts: int) -> RunResult | None:  # noqa: ARG002 - the interface's
        """Return None, to make another attempt: `execute` knows whether the script had begun, and decides then."""
        return None

    async def _run_script(self, run: Execution) -> RunResult | Waiting:
        try:
            folder = self._folder(run.agent)
            secrets = self._runner.find_secrets(folder)
            with closing(RunRecorder(self._feeds.open(run, known=secrets))) as recorder:
                return await self._follow(run, folder, recorder)
        except RunnerError as error:
            # Only for the owner's log: the error may name folders and variables.
            _logger.error("the script could not be started: %s", error)  # noqa: TRY400 - says all itself
            return await _fail(run, "not_started", _NOT_RUNNABLE)

    async def _follow(
        self, run: Execution, folder: Path, recorder: RunRecorder
    ) -> RunResult | Waiting:
        request = parse_request(run.request)
        resumed = read_resumption(run.resumption)
        # Outside the event loop, because the input may be large.
        outputs = await asyncio.to_thread(
            self._runner.run,
            folder,
            request.input,
            client_request_id=request.client_request_id,
            runner_request_id=uuid.UUID(run.run_id),
            attempt_id=_attempt_id(run, run.attempt),
            files=request.files,
            resume=resumed.resume,
        )
        given = None if run.resumption is None else run.resumption.answer
        await asyncio.to_thread(recorder.record_request, request, given)
        del request
        run.request.clear()  # It may be large, and so may be what the script prints.
        attempt = _Attempt(run, recorder, resumed)
        async with aclosing(outputs):
            async for output in outputs:
                await attempt.take(output)
                if isinstance(output, ScriptResult):
                    return await attempt.end(output)
                del output  # It may be large, and the next may not come soon.
        raise AssertionError("expected a result at the end of a run")  # pragma: no cover

    def _folder(self, agent: str) -> Path:
        if agent not in self._agents:
            raise ConfigurationError(
                agent, "expected to be served still, because a run of it is due"
            )
        return self._agents[agent]


class _Attempt:
    """An attempt whose script runs: its outputs, and how it ends."""

    def __init__(self, run: Execution, recorder: RunRecorder, resumed: Resumed) -> None:
        self._run = run
        self._recorder = recorder
        self._answer = ScriptAnswer(resumed.llm_usage)
        self._last = LastLine()

    async def take(self, output: Output | ScriptResult) -> None:
        """Take the next output, or finally the result."""
        for shown in self._last.take(output):
            await self._show(shown)

    async def end(self, ended: ScriptResult) -> RunResult | Waiting:
        """Return the result, or what the script waits for."""
        # In a thread, like what it waits for: what it has printed may be large.
        result = await asyncio.to_thread(self._answer.build_result, ended)
        if self._last.asked is not None:
            line, llm_usage = self._last.asked.value, self._answer.llm_usage(ended)
            try:
                waiting = await asyncio.to_thread(read_waiting, line, llm_usage=llm_usage)
            except RunnerError as error:
                result = await self._refuse(result, error)
            else:
                self._recorder.wait(waiting.request, ended.metadata)
                return waiting
        self._recorder.end(result, ended.metadata)
        return result

    async def _refuse(self, result: RunResult, error: RunnerError) -> RunResult:
        """Return the failure of a script that asks for input in a form that nobody can answer."""
        sentence = str(error)[:_MAX_SENTENCE]
        await self._show(ErrorOutput(message=sentence, source="runner"))
        failed = {"error": sentence, "error_type": "invalid_request"}
        return replace(result, status="failed", output=None, **failed)

    async def _show(self, output: Output) -> None:
        emitted = output.to_dict()
        self._recorder.record_output(emitted)
        self._answer.add(output)
        await self._run.tell(output.type, emitted)


def _attempt_id(run: Execution, attempt: int) -> str:
    # A server that wakes up after others took it for dead must end only what it had begun itself, and
    # nothing that was begun since.
    return f"{run.run_id}-{attempt}"


def _sweep(attempt_ids: Sequence[str]) -> None:
    """Kill processes and delete folders that earlier attempts have left on this machine."""
    kill_marked(*(f"{ATTEMPT_VARIABLE}={one}" for one in attempt_ids))
    for one in attempt_ids:
        remove_folder(run_folder(one))


async def _fail(run: Execution, stop_reason: str, message: str) -> RunResult:
    """Emit why a script did not run to its end, and return the failed result."""
    output = ErrorOutput(message=message, source="runner")
    await run.tell(output.type, output.to_dict())
    details: JsonObject = {"stop_reason": stop_reason, "exit_code": None, "duration_seconds": None}
    return RunResult(status="failed", error=message, error_type=stop_reason, details=details)
