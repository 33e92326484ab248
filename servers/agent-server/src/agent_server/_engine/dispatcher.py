"""The dispatcher, which claims runs from the queue, executes them and stores their ends."""

import asyncio
from collections import Counter

from agent_server._store import claims
from agent_server._store.claims import Claim, Owner
from agent_server._store.endings import Ended
from agent_server._store.fault_log import FaultLog
from agent_server.executor import Executor

from .attempt import Attempt
from .parts import Parts


# Time for what runs do when they are told to stop, and for storing that they wait again.
_STOPPING_SECONDS = 10.0
# If the database is away, nothing can be stored; other servers will notice the silence.
_AWAY_SECONDS = 0.5


class Dispatcher:
    """The runs that this server executes."""

    def __init__(self, parts: Parts, executor: Executor) -> None:
        """Start with no runs.

        Args:
            parts: The engine's parts that store runs and report them.
            executor: Executes the runs.
        """
        self._parts = parts
        self._writer = parts.writer
        self._executor = executor
        self._owner = Owner(
            server=parts.server,
            max_attempts=parts.settings.max_attempts,
            interrupted=executor.interrupted,
        )
        # A run may be here twice: a lost attempt that has not ended yet, and a new one.
        self._attempts: dict[tuple[int, int], Attempt] = {}  # by run and attempt
        self._wake = asyncio.Event()

    @property
    def executing(self) -> Counter[str]:
        """How many runs of each tenant are being executed."""
        return Counter(one.execution.tenant for one in self._attempts.values())

    def wake(self) -> None:
        """Have the queue looked at soon."""
        self._wake.set()

    async def work(self) -> None:
        """Take runs from the queue and execute them, until it is cancelled."""
        faults = FaultLog("no run could be taken from the queue")
        while True:
            self._wake.clear()
            free = self._parts.settings.concurrency - len(self._attempts)
            if free > 0:
                with faults.suppressing():
                    await self._claim(free)
            await self._wake.wait()  # The next heartbeat wakes it at the latest.

    def cancel(self, reasons: dict[int, str | None]) -> None:
        """Cancel runs, if they are executed here."""
        for seq, reason in reasons.items():
            for attempt in [one for (known, _), one in self._attempts.items() if known == seq]:
                attempt.cancel(reason)

    def give_up_all(self) -> None:
        """Stop executing all runs, because others have taken them over."""
        for attempt in list(self._attempts.values()):
            attempt.give_up()

    async def stop(self, *, seconds: float) -> None:
        """Wait for the runs to end, then put the rest back into the queue."""
        await self._wait(seconds)
        self.give_up_all()
        await self._wait(_AWAY_SECONDS if self._writer.is_away else _STOPPING_SECONDS)

    async def _wait(self, seconds: float) -> None:
        if tasks := [one.task for one in self._attempts.values()]:
            await asyncio.wait(tasks, timeout=seconds)

    async def _claim(self, free: int) -> None:
        mine = {seq for seq, _ in self._attempts}
        # Shielded: a committed claim whose result nobody sees would count as one more server that
        # died under the run.
        claimed = await asyncio.shield(
            self._writer.submit(claims.claim_runs, self._owner, limit=free, claimed=mine)
        )
        for one in claimed:
            if isinstance(one, Ended):
                self._parts.hub.publish(one.seq, [one.event])
                self._parts.tallies.count(one)
            else:
                self._start(one)
        # Some may have ended at once, so there may be room for more.
        if len(claimed) == free:
            self.wake()

    def _start(self, claim: Claim) -> None:
        attempt = Attempt.begin(claim, self._parts, self._executor)
        key = claim.seq, claim.attempt
        self._attempts[key] = attempt
        attempt.task.add_done_callback(lambda _: self._end(key))

    def _end(self, key: tuple[int, int]) -> None:
        del self._attempts[key]
        self.wake()
