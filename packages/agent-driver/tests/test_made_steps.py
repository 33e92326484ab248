"""Runs whose steps are made elsewhere, by an agent that was declared alike."""

import asyncio
import math
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from elsewhere import (
    KINDS,
    Book,
    Elsewhere,
    compacted,
    fallback_model,
    guarded,
    look,
    looks,
    merged,
    nested_agents,
    parallel_tools,
    play_through,
    searched_tools,
    send,
    typed_answer,
)
from hypothesis import given
from hypothesis import strategies as st
from scripted import Script, as_tool, ask, use

from agent_driver import (
    Agent,
    Budgets,
    Guardrails,
    ShowReasoning,
    ShowText,
    StepError,
    StepRequest,
    TimeBudget,
    ToolCallEnded,
    agent_tool,
)
from agent_loop import Failure, MessageError, ModelCallEnded, RoundStarted, SnapshotError
from agent_tooling import Context, tool


async def play_everywhere(build: Any, **options: Any) -> tuple[Elsewhere, Any]:
    """Play a run plainly, recorded, with all steps made elsewhere, and from the records of both; each time it comes to the same."""
    plain = await play_through(build(), **options)
    book, elsewhere = Book(), Elsewhere(build())
    for steps in (book, elsewhere):
        played = await play_through(build(), steps=steps, **options)
        assert played[:2] == plain[:2]
        again = await play_through(build(), steps=Book(steps.records), **options)
        assert again[:2] == plain[:2]
    assert sorted(book.records) == sorted({*book.keys})
    assert sorted(elsewhere.records) == sorted(book.records)
    return elsewhere, played


@pytest.mark.parametrize("build", KINDS)
async def test_a_run_comes_to_the_same_wherever_its_steps_are_made(build):
    elsewhere, (_, _, waiting) = await play_everywhere(build)
    assert elsewhere.records
    if waiting is not None:
        resumed = {"prompt": None, "resume": waiting, "decisions": True}
        _, (_, result, _) = await play_everywhere(build, **resumed)
        assert result.value == "Done."


async def test_the_fallback_model_is_asked_where_its_step_is_made():
    elsewhere, _ = await play_everywhere(fallback_model)
    models = [key.request for key in elsewhere.keys if key.kind == "model"]
    assert [request.may_retry for request in models] == [True, False, True, True]
    assert [request.call.model for request in models] == ["model", "model", "fallback", "fallback"]


async def test_a_request_says_what_a_step_does():
    elsewhere, _ = await play_everywhere(parallel_tools)
    model, call = elsewhere.keys[0].request, elsewhere.keys[1].request
    assert (model.kind, model.agents, model.may_retry) == ("model", (), True)
    assert model.messages == ({"role": "user", "content": "?"},)
    assert model.call.tools == ("look", "count", "read_result")
    assert (call.kind, call.messages, call.args) == ("tool", (), {"key": "a"})
    assert (call.call.call_id, call.call.name) == ("a", "look")
    assert "role" not in model.dump()
    assert model.dump().isascii()

    elsewhere, _ = await play_everywhere(nested_agents)
    requests = {key: key.request for key in elsewhere.keys}
    assert requests["tool:1.m/1.i/1.x"].agents == ("middle", "inner")
    assert len(requests["tool:1.m/1.i/1.x"].clock.run_seconds) == 3

    elsewhere, _ = await play_everywhere(searched_tools)
    assert elsewhere.keys[0].request.call.tools == ("search_tools", "call_tool", "read_result")
    elsewhere, _ = await play_everywhere(compacted)
    assert {key.request.kind for key in elsewhere.keys} == {"model", "summary", "tool"}


async def test_a_maker_is_called_with_what_the_run_would_call():
    for build in (searched_tools, typed_answer, fallback_model, compacted):
        asked: list[Any] = []
        made: list[Any] = []
        for agent, calls in ((build(), asked), (build(), made)):

            def keep(call, calls=calls, of=agent._declared.models.call):
                calls.append(
                    replace(call, tools=tuple(one.parameters["properties"] for one in call.tools))
                )
                return of(call)

            object.__setattr__(agent._declared.models, "call", keep)
            steps = Elsewhere(agent) if calls is made else Book()
            await (build() if calls is made else agent).arun("?", steps=steps)
        assert asked == made


PIECE = st.one_of(
    st.builds(
        lambda text, phase: {"text": text, "phase": phase},
        st.text(st.sampled_from("ab <>/\nthink"), min_size=1, max_size=8),
        st.sampled_from([None, "commentary"]),
    ),
    st.sampled_from(
        [{"text": "<think>"}, {"text": "</think>"}, {"files": [{"data": "iVBO"}]}, looks("a")[0]]
    ),
)


@given(
    answers=st.lists(st.lists(PIECE, max_size=5), min_size=1, max_size=3),
    options=st.fixed_dictionaries(
        {
            "emit_intermediate_thoughts": st.booleans(),
            "emit_reasoning": st.booleans(),
            "maximum_iterations": st.integers(min_value=1, max_value=4),
            "guardrails": st.sampled_from([Guardrails(), Guardrails(answer=[lambda _: None])]),
        }
    ),
)
def test_a_step_shows_what_its_run_shows_while_the_answer_comes(answers, options):
    def build():
        return Agent(Script(*answers, *["Done."] * 4), [look], **options)

    async def check() -> None:
        elsewhere, _ = await play_everywhere(build)
        shown: list[Any] = []
        async for event in build().astream("?"):
            if isinstance(event, ModelCallEnded):
                told = merged(elsewhere.told[f"model:{event.round}"])
                assert told in (merged(shown), without_break(merged(shown)))
            elif isinstance(event, RoundStarted):
                shown = []
            shown.append(event) if type(event).__name__.startswith("Show") else None

    asyncio.run(check())


def without_break(events: list[Any]) -> list[Any]:
    """Return events without the line break that a run shows between the texts of two rounds."""
    texts = [index for index, event in enumerate(events) if isinstance(event, ShowText)]
    changed = [*events]
    for index in texts[:1]:
        changed[index] = ShowText(text=events[index].text.removeprefix("\n"))
    return changed


async def test_what_a_step_shows_is_told_as_it_comes():
    may_go_on, told = asyncio.Event(), list[str]()

    async def model(_):
        yield "One, "
        await may_go_on.wait()
        yield "two."

    async def hear(event):
        told.append(event.text)
        may_go_on.set()

    agent, book = Agent(model), Book()
    await agent.with_(model=lambda _: "Three.").arun("?", steps=book)
    await agent.make_step(book.keys[0].request, on_event=hear)
    assert told == ["One, ", "two."]
    # What a client keeps of a run's requests does not leave the process.
    assert book.keys[0].request.call.kept is None


async def request_of(agent: Agent[Any, Any], key: str, **options: Any) -> StepRequest:
    """Return what a step of a run does."""
    book = Book()
    await agent.arun("?", steps=book, **options)
    return next(send(asked.request) for asked in book.keys if asked == key)


async def test_a_tool_gets_dependencies_where_its_calls_are_made_and_is_tried_again_there():
    tried: list[tuple[str, int]] = []

    @tool(retries=1)
    def greet(context: Context[str], name: str) -> str:
        """Greet."""
        tried.append((context.deps, context.attempt))
        if context.attempt == 1:
            raise OSError("gone")
        return f"{context.deps} {name}"

    agent = Agent(Script(ask(use("greet", '{"name": "Ann"}')), "Done."), [greet], deps=str)
    elsewhere = Elsewhere(agent, deps="Hello")
    result = await agent.arun("?", steps=elsewhere)
    assert result.messages[2].content == "Hello Ann"
    assert tried == [("Hello", 1), ("Hello", 2)]
    with pytest.raises(TypeError, match="deps: the tool greet takes a Context"):
        await agent.make_step(elsewhere.keys[0].request)


async def test_what_a_tool_comes_to_is_recorded_wherever_it_is_called():
    @tool(timeout=0.05)
    async def hang(key: str) -> str:
        """Hang."""
        await asyncio.sleep(600)
        return key

    def fail(key: str) -> str:
        """Fail."""
        raise KeyError(key)

    async def give_up(key: str) -> str:
        """Give up."""
        raise asyncio.CancelledError(key)

    def build() -> Agent[Any, Any]:
        names = ("give_up", "fail", "hang")
        asked = [use(name, '{"key": "a"}', name) for name in names]
        return Agent(Script(ask(*asked), "Done."), [hang, fail, give_up])

    elsewhere, (events, _, _) = await play_everywhere(build)
    ended = [event.result for event in events[()] if isinstance(event, ToolCallEnded)]
    assert [result.is_unfinished for result in ended] == [False, False, True]
    assert len(elsewhere.records) == 5


async def test_a_model_call_that_takes_too_long_fails_elsewhere_as_it_does_in_its_run(clock):
    async def hang(_):
        clock.move(0.15)
        await asyncio.sleep(600)
        yield ""

    budget = TimeBudget(
        run_seconds=2, closing_seconds=0.1, call_seconds=0.1, silence_seconds=math.inf
    )
    agent = Agent(hang, time_budget=budget)
    plain, elsewhere = await agent.arun("?"), Elsewhere(agent)
    result = await agent.arun("?", steps=elsewhere)
    assert (result.error, result.messages) == (plain.error, plain.messages)
    assert len(elsewhere.records) == 2  # It is made once more.


@pytest.mark.parametrize("limits", [{"budgets": Budgets(max_seconds=0.3)}, {}])
async def test_tools_and_agents_end_elsewhere_when_the_run_has_no_more_time_for_them(limits, clock):
    hanging: list[str] = []

    async def wait(name: str) -> None:
        hanging.append(name)
        if len(hanging) == 3:
            clock.move(0.4)
        await asyncio.sleep(600)

    async def hang(key: str) -> str:
        """Hang."""
        await wait(key)
        return key

    async def think(_):
        await wait("think")
        yield ""

    def build() -> Agent[Any, Any]:
        budget = TimeBudget(run_seconds=60.3, closing_seconds=60, call_seconds=math.inf)
        thinker = as_tool("thinker", "Thinks.", think)
        finder = as_tool("finder", "Finds.", Script(looks("b", name="hang"), "So."), [hang])
        asked = ask(
            *looks("a", name="hang")[0]["tool_calls"],
            use("thinker", '{"task": "think"}', "t"),
            use("finder", '{"task": "find"}', "f"),
        )
        settings = limits or {"time_budget": budget}
        return Agent(Script(asked, "Done."), [hang, thinker, finder], **settings)

    elsewhere, agent = Elsewhere(build()), build()
    began = time.perf_counter()
    result = await agent.arun("?", steps=elsewhere)
    assert time.perf_counter() - began < 60
    assert (result.value, result.reason) == ("Done.", "budget" if limits else "time_limit")
    assert {"tool:1.a", "model:1.t/1", "model:2"} < elsewhere.records.keys()
    assert b"time_limit" in elsewhere.records["model:1.t/1"]

    again = await build().arun("?", steps=Book(elsewhere.records))
    assert again.messages[:3] == result.messages[:3]


async def test_an_agent_that_takes_too_long_itself_ends_elsewhere_with_those_below_it(clock):
    async def think(_):
        clock.move(0.3)
        await asyncio.sleep(600)
        yield ""

    asked = ask(use("thinker", '{"task": "think"}', "t"))

    def build() -> Agent[Any, Any]:
        thinker = as_tool("thinker", "Thinks.", think)
        asker = Agent(Script(asked), [thinker])
        made = agent_tool("thinker", "Has it thought.", asker, timeout=0.2)
        return Agent(Script(asked, "Done."), [made])

    elsewhere = Elsewhere(build())
    result = await build().arun("?", steps=elsewhere)
    assert result.value == "Done."
    assert b"The time of the agent was up" in elsewhere.records["model:1.t/1.t/1"]


async def test_a_step_that_is_cancelled_lets_go_of_everything():
    ended: list[str] = []
    began = asyncio.Event()

    async def model(_):
        try:
            began.set()
            await asyncio.sleep(600)
            yield ""
        finally:
            ended.append("model")

    async def wait(key: str) -> str:
        """Wait."""
        try:
            began.set()
            await asyncio.sleep(600)
        finally:
            ended.append(key)
        return key

    stopped, loop = threading.Event(), asyncio.get_running_loop()

    def block(context: Context[Any], key: str) -> str:
        """Block."""
        loop.call_soon_threadsafe(began.set)
        while not context.is_cancelled():
            time.sleep(0.01)
        stopped.set()
        return key

    asked = [*looks("a", name="wait")[0]["tool_calls"], *looks("b", name="block")[0]["tool_calls"]]
    agent = Agent(model, [wait, block])
    for key in ("model:1", "tool:1.a", "tool:1.b"):
        began.clear()
        quick = agent.with_(
            model=Script(ask(*asked), "Done."), tools=[named("wait"), named("block")]
        )
        task = asyncio.create_task(agent.make_step(await request_of(quick, key), deps=1))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended == ["model", "a"]
    assert await asyncio.to_thread(stopped.wait, 60)


def named(name: str) -> Any:
    @tool(name=name)
    def quick(key: str) -> str:
        """Be quick."""
        return key

    return quick


async def test_a_model_that_says_that_the_run_is_cancelled_leaves_no_record():
    agent = Agent(lambda _: [Failure(message="enough", reason="cancelled")])
    request = await request_of(agent.with_(model=Script("Done.")), "model:1")
    with pytest.raises(asyncio.CancelledError):
        await agent.make_step(request)


async def test_what_cannot_be_read_or_heard_fails_the_step():
    request = await request_of(Agent(Script("Done.")), "model:1")
    odd = Agent(Script([{"text": "Half. "}, {"text": 5}]))
    with pytest.raises(MessageError, match=r"answer\[1\].text: expected a text, got int"):
        await odd.make_step(request)

    async def refuse(_):
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await odd.make_step(request, on_event=refuse)
    result = await odd.arun("?", steps=Elsewhere(odd))
    assert isinstance(result.cause, StepError)
    assert isinstance(result.cause.__cause__, MessageError)


async def test_a_summary_that_cannot_be_read_fails_the_step():
    request = next(
        key.request for key in (await play_everywhere(compacted))[0].keys if key.kind == "summary"
    )
    with pytest.raises(MessageError):
        await compacted().with_(model=Script(*[[{"text": 5}]] * 20)).make_step(request)


async def test_a_step_of_another_agent_is_refused():
    agent = Agent(Script("Done."), [look])
    for build, key, problem in (
        (parallel_tools, "model:1", "it has no 'count'"),
        (parallel_tools, "tool:1.c", "it has no 'count'"),
        (nested_agents, "model:1.m/1", "it has no 'middle'"),
        (guarded, "guardrail:answer.2.0", "it has no answer"),
    ):
        with pytest.raises(ValueError, match=problem):
            await agent.make_step(await request_of(build(), key))
    request = replace(await request_of(nested_agents(), "model:1.m/1"), agents=("look",))
    with pytest.raises(ValueError, match="expected agents among the tools, and 'look' is none"):
        await nested_agents().make_step(request)


async def test_a_request_that_json_cannot_express_is_refused_by_its_place():
    request = replace(await request_of(parallel_tools(), "tool:1.a"), args={"key": object()})
    with pytest.raises(SnapshotError, match=r"request\.args\.key: expected plain JSON"):
        request.dump()
    for text in ("{", "[]", "[1]", '[{"kind": "walk"}]', b"\xff"):
        with pytest.raises(SnapshotError, match=r"expected what StepRequest\.dump has returned"):
            StepRequest.load(text)


async def test_thoughts_are_told_where_a_step_is_made():
    pieces = [{"text": text} for text in ("<think>Add ", "them.</th", "ink>Fo", "ur.")]
    agent = Agent(Script(pieces), emit_reasoning=True)
    elsewhere = Elsewhere(agent)
    await agent.arun("?", steps=elsewhere)
    assert merged(elsewhere.told["model:1"]) == [
        ShowReasoning(text="Add them."),
        ShowText(text="Four."),
    ]
