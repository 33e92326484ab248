"""A question to the user over the real daemon: the run lies in its storage until the next turn, in another process if need be."""

import pytest

from client import DaemonError
from dify import KEY, run_agent, text_of
from dify_plugin_host import PythonTool, ToolParameter
from gpt5_simulator import FunctionCall, ResponsesSimulator, ScriptedModel, Text


PAY = PythonTool(
    name="pay",
    description="Pays somebody.",
    parameters=(ToolParameter(name="to", hint=str, type="string"),),
    function=str,  # not called: the inner API answers
)
RULES = '{"pay": "always"}'


@pytest.fixture(autouse=True)
def paid(inner_api):
    """Who has been paid."""
    names = []
    inner_api.tool = lambda parameters: names.append(parameters["to"]) or "paid"
    return names


@pytest.fixture
def turn(client, between):
    """Take a turn of a conversation, in which the model pays first; return what the user reads."""
    rounds = [[FunctionCall(name="pay", arguments={"to": "Ann"})], [Text(text="Done.")]]
    model = ScriptedModel(rounds, repeat=True)
    with ResponsesSimulator(model=model, api_keys=[KEY]) as simulator:
        between(client, simulator.base_url, keeps_opaque_body=True)

        def take(query, history=(), conversation="c-1", **given):
            given.setdefault("approval_rules", RULES)
            messages = run_agent(
                client,
                simulator.base_url,
                PAY,
                query=query,
                history=history,
                conversation=conversation,
                **given,
            )
            return text_of(messages)

        yield take


def said(question):
    return [{"role": "user", "content": "Pay."}, {"role": "assistant", "content": question}]


def test_a_call_is_made_once_when_its_question_is_answered_with_yes(turn, paid):
    question = turn("Pay.")
    assert '- pay: {"to":"Ann"}' in question
    assert paid == []

    assert turn("yes", said(question)).endswith("Done.")
    assert paid == ["Ann"]


def test_a_call_is_denied_by_any_other_answer(turn, paid):
    question = turn("Pay.", conversation="c-2")
    assert turn("Yes, but less.", said(question), "c-2").endswith("Done.")
    assert paid == []


def test_the_question_of_another_conversation_is_not_answered(turn, paid):
    question = turn("Pay.", conversation="c-3")
    turn("yes", said(question), "c-4")
    assert paid == []


def test_outside_of_a_conversation_nobody_can_be_asked(turn):
    with pytest.raises(DaemonError, match="belongs to no conversation"):
        turn("Pay.", conversation=None)
