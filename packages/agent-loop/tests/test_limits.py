"""What a model may ask for in one round, and that a round costs no more than what is in it."""

from agent_loop import (
    AgentRun,
    CallModel,
    Message,
    ModelDelta,
    ModelDone,
    RunTools,
    ShowText,
    ToolCallEnded,
    ToolCallFragment,
    ToolResult,
)
from counting import CountedText, is_linear


QUESTION = (Message(role="user", content="?"),)
REFUSED = "tool invoke error: only the first 128 calls of a round are made; this one was not run"


def fragments(count):
    return tuple(
        ToolCallFragment(call_id=CountedText(f"c{n}"), name="add", arguments="{}")
        for n in range(count)
    )


def ask_many(count, **settings):
    """Have a run ask for so many calls, and return the run and what it answers."""
    run = AgentRun(QUESTION, **{"maximum_iterations": 6, "tools": ("add",)} | settings)
    run.start()
    run.feed(ModelDelta(tool_calls=fragments(count)))
    return run, run.feed(ModelDone())


def give_results(run, calls):
    return [
        event for call in calls for event in run.feed(ToolResult(call_id=call.call_id, content="4"))
    ]


def test_of_more_than_128_calls_the_rest_are_refused_with_a_sentence():
    run, events = ask_many(130)
    assert [event.result.content for event in events if isinstance(event, ToolCallEnded)] == [
        REFUSED,
        REFUSED,
    ]
    assert isinstance(events[-1], RunTools)
    assert [call.call_id for call in events[-1].calls] == [f"c{n}" for n in range(128)]
    [request] = [
        event for event in give_results(run, events[-1].calls) if isinstance(event, CallModel)
    ]
    results = [message for message in request.messages if message.role == "tool"]
    assert [message.tool_call_id for message in results] == [f"c{n}" for n in range(130)]
    assert [message.content for message in results[127:]] == ["4", REFUSED, REFUSED]


def test_refusals_do_not_flood_what_is_shown():
    run, events = ask_many(4_000, maximum_iterations=1)
    shown = [e.text for e in give_results(run, events[-1].calls) if isinstance(e, ShowText)]
    assert shown[127:] == ["\n4", f"\n{REFUSED}"]

    run, events = ask_many(1, maximum_iterations=2)
    give_results(run, events[-1].calls)
    run.feed(ModelDelta(tool_calls=fragments(4_000)))
    assert sum(isinstance(event, ShowText) for event in run.feed(ModelDone())) == 128


def test_twice_the_calls_cost_twice_as_much():
    def play(count):
        run, events = ask_many(count)
        give_results(run, events[-1].calls)

    assert is_linear(play, 200)


def test_twice_the_pieces_without_a_name_cost_twice_as_much():
    def play(count):
        run = AgentRun(QUESTION, maximum_iterations=6)
        run.start()
        for number in range(count):
            run.feed(ModelDelta(tool_calls=(ToolCallFragment(call_id=CountedText(f"c{number}")),)))

    assert is_linear(play, 200)
