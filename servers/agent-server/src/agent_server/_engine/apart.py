"""The store that an engine of another package works with: it holds runs, has their steps made, and ends them."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from agent_server._store import apart, claims, open_runs
from agent_server._store.apart import ApartRuns, Telling, Try
from agent_server._store.claims import Claim, Owner
from agent_server._store.endings import Ended
from agent_server._store.holds import Hold
from agent_server._store.open_runs import OpenRun, Standing
from agent_server._store.signals import CANCELLED
from agent_server.executor import (
    Executor,
    RunResult,
    Waiting,
)
from agent_server.logs import about
from agent_server.runs import RunNotFoundError

from .attempt import Attempt
from .base import Base
from .parts import Parts
from .reading import parse_stored
from .step_try import RunFacts, StepLostError, StepTry


# What the runs that go on are executed with is not read again for each step.
_MOST_FACTS_BYTES = 32 * 1024 * 1024


class RunStore:
    """The runs of one engine, each of which is executed by whoever names it.

    An owner is whatever the engine takes for one execution of a run, as a text: who names another takes the run over.

    Args:
        base: The parts of the engine.
        executor: Executes the runs.

    Attributes:
        parts: The parts, from which a `RunService` can be made.
        runs: What is stored of the runs.
    """

    def __init__(self, base: Base, executor: Executor) -> None:
        self.parts: Parts = base.parts
        self._executor = executor
        self.runs = ApartRuns(settings=self.parts.settings)
        self._facts: OrderedDict[Hold, tuple[RunFacts, int]] = OrderedDict()
        self._facts_bytes = 0
        self._executing = Counter[str]()
        # A lost attempt may still be here when there is a new one.
        self._attempts: set[Attempt] = set()
        base.look = self._look

    @property
    def executing(self) -> Counter[str]:
        """How many runs and steps of each tenant are executed here."""
        return +self._executing

    async def read_standing(self, run_id: str) -> Standing | None:
        """Return the state of a run, and what it waits for; None if there is none."""
        server, encryption = self.parts.server, self.parts.encryption
        return await self.parts.readers.read(open_runs.read_standing, run_id, server, encryption)

    async def read_cancel_reason(self, run_id: str) -> str | None:
        """Return why a run is to be cancelled; None for no reason."""
        encryption = self.parts.encryption
        found = await self.parts.readers.read(open_runs.read_cancelled, [run_id], encryption)
        return found.get(run_id)

    async def claim(self, run_id: str, owner: str) -> Attempt | None:
        """Begin to execute a run as a whole, from whoever had it; None if it has ended or waits.

        Raises:
            StorageError: If a key is missing with which something is stored.
        """
        claiming = self.parts.writer.submit(apart.claim_run, run_id, self._owner(owner))
        try:
            claim = await asyncio.shield(claiming)
        except asyncio.CancelledError:
            claiming.add_done_callback(self._give_back)
            raise
        if claim is None or isinstance(claim, Ended):
            self._note(claim)
            return None
        attempt = Attempt.begin(claim, self.parts, self._executor)
        self._attempts.add(attempt)
        self._executing[claim.tenant] += 1
        attempt.task.add_done_callback(lambda _: self._end(attempt))
        return attempt

    def _end(self, attempt: Attempt) -> None:
        self._executing[attempt.execution.tenant] -= 1
        self._attempts.remove(attempt)

    async def _look(self, signals: set[str]) -> None:
        """Cancel runs that are executed here as a whole."""
        if CANCELLED in signals and self._attempts:
            mine = {one.execution.run_id: one for one in self._attempts}
            encryption = self.parts.encryption
            found = await self.parts.readers.read(open_runs.read_cancelled, mine, encryption)
            for run_id, reason in found.items():
                mine[run_id].cancel(reason)

    def _give_back(self, claiming: "asyncio.Future[Claim | Ended | None]") -> None:
        """Put a claimed run that nobody executes back into the queue: it would count as one under which a server died."""
        if claiming.exception() is None and isinstance(claim := claiming.result(), Claim):
            self.parts.writer.submit(claims.release, claim, [])

    async def hold(self, run_id: str, owner: str) -> Hold | None:
        """Hold a run whose steps are made apart, again if the owner holds it already; None if it has ended or waits.

        Raises:
            StorageError: If a key is missing with which something is stored.
        """
        hold = await self.parts.writer.submit(apart.hold_run, run_id, self._owner(owner))
        if hold is None or isinstance(hold, Ended):
            self._note(hold)
            return None
        return Hold(seq=hold.seq, server=hold.server, attempt=hold.attempt)

    async def read_facts(self, hold: Hold) -> RunFacts:
        """Return what a run is executed with.

        Raises:
            StepLostError: If it was not held any more when it was first read here.
            StorageError: If its key is missing.
        """
        known = self._facts.get(hold)
        if known is None:
            known = await self._read_facts(hold)
            self._remember(hold, known)
        return known[0]

    def _remember(self, hold: Hold, known: tuple[RunFacts, int]) -> None:
        _, before = self._facts.pop(hold, (None, 0))
        self._facts[hold] = known
        self._facts_bytes += known[1] - before
        while self._facts_bytes > _MOST_FACTS_BYTES:
            _, (_, size) = self._facts.popitem(last=False)
            self._facts_bytes -= size

    async def _read_facts(self, hold: Hold) -> tuple[RunFacts, int]:
        found = await self.parts.readers.read(apart.read_held, hold, self.parts.encryption)
        if found is None:
            raise StepLostError
        row, content = found
        resumption = content.resumption
        size = len(content.request) + (0 if resumption is None else len(resumption.state))
        facts = RunFacts(
            run_id=row.run_id,
            tenant=row.tenant,
            agent=row.agent,
            request=await parse_stored(content.request.decode()),
            metadata=content.metadata,
            part=row.part,
            resumption=resumption,
        )
        return facts, size

    async def read_steps(self, hold: Hold) -> dict[str, bytes]:
        """Return the results of the steps that were recorded in this part of a run, by their keys."""
        return await self.parts.readers.read(apart.read_steps, hold, self.parts.encryption)

    async def tell(self, hold: Hold, telling: Telling) -> None:
        """Store what a run tells itself, as far as it is not stored.

        Raises:
            StepLostError: If the run is not held any more.
            EventLimitError: If there are too many events.
        """
        if not await self.parts.writer.submit(self.runs.tell, hold, telling):
            raise StepLostError

    async def make_step(self, one: Try, request: bytes, telling: Telling) -> bytes:
        """Return the result of a step, which is made unless it is recorded.

        Args:
            one: The try, of which only the newest may write.
            request: What the executor makes it from.
            telling: What the run has told itself before.

        Raises:
            StepLostError: If the run is not held any more, or a later try was begun.
            EventLimitError: If there are too many events.
        """
        begun = await self.parts.writer.submit(self.runs.begin_step, one, telling)
        if begun is None:
            raise StepLostError
        if begun.result is not None:
            return begun.result
        facts = await self.read_facts(one.hold)
        named = {"run": facts.run_id, "tenant": facts.tenant, "agent": facts.agent}
        with self._counted(facts.tenant), about(**named, attempt=one.hold.attempt):
            return await StepTry(self.parts, self.runs, one, facts, begun).make(
                self._executor, request
            )

    async def end(self, hold: Hold, result: RunResult | None, telling: Telling) -> bool:
        """Store the end of a run, and return whether it was still held.

        Args:
            hold: The right to it.
            result: Its result; None if it was cancelled.
            telling: What it has told itself.
        """
        return self._note(await self.parts.writer.submit(self.runs.end, hold, result, telling))

    async def wait(
        self, hold: Hold, waiting: Waiting, wait_id: str, telling: Telling
    ) -> Literal["waiting", "full", "left"]:
        """Store that a run waits, and return `waiting`.

        `full` if too many runs of its tenant do, and `left` if it is not held any more, or was to be cancelled and has
        ended.

        Args:
            hold: The right to it.
            waiting: What it waits for.
            wait_id: 32 hexadecimal digits, the same if this is repeated.
            telling: What the run has told itself.

        Raises:
            EventLimitError: If there are too many events.
        """
        waits = await self.parts.writer.submit(self.runs.wait, hold, waiting, wait_id, telling)
        if isinstance(waits, Ended):
            self._note(waits)
            return "left"
        return waits

    async def end_run(self, run_id: str, result: RunResult | None) -> bool:
        """End a run that nobody executes, and return whether it had not ended before; None cancels it."""
        server = self.parts.server
        return self._note(await self.parts.writer.submit(apart.end_run, run_id, server, result))

    async def read_open(self, *, seconds: float) -> Sequence[OpenRun]:
        """Return all runs that have not ended and are older than some seconds."""
        found: list[OpenRun] = []
        after = 0
        while page := await self._read_page(seconds, after):
            found += [one for _, one in page]
            after = page[-1][0]
        return found

    async def _read_page(self, seconds: float, after: int) -> Sequence[tuple[int, OpenRun]]:
        server = self.parts.server
        return await self.parts.readers.read(
            open_runs.read_open, server, seconds=seconds, after=after
        )

    async def put_payload(self, run_id: str, body: bytes) -> str:
        """Store what is too large for the engine's history, and return its id; it is deleted with the run.

        Raises:
            RunNotFoundError: If there is no such run.
        """
        payload_id = self.parts.encryption.name(body)
        if not await self.parts.writer.submit(open_runs.put_payload, run_id, payload_id, body):
            raise RunNotFoundError
        return payload_id

    async def get_payload(self, run_id: str, payload_id: str) -> bytes:
        """Return a payload.

        Raises:
            StorageError: If there is none.
        """
        return await self.parts.readers.read(
            open_runs.get_payload, run_id, payload_id, self.parts.encryption
        )

    def encrypt(self, content: bytes) -> bytes:
        """Return content in the form in which it may be stored elsewhere."""
        return self.parts.encryption.encrypt(content)

    def decrypt(self, stored: bytes) -> bytes:
        """Return the content of its stored form.

        Raises:
            StorageError: If its key is missing.
        """
        return self.parts.encryption.decrypt(stored)

    def _owner(self, name: str) -> Owner:
        return Owner(
            server=replace(self.parts.server, name=name),
            max_attempts=self.parts.settings.max_attempts,
            interrupted=self._executor.interrupted,
        )

    def _note(self, ended: Ended | None) -> bool:
        """Tell watchers of the end of a run, and return whether there is one."""
        if ended is None:
            return False
        self.parts.hub.publish(ended.seq, [ended.event])
        self.parts.tallies.count(ended)
        return True

    @contextmanager
    def _counted(self, tenant: str) -> Generator[None]:
        self._executing[tenant] += 1
        try:
            yield
        finally:
            self._executing[tenant] -= 1
