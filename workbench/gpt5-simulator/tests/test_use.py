"""Replies and faults that a test adds while the simulator runs, and whether they were used."""

import pytest

from gpt5_simulator import (
    CutStream,
    FaultError,
    FunctionCall,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)


@pytest.fixture
def simulator():
    with ResponsesSimulator() as simulator:
        yield simulator


def kinds_and_texts(response):
    items = response.json()["output"]
    return [item.get("arguments") or item["content"][0]["text"] for item in items]


def faults_of(simulator):
    with pytest.raises(AssertionError) as caught:
        simulator.assert_used()
    first, *lines = str(caught.value).splitlines()
    assert first == "the simulator was not used as planned:"
    return lines


def test_replies_are_given_in_their_order_and_nothing_else_answers_then(simulator, ask):
    simulator.add_reply(Text(text="Wait."), FunctionCall(name="clock", arguments={}))
    simulator.add_reply("It is noon.")
    answers = [ask(simulator) for _ in range(3)]
    assert [kinds_and_texts(answer) for answer in answers[:2]] == [["Wait.", "{}"], ["It is noon."]]
    assert answers[2].status_code == 500
    simulator.assert_used()


def test_replies_go_on_where_a_script_ends(ask):
    with ResponsesSimulator(model=ScriptedModel([[Text(text="One")]])) as simulator:
        simulator.add_reply("Two")
        assert [kinds_and_texts(ask(simulator)) for _ in range(2)] == [["One"], ["Two"]]
        simulator.assert_used()


def test_until_there_is_a_reply_the_model_answers(simulator, ask):
    assert ask(simulator).status_code == 200
    simulator.add_reply("Hello")
    assert kinds_and_texts(ask(simulator)) == ["Hello"]


def test_a_reply_of_something_else_is_told(simulator):
    with pytest.raises(TypeError, match=r"turn\[0\]: expected an item of a turn"):
        simulator.add_reply(5)


def test_a_fault_may_be_given_by_its_text(ask):
    with ResponsesSimulator(faults=["rate_limit;retry_after=3", None]) as simulator:
        simulator.add_fault("server_error")
        answers = [ask(simulator) for _ in range(3)]
        simulator.assert_used()
    assert [answer.status_code for answer in answers] == [429, 200, 500]
    assert answers[0].headers["retry-after"] == "3"


def test_a_text_that_is_no_fault_is_told(simulator):
    with pytest.raises(FaultError, match="unknown fault 'rate-limit'; expected one of: none, "):
        simulator.add_fault("rate-limit")


def test_a_simulator_that_nobody_asked_was_not_used(simulator):
    assert faults_of(simulator) == ["no request came"]


def test_what_is_left_over_is_told(simulator, ask):
    for reply in ("One", "Two", "Three"):
        simulator.add_reply(reply)
    for fault in ("none", "cut;times=2", "http;status=418", "late_error;times=none", None):
        simulator.add_fault(fault)
    ask(simulator)
    simulator.add_fault("unverified_organization;stream=true")
    simulator.add_fault(CutStream(after_events=1))
    assert faults_of(simulator) == [
        "replies not used: 2",
        "faults not used: UnverifiedOrganization(stream=True), CutStream(times=2), HttpError(status=418), CutStream(after_events=1)",
    ]


def test_a_script_that_begins_again_has_nothing_left_over(ask):
    with ResponsesSimulator(model=ScriptedModel([[Text(text="One")]], repeat=True)) as simulator:
        ask(simulator)
        simulator.assert_used()


def test_the_variables_of_openai_s_client_name_the_simulator(simulator):
    assert simulator.environment == {
        "OPENAI_API_KEY": "sk-simulator-any-key",
        "OPENAI_BASE_URL": simulator.base_url,
    }
