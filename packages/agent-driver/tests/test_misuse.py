"""What cannot be meant is refused by its name, as early as it can be known."""

import gc
import threading
from decimal import Decimal

import pytest
from scripted import Script

from agent_driver import Agent, adrive, agent_tool, drive
from agent_loop import AgentRun, Budgets, TimeBudget


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


class Priceless:
    """A client that may say why its answers have no price."""

    def __init__(self, no_price_reason="the model 'm' has no price"):
        self.no_price_reason = no_price_reason
        self.calls = 0

    def answer(self, _):
        self.calls += 1
        return "4"


MONEY = Budgets(max_cost=Decimal(1))
REFUSED = r"^max_cost cannot be kept: the model 'm' has no price$"


def two_deep(client):
    inner = agent_tool("inner", "", Agent(client))
    return [agent_tool("outer", "", Agent(lambda _: "4", [inner]))]


@pytest.mark.parametrize(
    "play",
    [
        lambda client, run: drive(run, client.answer),
        lambda client, run: adrive(run, client.answer),
        lambda client, run: drive(run, lambda _: "4", two_deep(client)),
        lambda client, _: Agent(client, budgets=MONEY),
        lambda client, _: Agent(client.answer, budgets=MONEY),
        lambda client, _: Agent(lambda _: "4", fallback=client, budgets=MONEY),
        lambda client, _: Agent(lambda _: "4", two_deep(client)).with_(budgets=MONEY),
    ],
    ids=["drive", "adrive", "agent below", "client", "method", "fallback", "agent below an agent"],
)
def test_a_budget_of_money_needs_models_with_a_price(play):
    client = Priceless()
    with pytest.raises(ValueError, match=REFUSED):
        play(client, AgentRun([], maximum_iterations=2, budgets=MONEY))
    assert client.calls == 0


def test_without_that_budget_or_without_a_reason_every_model_is_called():
    assert Agent(Priceless(), two_deep(Priceless())).run("?").value == "4"
    for reason in (None, 5):
        client = Priceless(reason)
        agent = Agent(client, two_deep(client), fallback=client, budgets=MONEY)
        assert agent.run("?").value == "4"
        run = AgentRun([], maximum_iterations=2, budgets=MONEY)
        assert list(drive(run, client.answer))[-1].answer == "4"
