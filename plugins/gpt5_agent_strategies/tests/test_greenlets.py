"""The driver where threads are greenlets, as in the plugin's process: nobody has to wait for a model or a tool that is given up, and none is left."""

import pytest


PROGRAM = """
import gc, json, queue, time
import gevent, greenlet
from agent_adapter._interruptible import Interruptible
from agent_adapter._open_answers import OpenAnswers
from agent_driver import drive
from agent_loop import AgentRun, Finished, ShowText, TimeBudget
from agent_tooling import Tool

closed, most, running = [], 0, 0
begun, over = gevent.event.Event(), gevent.event.Event()


def wait_for(name):
    try:
        yield "So"
        gevent.spawn_later(0.05, begun.set)
        queue.Queue().get()  # as the SDK waits: for ever, and whatever comes
    except Exception:
        closed.append("swallowed")
    finally:
        closed.append(name)


def say_nothing():
    try:
        yield queue.Queue().get()
    finally:
        closed.append("tool")


def work(number: int) -> int:
    global most, running
    running += 1
    most = max(most, running)
    time.sleep(0.05)
    running -= 1
    return number


def slow() -> None:
    begun.set()
    over.wait()


def ask(name, count=1):
    calls = [{"call_id": f"c{n}", "name": name, "arguments": json.dumps({"number": n} if name == "work" else {})} for n in range(count)]
    return lambda call: [{"tool_calls": calls}] if call.round == 1 else ["done"]


def play(model, tools=(), **settings):
    begun.clear()
    start, events = time.monotonic(), []
    for event in drive(AgentRun([], maximum_iterations=5), model, tools, **settings):
        events.append(event)
    shown = "".join(event.text for event in events if isinstance(event, ShowText))
    return {"reason": events[-1].reason, "shown": shown, "seconds": time.monotonic() - start}


def count():
    gevent.sleep(0.05)
    gc.collect()
    return sum(isinstance(thing, greenlet.greenlet) and not thing.dead for thing in gc.get_objects())


def main_test():
    tools = [Tool.from_function(work), Tool.from_function(slow)]
    before = count()
    told = {"many": play(ask("work", 20), tools, time_budget=TimeBudget()), "most": most}
    short = TimeBudget(run_seconds=7, closing_seconds=2, call_seconds=6)
    told["silent"] = play(lambda _: Interruptible(wait_for("given up")), time_budget=short)
    told["cancelled"] = play(lambda _: Interruptible(wait_for("cancelled")), cancelled=begun)
    told["left"] = count() - before
    answers = OpenAnswers()
    silent = Tool.from_schema("silent", "", {}, lambda: answers.read(say_nothing()))
    told["silent tool"] = play(ask("silent"), [silent], time_budget=short)
    told["listening"] = count() - before
    answers.close()
    told["left"] += count() - before
    told["tool"] = play(ask("slow"), tools, cancelled=begun)
    told["late"] = play(ask("slow"), tools, time_budget=short)
    answer = Interruptible(iter_ for iter_ in "never read")
    answer.close()
    told["unread"] = list(answer)
    over.set()
    return told | {"closed": closed}


result = main_test()
"""


@pytest.fixture(scope="module")
def told(inside):
    return inside.evaluate(PROGRAM)


def test_the_calls_of_a_round_run_eight_at_a_time(told):
    assert (told["most"], told["many"]["reason"]) == (8, "answered")


@pytest.mark.parametrize("how", ["silent", "cancelled"])
def test_a_silent_model_is_let_go_of_at_once(told, how):
    assert told[how]["seconds"] < 60  # and not for ever
    assert told[how]["shown"].startswith("So")
    assert told["closed"] == ["given up", "cancelled", "tool"]
    assert told["left"] == 0
    assert told["unread"] == []


def test_a_silent_tool_is_listened_to_no_longer_than_its_run_lasts(told):
    assert told["silent tool"]["reason"] == "time_limit"
    assert told["listening"] == 1
    assert told["left"] == 0


def test_a_tool_that_does_not_end_is_abandoned_and_told(told):
    assert (told["tool"]["reason"], told["late"]["reason"]) == ("cancelled", "time_limit")
    for ending in (told["tool"], told["late"]):
        assert ending["seconds"] < 60  # and not for ever
        assert "missing here: slow." in ending["shown"]
