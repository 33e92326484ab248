"""Tests of models/openai of langgenius/dify-official-plugins at 7af22831, against a simulated server.

The fixture `responses_simulator` is gpt5-simulator's.
"""

import pytest

from dify_plugin_host import UnknownNameError
from dify_plugin_host.testing import PluginInvokeError, ToolCall
from gpt5_simulator import FunctionCall, Text


def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@pytest.fixture
def credentials(responses_simulator):
    return {"openai_api_key": "sk-a-made-up-key", "openai_api_base": responses_simulator.base_url}


@pytest.fixture
def model(dify_plugin, credentials):
    return dify_plugin.model("gpt-5.2", credentials=credentials)


def test_an_answer_has_its_text_and_what_it_costs(model, responses_simulator):
    responses_simulator.add_reply(Text(text="Hello there."))
    answer = model.invoke("hello", system="Be brief.", reasoning_effort="low")
    assert answer.text == "Hello there."
    assert answer.usage["total_tokens"] > 0
    assert float(answer.usage["total_price"]) > 0
    [request] = responses_simulator.requests
    assert request.body["reasoning"]["effort"] == "low"


def test_a_call_of_a_tool_comes_whole(model, responses_simulator):
    responses_simulator.add_reply(FunctionCall(name="add", arguments={"a": 1, "b": 2}))
    answer = model.invoke("What is 1 + 2?", tools=[add])
    assert answer.tool_calls == [ToolCall("add", {"a": 1, "b": 2})]


def test_a_limit_of_the_server_is_the_error_that_dify_knows(model, responses_simulator):
    responses_simulator.add_fault("rate_limit;retry_after_ms=1;times=3")  # as often as it is tried
    with pytest.raises(PluginInvokeError) as caught:
        model.invoke("hello")
    assert caught.value.error_type == "InvokeRateLimitError"


def test_a_parameter_that_the_model_does_not_declare_is_named(model):
    with pytest.raises(
        UnknownNameError, match=r"no parameter of model 'gpt-5\.2' named 'temprature'"
    ):
        model.invoke("hello", temprature=0.2)


@pytest.mark.responses_simulator(models=["gpt-4o-mini"], api_keys=["sk-the-only-right-one"])
def test_credentials_are_tried_with_a_small_model(dify_plugin, credentials):
    dify_plugin.validate({**credentials, "openai_api_key": "sk-the-only-right-one"})
    with pytest.raises(PluginInvokeError, match="CredentialsValidateFailedError"):
        dify_plugin.validate(credentials)
