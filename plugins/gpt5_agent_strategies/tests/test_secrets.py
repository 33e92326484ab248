"""What the app's builder has set in a tool stands in no error, no log and no trace."""

import json
from pathlib import Path

import pytest

from dify_plugin_host import PluginInvokeError
from scripted_dify import (
    SHOWN_ALONE,
    DifyError,
    Transcript,
    build_parameters,
    call,
    chunk,
    parameter,
    text_message,
    tool,
)
from stream_text import REDACTED


PLUGIN = Path(__file__).parent.parent
KEY = "k3y/ü 4"
HIDDEN = {
    "api_key": KEY,
    "pin": "47!1",
    "host": "internal.example",
    "account": 1234567890,
    "body": {"header": ["Bearer of-nothing"], "short": "ok"},
    "pem": "-----BEGIN-----\nAAAABBBBCCCC\n-----END-----",
    "undeclared": "a-value-of-mine",
}
LEAKS = [
    "k3y",
    "47!1",
    "internal.example",
    "1234567890",
    "of-nothing",
    "AAAABBBBCCCC",
    "a-value-of-mine",
    "default-of-mine",
]
SEARCH = tool(
    "search",
    parameter("query"),
    parameter("api_key", form="form"),
    parameter("pin", "secret-input", form="form"),
    parameter("host", form="form"),
    parameter("account", "number", form="form"),
    parameter("body", "object", form="form"),
    parameter("pem", form="form"),
    parameter("hint", form="form", default="default-of-mine"),
    runtime_parameters=HIDDEN,
)
TOLD = (
    json.dumps(HIDDEN, ensure_ascii=False) + " https://a.test/?key=k3y%2F%C3%BC+4 default-of-mine"
)


def leaks(agent, transcript):
    """Return what of the hidden values stands where somebody can read it, but for the answer and the tool's request."""
    told = [
        message for message in transcript.messages if message["type"] not in ("text", "variable")
    ]
    error = transcript.error and [transcript.error.message, transcript.error.details]
    everything = json.dumps([told, error, agent.log], ensure_ascii=False)
    return [value for value in LEAKS if value in everything]


@pytest.mark.parametrize("said", [text_message(TOLD), DifyError(TOLD)])
def test_what_a_tool_tells_of_its_parameters_is_not_logged(agent, said):
    agent.dify.model = [
        [chunk(calls=[call("search", json.dumps({"query": TOLD}))])],
        [chunk(f"It said {TOLD}")],
    ]
    agent.dify.tools["search"] = [said]
    transcript = agent.run(tools=[SEARCH])
    assert transcript.text.endswith(TOLD)
    assert agent.dify.tool_requests[0]["tool_parameters"]["api_key"] == KEY
    assert leaks(agent, transcript) == []


def test_the_drivers_own_log_which_has_failures_as_they_are_leads_nowhere(inside):
    assert inside.evaluate(
        "import logging; logging.getLogger('agent_driver').error('hunter2'); result = True"
    )
    assert "hunter2" not in inside.output


def test_what_a_tool_tells_of_them_where_its_result_is_the_answer_is_not_shown(agent):
    agent.dify.model = [[chunk(calls=[call("search", '{"query": "x"}')])]]
    agent.dify.tools["search"] = [text_message(f"It said {TOLD}")]
    transcript = agent.run(tools=[SEARCH], maximum_iterations=1)
    assert "It said " in transcript.text
    assert not [value for value in LEAKS if value in transcript.text]
    assert leaks(agent, transcript) == []


def test_what_a_failing_model_tells_of_them_stands_in_no_error(agent):
    agent.dify.model = [[DifyError(TOLD)]]
    transcript = agent.run(tools=[SEARCH])
    assert transcript.error.message.startswith("The model call of round 1 failed: ")
    assert leaks(agent, transcript) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"parameters": [{"name": KEY, "type": 5}]},
        {"provider_type": TOLD},
        {"description": {"llm": [TOLD]}},
        {"identity": {"name": "search"}},
    ],
)
def test_a_tool_that_cannot_be_read_tells_nothing_of_them(agent, changed):
    agent.dify.model = [[chunk("Done.")]]
    transcript = agent.run(tools=[{**SEARCH, **changed}])
    assert transcript.logs["Tools left out"]
    assert "Tools left out: search: " in agent.log
    assert leaks(agent, transcript) == []


@pytest.mark.parametrize("maximum_iterations", [1, 2])
@pytest.mark.parametrize("name", [KEY, "47!1", "default-of-mine", "%6b3y/%C3%BC 4"])
def test_a_tool_that_a_model_calls_by_a_hidden_value_is_named_nowhere(
    agent, name, maximum_iterations
):
    calls = [call(f"get_{name}"), call("search", json.dumps({name: name}), id_="c2")]
    agent.dify.model = [[chunk(calls=calls)], [chunk(calls=calls[:1])]]
    transcript = agent.run(tools=[SEARCH], maximum_iterations=maximum_iterations)
    assert f"get_{REDACTED}" in transcript.text
    assert name not in transcript.text
    assert leaks(agent, transcript) == []


@pytest.mark.parametrize("value", ["y", "eu-1", True, None, 5])
def test_a_short_value_that_is_no_secret_does_not_blot_out_a_log(agent, value):
    agent.dify.model = [[chunk("eu-1: y is true, 5, None")]]
    settings = tool("t", parameter("region", form="form"), runtime_parameters={"region": value})
    assert agent.run(tools=[settings]).logs["ROUND 1"]["data"]["output"]["llm_response"] == (
        "eu-1: y is true, 5, None"
    )


def test_a_value_that_the_model_sees_is_no_secret(agent):
    agent.dify.model = [[chunk("The default is celsius-degrees.")]]
    unit = tool("t", parameter("unit", default="celsius-degrees"))
    log = agent.run(tools=[unit]).logs["ROUND 1"]["data"]["output"]
    assert log["llm_response"] == "The default is celsius-degrees."


SABOTAGE = """

def _sabotage(self, event):
    raise LookupError(str([given for _, _, given in self._turn.toolbox.fixed.values()]))


DifyLog.start_tool_call = _sabotage
"""


@pytest.mark.long
def test_a_run_that_breaks_says_in_the_plugins_log_what_broke_and_no_secret(break_plugin):
    agent = break_plugin("_dify_log.py", SABOTAGE)
    agent.dify.model = [[chunk(calls=[call("search", '{"query": "x"}')])]]
    transcript = agent.run(tools=[SEARCH])
    assert "LookupError: [{'api_key': " in agent.log
    assert "in _sabotage" in agent.log
    assert transcript.metadata["stop_reason"] == "error"
    assert leaks(agent, transcript) == []


@pytest.mark.long
def test_a_run_that_breaks_before_it_begins_tells_its_figures_and_no_secret(break_plugin):
    agent = break_plugin(
        "_parameters.py",
        "\n\nParameters.from_raw = lambda raw: (_ for _ in ()).throw(LookupError(str(raw)))\n",
    )
    transcript = agent.run(tools=[SEARCH])
    assert transcript.error.error_type == SHOWN_ALONE
    assert transcript.metadata["stop_reason"] == "error"
    assert "LookupError" in agent.log
    assert leaks(agent, transcript) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"agent_strategy_params": [SEARCH]}, "agent_strategy_params: Input should be"),
        ({"agent_strategy": SEARCH}, "agent_strategy: Input should be"),
        ({"agent_strategy": f"none called {KEY}"}, "the plugin's log says more"),
        ({"agent_strategy_provider": KEY}, "the plugin's log says more"),
    ],
)
def test_a_request_that_the_sdk_refuses_is_told_by_its_field_and_not_quoted(agent, changed, told):
    request = {
        "agent_strategy_provider": "gpt5_agent_strategies",
        "agent_strategy": "gpt5_function_calling",
        "agent_strategy_params": build_parameters(tools=[SEARCH]),
    }

    async def refused():
        with pytest.raises(PluginInvokeError) as caught:
            async for _ in agent.process.invoke(
                "agent_strategy", "invoke_agent_strategy", request | changed
            ):
                pass
        return caught.value

    error = agent.run_async(refused())
    assert error.error_type in {"ValidationError", "ValueError"}
    assert told.casefold() in error.message.casefold()
    assert leaks(agent, Transcript(error=error)) == []
