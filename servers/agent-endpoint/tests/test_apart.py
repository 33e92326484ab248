"""Runs whose steps are made apart: by another process, which has the same agents and gets each message once."""

import asyncio
import json
import time
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from scripted import adding, call, calls, engine, pay, paying, script, settings_of

from agent_driver import Agent, Window, agent_tool
from agent_endpoint import AgentExecutor
from agent_server.engine import RunService
from agent_server.executor import (
    Approval,
    InputAnswer,
    Waiting,
)
from agent_server.runs import RESTING, NewAnswer, NewRun, RunFilter
from agent_server.store import Event, Telling, Try, execute_run, open_store
from stream_text import dump_json, read_member


@dataclass
class Sum:
    total: int


class Apart:
    """A run whose steps are made in another process, on one database; it plays what an engine's workflow does."""

    is_apart = True
    cancel_reason = None

    def __init__(self, store, hold, facts):
        for name in ("run_id", "tenant", "agent", "request", "metadata", "part", "resumption"):
            setattr(self, name, getattr(facts, name))
        self.attempt = hold.attempt
        self.requests, self.tries = [], Counter()
        self._store, self._hold, self.untold, self.first = store, hold, [], 0

    @property
    def telling(self):
        return Telling(first=self.first, events=list(self.untold))

    async def read_events(self):
        return ()

    async def tell(self, type_, data):
        self.untold.append(Event(number=0, type=type_, created_at=1, text=dump_json(data).encode()))

    async def step(self, key, _work, /, *, request=b""):
        self.requests.append(request)
        telling = self.telling
        made = await self._make(key, request, telling)
        stored = max(telling.first + len(telling.events) - self.first, 0)
        del self.untold[:stored]
        self.first += stored
        return made

    async def _make(self, key, request, telling):
        while True:
            self.tries[key] += 1
            one = Try(hold=self._hold, key=key, number=self.tries[key])
            try:
                return await self._store.make_step(one, request, telling)
            except ConnectionResetError:
                pass  # As if the process that made it had died.


class Served:
    """A run that is played, and an answer to what it waits for."""

    def __init__(self, store, executor):
        self.store, self.executor = store, executor
        self.runs = RunService(store.parts, executor, lambda: store.executing)
        self.requests = []

    async def play(self, agent, request, *answers):
        request = self.executor.check(agent, request)
        run, _ = await self.runs.create(NewRun(tenant="t", agent=agent, request=request))
        for answer in (*answers, None):
            hold = await self.store.hold(run.run_id, f"owner {answer}")
            played = Apart(self.store, hold, await self.store.read_facts(hold))
            result = await execute_run(self.executor, played)
            self.requests += played.requests
            if isinstance(result, Waiting):
                await self.store.wait(hold, result, "0" * 32, played.telling)
                await self.runs.answer(
                    run.run_id, NewAnswer(wait_id="0" * 32, answer=answer), tenant="t"
                )
        await self.store.end(hold, result, played.telling)
        return await self.runs.get(run.run_id, tenant="t"), await read(self.runs, run.run_id)


@asynccontextmanager
async def apart(folder, agents, *, deps=None, making=None):
    """Yield a server of runs whose steps are made by an executor of its own."""
    executor, maker = AgentExecutor(agents, deps=deps), making or AgentExecutor(agents, deps=deps)
    async with open_store(settings_of(folder), maker, engine="elsewhere") as store:
        yield Served(store, executor)


async def read(runs, run_id):
    """Return what a run has shown: text by what it was shown of, and the others as they are."""
    events = await runs.read_events(run_id, tenant="t", limit=1000)
    return [(one.type, one.data) for one in events]


def shown(told):
    """Return what each agent has shown, whose pieces may come in other sizes; agents that run at the same time tell in any order."""
    found = {}
    for type_, data in told:
        if type_.startswith("run_"):
            continue
        place = found.setdefault(tuple(data["path"]), [])
        if place and type_ in {"text", "reasoning"} and place[-1][0] == type_:
            place[-1] = (type_, place[-1][1] | {"text": place[-1][1]["text"] + data["text"]})
        else:
            place.append((type_, data))
    return found


async def play_in_tables(folder, agents, request, *answers, deps=None):
    async with engine(folder, agents, deps=deps) as (runs, executor):
        request = executor.check("agent", request)
        run, _ = await runs.create(NewRun(tenant="t", agent="agent", request=request))
        deadline = time.monotonic() + 600
        for answer in (*answers, None):
            while (now := await runs.get(run.run_id, tenant="t")).status not in RESTING:
                assert time.monotonic() < deadline, now
                await asyncio.sleep(0.01)
            if answer is not None:
                new = NewAnswer(wait_id=now.waiting_for.wait_id, answer=answer)
                await runs.answer(run.run_id, new, tenant="t")
        return now, await read(runs, run.run_id)


def nested():
    inner = Agent(script(calls(call("pay", euros=1)), "Inner says so."), [pay])
    research = agent_tool("research", "Looks things up.", inner)
    asked = calls(call("research", task="Why?"), call("pay", "c2", euros=3))
    return Agent(script(asked, "Outer says so."), [research, pay])


async def thinking(_asked):
    yield "<think>Hm, hm.</think>I look. "
    yield {"files": [{"media_type": "image/png", "data": b"x"}]}
    yield "Done."


YES = InputAnswer(approvals={"c1": Approval(approved=True)})
NO = InputAnswer(approvals={"c1": Approval(approved=False, reason="too much")})
OPEN = [{"name": "open", "parameters": {"type": "object", "properties": {"floor": {}}}}]
opening = script(calls(call("open", floor=1), call("pay", "c2", euros=1)), "It is open.")
KINDS = {
    "plain": (Agent(script("It is four, I think.")), {}, ()),
    "tools": (adding, {}, ()),
    "sub-agent": (nested(), {}, ()),
    "approved": (paying, {}, (YES,)),
    "refused": (paying, {}, (NO,)),
    "client": (Agent(opening, [pay]), {"tools": OPEN}, (InputAnswer(results={"c1": "open"}),)),
    "typed": (Agent(script(calls(call("pay", euros=1)), '{"total":4}'), [pay], answer=Sum), {}, ()),
    "reasoning": (Agent(thinking, emit_intermediate_thoughts=True), {}, ()),
}


class Nudging:
    """An agent that is told something by its own tool, and again while its model answers."""

    def __init__(self):
        self.runs = None
        self.heard = []

    async def nudge(self, *messages):
        page = await self.runs.list(RunFilter(), tenant="t", limit=1)
        for message in messages:
            await self.runs.steer(page.runs[0].run_id, message, tenant="t")

    def build(self):
        async def model(asked):
            said = sum(read_member(one, "role") == "assistant" for one in asked.messages)
            users = [one for one in asked.messages if read_member(one, "role") == "user"]
            self.heard.append([read_member(one, "content") for one in users])
            if not said:
                yield calls(call("nudge"), call("pay", "c2", euros=1))
            elif said == 1:
                yield "Lima."
                await self.nudge("Last.")
            else:
                yield "Rome."
            yield {"usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}

        async def nudge() -> str:
            """Nudge."""
            await self.nudge("In Europe.", [{"type": "input_text", "text": "Be brief."}])
            return "nudged"

        return {"agent": Agent(model, [nudge, pay])}


async def test_a_run_is_told_the_same_wherever_its_steps_are_made(tmp_path):
    request, nudging, found = {"input": "Where?"}, Nudging(), []
    async with engine(tmp_path / "tables", nudging.build()) as (runs, executor):
        nudging.runs = runs
        new = NewRun(tenant="t", agent="agent", request=executor.check("agent", request))
        run, _ = await runs.create(new)
        watched = runs.watch_events(run.run_id, tenant="t")
        told = [(event.type, event.data) async for batch in watched for event in batch]
        found.append((await runs.get(run.run_id, tenant="t"), told, nudging.heard))
    nudging = Nudging()
    async with apart(tmp_path / "apart", nudging.build()) as served:
        nudging.runs = served.runs
        found.append((*await served.play("agent", request), nudging.heard))

    parts = ({"type": "input_text", "text": "Be brief."},)
    for run, told, heard in found:
        assert (run.result.output, run.result.details) == ("Rome.", {"reason": "answered"})
        said = ["In Europe.", parts]
        assert heard == [["Where?"], ["Where?", *said], ["Where?", *said, "Last."]]
        steered = [(one["round"], one["messages"]) for type_, one in told if type_ == "steered"]
        assert steered == [(2, ["In Europe.", [*parts]]), (3, ["Last."])]
    assert shown(found[0][1]) == shown(found[1][1])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_shows_the_same_wherever_its_steps_are_made(tmp_path, kind):
    agent, more, answers = KINDS[kind]
    request = {"input": "?", **more}
    here, told_here = await play_in_tables(tmp_path / "tables", {"agent": agent}, request, *answers)
    async with apart(tmp_path / "apart", {"agent": agent}) as served:
        there, told_there = await served.play("agent", request, *answers)

    assert there.status == here.status == "succeeded"
    assert there.result == here.result
    assert shown(told_there) == shown(told_here)


async def test_an_answer_is_told_word_by_word(tmp_path):
    async with apart(tmp_path, {"agent": Agent(script("It is four."))}) as served:
        _, told = await served.play("agent", {"input": "?"})

    assert [data["text"] for type_, data in told if type_ == "text"] == ["It ", "is ", "four. "]


async def test_a_step_that_is_made_again_says_so(tmp_path):
    tries = []

    async def model(_asked):
        tries.append(1)
        yield "It "
        if len(tries) == 1:
            raise asyncio.CancelledError
        yield "is four."

    class Dying(AgentExecutor):
        async def make_step(self, run, request):
            try:
                return await super().make_step(run, request)
            except asyncio.CancelledError:
                raise ConnectionResetError from None

    agents = {"agent": Agent(model)}
    async with apart(tmp_path, agents, making=Dying(agents)) as served:
        run, told = await served.play("agent", {"input": "?"})

    assert run.result.output == "It is four."
    assert [data["again"] for type_, data in told if type_ == "model_started"] == [False, True]


def searching(rounds, size):
    def look(number: int) -> str:
        """Look."""
        return f"{number:02} " * size

    asked = [calls(call("look", f"c{number}", number=number)) for number in range(rounds)]
    return Agent(script(*asked, "Done."), [look], maximum_iterations=rounds + 2)


async def sent(folder, rounds):
    """Return how many bytes a run sends with so many rounds."""
    async with apart(folder, {"agent": searching(rounds, 200)}) as served:
        await served.play("agent", {"input": "x" * 1000})
        return sum(map(len, served.requests))


async def test_what_is_sent_grows_with_the_conversation_and_not_with_its_square(tmp_path):
    few, more, most = [await sent(tmp_path / str(rounds), rounds) for rounds in (3, 6, 12)]

    assert most - more == pytest.approx(2 * (more - few), rel=0.05)


async def test_a_conversation_that_is_rewritten_is_sent_anew(tmp_path):
    async def model(asked):
        if asked.is_compaction:
            yield "I have looked."
        elif asked.round < 12:
            yield calls(call("look", f"c{asked.round}", number=asked.round))
        else:
            yield "Done."

    agent = replace_window(searching(1, 1500), model)
    async with apart(tmp_path, {"agent": agent}) as served:
        run, _ = await served.play("agent", {"input": "?"})

    assert run.result.output == "Done."
    names = {json.loads(one.split(b"\n")[0]).get("name") for one in served.requests}
    assert {":0", ":1"} <= names


def replace_window(agent, model):
    return Agent(model, agent.tools, maximum_iterations=20, window=Window(tokens=12_000))


async def test_a_process_that_has_made_no_step_before_reads_what_was_kept(tmp_path):
    agents = {"agent": searching(4, 10)}

    class Fresh(AgentExecutor):
        async def make_step(self, run, request):
            return await AgentExecutor(agents).make_step(run, request)

    async with apart(tmp_path, agents, making=Fresh(agents)) as served:
        run, _ = await served.play("agent", {"input": "?"})

    assert run.result.output == "Done. "


async def test_what_is_lost_of_a_conversation_ends_the_run(tmp_path):
    agents = {"agent": searching(4, 10)}

    class Forgetful(AgentExecutor):
        async def make_step(self, run, request):
            async def find(names):
                found = await type(run).find(run, names)
                return {name: found[name] for name in sorted(found)[:1]}

            run.find = find
            return await AgentExecutor(agents).make_step(run, request)

    async with apart(tmp_path, agents, making=Forgetful(agents)) as served:
        run, _ = await served.play("agent", {"input": "?"})

    assert (run.status, run.result.error_type) == ("failed", "conversation_lost")


async def test_a_process_forgets_conversations_once_they_take_much(tmp_path, monkeypatch):
    monkeypatch.setattr("agent_endpoint._conversations._MOST_CHARACTERS", 3000)
    agents = {"agent": searching(4, 200)}
    maker = AgentExecutor(agents)
    async with apart(tmp_path, agents, making=maker) as served:
        ends = [await served.play("agent", {"input": "?"}) for _ in range(3)]

    assert {run.result.output for run, _ in ends} == {"Done. "}
    assert len(maker._maker._receiver._known) == 1
