"""What cannot be meant is refused by its name, as early as it can be known."""

import gc
import threading

import pytest
from scripted import Script

from agent_driver import adrive, drive
from agent_loop import AgentRun, TimeBudget


async def awaited(_):
    return "4"


async def streamed(_):
    yield "4"


def late(_):
    return awaited(None)


class Client:
    async def __call__(self, _):
        return "4"


class Pieces:
    def __aiter__(self):
        return streamed(None)


@pytest.mark.parametrize("model", [awaited, streamed, late, Client(), lambda _: Pieces()])
@pytest.mark.parametrize(
    "settings", [{}, {"cancelled": threading.Event()}, {"time_budget": TimeBudget()}]
)
async def test_a_model_that_is_async_says_what_awaits_it(run, model, settings):
    with pytest.raises(TypeError, match=r"^model: .*use adrive"):
        list(drive(run, model, **settings))
    gc.collect()  # Nothing was forgotten that is to be awaited.

    again = AgentRun([], maximum_iterations=2)
    events = [event async for event in adrive(again, model, **settings)]
    assert events[-1].answer == "4"


class Both:
    """An answer that can be read either way."""

    def __iter__(self):
        return iter(["4"])

    def __aiter__(self):
        return streamed(None)


def test_an_answer_that_can_be_read_either_way_is_read(play, run):
    assert play(run, lambda _: Both())[-1].answer == "4"


async def never() -> bool:
    return False


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cancelled", "x"),
        ("cancelled", True),
        ("cancelled", never),
        ("cancelled", {"is_set": True}),
        ("time_budget", 30),
        ("time_budget", "30s"),
        ("log", "runs"),
        ("max_parallel_tools", "8"),
        ("max_parallel_tools", None),
        ("model", "gpt-5.5"),
        ("model", None),
        ("run", [{"role": "user", "content": "?"}]),
    ],
)
@pytest.mark.parametrize("driver", [drive, adrive])
def test_an_argument_that_cannot_be_meant_is_refused_at_once(run, driver, name, value):
    given = {"run": run, "model": Script("4"), name: value}
    with pytest.raises(TypeError, match=rf"^{name}: expected an? .*, got {type(value).__name__}$"):
        driver(**given)


class Flag:
    def is_set(self) -> bool:
        return False


@pytest.mark.parametrize("cancelled", [None, Flag(), threading.Event(), lambda: False])
def test_whatever_can_say_that_a_run_is_cancelled_is_taken(play, run, cancelled):
    assert play(run, Script("4"), cancelled=cancelled)[-1].answer == "4"
