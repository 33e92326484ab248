"""What DBOS runs: a workflow a run, with one step, which is one attempt to run the script.

DBOS starts a workflow again where a server died under it. Whether the script is, too, is decided here: what it has done already
nobody knows.
"""

import asyncio
import base64
import json
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from dbos import DBOS

from ._agent import REQUEST_VARIABLE, remove_folder, run_folder
from ._batches import batched
from ._errors import ConfigurationError, RunnerError
from ._output import ErrorOutput, Output
from ._process import kill_marked
from ._record import Outcome
from ._run import AgentRunner, RunResult


type Workflow = Callable[[str, str, str | None, str], Awaitable[dict[str, Any]]]

EVENTS = "events"  # the stream of what happens in a run, in batches
ATTEMPTS = "attempts"  # how often its script was started
ATTEMPT = "attempt"
NO_FILES = "{}"

_logger = logging.getLogger("agent_runner")


def register_workflow(
    agents: Mapping[str, Path], runner: AgentRunner, *, max_attempts: int
) -> Workflow:
    """Return the workflow of a run: from agent, input as JSON, client's id and files as JSON to how it ended.

    The id of the workflow is the agent's name, a colon, and the run's id.
    """
    attempts = _Attempts(agents, runner, max_attempts)

    @DBOS.workflow(name="run", max_recovery_attempts=None)
    async def run(
        agent: str, fields: str, client_request_id: str | None, files: str = NO_FILES
    ) -> dict[str, Any]:
        return await DBOS.run_step_async(
            {"name": ATTEMPT, "preemptible": True},
            attempts.make,
            agent,
            fields,
            client_request_id,
            files,
        )

    return run


def dump_files(files: Mapping[str, bytes]) -> str:
    """Return files as JSON."""
    return json.dumps({name: base64.b64encode(data).decode() for name, data in files.items()})


async def count_attempts(key: str) -> int:
    """Return how often the script of the run with this workflow was started."""
    return (await DBOS.get_all_events_async(key)).get(ATTEMPTS, 0)


class _Attempts:
    def __init__(self, agents: Mapping[str, Path], runner: AgentRunner, max_attempts: int) -> None:
        self._agents = agents
        self._runner = runner
        self._max_attempts = max_attempts

    async def make(
        self, agent: str, fields: str, client_request_id: str | None, files: str
    ) -> dict[str, Any]:
        """Run the script, unless it was started as often as it may be, and return how it ended and after how many attempts."""
        key = _this_workflow()
        run_id = key.rpartition(":")[2]
        attempts = await count_attempts(key)
        if attempts:
            # Its guard has ended it, if all went well; twice is sure.
            await asyncio.to_thread(kill_marked, f"{REQUEST_VARIABLE}={run_id}")
            await asyncio.to_thread(remove_folder, run_folder(run_id))
        if attempts >= self._max_attempts:
            await _say(
                "the server ended while the script was running; what the script had done by then is not known"
            )
            outcome = Outcome(status="failed", stop_reason="interrupted")
        else:
            attempts += 1
            # Before the script starts: whoever finds this knows that it may have.
            await DBOS.set_event_async(ATTEMPTS, attempts)
            await _write([{"type": ATTEMPT, "attempt": attempts}])
            request = json.loads(fields), _load_files(files)
            outcome = await self._run(agent, *request, run_id, client_request_id)
        return outcome.to_dict() | {ATTEMPTS: attempts}

    async def _run(
        self,
        agent: str,
        fields: Mapping[str, Any],
        files: Mapping[str, bytes],
        run_id: str,
        client_request_id: str | None,
    ) -> Outcome:
        outcome = Outcome(status="failed", stop_reason="not_started")
        try:
            outputs = self._runner.run(
                self._folder(agent),
                fields,
                client_request_id=client_request_id,
                runner_request_id=uuid.UUID(run_id),
                files=files,
            )
            async with aclosing(batched(outputs)) as batches:
                async for batch in batches:
                    outcome = await _keep(batch) or outcome
        except RunnerError as error:
            # The owner's business: it may name folders and variables.
            _logger.error("run %s of %s: %s", run_id, agent, error)  # noqa: TRY400 - says all itself
            await _say("the agent cannot be run as it is set up")
        return outcome

    def _folder(self, agent: str) -> Path:
        if agent not in self._agents:
            raise ConfigurationError(
                agent, "expected to be served still, because a run of it is due"
            )
        return self._agents[agent]


def _load_files(text: str) -> Mapping[str, bytes]:
    return {name: base64.b64decode(data) for name, data in json.loads(text).items()}


def _this_workflow() -> str:
    key = DBOS.workflow_id
    assert key is not None  # noqa: S101 - only called from one
    return key


async def _keep(batch: list[Output | RunResult]) -> Outcome | None:
    """Store outputs; return how the run ended where the result is among them."""
    outputs = [output.to_dict() for output in batch if not isinstance(output, RunResult)]
    if outputs:
        await _write(outputs)
    last = batch[-1]
    if not isinstance(last, RunResult):
        return None
    return Outcome(
        status=last.status,
        stop_reason=last.stop_reason,
        exit_code=last.exit_code,
        duration_seconds=last.duration_seconds,
    )


async def _say(message: str) -> None:
    await _write([ErrorOutput(message=message, source="runner").to_dict()])


async def _write(events: list[dict[str, Any]]) -> None:
    """Store events in ASCII: a script may print what no database takes, NUL and halves of surrogate pairs."""
    await DBOS.write_stream_async(EVENTS, json.dumps(events))
