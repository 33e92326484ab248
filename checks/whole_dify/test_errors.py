"""What people read when an agent's run fails: a sentence of ours, no path of the server and no traceback."""

import re

import pytest

from apps import agent_node, weekday


_CALLS_OF_A_RUN = 4  # The model plugin makes a call twice, and so does the agent.


@pytest.fixture
def fail(apps):
    """Run an agent, and return the error that Dify shows for the run."""

    def fail(**options):
        run = apps.chatflow("agent", agent_node([weekday()], **options)).chat("What weekday is it?")
        assert run.of("workflow_finished")[0]["data"]["status"] == "failed"
        assert run.node("node")["error"] == run.error
        return run.error

    return fail


@pytest.mark.parametrize(
    ("status", "message", "told"),
    [
        (400, "Unsupported value: 'x'.", "The server refused the request (status 400)"),
        (401, "Incorrect API key provided: sk-1234.", "check and try again"),
        (404, "The model 'gpt-5.2' does not exist.", "no model 'gpt-5.2'"),
    ],
)
def test_what_the_server_refuses_is_told_in_a_sentence(fail, upstream, status, message, told):
    upstream.refuses(message, status)
    error = fail()
    assert error.startswith("The model call of round 1 failed: ")
    assert told in error
    assert message not in error
    assert "sk-" not in error
    assert_is_short(error)


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("max_cost", -1, "max_cost"),
        ("answer_schema", "{", "answer_schema"),
        ("answer_schema", '{"type": "nothing"}', "answer_schema"),
        ("approval_rules", '{"weekday": "perhaps"}', "approval_rules"),
        ("fallback_model", "{", "fallback_model"),
        ("fallback_model", "gpt-5.2", "fallback_model"),
    ],
)
def test_an_option_that_cannot_be_is_named_before_the_model_is_called(
    fail, upstream, option, value, told
):
    error = fail(**{option: value})
    assert told in error
    assert_is_short(error)
    assert upstream.requests == []


def test_a_model_that_fails_for_good_leads_down_the_nodes_fail_branch(apps, upstream):
    upstream.refuses("Overloaded.", 503)
    flow = apps.chatflow("agent", agent_node([weekday()]), failed="Sorry: {{#node.error_message#}}")
    run = flow.chat("What weekday is it?")
    assert run.answer.startswith("Sorry: The model call of round ")
    assert "The server failed to answer (status 503)." in run.answer
    assert "Overloaded." not in run.answer
    assert_is_short(run.answer)
    assert len(upstream.requests) == _CALLS_OF_A_RUN


def test_a_default_value_stands_for_an_agent_that_has_failed_and_for_nothing_else(apps, upstream):
    value = [{"key": "text", "type": "string", "value": "Later."}]
    node = agent_node([weekday()]) | {"error_strategy": "default-value", "default_value": value}
    app = apps.chatflow("agent", node)
    upstream.refuses("Overloaded.", 503)
    run = app.chat("What weekday is it?")
    assert (run.text, run.node("node")["outputs"]["text"]) == ("Later.", "Later.")
    assert run.node("node")["outputs"]["error_message"].startswith("The model call of round ")


def assert_is_short(error):
    assert len(error) < 400
    assert "Traceback" not in error
    assert not re.search(r"/[a-z0-9_.-]+/[a-z0-9_.-]+/", error)
