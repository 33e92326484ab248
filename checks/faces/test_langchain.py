"""langchain, whose model of the Responses API is a served agent."""

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


@pytest.mark.parametrize("settings", [{}, {"store": False}, {"use_previous_response_id": True}])
def test_it_streams_calls_its_tool_and_goes_on(settings, base_url):
    chat = ChatOpenAI(
        model="asker", base_url=base_url, api_key="k1", use_responses_api=True, **settings
    ).bind_tools([get_weather])
    messages = [HumanMessage("How is the weather?")]
    pieces = list(chat.stream(messages))
    assert len(pieces) > 4
    answer = sum(pieces[1:], pieces[0])
    [call] = answer.tool_calls
    assert (call["name"], call["args"]) == ("get_weather", {"city": "Paris"})
    result = ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"])
    messages += [answer, result]
    told = chat.invoke(messages)
    assert told.text == "The client says: sunny in Paris "
    again = chat.invoke([*messages, told, HumanMessage("And now?")])
    assert [one["name"] for one in again.tool_calls] == ["get_weather"]


def test_a_person_is_asked_and_it_goes_on(base_url):
    chat = ChatOpenAI(model="payer", base_url=base_url, api_key="k1", use_responses_api=True)
    question = HumanMessage("Refund me.")
    asked = chat.invoke([question])
    [request] = asked.content
    assert (request["type"], request["name"]) == ("mcp_approval_request", "pay")
    answer = {
        "type": "mcp_approval_response",
        "approval_request_id": request["id"],
        "approve": True,
    }
    told = chat.invoke([question, asked, HumanMessage([answer])])
    assert told.text == "The bank says: 30 euros are on their way. "
