"""Steps that are made by other processes than the run's: what is sent there, and what comes back."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from agent_driver import Agent, StepKey, StepWork
from agent_server.executor import Execution, StepExecution

from ._conversations import Receiver, Sender
from ._emitter import Emitter


class ApartSteps:
    """The steps of a run that are made apart.

    Args:
        run: The run.
        emitter: What emits the rest of what it shows: those who make a model call emit its answer as it comes.
    """

    def __init__(self, run: Execution, emitter: Emitter) -> None:
        self._run = run
        self._emitter = emitter
        self._sender = Sender()

    async def step(self, key: StepKey, work: StepWork, /) -> bytes:
        """Have a step made, and return its record."""
        made = await self._run.step(key, work, request=self._sender.describe(key))
        emitted, _, record = made.partition(b"\n")
        if key.kind == "model":
            self._emitter.note_emitted(key.path, key.round, json.loads(emitted))
        return record


class StepMaker:
    """Maker of steps of runs that are elsewhere."""

    def __init__(self) -> None:
        self._receiver = Receiver()

    async def make(
        self, run: StepExecution, request: bytes, agent: Agent[Any, Any], deps: object
    ) -> bytes:
        """Make a step, and return its record behind how much of it was emitted.

        Raises:
            RunFailedError: If the earlier messages are no longer available.
        """
        described = await self._receiver.read(run, request)
        step, path = described.step, described.path
        emitter = Emitter(run, rounds={path: described.round})
        if step.kind == "model":
            await emitter.start_round(path, described.round, again=run.is_again)
        record = await agent.make_step(
            step,
            deps=deps,
            on_event=lambda event: emitter.emit(event, path),
            read_steered=partial(read_steered, run),
        )
        return json.dumps(emitter.emitted(path)).encode() + b"\n" + record


async def read_steered(run: Execution | StepExecution, after: int) -> Sequence[object]:
    """Return the messages to a run after a number of them, in the form for its model."""
    return list(map(to_message, await run.read_steered(after)))


def to_message(content: object) -> object:
    """Return a message to a run in the form for its model."""
    return {"role": "user", "content": content}
