"""A question to the user: the turn ends with it, the run lies in Dify's storage, and the next message answers it."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from apps import agent_node, weekday
from upstream import call, items, said, thought


@pytest.fixture
def begin(apps, upstream):
    """Begin a conversation with an agent that must ask before it calls its tool; return what takes its turns."""
    ask = call("weekday", year=2026, month=11, day=23)
    done = [said("It is done.")]
    upstream.plays([thought(), ask], done, done)

    def make(*, memory=True):
        node = agent_node([weekday()], memory=memory, approval_rules='{"weekday": "always"}')
        app, runs = apps.chatflow("agent", node), []

        def take(query):
            conversation = runs[0].conversation if runs else ""
            runs.append(app.chat(query, conversation=conversation))
            time.sleep(1.2)  # Dify orders messages by whole seconds
            return runs[-1]

        return take

    return make


@pytest.fixture
def take_turn(begin):
    """Take a turn of a conversation whose agent must ask before it calls its tool."""
    return begin()


def outputs(upstream):
    """Return what the tool has answered, of all requests."""
    found = [item for body in upstream.requests for item in items(body, "function_call_output")]
    return [item["output"] for item in found]


def find_log(run, label):
    [entry] = [entry for entry in run.log if entry["label"] == label]
    return entry["data"]


def test_a_call_is_made_when_its_question_is_answered_with_yes(take_turn, upstream):
    question = take_turn("What weekday is it?")
    assert "weekday" in question.answer
    assert question.text[0] not in "\n "
    assert len(upstream.requests) == 1

    answer = take_turn("yes")
    assert (answer.error, answer.answer) == ("", "It is done.")
    assert answer.text[0] not in "\n "
    [output] = items(upstream.requests[-1], "function_call_output")
    assert output["output"] == "November 23, 2026 is Monday."
    assert len(items(upstream.requests[-1], "reasoning")) == 1


def test_a_call_is_denied_by_any_other_answer(take_turn, upstream):
    take_turn("What weekday is it?")
    assert take_turn("No, rather not.").answer == "It is done."
    [output] = items(upstream.requests[-1], "function_call_output")
    assert "Monday" not in output["output"]


@pytest.mark.parametrize("memory", [True, False], ids=["memory", "no memory"])
def test_of_two_yeses_at_the_same_moment_one_at_most_makes_the_call(begin, upstream, memory):
    take = begin(memory=memory)
    code = take("What weekday is it?").answer[-8:]

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(take, [f"yes {code}"] * 2))

    assert [answer.error for answer in answers] == ["", ""]
    # With a memory each may find the other in its history: then both are ordinary messages.
    assert outputs(upstream) in (["November 23, 2026 is Monday."], [] if memory else None)


def test_without_a_memory_a_yes_counts_with_its_code_alone(begin, upstream):
    take = begin(memory=False)
    question = take("What weekday is it?").answer
    assert question in take("yes").answer
    assert question in take("yes 00000000").answer
    assert len(upstream.requests) == 1

    answer = take(f"Yes {question[-8:]}.")

    assert answer.answer == "It is done."
    assert outputs(upstream) == ["November 23, 2026 is Monday."]
    decided = find_log(answer, "Approval decided")
    assert (decided["decision"], decided["code"]) == ("approved", question[-8:])
    assert decided["by"]


def test_outside_of_a_conversation_nobody_can_be_asked(apps, upstream):
    upstream.plays([call("weekday", year=2026, month=11, day=23)])
    rules = '{"weekday": "always"}'
    node = agent_node([weekday()], memory=False, query="{{#start.text#}}", approval_rules=rules)
    run = apps.workflow("agent", node).run({"text": "What weekday is it?"})
    assert "belongs to no conversation" in run.error
    assert len(run.error) < 400
