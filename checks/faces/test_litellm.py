"""LiteLLM's call of the Responses API, for which a served agent is a model of an OpenAI-compatible server."""

import litellm
import pytest

from answers import WEATHER, approvals_in, outputs_for


@pytest.fixture
def respond(base_url):
    def create(**asked):
        return litellm.responses(
            **asked, api_base=base_url, api_key="k1", custom_llm_provider="openai"
        )

    return create


@pytest.mark.filterwarnings("ignore")  # its own types
def test_it_streams_calls_tools_and_goes_on(respond):
    events = list(respond(model="asker", input="Weather?", tools=WEATHER, stream=True))
    texts = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(texts) == "Let me ask. "
    first = events[-1].response
    calls = [one for one in first.output if one.type == "function_call"]
    second = respond(model="asker", input=outputs_for(calls), previous_response_id=first.id)
    assert second.output_text == "The client says: get_weather: fine and get_time: fine "
    third = respond(model="asker", input="And now?", previous_response_id=second.id)
    assert third.output_text == "Nothing to call. "


@pytest.mark.filterwarnings("ignore")  # as above
def test_a_person_is_asked_and_it_goes_on(respond):
    first = respond(model="payer", input="Refund me.")
    answers = approvals_in(first.output, approve=True, reason="")
    second = respond(model="payer", input=answers, previous_response_id=first.id)
    assert second.output_text == "The bank says: 30 euros are on their way. "
