"""Runs whose steps somebody else records, so that they can be played again."""

import asyncio
import threading
import time
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import Script, as_tool, ask, use

from agent_driver import (
    Agent,
    AgentEvent,
    Budgets,
    Finished,
    Guardrails,
    RecordedError,
    ShowReasoning,
    ShowText,
    StepError,
    StepKey,
    TimeBudget,
    ToolCallEnded,
    Usage,
    Window,
    adrive,
    drive,
)
from agent_driver.sessions import MemorySession
from agent_loop import AgentRun, CompactedWindow, ModelFailure, RunCompacted
from agent_tooling import Tool, ToolError, ToolOutput, tool


class Book:
    """Records steps, and can be cut: it cancels the run in the step with a number."""

    def __init__(self, records: dict[str, bytes] | None = None) -> None:
        self.records = dict(records or {})
        self.asked: list[StepKey] = []
        self.made: list[str] = []

    async def step(self, key, work, /):
        self.asked.append(key)
        if key not in self.records:
            self.made.append(key)
            self.records[key] = await work()
        return self.records[key]


class TellingBook(Book):
    """Records steps, and tells once a certain one is recorded."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.is_recorded = asyncio.Event()
        self._key = key

    async def step(self, key, work, /):
        record = await super().step(key, work)
        if key == self._key:
            self.is_recorded.set()
        return record


def search(key: str) -> str:
    """Search."""
    return f"found {key}"


async def slow_search(key: str) -> str:
    """Search slowly."""
    await asyncio.sleep(0.05)
    return f"found {key}"


def calls(*ids, name="search"):
    return ask(*(use(name, f'{{"key": "{call_id}"}}', call_id) for call_id in ids))


async def silent(_: object) -> Any:
    raise AssertionError("called again")


@tool(name="search")
def silent_search(key: str) -> str:
    """Search."""
    raise AssertionError(f"called again with {key}")


@tool(name="slow_search")
def silent_slow_search(key: str) -> str:
    """Search slowly."""
    raise AssertionError(f"called again with {key}")


SILENT = [silent_search, silent_slow_search]


async def test_a_run_that_is_played_again_calls_neither_model_nor_tools():
    used = {"input_tokens": 3, "total_price": Decimal("0.10"), "currency": "USD"}
    slow = use("slow_search", '{"key": "b"}', "b")
    model = Script(
        ask(*calls("a", "c")[0]["tool_calls"], slow),
        [{"text": "So "}, {"text": "far. "}, *calls("a")],
        [{"text": "Do"}, {"text": "ne."}, {"usage": used, "opaque_body": {"id": "r1"}}],
    )
    book = Book()
    first = await Agent(model, [search, slow_search]).arun("?", steps=book)
    assert (first.value, first.cost) == ("Done.", Decimal("0.10"))

    played = Book(book.records)
    again = await Agent(silent, SILENT).arun("?", steps=played)

    assert again == first
    assert played.made == []
    assert played.asked == book.asked
    assert book.asked == [
        *("model:1", "tool:1.a", "tool:1.c", "tool:1.b", "model:2", "tool:2.a", "model:3")
    ]
    [key] = [key for key in book.asked if key == "tool:2.a"]
    assert (key.kind, key.path, key.round, key.call_id) == ("tool", (), 2, "a")


async def test_the_id_of_a_call_may_be_any_text():
    book, call_id = Book(), "a/\ud83d"
    model = Script(ask(use("search", '{"key": "x"}', call_id)), "Done.")
    first = await Agent(model, [search]).arun("?", steps=book)
    again = await Agent(silent, SILENT).arun("?", steps=Book(book.records))

    assert (first.value, again) == ("Done.", first)
    assert [*book.records] == ["model:1", "tool:1.a%2F%ED%A0%BD", "model:2"]


async def test_pieces_come_at_once_and_the_end_once_it_is_recorded():
    order: list[str] = []
    may_go_on = asyncio.Event()

    async def model(_):
        yield {"text": "One, "}
        await may_go_on.wait()
        yield {"text": "two."}

    class Slow(Book):
        async def step(self, key, work, /):
            record = await super().step(key, work)
            await asyncio.sleep(0.02)
            order.append("recorded")
            return record

    book = Slow()
    async with Agent(model).astream("?", steps=book) as events:
        async for event in events:
            if isinstance(event, ShowText):
                order.append(event.text)
                may_go_on.set()
            elif isinstance(event, Finished):
                order.append("finished")
    assert order == ["One, ", "two.", "recorded", "finished"]

    again = Agent(silent).astream("?", steps=Book(book.records))
    assert [e.text async for e in again if isinstance(e, ShowText)] == ["One, two."]


async def test_the_pieces_of_a_call_are_recorded_as_one_and_text_around_calls_stays_where_it_was():
    pieces = [
        *({"text": text} for text in ("Let ", "me ", "look. ")),
        {"text": "Aside. ", "phase": "commentary"},
        {"tool_calls": [{"index": 0, "call_id": "a", "name": "search"}]},
        *({"tool_calls": [{"index": 0, "arguments": text}]} for text in ('{"ke', 'y": "a', '"}')),
        {
            "tool_calls": [
                {"index": 1, "call_id": "b", "name": "search", "arguments": '{"key": "b"}'}
            ]
        },
        {"text": "That is it."},
    ]
    book = Book()
    agent = Agent(Script(pieces, "Done."), [search], emit_intermediate_thoughts=True)
    first = await agent.arun("?", steps=book)
    again = await agent.with_(model=silent).arun("?", steps=Book(book.records))
    assert again == first
    assert [m.content for m in first.messages[2:4]] == ["found a", "found b"]
    assert book.records["model:1"].count(b"ModelDelta") == 4


@pytest.mark.parametrize("cut_in", range(1, 5))
async def test_a_run_that_is_cut_goes_on_from_what_was_recorded(cut_in):
    began = asyncio.Event()

    async def model(call):
        if call.round == cut_in and not began.is_set():
            yield {"text": "Half an "}
            began.set()
            await asyncio.sleep(60)
        yield calls(f"c{call.round}")[0] if call.round < 4 else "Done."

    book = Book()
    cut = asyncio.create_task(Agent(model, [search]).arun("?", steps=book))
    await began.wait()
    cut.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cut
    assert len(book.records) == 2 * (cut_in - 1)

    again = await Agent(model, [search]).arun("?", steps=Book(book.records))
    assert (again.value, len(again.messages)) == ("Done.", 8)


async def test_a_tool_that_a_cut_falls_into_is_called_again_and_the_others_are_not():
    made: list[str] = []
    began, others_found = asyncio.Event(), asyncio.Event()

    async def look(key: str) -> str:
        """Look."""
        made.append(key)
        if key == "b" and made.count("b") == 1:
            began.set()
            await asyncio.sleep(600)
        return f"found {key}"

    class Watched(Book):
        async def step(self, key, work, /):
            record = await super().step(key, work)
            if {"tool:1.a", "tool:1.c"} <= self.records.keys():
                others_found.set()
            return record

    agent = Agent(Script(calls("a", "b", "c", name="look"), "Done."), [look])
    book = Watched()
    cut = asyncio.create_task(agent.arun("?", steps=book))
    await began.wait()
    await others_found.wait()
    cut.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cut
    assert sorted(book.records) == ["model:1", "tool:1.a", "tool:1.c"]

    again = await agent.arun("?", steps=Book(book.records))
    assert [m.content for m in again.messages[2:5]] == ["found a", "found b", "found c"]
    assert sorted(made) == ["a", "b", "b", "c"]


PLAN = st.lists(st.lists(st.sampled_from([0, 0.001, 0.003]), min_size=1, max_size=4), max_size=3)


@given(plan=PLAN, cut=st.integers(min_value=0, max_value=16))
def test_wherever_a_run_is_cut_it_comes_to_the_same(plan, cut):
    def build(*, is_quick: bool) -> Agent:
        async def look(key: str) -> str:
            """Look."""
            round_, index = map(int, key.split("."))
            await asyncio.sleep(0 if is_quick else plan[round_][index])
            return (
                f"{key} " * 40
            )  # Longer than what the model reads, so the rest is kept by number.

        def model(call):
            seen = call.round - 1
            if seen == len(plan):
                return "Done."
            return calls(*(f"{seen}.{index}" for index in range(len(plan[seen]))), name="look")

        return Agent(model, [look], result_characters=100)

    async def play() -> None:
        first = Book()
        whole = await build(is_quick=False).arun("?", steps=first)
        kept = dict([*first.records.items()][:cut])
        book = Book(kept)
        again = await build(is_quick=True).arun("?", steps=book)
        assert again.messages == whole.messages
        assert book.asked == first.asked
        assert set(book.made) == first.records.keys() - kept.keys()
        assert await build(is_quick=True).arun("?", steps=Book(first.records)) == whole

    asyncio.run(play())


async def test_the_calls_of_an_agent_are_steps_and_it_is_none():
    def build(inner: Any, outer: Any, tools: Any) -> Agent:
        return Agent(outer, [as_tool("finder", "Finds.", inner, tools), *tools])

    inner = Script(calls("x"), "There.")
    outer = Script(
        ask(
            use("finder", '{"task": "a"}', "f"),
            use("finder", '{"task": "b"}', "g/1"),
            *calls("x")[0]["tool_calls"],
        ),
        ask(use("finder", '{"task": "c"}', "f")),
        "Done.",
    )
    book = Book()
    first = await build(inner, outer, [search]).arun("?", steps=book)
    assert sorted(book.asked) == sorted(
        [
            *("model:1", "tool:1.x", "model:2", "model:3"),
            *("model:1.f/1", "tool:1.f/1.x", "model:1.f/2"),
            *("model:1.g%2F1/1", "tool:1.g%2F1/1.x", "model:1.g%2F1/2"),
            *("model:2.f/1", "tool:2.f/1.x", "model:2.f/2"),
        ]
    )
    assert {key.path for key in book.asked} == {(), ("f",), ("g/1",)}

    played = Book(book.records)
    stream = build(silent, silent, [silent_search]).astream("?", steps=played)
    paths = [event.path async for event in stream if isinstance(event, AgentEvent)]
    assert (stream.result, played.made) == (first, [])
    assert {("f",), ("g/1",)} == {*paths}


async def test_a_run_that_waits_for_a_person_is_played_again_before_and_after():
    paid: list[str] = []

    @tool(approval="always")
    def pay(key: str) -> str:
        """Pay."""
        paid.append(key)
        return "paid"

    task = ask(use("finder", '{"task": "pay"}', "f"), *calls("p", name="pay")[0]["tool_calls"])
    inner = Script(calls("q", name="pay"), "Paid.")
    agent = Agent(
        Script(task, calls("p", name="search"), "Done."),
        [pay, search, as_tool("finder", "Finds.", inner, [pay])],
        snapshot_key=b"0123456789abcdef",
    )
    book = Book()
    first = await agent.arun("?", steps=book)
    again = await agent.arun("?", steps=Book(book.records))
    assert first.waiting is not None
    assert again.waiting is not None
    assert again.waiting.calls == first.waiting.calls
    assert paid == []

    results = [
        await agent.arun(resume=waiting, decisions=True, steps=book)
        for waiting in (first.waiting, again.waiting)
    ]
    assert results[0] == results[1]
    assert (results[0].value, sorted(paid)) == ("Done.", ["p", "q"])
    assert len(set(book.records)) == len(book.records)
    assert {"tool:1.p", "tool:1.f/1.q", "model:2", "tool:2.p"} < book.records.keys()


async def test_a_failure_that_another_call_answers_is_recorded_and_that_call_is_too():
    class OverloadedError(Exception):
        is_transient = True

    def fail():
        raise OverloadedError("overloaded")

    book = Book()
    first = await Agent(Script(fail, "Done.")).arun("?", steps=book)
    again = await Agent(silent).arun("?", steps=Book(book.records))
    assert (first.value, [*book.records]) == ("Done.", ["model:1", "model:2"])
    assert again == first


def look_long(number: int) -> str:
    """Look."""
    return f"{number} " * 1_500


class Talker:
    """A model that looks in each round, and whose first summary fails."""

    def __init__(self) -> None:
        self.summaries = 0

    async def __call__(self, call):
        if call.is_compaction:
            self.summaries += 1
            failure = ModelFailure(message="overloaded", is_transient=True)
            yield failure if self.summaries == 1 else "It is 7."
        else:
            number = call.round
            asked = use("look_long", f'{{"number": {number}}}', f"c{number}")
            yield ask(asked)[0] if number < 20 else "It is 7."


class Compacting(Talker):
    """A model whose interface makes conversations shorter."""

    async def compact(self, _):
        return CompactedWindow(messages=({"role": "user", "content": "Which?"},))


@pytest.mark.parametrize("kind", [Talker, Compacting])
async def test_what_makes_a_conversation_shorter_is_a_step_and_each_try_has_its_key(kind):
    async def play(model: Any, book: Book) -> list[Any]:
        run = AgentRun(
            [{"role": "user", "content": "?"}],
            maximum_iterations=30,
            window=Window(tokens=12_000),
        )
        return [event async for event in adrive(run, model, [look_long], steps=book)]

    book = Book()
    events = await play(kind(), book)
    kinds = {event.kind for event in events if isinstance(event, RunCompacted)}
    summaries = [key for key in book.asked if key.kind == "summary"]
    assert len(set(book.asked)) == len(book.asked)
    assert kinds == ({"summary"} if kind is Talker else {"api"})
    assert (f"{summaries[0]}.2" in summaries) is (kind is Talker)

    assert (await play(silent, Book(book.records)))[-1] == events[-1]


async def test_what_an_answer_has_that_json_cannot_express_fails_the_call_by_its_place():
    model = Script([{"text": "Half. "}, {"text": "More.", "opaque_body": {"a": object()}}])
    book = Book()
    first = await Agent(model).arun("?", steps=book)
    assert first.reason == "error"
    assert "its answer cannot be recorded: opaque_body.a: expected plain JSON" in str(first.error)
    again = await Agent(silent).arun("?", steps=Book(book.records))
    assert again == first


async def test_a_figure_that_json_cannot_express_fails_the_call_too():
    model = Script([{"text": "4", "usage": Usage(latency=float("inf"))}])
    result = await Agent(model).arun("?", steps=Book())
    assert "its answer cannot be recorded: usage.latency" in str(result.error)


async def test_files_and_unknown_pieces_are_as_they_are_without_steps():
    picture = {"media_type": "image/png", "data": b"\x89PNG"}
    book = Book()
    first = await Agent(Script([{"text": "Here."}, {"files": [picture]}])).arun("?", steps=book)
    assert (await Agent(silent).arun("?", steps=Book(book.records))) == first

    odd = Script([{"text": "Half. "}, {"text": 5}])
    results = [await Agent(odd).arun("?", steps=steps) for steps in (None, Book())]
    assert "answer[1].text: expected a text, got int" in str(results[0].error)
    assert type(results[0].cause) is type(results[1].cause)
    assert results[0].error == results[1].error


def drawing(output: ToolOutput) -> Tool:
    """Return a tool with an output of its own."""
    parameters = {"type": "object", "properties": {"key": {"type": "string"}}}
    made = Tool.from_schema("draw", "Draws.", parameters, str)
    return replace(made, _reader=lambda _: output)


def test_images_of_tools_and_what_they_make_for_code_come_back():
    part = {"type": "image", "data": "iVBO"}
    draw = drawing(ToolOutput(content=(part,), artifact={"png": b"\x89", "size": (1, 2)}))

    async def play() -> list[Any]:
        book, ended = Book(), []
        for model, tools in ((Script(calls("a", name="draw"), "Done."), draw), (silent, draw)):
            book = Book(book.records)
            stream = Agent(model, [tools]).astream("?", steps=book)
            ended += [e.result async for e in stream if isinstance(e, ToolCallEnded)]
        return ended

    first, again = asyncio.run(play())
    assert first == again
    assert again.artifact == {"png": b"\x89", "size": (1, 2)}


async def test_a_result_that_json_cannot_express_fails_the_call_by_its_place():
    draw = drawing(ToolOutput(content="", artifact=object()))
    agent, book = Agent(Script(calls("a", name="draw"), "Done."), [draw]), Book()
    for _ in range(2):
        result = await agent.arun("?", steps=book)
        told = "the result cannot be recorded: artifact[0]: expected plain JSON, so that"
        assert told in result.messages[2].content
    assert book.made == ["model:1", "tool:1.a", "model:2"]


class SilentError(Exception):
    def __str__(self):
        raise ValueError


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (ToolError("No such key."), "ToolError: No such key."),
        (KeyError("a"), "KeyError: 'a'"),
        (ValueError(), "ValueError"),
        (SilentError(), "SilentError"),
    ],
)
async def test_what_a_tool_has_raised_is_recorded_as_a_text(raised, told):
    @tool(retries=1)
    def look() -> str:
        """Look."""
        raise raised

    agent, book, ended = Agent(Script(ask(use("look")), "Done."), [look]), Book(), []
    for _ in range(2):
        stream = agent.astream("?", steps=book)
        ended += [e.result async for e in stream if isinstance(e, ToolCallEnded)]
    assert ended[0] == ended[1]
    assert ended[0].cause is raised
    assert isinstance(ended[1].cause, RecordedError)
    assert str(ended[1].cause) == told


async def test_a_tool_that_took_too_long_is_unfinished_also_when_it_is_played_again():
    @tool(timeout=0.05)
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(60)
        return ""

    agent, book, ended = Agent(Script(ask(use("wait")), "Done."), [wait]), Book(), []
    for _ in range(2):
        stream = agent.astream("?", steps=book)
        ended += [e.result async for e in stream if isinstance(e, ToolCallEnded)]
    assert ended[0] == ended[1]
    assert ended[1].is_unfinished


async def test_tools_for_which_there_is_no_more_time_are_recorded_as_that(clock):
    made: list[str] = []
    book = TellingBook("tool:1.b")

    async def wait(key: str) -> str:
        """Wait."""
        made.append(key)
        if key == "c":
            await book.is_recorded.wait()
            clock.move(0.4)
        if key != "b":
            await asyncio.sleep(600)
        return "found"

    budget = Budgets(max_seconds=0.3)
    inner = as_tool("finder", "Finds.", Script(calls("c", name="wait"), "There."), [wait])
    asked = ask(
        *calls("a", "b", name="wait")[0]["tool_calls"], use("finder", '{"task": "find"}', "f")
    )
    agent = Agent(Script(asked, "Done."), [wait, inner], budgets=budget)
    first = await agent.arun("?", steps=book)
    assert first.reason == "budget"
    assert {"tool:1.a", "tool:1.b", "model:2"} < book.records.keys()
    assert "time" in first.messages[2].content

    began = time.perf_counter()
    again = await agent.arun("?", steps=Book(book.records))
    assert again.messages[:4] == first.messages[:4]
    assert (again.value, again.reason) == (first.value, "budget")
    assert time.perf_counter() - began < 60
    assert made.count("a") == made.count("b") == 1


async def test_the_clock_of_a_run_that_is_played_again_goes_on_from_its_last_record(clock):
    async def model(call):
        if call.round == 1:
            clock.move(0.2)
        yield calls("a")[0] if not call.is_closing else "Done."

    agent, book = Agent(model, [search], budgets=Budgets(max_seconds=0.1)), Book()
    first = await agent.arun("?", steps=book)
    again = await agent.arun("?", steps=Book(book.records))
    assert (first.reason, again.reason, again.messages) == ("budget", "budget", first.messages)


async def test_a_model_call_that_takes_too_long_is_recorded_as_a_failure(clock):
    async def model(_):
        clock.move(0.15)
        await asyncio.sleep(60)
        yield ""

    budget = TimeBudget(run_seconds=2, closing_seconds=0.1, call_seconds=0.1, silence_seconds=0.1)
    agent, book = Agent(model, time_budget=budget), Book()
    first = await agent.arun("?", steps=book)
    again = await agent.with_(model=silent).arun("?", steps=Book(book.records))
    assert first.error
    assert (again.error, again.messages) == (first.error, first.messages)


async def test_a_cancelled_run_ends_soon_and_records_nothing_of_it():
    stop, book = threading.Event(), TellingBook("tool:1.b")

    async def wait() -> str:
        """Wait."""
        await book.is_recorded.wait()
        stop.set()
        await asyncio.sleep(600)
        return ""

    async def model(call):
        if call.round == 2:
            stop.set()
            await asyncio.sleep(600)
        yield calls("b", "a")[0]

    began = time.monotonic()
    earlier = Book()
    result = await Agent(model, [search]).arun("?", steps=earlier, cancelled=stop)
    assert (result.reason, sorted(earlier.records)) == (
        "cancelled",
        ["model:1", "tool:1.a", "tool:1.b"],
    )

    stop.clear()
    asked = ask(use("wait", call_id="a"), use("search", '{"key": "b"}', "b"))
    result = await Agent(Script(asked), [wait, search]).arun("?", steps=book, cancelled=stop)
    assert (result.reason, sorted(book.records)) == ("cancelled", ["model:1", "tool:1.b"])
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("hangs", ["before", "after"])
async def test_a_cancelled_run_ends_soon_although_its_step_does_not(hangs):
    stop = threading.Event()

    class Hanging(Book):
        async def step(self, key, work, /):
            record = await work() if hangs == "after" else key.encode()
            stop.set()
            await asyncio.sleep(600)
            return record

    began = time.monotonic()
    result = await Agent(Script("Done.")).arun("?", steps=Hanging(), cancelled=stop)
    assert result.reason == "cancelled"
    assert time.monotonic() - began < 60


async def test_closing_a_stream_ends_its_step():
    ended: list[str] = []

    class Watched(Book):
        async def step(self, key, work, /):
            try:
                return await super().step(key, work)
            finally:
                ended.append(key)

    async def model(_):
        yield "One"
        await asyncio.sleep(60)

    book = Watched()
    async with Agent(model).astream("?", steps=book) as events:
        async for event in events:
            if isinstance(event, ShowText):
                break
    assert (ended, book.records) == (["model:1"], {})


class Broken(Book):
    """Cannot record the steps whose keys end like this."""

    def __init__(self, ending: str) -> None:
        super().__init__()
        self.ending = ending

    async def step(self, key, work, /):
        record = await super().step(key, work)
        if key.endswith(self.ending):
            raise OSError("disk full")
        return record


@pytest.mark.parametrize("ending", ["model:1", "tool:1.f/1.x", "model:1.f/2", "tool:1.x"])
async def test_a_store_that_cannot_record_ends_the_run(ending):
    inner = as_tool("finder", "Finds.", Script(calls("x"), "There."), [search])
    asked = ask(use("finder", '{"task": "find"}', "f"), *calls("x")[0]["tool_calls"])
    result = await Agent(Script(asked, "Done."), [inner, search]).arun("?", steps=Broken(ending))
    assert (result.reason, type(result.cause)) == ("error", StepError)
    assert isinstance(result.cause, StepError)
    assert (result.cause.key, type(result.cause.__cause__)) == (ending, OSError)


class Watching(Book):
    """A book that is told what is made, and refuses the step of a key."""

    def __init__(self, refused: str = "", records: dict[str, bytes] | None = None) -> None:
        super().__init__(records)
        self.refused = refused
        self.order: list[str] = []

    async def begin_step(self, key, /):
        if key == self.refused:
            raise OSError("too many")
        self.order.append(f"{key} begins")

    def build(self) -> Agent:
        """Return an agent that notes what it does."""

        def look(key: str) -> str:
            """Look."""
            self.order.append(f"look {key}")
            return "seen"

        def check(_: object) -> None:
            self.order.append("check")

        def model(call):
            self.order.append(f"ask {call.round}")
            return calls("a", name="look") if call.round == 1 else "Done."

        return Agent(model, [look], guardrails=Guardrails(input=[check]))


WATCHED = [
    *("guardrail:input.0 begins", "check", "model:1 begins", "ask 1"),
    *("tool:1.a begins", "look a", "model:2 begins", "ask 2"),
]


async def test_steps_that_watch_are_told_of_each_that_is_made_before_it_is_done():
    book = Watching()
    first = await book.build().arun("?", steps=book)
    kept = dict([*book.records.items()][:3])
    cut = Watching(records=kept)
    again = await cut.build().arun("?", steps=cut)

    assert book.order == WATCHED
    assert (cut.order, again) == (WATCHED[-2:], first)
    tools = [(key.tool, key.call_id) for key in book.asked]
    assert tools == [(None, None), (None, None), ("look", "a"), (None, None)]


@pytest.mark.parametrize(
    ("refused", "before"), [("guardrail:input.0", 0), ("model:1", 2), ("tool:1.a", 4)]
)
async def test_a_step_that_its_watcher_refuses_is_not_done_and_ends_the_run(refused, before):
    book = Watching(refused)
    result = await book.build().arun("?", steps=book)

    assert isinstance(result.cause, StepError)
    assert (result.cause.key, str(result.cause.__cause__)) == (refused, "too many")
    assert book.order == WATCHED[:before]
    assert refused not in book.records


async def test_a_record_that_is_none_ends_the_run():
    result = await Agent(silent).arun("?", steps=Book({"model:1": b"[]"}))
    assert isinstance(result.cause, StepError)
    result = await Agent(silent).arun("?", steps=Book({"model:1": b"\xff"}))
    assert isinstance(result.cause, StepError)


async def test_what_a_model_thinks_is_told_again():
    pieces = [{"text": text} for text in ("<think>Add ", "them.</th", "ink>Fo", "ur.")]
    agent, book, told = Agent(Script(pieces), emit_reasoning=True), Book(), []
    for _ in range(2):
        thoughts = [
            e.text async for e in agent.astream("?", steps=book) if isinstance(e, ShowReasoning)
        ]
        told.append("".join(thoughts))
    assert told == ["Add them."] * 2


async def test_steps_stand_beside_neither_a_session_nor_a_blocking_drive():
    with pytest.raises(ValueError, match="steps: expected none beside a session"):
        await Agent(silent).arun("?", steps=Book(), session=MemorySession())
    with pytest.raises(TypeError, match="steps: expected none in a blocking drive"):
        drive(AgentRun([], maximum_iterations=1), print, steps=Book())
    with pytest.raises(TypeError, match="steps: expected none in a blocking drive"):
        Agent(print).run("?", steps=Book())


async def test_what_a_models_client_raises_is_in_the_result_and_its_text_when_it_is_played_again():
    error, book = OSError("no route"), Book()

    async def broken(_: object) -> Any:
        raise error

    first = await Agent(broken).arun("?", steps=book)
    again = await Agent(silent).arun("?", steps=Book(book.records))
    assert (first.cause, again) == (error, first)
    assert (type(again.cause), str(again.cause)) == (RecordedError, "no route")
