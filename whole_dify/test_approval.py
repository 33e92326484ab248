"""A question to the user: the turn ends with it, the run lies in Dify's storage, and the next message answers it."""

import time

import pytest

from apps import agent_node, weekday
from upstream import call, items, said, thought


@pytest.fixture
def take_turn(apps, upstream):
    """Take a turn of a conversation whose agent must ask before it calls its tool."""
    ask = call("weekday", year=2026, month=11, day=23)
    upstream.plays([thought(), ask], [said("It is done.")])
    app = apps.chatflow("agent", agent_node([weekday()], approval_rules='{"weekday": "always"}'))
    runs = []

    def take(query):
        conversation = runs[-1].conversation if runs else ""
        runs.append(app.chat(query, conversation=conversation))
        time.sleep(1.2)  # Dify orders messages by whole seconds
        return runs[-1]

    return take


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


def test_outside_of_a_conversation_nobody_can_be_asked(apps, upstream):
    upstream.plays([call("weekday", year=2026, month=11, day=23)])
    rules = '{"weekday": "always"}'
    node = agent_node([weekday()], memory=False, query="{{#start.text#}}", approval_rules=rules)
    run = apps.workflow("agent", node).run({"text": "What weekday is it?"})
    assert "belongs to no conversation" in run.error
    assert len(run.error) < 400
