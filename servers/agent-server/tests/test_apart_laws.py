"""What holds of runs whose steps are made apart, whatever is repeated, late, cut off, or done by those who have lost them."""

import asyncio
import tempfile
from contextlib import suppress
from itertools import chain

import pytest
from agents import PAY, Scripted
from apart import left_of, process, telling
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_server.executor import Approval, InputAnswer, InputRequest, RunResult, Waiting
from agent_server.runs import NewAnswer
from agent_server.store import StepLostError, Try


WAITING = Waiting(request=InputRequest(approvals=[PAY]), state=b"state")
GIVEN = InputAnswer(approvals={"c1": Approval(approved=True)})
LARGE = 5000  # So much is stored at once, and not soon.


class Maker:
    """A try of a step, which does what it is told to."""

    def __init__(self, hold, key, number):
        self.hold, self.key, self.number = hold, key, number
        self.name = f"{hold.attempt}/{key}/{number}"
        self.orders = asyncio.Queue()
        self.has_begun = asyncio.Event()
        self.told = []

    async def make(self, run):
        self.has_begun.set()
        while (order := await self.orders.get()) != "end":
            if order == "fail":
                raise ValueError(self.name)
            text = f"{self.name}:{len(self.told)}:".ljust(LARGE if order == "tell much" else 0)
            self.told.append(text)
            await run.tell("text", {"text": text})
        return self.name.encode()


class World(Scripted):
    """A run with all who have held it and all tries of its steps, in two processes."""

    def __init__(self):
        super().__init__()
        self.makers = {}
        self.closed = {}
        self.newest = {}
        self.recorded = {}
        self.program, self.before = [], []
        self.holds = []
        self.written = []

    async def make_step(self, run, request):
        return await self.makers[request.decode()].make(run)

    async def begin(self, *processes):
        self.processes = processes
        for one in processes:
            self._follow(one.store.parts.writer)
        self.run_id, hold = await processes[0].begin("0")
        self.holds.append(hold)

    def _follow(self, writer):
        """Do whatever is written twice, as if the first commit's outcome were unknown, and note it, to do it late."""
        submit = writer.submit

        def submit_twice(operation, *args, **kwargs):
            if operation.__name__ in {"tell", "begin_step", "tell_step", "record", "wait", "end"}:
                submit(operation, *args, **kwargs)
                self.written.append(lambda: submit(operation, *args, **kwargs))
            return submit(operation, *args, **kwargs)

        writer.submit = submit_twice

    async def told(self):
        return await self.processes[0].told(self.run_id)

    async def recount(self, process, x, y):
        hold, one = self._pick(self.holds, x), self._slice(x, y)
        await self._expect(process.store.tell(hold, one), hold, one)

    def _slice(self, x, y):
        """Return what the run may tell next, some of which may be stored already or come too early."""
        first = x % (len(self.program) + 1)
        return telling(*self.program[first : first + y], first=first)

    async def _expect(self, doing, hold, one):
        """Check that something is done if the run is held and nothing is missing before what it tells."""
        stored = sum(text.startswith(f"{len(self.before)}.") for text in await self.told())
        if hold != self.holds[-1]:
            with pytest.raises(StepLostError):
                await doing
        elif one.first > stored:
            with pytest.raises(ValueError, match="first: expected"):
                await doing
        else:
            return await doing
        return None

    async def make(self, process, x, y):
        hold, key = self._pick(self.holds, x), "ab"[y % 2]
        newest = self.newest.get((hold.attempt, key), 9)
        number = newest - 1 if y % 5 == 0 else newest + 1
        maker = Maker(hold, key, number)
        if maker.name in self.makers:
            return
        self.makers[maker.name] = maker
        one = Try(hold=hold, key=key, number=number)
        told = self._slice(x, y)
        maker.task = asyncio.create_task(process.store.make_step(one, maker.name.encode(), told))
        begun = asyncio.create_task(maker.has_begun.wait())
        await asyncio.wait([maker.task, begun], return_when=asyncio.FIRST_COMPLETED)
        begun.cancel()
        if maker.has_begun.is_set():
            assert hold == self.holds[-1]
            assert key not in self.recorded
            assert number >= newest or newest == 9
            self.newest[hold.attempt, key] = number
            await self._close(lambda other: other.key == key and other is not maker)
        elif hold == self.holds[-1] and key in self.recorded and not maker.task.exception():
            assert maker.task.result() == self.recorded[key]
        else:
            assert isinstance(maker.task.exception(), (StepLostError, ValueError))

    async def _close(self, which):
        """Note that nothing is stored any more of what some tries tell."""
        texts = await self.told()
        for maker in self.makers.values():
            if which(maker) and maker.has_begun.is_set():
                self.closed.setdefault(maker.name, self._of(maker, texts))

    def _of(self, maker, texts):
        return [text for text in texts if text.startswith(f"{maker.name}:")]

    def order(self, text):
        async def give(_process, x, _y):
            going_on = [one for one in self.makers.values() if not one.task.done()]
            if not going_on:
                return
            maker = self._pick(going_on, x)
            if text == "cancel":
                maker.task.cancel()
            maker.orders.put_nowait(text)
            if text.startswith("tell"):
                await asyncio.sleep(0.003)
                return
            await asyncio.wait([maker.task])
            if text == "end" and not maker.task.cancelled() and not maker.task.exception():
                assert maker.hold == self.holds[-1]
                assert maker.number == self.newest[maker.hold.attempt, maker.key]
                assert (
                    self.recorded.setdefault(maker.key, maker.task.result()) == maker.name.encode()
                )
                assert self._of(maker, await self.told()) == maker.told

        return give

    async def add(self, _process, _x, _y):
        self.program.append(f"{len(self.before)}.{len(self.program)}")

    async def take(self, process, _x, _y):
        hold = await process.store.hold(self.run_id, str(len(self.holds)))
        self.holds.append(hold)
        assert await self.processes[1].store.hold(self.run_id, hold.server) == hold
        await self._close(lambda _: True)

    async def wait(self, process, x, _y):
        hold, one = self._pick(self.holds, x), telling(*self.program)
        waits = await process.store.wait(hold, WAITING, f"{len(self.holds):032}", one)
        assert waits == ("waiting" if hold == self.holds[-1] else "left")
        if waits == "left":
            return
        given = NewAnswer(wait_id=f"{len(self.holds):032}", answer=GIVEN)
        await process.runs.answer(self.run_id, given, tenant="ada")
        self.before.append(self.program)
        self.program, self.recorded = [], {}
        await self.take(process, 0, 0)

    async def repeat(self, _process, x, _y):
        if self.written:
            with suppress(Exception):
                await self._pick(self.written, x)()

    async def finish(self):
        """End the run, whoever goes on with its steps, and check what is left of all."""
        for hold in self.holds:
            await self.processes[0].store.end(
                hold, RunResult(status="succeeded"), telling(*self.program)
            )
        await self._close(lambda _: True)
        for maker in self.makers.values():
            maker.orders.put_nowait("tell")
            maker.orders.put_nowait("end")
        tasks = [maker.task for maker in self.makers.values()]
        for error in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(error, (bytes, StepLostError, ValueError, asyncio.CancelledError))
        for again in self.written:
            with suppress(Exception):
                await again()
        texts = await self.told()
        run = await self.processes[1].runs.get(self.run_id, tenant="ada")
        assert (run.status, self.processes[0].store.executing) == ("succeeded", {})
        assert [one for one in texts if "/" not in one] == [*chain(*self.before), *self.program]
        for maker in self.makers.values():
            stored = self._of(maker, texts)
            assert stored == maker.told[: len(stored)]
            assert stored == self.closed.get(maker.name, stored)

    def _pick(self, choices, x):
        """Return one of some things, often the last."""
        return choices[-1] if x % 4 else choices[x % len(choices)]


ORDERS = ["tell", "tell much", "end", "fail", "cancel"]
ACTIONS = [
    "add",
    "add",
    "recount",
    "recount",
    "make",
    "make",
    "take",
    "wait",
    "repeat",
    *ORDERS,
    *ORDERS[:3],
]
NUMBERS = st.integers(0, 20)


@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(st.tuples(st.sampled_from(ACTIONS), NUMBERS, NUMBERS), min_size=5, max_size=30))
async def test_whatever_is_repeated_late_or_lost_a_run_tells_and_makes_everything_once(actions):
    with tempfile.TemporaryDirectory() as folder:
        database, world = f"sqlite:///{folder}/runs.sqlite", World()
        async with (
            process(database, world, max_attempts=99) as here,
            process(database, world, max_attempts=99) as there,
        ):
            await world.begin(here, there)
            for name, x, y in actions:
                do = world.order(name) if name in ORDERS else getattr(world, name)
                await do((here, there)[(x + y) % 2], x, y)
            await world.finish()
        assert left_of(database) == (0, 0)
