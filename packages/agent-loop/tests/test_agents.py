"""Runs that belong to one another: agents that were called as tools."""

import random
import threading
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_loop import (
    AgentAnswer,
    AgentEvent,
    AgentRun,
    AgentWaiting,
    Budgets,
    CallModel,
    Decision,
    Failure,
    Finished,
    LocalProtocolError,
    ModelDelta,
    ModelDone,
    ModelFailure,
    RefusedAgentError,
    RoundStarted,
    RunTools,
    ShowText,
    TimePassed,
    ToolCall,
    ToolCallEnded,
    ToolCallFragment,
    ToolCallStarted,
    ToolResult,
    Usage,
    Window,
)
from agent_tooling import AnswerSchema, ApprovalRules


SCHEMA = AnswerSchema.parse('{"properties": {"n": {"type": "integer"}}, "required": ["n"]}')


RULES = ApprovalRules.parse({"look": "always"})


def calling(*ids, **settings):
    """Return a run that waits for tools."""
    run = AgentRun([], maximum_iterations=settings.pop("maximum_iterations", 5), **settings)
    run.start()
    fragments = tuple(ToolCallFragment(call_id=name, name="agent") for name in ids)
    run.feed(ModelDelta(tool_calls=fragments, usage=spent(1)))
    run.feed(ModelDone())
    assert run.state == "tools"
    return run


def agent(parent, call_id="c1", seconds=0.0, **settings):
    child = AgentRun([], maximum_iterations=settings.pop("maximum_iterations", 5), **settings)
    parent.agents.adopt(child, name="agent", call_id=call_id, seconds=seconds)
    return child


def spent(tokens, price="0.01"):
    return Usage(input_tokens=tokens, total_tokens=tokens, total_price=Decimal(price))


def ask_tool(run, tokens=1, call_id="t1"):
    fragment = ToolCallFragment(call_id=call_id, name="look")
    run.feed(ModelDelta(tool_calls=(fragment,), usage=spent(tokens)))
    return run.feed(ModelDone())


def test_an_agent_is_called_by_an_open_call_and_before_it_starts():
    parent = calling("c1")
    with pytest.raises(LocalProtocolError, match="no open call has the id 'c2'"):
        agent(parent, "c2")
    child = AgentRun([], maximum_iterations=1)
    child.start()
    with pytest.raises(LocalProtocolError, match="started already"):
        parent.agents.adopt(child, name="agent", call_id="c1")


def test_agents_go_as_deep_as_the_outermost_run_allows():
    parent = calling("c1", max_agent_depth=1)
    child = agent(parent, max_agent_depth=9)
    child.start()
    ask_tool(child)
    with pytest.raises(RefusedAgentError, match="1 deep at most"):
        agent(child, "t1")


def test_an_agent_is_not_called_where_no_budget_is_left():
    parent = calling("c1", budgets=Budgets(max_seconds=10))
    with pytest.raises(RefusedAgentError, match="max_seconds"):
        agent(parent, seconds=10)


def test_what_an_agent_uses_counts_for_all_above_it():
    parent = calling("c1", budgets=Budgets(max_total_tokens=100, max_seconds=100))
    parent.agents.guard(threading.RLock())
    child = agent(parent, seconds=10, model="m")
    child.start()
    child.feed(TimePassed(seconds=5))
    ask_tool(child, tokens=20)
    grandchild = agent(child, "t1", seconds=6)
    grandchild.start()
    grandchild.feed(ModelDelta(text="Dug.", usage=spent(30)))
    grandchild.feed(TimePassed(seconds=7))
    grandchild.feed(ModelDone())
    finished = parent.feed(Failure(message="Cancelled.", reason="cancelled"))[-1]
    assert finished.usage.total_tokens == 51
    assert [(use.name, use.used) for use in finished.budgets] == [
        ("max_total_tokens", 51),
        ("max_seconds", 23),
    ]
    assert [(use.path, use.models, use.usage.total_tokens) for use in finished.agents] == [
        (("c1",), ("m",), 50),
        (("c1", "t1"), (), 30),
    ]


@pytest.mark.parametrize("above", [True, False])
def test_a_budget_above_ends_an_agent_after_its_tools(above):
    parent = calling("c1", "c2", budgets=Budgets(max_total_tokens=20))
    child = agent(parent)
    child.start()
    ask_tool(child, tokens=5)
    if above:  # used up by another agent
        other = agent(parent, "c2")
        other.start()
        other.feed(ModelDelta(text="So.", usage=spent(50)))
        other.feed(ModelDone())
    events = child.feed(ToolResult(call_id="t1", content="nothing here"))
    if above:
        assert events[-1].reason == "budget"
        assert events[-1].rounds == 1
    else:
        assert isinstance(events[-1], CallModel)


def test_an_agent_answers_at_once_where_no_tool_call_is_left():
    parent = calling("c1", budgets=Budgets(max_tool_calls=1))
    child = agent(parent)
    assert child.start()[-1].is_closing
    child.feed(ModelDelta(text="So."))
    assert child.feed(ModelDone())[-1].reason == "budget"


def test_an_agent_that_starts_too_late_ends_at_once():
    parent = calling("c1", "c2", budgets=Budgets(max_total_tokens=20))
    child, other = agent(parent), agent(parent, "c2")
    other.start()
    other.feed(ModelDelta(text="So.", usage=spent(50)))
    other.feed(ModelDone())
    events = child.start()
    assert not any(isinstance(event, CallModel) for event in events)
    assert events[-1].reason == "budget"


def test_a_failed_call_and_an_invalid_answer_are_not_repeated_beyond_the_budget_above():
    parent = calling("c1", "c2", "c3", budgets=Budgets(max_total_tokens=20))
    failing, answering = agent(parent), agent(parent, "c2", answer_schema=SCHEMA)
    failing.start()
    answering.start()
    other = agent(parent, "c3")
    other.start()
    other.feed(ModelDelta(text="So.", usage=spent(50)))
    other.feed(ModelDone())
    events = failing.feed(ModelFailure(message="the line broke", is_transient=True))
    assert events[-1].reason == "error"
    answering.feed(ModelDelta(text="four", usage=spent(1)))
    assert answering.feed(ModelDone())[-1].reason == "invalid_answer"


def test_usage_that_an_agents_model_does_not_tell_ends_all_that_count_it():
    parent = calling("c1", "c2", budgets=Budgets(max_cost=Decimal(1)))
    child, other = agent(parent), agent(parent, "c2")
    other.start()
    child.start()
    child.feed(ModelDelta(text="So."))
    child.feed(ModelDone())
    events = ask_tool(other)
    assert events[-1].error == "max_cost cannot be kept: the model does not tell its prices"
    with pytest.raises(RefusedAgentError, match="max_cost"):
        agent(parent, "c2")
    parent.feed(ToolResult(call_id="c1", content="So."))
    finished = parent.feed(ToolResult(call_id="c2", content="So."))[-1]
    assert finished.error == "max_cost cannot be kept: the model does not tell its prices"


def test_an_agent_whose_summary_has_used_what_was_left_ends_with_what_is_known():
    parent = calling("c1", "c2", budgets=Budgets(max_total_tokens=100_000))
    task = {"role": "user", "content": "Find it."}
    child = AgentRun([task], maximum_iterations=50, window=Window(tokens=10_000))
    parent.agents.adopt(child, name="agent", call_id="c1")
    other = agent(parent, "c2")
    other.start()
    [*_, request] = child.start()
    for number in range(20):
        if request.is_compaction:
            break
        wanted = ToolCallFragment(call_id=f"t{number}", name="look")
        child.feed(ModelDelta(tool_calls=(wanted,), usage=Usage(input_tokens=1 + 1_000 * number)))
        child.feed(ModelDone())
        [*_, request] = child.feed(ToolResult(call_id=f"t{number}", content="x" * 3_000))
    assert request.is_compaction
    other.feed(ModelDelta(text="So.", usage=spent(100_000)))
    other.feed(ModelDone())
    child.feed(ModelDelta(text="Nothing by now.", usage=spent(1)))
    events = child.feed(ModelDone())
    assert not any(isinstance(event, CallModel) for event in events)
    assert (events[-1].reason, events[-1].error) == (
        "budget",
        "The budget of the run (max_total_tokens) is used up.",
    )


KEY = b"0123456789abcdef"


def lay_aside(run):
    """Return the snapshot of a run that waits for a person."""
    return run.to_snapshot(key=KEY, expires_at=100.0)


def waiting(child, asked, call_id="c1"):
    """Return what a driver feeds the calling run with when its agent waits."""
    return AgentWaiting(call_id=call_id, name="agent", snapshot=lay_aside(child), calls=asked.calls)


@pytest.mark.parametrize(("above", "own"), [("always", "never"), ("never", "always")])
def test_what_a_person_has_to_approve_of_an_agent_is_asked_by_its_caller(above, own):
    settings = {"approval_rules": ApprovalRules.parse({"look": above})}
    parent = calling("c1", "c2", budgets=Budgets(max_tool_calls=9), **settings)
    child = agent(parent, approval_rules=ApprovalRules.parse({"look": own}))
    child.start()
    [*_, asked] = ask_tool(child)
    assert parent.feed(waiting(child, asked)) == ()  # c2 is still open
    [*_, asked] = parent.feed(ToolResult(call_id="c2", content="done"))
    assert [(call.key, call.path, call.agents) for call in asked.calls] == [
        ("c1/t1", ("c1",), ("agent",))
    ]
    ended = parent.feed(Failure(message="Cancelled.", reason="cancelled"))
    results = {e.call.call_id: e.result for e in ended if isinstance(e, ToolCallEnded)}
    assert results["c1"].error == "Cancelled."
    # The call that waited in the agent was not made; only the two of the run itself count.
    assert ended[-1].budgets[0].used == 3


def test_decisions_reach_the_agent_and_it_goes_on_in_another_process():
    parent = calling("c1", budgets=Budgets(max_total_tokens=1_000), approval_rules=RULES)
    child = agent(parent)
    child.start()
    [*_, asked] = ask_tool(child, tokens=7)
    [*_, asked] = parent.feed(waiting(child, asked))
    snapshot = lay_aside(parent)

    again = AgentRun(
        [], maximum_iterations=5, budgets=Budgets(max_total_tokens=1_000), approval_rules=RULES
    )
    asked, _ = again.resume(snapshot, key=KEY, now=0.0)
    [call] = asked.calls
    [run_tools] = again.feed(Decision(call_id=call.key, is_approved=True))
    assert isinstance(run_tools, RunTools)
    assert [call.call_id for call in run_tools.calls] == ["c1"]
    resumed = run_tools.resumed["c1"]
    assert resumed.decisions == (Decision(call_id="t1", is_approved=True),)

    child = AgentRun([], maximum_iterations=5)
    child.resume(resumed.snapshot, key=KEY, now=0.0)
    again.agents.adopt(child, name="agent", call_id="c1")
    [*_, run_tools] = [event for one in resumed.decisions for event in child.feed(one)]
    assert [call.call_id for call in run_tools.calls] == ["t1"]
    child.feed(ToolResult(call_id="t1", content="found"))
    child.feed(ModelDelta(text="There.", usage=spent(5)))
    child.feed(ModelDone())
    again.feed(ToolResult(call_id="c1", content="There."))
    again.feed(ModelDelta(text="So.", usage=spent(3)))
    [*_, finished] = again.feed(ModelDone())
    assert finished.usage.total_tokens == 1 + 7 + 5 + 3
    assert [(use.path, use.usage.total_tokens) for use in finished.agents] == [(("c1",), 12)]


def test_what_agents_of_an_agent_have_used_is_known_after_it_has_waited():
    parent = calling("c1", approval_rules=RULES)
    child = agent(parent)
    child.start()
    [*_, run_tools] = child.feed(
        ModelDelta(tool_calls=(ToolCallFragment(call_id="g1", name="agent"),))
    ) + child.feed(ModelDone())
    assert isinstance(run_tools, RunTools)
    grandchild = agent(child, "g1")
    grandchild.start()
    grandchild.feed(ModelDelta(text="Deep.", usage=spent(4)))
    grandchild.feed(ModelDone())
    child.feed(ToolResult(call_id="g1", content="Deep."))
    answer = AgentAnswer(name="agent", call_id="c1")
    for event in ask_tool(child):
        answer.take(event)
    parent.feed(waiting(child, answer.asked))

    again = AgentRun([], maximum_iterations=5, approval_rules=RULES)
    again.resume(lay_aside(parent), key=KEY, now=0.0)
    [run_tools] = again.feed(Decision(call_id="c1/t1", is_approved=True))
    child = AgentRun([], maximum_iterations=5)
    child.resume(run_tools.resumed["c1"].snapshot, key=KEY, now=0.0)
    again.agents.adopt(child, name="agent", call_id="c1")
    assert [(use.path, use.usage.total_tokens) for use in again.agents.uses] == [
        (("c1",), 5),
        (("c1", "g1"), 4),
    ]
    assert again.usage.total_tokens == 1 + 5


def test_what_is_approved_once_is_approved_for_the_run_whose_rule_asked():
    once = ApprovalRules.parse({"look": "once"})
    parent = calling("c1", approval_rules=once)
    child = agent(parent)
    child.start()
    ask_tool(child)
    child.feed(Decision(call_id="t1", is_approved=True))
    child.feed(ToolResult(call_id="t1", content="found"))
    assert isinstance(ask_tool(child, call_id="t2")[-1], RunTools)
    child.feed(ToolResult(call_id="t2", content="found"))
    child.feed(ModelDelta(text="There."))
    child.feed(ModelDone())
    parent.feed(ToolResult(call_id="c1", content="There."))
    # The grant is the caller's, so it holds for its own calls as well.
    assert isinstance(ask_tool(parent, call_id="t3")[-1], RunTools)


def test_a_call_waits_once_and_only_an_open_one_does():
    parent = calling("c1", "c2", approval_rules=RULES)
    child = agent(parent)
    child.start()
    [*_, asked] = ask_tool(child)
    parent.feed(waiting(child, asked))
    for wrong in (waiting(child, asked), waiting(child, asked, "c9")):
        with pytest.raises(LocalProtocolError, match="no open call has the id"):
            parent.feed(wrong)
    with pytest.raises(LocalProtocolError, match="no open call has the id"):
        parent.feed(ToolResult(call_id="c1"))


def test_a_person_is_asked_about_twenty_calls_over_all_agents():
    parent = calling("c1", "c2", approval_rules=RULES)
    children = []
    for number, (call_id, many) in enumerate([("c1", 15), ("c2", 15)]):
        child = agent(parent, call_id)
        child.start()
        fragments = tuple(
            ToolCallFragment(call_id=f"t{n}", name="look", arguments=f'{{"n": {number}{n}}}')
            for n in range(many)
        )
        child.feed(ModelDelta(tool_calls=fragments, usage=spent(1)))
        [*_, asked] = child.feed(ModelDone())
        children.append(waiting(child, asked, call_id))
    events = [event for one in children for event in parent.feed(one)]
    assert len(events[-1].calls) == 20
    for call in events[-1].calls:
        events = parent.feed(Decision(call_id=call.key, is_approved=True))
    decided = [one for resumed in events[-1].resumed.values() for one in resumed.decisions]
    assert [one.is_approved for one in decided] == [True] * 20 + [False] * 10
    assert "only 20 calls are asked for at a time" in decided[-1].refusal


def test_results_that_come_with_a_cancel_are_known_at_the_end():
    parent = calling("c1", "c2")
    late = (ToolResult(call_id="c1", content="half"), ToolResult(call_id="c9", content="no"))
    events = parent.feed(Failure(message="Cancelled.", reason="cancelled", results=late))
    ended = {e.call.call_id: e.result for e in events if isinstance(e, ToolCallEnded)}
    assert ended["c1"].content == "half"
    assert ended["c2"].is_unfinished
    assert "half" in "".join(e.text for e in events if isinstance(e, ShowText))
    assert events[-1].rounds == 1


def read(*events):
    answer = AgentAnswer(name="finder", call_id="c1")
    for event in events:
        answer.take(event)
    return answer.read()


def finished(**fields):
    return Finished(**{"reason": "answered", "rounds": 1, "usage": Usage()} | fields)


def test_the_caller_of_an_agent_reads_what_its_last_round_has_shown():
    started = RoundStarted(round=1)
    shown = ShowText(text="<think>hm</think>There.")
    events = (started, ShowText(text="Let me look."), started, shown, finished())
    assert read(*events).content == "There."
    assert read(finished(answer=" So. ")).content == "So."


def test_the_caller_of_an_agent_reads_why_there_is_no_answer_and_what_is_known():
    late = finished(reason="cancelled", error="Cancelled.")
    assert read(late).error == "Cancelled."
    known = read(ShowText(text="\nCancelled."), ShowText(text="\nKnown."), late)
    assert (known.content, known.error) == ("Cancelled.\nKnown.", None)
    pieces = ("<think>h", "m</think>Kno", "wn.", "\nCancelled.")
    assert read(*(ShowText(text=piece) for piece in pieces), late).content == "Cancelled.\nKnown."
    failed = finished(reason="error", error="sk-123")
    assert "sk-123" not in read(ShowText(text="sk-123\n"), failed).error


def test_an_agent_that_has_not_ended_has_no_answer():
    with pytest.raises(LocalProtocolError, match="not ended"):
        read()


def test_events_of_agents_within_agents_say_the_whole_path():
    answer = AgentAnswer(name="finder", call_id="c1")
    inner = AgentEvent(path=("i1",), agent="digger", event=ShowText(text="Dug."))
    taken = answer.take(inner)
    assert (taken.path, taken.agent) == (("c1", "i1"), "digger")
    started = answer.take(ToolCallStarted(call=ToolCall(call_id="t1", name="look")))
    assert (started.path, answer.take(finished()).path) == (("c1",), ("c1",))


class Tree:
    """A tree of runs, played step by step in an order by chance; what is used is counted here, too.

    Args:
        seed: Decides everything.
    """

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.has_limits = self.chance.random() < 0.8
        self.seconds = 0.0
        self.depth = self.chance.choice([0, 1, 2, 2, 3])
        self.ids = 0
        self.is_cancelled = False
        self.nodes = []
        self.add(None, self.choose_limits(300), max_agent_depth=self.depth)

    def choose_limits(self, most):
        chance = self.chance
        choices = {
            "max_total_tokens": chance.randint(1, most),
            "max_cost": Decimal(chance.randint(1, most)) / 100,
            "max_seconds": chance.randint(1, most),
            "max_tool_calls": chance.randint(0, 8),
        }
        limits = {name: value for name, value in choices.items() if chance.random() < 0.4}
        return limits if self.has_limits else {}

    def add(self, parent, limits, call_id=None, **settings):
        run = AgentRun(
            [{"role": "user", "content": "?"}],
            maximum_iterations=self.chance.choice([1, 2, 3, 4, 6]),
            emit_intermediate_thoughts=self.chance.random() < 0.5,
            budgets=Budgets(**limits),
            answer_schema=SCHEMA if self.chance.random() < 0.2 else None,
            **settings,
        )
        if parent:
            seconds = self.seconds - parent.began
            parent.run.agents.adopt(run, name="agent", call_id=call_id, seconds=seconds)
            assert parent.depth < self.depth
        node = Node(self, run, limits, parent=parent, call_id=call_id)
        self.nodes.append(node)
        node.take(run.start())
        return node

    def play(self):
        for _ in range(5_000):
            live = [node for node in self.nodes if node.can_step]
            if not live:
                return self
            self.is_cancelled = self.is_cancelled or self.chance.random() < 0.003
            self.chance.choice(live).step()
        raise AssertionError("the runs do not end")


class Node:
    """One run of the tree: a step is one input to it."""

    def __init__(self, tree, run, limits, *, parent, call_id):
        self.tree, self.run, self.limits = tree, run, limits
        self.parent, self.call_id = parent, call_id
        self.depth = parent.depth + 1 if parent else 0
        self.began = tree.seconds
        self.answer = AgentAnswer(name="agent", call_id=call_id or "")
        self.used = {"max_total_tokens": 0, "max_cost": Decimal(0), "max_tool_calls": 0}
        self.requests_beyond = []
        self.waiting = []  # Calls that nothing answers yet.
        self.finished = None

    @property
    def can_step(self):
        if self.finished:
            return False
        return self.run.state == "model" or bool(self.waiting) or self.tree.is_cancelled

    @property
    def above(self):
        return [self.parent, *self.parent.above] if self.parent else []

    @property
    def used_up(self):
        used = {**self.used, "max_seconds": self.tree.seconds - self.began}
        return {name for name, limit in self.limits.items() if used[name] >= limit}

    def spend(self, **amounts):
        for node in (self, *self.above):
            for name, amount in amounts.items():
                node.used[name] += amount

    def feed(self, received):
        self.run.feed(TimePassed(seconds=self.tree.seconds - self.began))
        self.take(self.run.feed(received))

    def take(self, events):
        for event in events:
            self.answer.take(event)
            match event:
                case CallModel():
                    assert not any(node.used_up - {"max_tool_calls"} for node in self.above)
                    is_beyond = any(node.used_up for node in (self, *self.above))
                    self.requests_beyond += [event] if is_beyond else []
                case RunTools(calls=calls):
                    assert not any(node.used_up for node in (self, *self.above))
                    self.spend(max_tool_calls=len(calls))
                    self.waiting = [call.call_id for call in calls]
                case Finished():
                    self.finished = event
                    self.end()
                case _:
                    pass

    def end(self):
        assert self.finished.is_answered or self.finished.error
        if self.parent and not self.parent.finished:
            result = self.answer.read()
            assert result.content
            self.parent.feed(result)

    def step(self):
        if self.tree.is_cancelled:
            self.feed(Failure(message="Cancelled.", reason="cancelled"))
        elif self.run.state == "model":
            self.say()
        else:
            self.call(self.waiting.pop(self.tree.chance.randrange(len(self.waiting))))

    def say(self):
        tree, chance = self.tree, self.tree.chance
        tree.seconds += chance.choice([0, 0, 1, 5])
        if chance.random() < 0.1:
            is_transient = chance.random() < 0.7
            self.feed(ModelFailure(message="the line broke", is_transient=is_transient))
            return
        wanted = chance.randint(1, 3) if chance.random() < 0.75 else 0
        tree.ids += wanted
        calls = [
            ToolCallFragment(call_id=f"c{tree.ids - number}", name="agent")
            for number in range(wanted)
        ]
        text = chance.choice(["", "So.", '{"n": 4}', "<think>hm"])
        usage = Usage()
        if chance.random() < 0.97:
            tokens, price = chance.randint(1, 40), Decimal(chance.randint(1, 20)) / 100
            usage = Usage(total_tokens=tokens, total_price=price)
            self.spend(max_total_tokens=tokens, max_cost=price)
        self.feed(ModelDelta(text=text, tool_calls=tuple(calls), usage=usage))
        self.feed(ModelDone())

    def call(self, call_id):
        tree, chance = self.tree, self.tree.chance
        tree.seconds += chance.choice([0, 0, 1, 5])
        if chance.random() < 0.4:
            self.feed(ToolResult(call_id=call_id, content="nothing here"))
            return
        try:
            tree.add(self, tree.choose_limits(100), call_id, max_agent_depth=chance.randint(0, 5))
        except RefusedAgentError as error:
            self.feed(ToolResult(call_id=call_id, error=str(error)))


def hold_every_law(seed):
    tree = Tree(seed).play()
    for node in tree.nodes:
        finished, used = node.finished, node.used
        assert finished is not None
        assert all(request.is_closing for request in node.requests_beyond)
        assert len(node.requests_beyond) <= 1
        assert finished.usage.total_tokens <= used["max_total_tokens"]
        assert used["max_tool_calls"] <= node.limits.get("max_tool_calls", 10**9)
    finished, used = tree.nodes[0].finished, tree.nodes[0].used
    if not tree.is_cancelled:  # Then agents may end after their caller.
        told = (finished.usage.total_tokens, finished.usage.total_price)
        assert told == (used["max_total_tokens"], used["max_cost"])
        assert len(finished.agents) == len(tree.nodes) - 1
        tokens = {use.path: use.usage.total_tokens for use in finished.agents}
        assert sorted(tokens.values()) == sorted(
            node.used["max_total_tokens"] for node in tree.nodes[1:]
        )
    assert all(len(use.path) <= tree.depth for use in finished.agents)


@pytest.mark.untraced
@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_a_tree_of_agents_keeps_every_law(seed):
    hold_every_law(seed)


@pytest.mark.long
@settings(max_examples=10_000)
@given(st.integers(0, 2**32))
def test_a_tree_of_agents_keeps_every_law_at_length(seed):
    hold_every_law(seed)


@pytest.mark.untraced
def test_agents_in_threads_lose_nothing_of_what_they_use():
    ids = [f"c{n}" for n in range(16)]
    parent = calling(*ids, budgets=Budgets(max_tool_calls=500))
    parent.agents.guard(threading.RLock())
    made = []

    runs = [agent(parent, call_id, maximum_iterations=60) for call_id in ids]

    def work(run):
        run.start()
        while run.state == "model":
            events = ask_tool(run)
            made.extend(1 for e in events if isinstance(e, RunTools))
            if run.state == "tools":
                run.feed(ToolResult(call_id="t1", content="x"))

    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended = parent.feed(Failure(message="Cancelled.", reason="cancelled"))[-1]
    assert len(made) == 500 - 16
    assert ended.usage.total_tokens == 1 + sum(use.model_calls for use in ended.agents)
