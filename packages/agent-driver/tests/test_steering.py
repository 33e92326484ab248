"""Runs that are told something while they are under way."""

import asyncio

import pytest
from scripted import Script, as_tool, ask, use

from agent_driver import (
    Agent,
    CallModel,
    Finished,
    Guardrails,
    StepRequest,
    Stop,
    ToolCallStarted,
    drive,
)
from agent_driver.sessions import MemorySession
from agent_loop import (
    AgentRun,
    LocalProtocolError,
    MessageError,
    RunSteered,
    SnapshotError,
    dump_messages,
    load_messages,
)
from run_log import RunLog


async def search(key: str) -> str:
    """Search."""
    return f"found {key}"


def searching(*ids):
    return ask(*(use("search", f'{{"key": "{one}"}}', one) for one in ids))


def contents(messages):
    return [one["content"] if isinstance(one, dict) else one.content for one in messages]


def said(result):
    return [one.content for one in result.unread]


class Book:
    """Records steps, and keeps what a run is told: `told` has it by the step in which it comes."""

    def __init__(self, told=None, records=None):
        self.told, self.records = told or {}, dict(records or {})
        self.heard, self.made = [], []

    async def step(self, key, work, /):
        if key not in self.records:
            self.heard += self.told.get(key, [])
            self.made.append(key)
            self.records[key] = await work()
        return self.records[key]


class TellingBook(Book):
    async def read_steered(self, after, /):
        await asyncio.sleep(0)
        return self.heard[after:]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_stream_takes_it_from_its_tools_and_its_reader(is_async, tmp_path):
    def nudge(key: str) -> str:
        """Search."""
        stream.steer(f"by the tool {key}")
        return "found"

    model = Script(ask(use("nudge", '{"key": "a"}')), "Lima.", "Rome.")
    agent = Agent(model, [nudge], log=RunLog(tmp_path))
    stream = agent.astream("Where?") if is_async else agent.stream("Where?")
    stream.steer("early")
    events = []

    def take(event):
        events.append(event)
        if isinstance(event, CallModel) and event.round == 2:
            stream.steer({"role": "user", "content": "In Europe."})

    if is_async:
        async for event in stream:
            take(event)
    else:
        for event in stream:
            take(event)

    assert stream.result.text == "Rome."
    assert said(stream.result) == []
    expected = ["Where?", "early", "", "found", "by the tool a", "Lima.", "In Europe.", "Rome."]
    assert contents(stream.result.messages) == expected
    assert contents(model.requests[1].messages) == expected[:5]
    heard = [
        (event.round, contents(event.messages)) for event in events if isinstance(event, RunSteered)
    ]
    assert heard == [(1, ["early"]), (2, ["by the tool a"]), (3, ["In Europe."])]
    # The log has it in the requests.
    [log] = tmp_path.iterdir()
    assert "by the tool a" in log.read_text()
    with pytest.raises(LocalProtocolError, match="steer: the run has ended"):
        stream.steer("too late")


def test_a_driven_run_takes_it_too():
    run = AgentRun([{"role": "user", "content": "Where?"}], maximum_iterations=3)
    for event in drive(run, Script("Lima.", "Rome.")):
        if isinstance(event, CallModel) and event.round == 1:
            run.steer("In Europe.")
        last = event
    assert isinstance(last, Finished)
    assert contents(last.messages) == ["Where?", "Lima.", "In Europe.", "Rome."]


def test_what_no_round_reads_is_in_the_result():
    stream = Agent(Script("Lima."), maximum_iterations=1).stream("Where?")
    for event in stream:
        if isinstance(event, CallModel):
            stream.steer("In Europe.")
    assert (stream.result.text, said(stream.result)) == ("Lima.", ["In Europe."])


def test_a_run_that_is_broken_off_has_it_in_its_result():
    def broken(_call):
        stream.steer("In Europe.")
        return [3]

    stream = Agent(broken).stream("Where?")
    for _ in stream:
        pass
    assert (stream.result.reason, said(stream.result)) == ("error", ["In Europe."])
    with pytest.raises(LocalProtocolError, match="the run has ended"):
        stream.steer("again")


class FullBook(Book):
    async def step(self, key, work, /):
        await super().step(key, work)
        raise OSError("no room")


@pytest.mark.parametrize("book", [None, Book, FullBook])
@pytest.mark.parametrize(
    ("model", "checks"),
    [(Script([3]), []), (Script("Lima."), [lambda _: Stop("closed")])],
    ids=["broken", "stopped"],
)
async def test_what_is_said_before_a_run_that_comes_to_nothing_is_in_its_result(
    book, model, checks
):
    guardrails = Guardrails(input=checks)
    stream = Agent(model, guardrails=guardrails).astream("Where?", steps=book and book())
    stream.steer("early")
    heard = [event.messages async for event in stream if isinstance(event, RunSteered)]
    assert not stream.result.answered
    assert [*map(contents, heard), said(stream.result)] in ([["early"]], [["early"], []])


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_stream_that_is_closed_takes_nothing_more(is_async):
    agent = Agent(Script("Lima."))
    if is_async:
        stream = agent.astream("Where?")
        async with stream:
            await anext(stream)
        assert [event async for event in stream] == []
    else:
        with agent.stream("Where?") as stream:
            next(stream)
        assert list(stream) == []
    assert stream.result.error == "The stream was closed before the run had ended."
    with pytest.raises(LocalProtocolError, match="steer: the run has ended"):
        stream.steer("In Europe.")


def test_it_stands_in_the_session():
    session, agent = MemorySession(), Agent(Script("Lima.", "Rome."))
    stream = agent.stream("Where?", session=session)
    stream.steer("In Europe.")
    for _ in stream:
        pass
    assert contents(session.load().messages) == ["Where?", "In Europe.", "Lima."]


def test_a_run_that_waits_refuses_it_and_one_that_goes_on_takes_it():
    agent = Agent(Script(searching("a"), "Done."), [search], tool_approval="always")
    stream = agent.stream("?")
    for _ in stream:
        pass
    with pytest.raises(LocalProtocolError, match="waits for a person's decision"):
        stream.steer("yes")
    goes_on = agent.stream(resume=stream.result.waiting, decisions=False)
    goes_on.steer("Be brief.")
    for _ in goes_on:
        pass
    assert contents(goes_on.result.messages)[3:] == ["Be brief.", "Done."]


def test_a_message_that_is_none_is_refused_before_the_run_begins():
    stream = Agent(Script("Lima.")).stream("Where?")
    with pytest.raises(MessageError, match="message: expected one that is not empty"):
        stream.steer("")


def no_dogs(messages):
    if "dog" in str(messages):
        return Stop("No dogs.")
    return [{"role": "user", "content": "polite"}] if "rude" in str(messages) else None


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("told", "reason", "unread"),
    [("rude", "answered", []), ("a dog", "guardrail", ["a dog", "a cat"])],
)
async def test_the_guardrails_of_input_check_it_by_itself(told, reason, unread, is_async):
    guardrails = Guardrails(input=[no_dogs])
    agent = Agent(Script(searching("a"), "Done."), [search], guardrails=guardrails)
    stream = agent.astream("Where?") if is_async else agent.stream("Where?")

    def take(event):
        if isinstance(event, ToolCallStarted):
            stream.steer(told)
            stream.steer("a cat")

    if is_async:
        async for event in stream:
            take(event)
    else:
        for event in stream:
            take(event)
    assert (stream.result.reason, said(stream.result)) == (reason, unread)
    if reason == "answered":
        assert contents(stream.result.messages)[3:] == ["polite", "a cat", "Done."]


async def test_a_run_that_is_played_again_hears_the_same_in_the_same_rounds():
    guardrails = Guardrails(input=[no_dogs], answer=[lambda _: None])
    helper = as_tool("helper", "Helps.", Script(searching("x"), "Helped."), [search])
    model = Script(
        ask(use("helper", '{"task": "t"}', "h"), *searching("a", "b")[0]["tool_calls"]),
        "Lima.",
        "Rome.",
    )
    agent = Agent(model, [search, helper], guardrails=guardrails)
    told = {
        "guardrail:input.0": ["first"],
        "tool:1.a": ["of a"],
        "tool:1.h/1.x": ["rude"],
        "model:2": ["last"],
        "guardrail:answer.3.0": ["too late"],
    }
    book = TellingBook(told)
    first = await agent.arun("Where?", steps=book)
    assert [one for one in contents(first.messages) if one] == [
        *("Where?", "first", "Helped.", "found a", "found b", "of a", "polite"),
        *("Lima.", "last", "Rome."),
    ]
    assert (said(first), first.steered) == (["too late"], 5)

    # Cut after any of its steps, it comes to the same.
    keys = list(book.records)
    for count in range(len(keys) + 1):
        cut = TellingBook(told, {key: book.records[key] for key in keys[:count]})
        cut.heard = [one for key in keys[:count] for one in told.get(key, [])]
        again = await agent.arun("Where?", steps=cut)
        assert (contents(again.messages), said(again)) == (contents(first.messages), said(first))
        assert set(cut.made) == set(keys[count:])


async def test_what_a_stream_takes_is_recorded_with_its_steps():
    book = Book()
    stream = Agent(Script(searching("a"), "Done."), [search]).astream("Where?", steps=book)
    with pytest.raises(SnapshotError, match=r"messages\[0\].content\[0\]: expected plain JSON"):
        stream.steer({"role": "user", "content": [object()]})
    stream.steer("early")
    async for _ in stream:
        pass
    assert contents(stream.result.messages) == ["Where?", "", "found a", "early", "Done."]

    model = Script(searching("a"), "Done.", "Again.")
    again = await Agent(model, [search]).arun("Where?", steps=Book(records=book.records))
    assert contents(again.messages) == ["Where?", "", "found a", "early", "Done."]


async def test_a_record_that_is_read_late_takes_nothing_from_what_is_said_meanwhile():
    made = asyncio.Event()

    class Late(Book):
        async def step(self, key, work, /):
            if key == "tool:1.a":
                await made.wait()
            record = await super().step(key, work)
            if key == "tool:1.b":
                made.set()
            return record

    async def search(key: str) -> str:
        """Search."""
        if key == "a":
            stream.steer("first")
        return f"found {key}"

    agent, book = Agent(Script(searching("a", "b"), "Done."), [search]), Book()
    async with agent.astream("Where?", steps=book) as stream:
        assert [event async for event in stream]
    cut = {key: book.records[key] for key in ("model:1", "tool:1.a")}
    stream = agent.astream("Where?", steps=Late(records=cut))
    stream.steer("second")
    assert [event async for event in stream]
    assert contents(stream.result.messages)[4:] == ["first", "second", "Done."]


async def test_a_step_that_is_made_elsewhere_says_what_the_run_was_told_by_then():
    agent = Agent(Script(searching("a"), "Done.", "Again."), [search])

    class Elsewhere(Book):
        async def step(self, key, _work, /):
            async def read(after):
                self.made.append((key, after))
                return ["In Europe."][after:] if key == "tool:1.a" else []

            request = key.request
            sent = StepRequest.load(request.dump(), load_messages(dump_messages(request.messages)))
            return await agent.make_step(sent, read_steered=read)

    book = Elsewhere()
    result = await agent.arun("Where?", steps=book)
    assert contents(result.messages) == ["Where?", "", "found a", "In Europe.", "Done."]
    assert book.made == [("model:1", 0), ("tool:1.a", 0), ("model:2", 1)]
