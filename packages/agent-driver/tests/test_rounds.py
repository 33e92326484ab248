"""What both drivers do with a model and tools."""

import asyncio
import logging
import threading
import time
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from pydantic import BaseModel
from scripted import Script, ask, use

from agent_driver import drive
from agent_loop import (
    AgentRun,
    Budgets,
    CallModel,
    Finished,
    LocalProtocolError,
    MessageError,
    ModelDelta,
    ModelDone,
    RunTools,
    ShowText,
    TimeBudget,
    ToolCallEnded,
)
from agent_tooling import REPEATED_FAILURE, TOOL_FAILED, DeclarationError, Tool, ToolOutput


class Answer(BaseModel):
    text: str
    tool_calls: list[str] = []


class NamedAnswer(NamedTuple):
    text: str


class IterableAnswer:
    tool_calls = ()
    text = "4"

    def __iter__(self):
        raise AssertionError("it is one answer")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    await asyncio.sleep(0)
    return a * b


def results(events):
    return {e.call.call_id: e.result for e in events if isinstance(e, ToolCallEnded)}


def test_a_run_is_played_to_its_answer_and_every_event_is_given_out(play, run):
    sums = ask(use("add", '{"a": 2, "b": 3}'), use("multiply", '{"a": 2, "b": 3}', "c2"))
    model = Script(sums, ["It is ", "five."])
    events = play(run, model, [add, multiply])
    actions = [type(event) for event in events if isinstance(event, CallModel | RunTools)]
    assert actions == [CallModel, RunTools, CallModel]
    told = {call_id: result.content for call_id, result in results(events).items()}
    assert told == {"c1": "5", "c2": "6"}
    assert (events[-1].reason, events[-1].answer) == ("answered", "It is five.")
    roles = [message.role for message in events[-1].messages[1:]]
    assert roles == ["assistant", "tool", "tool", "assistant"]
    assert [tool.name for tool in model.requests[0].tools] == ["add", "multiply"]


@pytest.mark.parametrize(
    "answer",
    [
        "4",
        {"text": "4"},
        SimpleNamespace(text="4", tool_calls=(), usage=None, finish_reason="stop"),
        ["4"],
        [ModelDelta(text="4"), ModelDone()],
        ModelDelta(text="4"),
        Answer(text="4"),
        NamedAnswer("4"),
        IterableAnswer(),
        lambda: iter([{"text": "4"}]),
    ],
)
def test_an_answer_may_come_whole_or_in_pieces(play, run, answer):
    assert play(run, Script(answer))[-1].answer == "4"


def test_a_run_that_offers_tools_keeps_its_own(play):
    model = Script("4")
    play(AgentRun([], tools=["as told"], maximum_iterations=2), model, [add])
    assert model.requests[0].tools == ("as told",)


def test_tools_may_be_named_by_a_mapping(play, run):
    calls = [use("plus", '{"a": 1, "b": 1}'), use("sum", "{}", "c2"), use("add", "{}", "c3")]
    model = Script(ask(*calls), "2")
    told = results(play(run, model, {"plus": add, "sum": Tool.from_function(add)}))
    assert [tool.name for tool in model.requests[0].tools] == ["plus", "sum"]
    assert told["c1"].content == "2"
    assert told["c3"].content == "there is not a tool named add"
    assert told["c2"].error is not None


def test_what_is_refused_is_not_run_and_told(play, run):
    made = []

    def note(text: str) -> None:
        """Note a text."""
        made.append(text)

    calls = [use("unknown"), use("note", '{"text": 5}', "c2"), use("note", "{", "c3")]
    told = results(play(run, Script(ask(*calls), "sorry"), [note]))
    assert [result.error is not None for result in told.values()] == [True] * 3
    assert "unknown" in told["c1"].content
    assert not made


def test_a_failure_is_told_without_its_text_logged_whole_and_not_repeated(play, run, caplog):
    made = []

    def fail(city: str) -> str:
        """Fail."""
        made.append(city)
        raise ValueError("the secret is 42")

    first = ask(use("fail", '{"city": "Oslo"}'))
    again = ask(use("fail", '{"city": "Oslo"}', "c2"))
    events = play(run, Script(first, again, "sorry"), [fail])
    assert made == ["Oslo"]
    assert "secret" not in str(events)
    assert "the secret is 42" in caplog.text
    assert results(events)["c2"].content == REPEATED_FAILURE


def test_a_call_is_refused_for_its_arguments_before_its_tool_is_looked_for(play, run):
    calls = [use("unknown", "{"), use("unknown", "[]", "c2"), use("x" * 900_000, "{}", "c3")]
    told = results(play(run, Script(ask(*calls), "sorry"), result_characters=2_000))
    assert told["c1"].content.startswith("tool arguments parse error: ")
    assert told["c2"].content.endswith("must be a JSON object")
    assert told["c3"].content.startswith("there is not a tool named xxx")
    assert len(told["c3"].content) < 2_200


def test_what_a_tool_makes_for_others_and_why_it_failed_are_told_and_not_sent(play, run):
    def draw():
        """Draw."""
        yield "drawn"
        raise OSError("the secret is 42")

    declared = {"identity": {"name": "draw"}}
    tool = Tool.from_declaration(
        declared, draw, reader=lambda said: ToolOutput(content="".join(said), artifact=b"picture")
    )
    model = Script(ask(use("draw")), "done")
    [told] = results(play(run, model, [tool])).values()
    assert told.content == model.requests[1].messages[-1].content == f"drawn\n{TOOL_FAILED}"
    assert told.artifact == b"picture"
    assert str(told.cause) == "the secret is 42"
    assert "picture" not in repr(model.requests)


PICTURE = {"type": "image", "data": "QQ=="}


@pytest.mark.parametrize("said", ["drawn", ({"type": "text", "text": "drawn"}, PICTURE)])
def test_a_result_begins_with_the_names_of_arguments_that_the_form_has_set(play, run, said):
    form = {"name": "size", "type": "number", "form": "form", "required": False}
    declared = {
        "identity": {"name": "draw"},
        "parameters": [form],
        "runtime_parameters": {"size": 5},
    }
    made = []

    def draw(**arguments):
        made.append(arguments)
        return said

    tool = Tool.from_declaration(declared, draw, reader=lambda pieces: pieces[0])
    model = Script(ask(use("draw", '{"size": 7}')), "done")
    [told] = results(play(run, model, [tool])).values()
    assert made == [{"size": 5}]
    assert told.text.startswith("note: not used, because the app has set it already: size\n")
    assert "drawn" in told.text


@pytest.mark.parametrize("rounds", [1, 5])
def test_the_same_call_many_times_is_made_twice(play, rounds):
    made = []

    def tell(city: str) -> str:
        """Tell the weather."""
        made.append(city)
        return "sunny"

    calls = [use("tell", '{"city": "Oslo"}', f"c{number}") for number in range(5)]
    script = [ask(*calls)] if rounds == 1 else [ask(call) for call in calls]
    run = AgentRun([], maximum_iterations=9)
    told = results(play(run, Script(*script, "sunny"), [tell]))
    assert len(made) == 2
    assert len(told) == 5
    assert all("sunny" in result.content for result in told.values())


def test_tools_run_at_once_but_no_more_than_allowed(play, run):
    running, most = 0, 0
    lock, three = threading.Lock(), threading.Barrier(3)

    def work(number: int) -> int:
        """Work."""
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        three.wait(60)
        with lock:
            running -= 1
        return number

    calls = [use("work", f'{{"number": {number}}}', f"c{number}") for number in range(6)]
    events = play(run, Script(ask(*calls), "done"), [work], max_parallel_tools=3)
    assert most == 3
    assert len(results(events)) == 6


def test_long_results_are_cut(play, run):
    def say() -> str:
        """Say a lot."""
        return "x" * 5_000

    told = results(play(run, Script(ask(use("say")), "ok"), [say], result_characters=2_000))
    assert 2_000 <= len(told["c1"].content) < 2_200


def test_an_error_of_the_models_client_ends_the_run_and_stands_in_the_log(play, run, caplog):
    def broken():
        yield "So"
        raise ConnectionError("the line broke")

    with caplog.at_level(logging.WARNING, logger="agent_driver"):
        [*_, finished] = play(run, Script(broken))
    assert finished.reason == "error"
    assert "the line broke" in finished.error
    assert "Traceback" in caplog.text


def test_an_error_that_may_pass_is_tried_once_more(play, run):
    class BusyError(Exception):
        is_transient = True

    def busy():
        raise BusyError

    [*_, finished] = play(run, Script(busy, "4"))
    assert (finished.answer, finished.rounds) == ("4", 2)


@pytest.mark.parametrize(
    ("pieces", "place"),
    [
        ([5], "answer[0]"),
        (["So", None], "answer[1]"),
        (["So", " it ", {"text": 5}], "answer[2].text"),
        (["So", {"tool_calls": [{"id": 5}]}], "answer[1].tool_calls[0].call_id"),
        ({"text": "So", "usage": {"input_tokens": "7"}}, "answer[0].usage.input_tokens"),
    ],
)
@pytest.mark.parametrize("settings", [{}, {"time_budget": TimeBudget()}])
def test_a_piece_that_cannot_be_read_is_an_error_that_names_it(play, run, pieces, place, settings):
    with pytest.raises(MessageError) as caught:
        play(run, Script(pieces), **settings)
    assert caught.value.field == place
    assert str(caught.value).startswith(f"{place}: expected ")


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        (5, "tools must be tools or functions, in a list or by their names, got int"),
        ("add", "tools must be tools or functions, in a list or by their names, got str"),
        ([add, None], "tools[1] must be a tool or a function, got NoneType"),
        ({"plus": "add"}, "tools['plus'] must be a tool or a function, got str"),
        ({"two words": add}, "tool name must be"),
        ({5: Tool.from_function(add)}, "tool name must be"),
        ([lambda x: x], "parameter 'x' of <lambda>() must be annotated"),
    ],
)
def test_what_is_no_tool_is_named(play, run, tools, said):
    with pytest.raises(DeclarationError) as caught:
        play(run, Script("4"), tools)
    assert str(caught.value).startswith(said)


def leave() -> None:
    """Leave."""
    raise SystemExit


async def aleave() -> None:
    """Leave."""
    raise SystemExit


@pytest.mark.parametrize("tool", [leave, aleave])
def test_a_tool_that_would_end_the_process_has_failed(play, run, tool):
    events = play(run, Script(ask(use(tool.__name__)), "still here"), [tool])
    assert results(events)["c1"].error is not None
    assert events[-1].answer == "still here"


def test_a_task_that_cancels_itself_has_failed(play, run):
    async def give_in() -> None:
        """Give in."""
        raise asyncio.CancelledError

    events = play(run, Script(ask(use("give_in")), "ok"), [give_in])
    assert results(events)["c1"].error is not None


def test_a_budget_of_seconds_is_told(play):
    def wait() -> str:
        """Wait."""
        time.sleep(0.01)
        return "done"

    run = AgentRun([], maximum_iterations=5, budgets=Budgets(max_seconds=0.001))
    [*_, finished] = play(run, Script(ask(use("wait")), "that is all"), [wait])
    assert (finished.reason, finished.budget) == ("budget", "max_seconds")


@pytest.mark.parametrize("most", [1, 8])
def test_tools_that_still_run_when_the_seconds_are_used_up_are_given_up(
    play, released, clock, most
):
    made = []

    def hang(number: int) -> str:
        """Hang."""
        made.append(number)
        if len(made) == min(most, 2):
            clock.move(0.3)
        released.wait(600)
        return "late"

    script = Script(
        ask(use("hang", '{"number": 1}'), use("hang", '{"number": 2}', "c2")), "that is all"
    )
    run = AgentRun([], maximum_iterations=5, budgets=Budgets(max_seconds=0.2))
    started = time.perf_counter()
    [*events, finished] = play(run, script, [hang], max_parallel_tools=most)
    assert time.perf_counter() - started < 60
    assert [result.is_unfinished for result in results(events).values()] == [True, True]
    assert script.requests[-1].is_closing
    assert (finished.reason, finished.budget) == ("budget", "max_seconds")
    assert len(made) == (1 if most == 1 else 2)


def test_the_shorter_of_budget_and_time_holds_for_tools(play, released, clock):
    def nap() -> None:
        """Nap."""
        clock.move(0.2)
        released.wait(600)

    run = AgentRun([], maximum_iterations=5, budgets=Budgets(max_seconds=600))
    time_budget = TimeBudget(run_seconds=60.1, closing_seconds=60)
    started = time.perf_counter()
    model = Script(ask(use("nap")), "that is all")
    [*_, finished] = play(run, model, {"nap": nap}, time_budget=time_budget)
    assert time.perf_counter() - started < 60
    assert finished.reason == "time_limit"


def test_wrong_settings_are_refused_at_once(play, run):
    with pytest.raises(ValueError, match="max_parallel_tools"):
        play(run, Script("4"), max_parallel_tools=0)
    with pytest.raises(ValueError, match="two 'add'"):
        play(run, Script("4"), [add, add])
    play(run, Script("4"))
    with pytest.raises(LocalProtocolError):
        play(run, Script("4"))
    with pytest.raises(LocalProtocolError):
        play(run, Script("4"), [add])


def test_text_is_shown_as_it_comes(run):
    said = []

    def model(_: CallModel):
        for piece in ("It ", "is ", "4"):
            yield piece
            said.append(piece)

    events = []
    for event in drive(run, model):
        events.append(event)
        if isinstance(event, ShowText):
            assert len(said) < 3
    assert isinstance(events[-1], Finished)
