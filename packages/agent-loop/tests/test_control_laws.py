"""What holds for a run under control, whatever its model, its tools and the clock do."""

import random
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_loop import (
    AgentRun,
    Budgets,
    CallModel,
    Failure,
    FallbackModel,
    Finished,
    Message,
    ModelDelta,
    ModelDone,
    ModelFailure,
    RoundEnded,
    RunTools,
    ShowText,
    TimePassed,
    TimeShort,
    ToolCallEnded,
    ToolCallFragment,
    ToolCallStarted,
    ToolResult,
    Usage,
)
from agent_tooling import AnswerSchema


pytestmark = pytest.mark.untraced


QUESTION = (Message(role="user", content="?"),)
NOTICE = "Four fifths of this run's budget"
SCHEMA = AnswerSchema.parse('{"properties": {"n": {"type": "integer"}}, "required": ["n"]}')
LIMITS = {
    "max_total_tokens": range(1, 200),
    "max_cost": [Decimal(n) / 50 for n in range(1, 60)],
    "max_seconds": range(1, 120),
    "max_tool_calls": range(12),
}


class World:
    """A model that wants tools more than anything else, tools, a clock and a person, all by chance; what was used is counted here, too.

    Args:
        seed: Decides everything.
    """

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.limits = {
            name: self.chance.choice(list(values)) if self.chance.random() < 0.5 else None
            for name, values in LIMITS.items()
        }
        self.maximum = self.chance.randint(1, 9)
        self.is_patient = self.chance.random() < 0.8
        self.allowed = self.chance.choice([None, None, ["add"], ["sub", "add", "sub"], []])
        self.has_schema = self.chance.random() < 0.4
        self.run = AgentRun(
            QUESTION,
            tools=("add", "sub"),
            maximum_iterations=self.maximum,
            emit_intermediate_thoughts=self.chance.random() < 0.5,
            has_tool_choice=self.chance.random() < 0.8,
            budgets=Budgets(**self.limits),
            allowed_tools=self.allowed,
            answer_schema=SCHEMA if self.has_schema else None,
            has_answer_format=self.chance.random() < 0.5,
            model="a",
            fallback=self.chance.choice([None, FallbackModel(name="b")]),
        )
        self.used = {"max_total_tokens": 0, "max_cost": Decimal(0), "max_seconds": 0.0}
        self.used["max_tool_calls"] = 0
        self.events = []
        self.used_before = []  # What was used when each model call began.

    def play(self):
        pending = list(self.run.start())
        while pending:
            event = pending.pop(0)
            self.events.append(event)
            for received in self.act(event):
                pending += self.run.feed(received)
                if self.run.state == "finished":
                    break
        return self

    def act(self, event):
        match event:
            case CallModel(wait_seconds=seconds):
                self.used["max_seconds"] += seconds
                self.used_before.append(dict(self.used))
                yield from self.answer(event)
            case RunTools(calls=calls):
                assert self.used_up is None
                assert self.allowed is None or all(call.name in self.allowed for call in calls)
                self.used["max_tool_calls"] += len(calls)
                for call in self.chance.sample(calls, len(calls)):
                    yield from self.wait()
                    error = "failed" if self.chance.random() < 0.2 else None
                    yield ToolResult(call_id=call.call_id, content="4", error=error)

    def answer(self, request):
        for number in range(self.chance.randint(0, 3)):
            name = self.chance.choice(["add", "sub", "nothing"])
            fragment = ToolCallFragment(call_id=f"{request.round}-{number}", name=name)
            yield ModelDelta(tool_calls=(fragment,))
        if self.chance.random() < 0.3:
            text = self.chance.choice(['{"n": 4}', '{"n": "4"}', "So.", "<think>4</think>"])
            yield ModelDelta(text=text, phase=self.chance.choice([None, "commentary"]))
        tokens, price = self.chance.randint(1, 40), Decimal(self.chance.randint(1, 20)) / 100
        if self.chance.random() < 0.95:
            self.used["max_total_tokens"] += tokens
            self.used["max_cost"] += price
            opaque = {"of": request.model}
            yield ModelDelta(
                opaque_body=opaque, usage=Usage(total_tokens=tokens, total_price=price)
            )
        yield from self.wait()
        breaks = self.chance.random() < 0.25
        yield self.failure() if breaks else ModelDone()

    def failure(self):
        return ModelFailure(
            message="the line broke",
            is_transient=self.chance.random() < 0.8,
            wait_seconds=self.chance.choice([0, 0, 30]),
            may_pass_elsewhere=self.chance.random() < 0.3,
        )

    def wait(self):
        self.used["max_seconds"] += self.chance.choice([0, 1, 20])
        yield TimePassed(seconds=self.used["max_seconds"])
        if self.chance.random() < 0.1:
            yield TimeShort()
        if not self.is_patient and self.chance.random() < 0.1:
            yield Failure(message="Cancelled.", reason="cancelled")

    @property
    def used_up(self):
        return self.exceeded(self.used)

    def exceeded(self, used):
        reached = (n for n, limit in self.limits.items() if limit is not None and used[n] >= limit)
        return next(reached, None)

    def only(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


def hold_every_law(seed):
    world = World(seed).play()
    requests, [finished] = world.only(CallModel), world.only(Finished)
    assert world.events[-1] is finished
    assert finished.is_answered or finished.error
    assert world.used["max_tool_calls"] <= (world.limits["max_tool_calls"] or 10**9)
    beyond = [
        request
        for request, used in zip(requests, world.used_before, strict=True)
        if world.exceeded(used)
    ]
    assert beyond in ([], requests[-1:])
    assert all(request.is_closing for request in beyond)
    assert finished.budget == world.used_up
    told = {use.name: (use.used, use.maximum) for use in finished.budgets}
    assert told == {
        name: (world.used[name], limit) for name, limit in world.limits.items() if limit is not None
    }
    assert len(requests) <= world.maximum
    if world.has_schema:
        assert (finished.value == {"n": 4}) == finished.is_answered == (finished.error is None)
        repairs = [m for m in finished.messages if m.content.startswith("Your answer does not")]
        assert len(repairs) <= 1
        shown = "".join(event.text for event in world.only(ShowText))
        assert shown.rstrip().endswith('{"n": 4}') or not finished.is_answered
    notices = [m.content for m in finished.messages if m.role == "user" and NOTICE in m.content]
    assert len(notices) <= 1
    assert finished.models == tuple(request.model for request in requests)
    assert list(finished.models) == sorted(finished.models)
    for request in requests:
        bodies = [getattr(m, "opaque_body", None) for m in request.messages]
        assert all(body["of"] == request.model for body in bodies if body)
    for before, after in pairwise(requests):
        begins = after.messages[: len(before.messages)] == before.messages
        keeps = after.tools in (before.tools, ())
        assert (begins and keeps) or before.model != after.model
    started = [event.call.call_id for event in world.only(ToolCallStarted)]
    assert sorted(event.call.call_id for event in world.only(ToolCallEnded)) == sorted(started)
    rounds = world.only(RoundEnded)
    assert rounds[-1].budgets == finished.budgets
    for before, after in pairwise(rounds):
        pairs = zip(before.budgets, after.budgets, strict=True)
        assert all(first.used <= second.used for first, second in pairs)


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_a_run_under_control_keeps_every_law(seed):
    hold_every_law(seed)


@pytest.mark.long
@settings(max_examples=10_000)
@given(st.integers(0, 2**32))
def test_a_run_under_control_keeps_every_law_at_length(seed):
    hold_every_law(seed)
