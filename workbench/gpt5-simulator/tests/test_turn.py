import pytest

from gpt5_simulator import (
    CustomToolCall,
    FunctionCall,
    Reasoning,
    Refusal,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)


CALL = FunctionCall(name="f", arguments='{"broken": ', call_id="call_mine")


def test_turns_are_said_one_a_request(ask):
    with ResponsesSimulator(model=ScriptedModel([[CALL], [Text(text="Done")]])) as simulator:
        first = ask(simulator).json()["output"]
        second = ask(simulator).json()["output"]
        third = ask(simulator)
    assert (first[0]["arguments"], first[0]["call_id"]) == ('{"broken": ', "call_mine")
    assert second[0]["content"][0]["text"] == "Done"
    assert third.status_code == 500
    assert third.json()["error"]["message"] == "The script has no more turns."


def test_a_script_can_repeat(ask):
    with ResponsesSimulator(model=ScriptedModel([[CALL], []], repeat=True)) as simulator:
        lengths = [len(ask(simulator).json()["output"]) for _ in range(4)]
    assert lengths == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("model", "phases"),
    [("gpt-5.2", [None, None]), ("gpt-5.3-codex", ["commentary", "final_answer"])],
)
def test_messages_of_newer_models_say_what_they_are(ask, model, phases):
    turn = [Text(text="Now"), CALL]
    script = ScriptedModel([turn, [Text(text="Done")]])
    with ResponsesSimulator(model=script) as simulator:
        messages = [ask(simulator, model=model).json()["output"][0] for _ in range(2)]
    assert [message.get("phase") for message in messages] == phases


def test_a_phase_can_be_set(ask):
    turn = [Text(text="Now", phase="commentary")]
    with ResponsesSimulator(model=ScriptedModel([turn])) as simulator:
        assert ask(simulator, model="gpt-5.5").json()["output"][0]["phase"] == "commentary"


def test_a_model_of_another_server_thinks_aloud(ask, events_of):
    script = ScriptedModel([[Reasoning(text=("Hm. ", "So."))]], repeat=True)
    with ResponsesSimulator(model=script) as simulator:
        [item] = ask(simulator).json()["output"]
        events = events_of(ask(simulator, stream=True))
    assert [part["text"] for part in item["content"]] == ["Hm. ", "So."]
    deltas = [one["delta"] for one in events if one["type"] == "response.reasoning_text.delta"]
    assert "".join(deltas) == "Hm. So."


def test_summaries_and_encrypted_content_come_only_when_asked_for(ask):
    script = ScriptedModel([[Reasoning(summary=("One", "Two"))]], repeat=True)
    with ResponsesSimulator(model=script) as simulator:
        plain = ask(simulator).json()["output"][0]
        summary = ask(simulator, reasoning={"summary": "auto"}).json()["output"][0]
        sealed = ask(simulator, include=["reasoning.encrypted_content"]).json()["output"][0]
    assert (plain["summary"], plain.get("encrypted_content")) == ([], None)
    assert [part["text"] for part in summary["summary"]] == ["One", "Two"]
    assert len(sealed["encrypted_content"]) > 200


def test_refusals_and_custom_calls_can_be_said(ask):
    turn = [CustomToolCall(name="note", input="free", call_id="call_c"), Refusal(text="No")]
    with ResponsesSimulator(model=ScriptedModel([turn])) as simulator:
        call, message = ask(simulator).json()["output"]
    assert (call["type"], call["input"], call["call_id"]) == ("custom_tool_call", "free", "call_c")
    assert message["content"] == [{"type": "refusal", "refusal": "No"}]


def test_a_model_sees_the_request_sorted_out(ask):
    seen = []

    class Curious:
        def respond(self, request):
            seen.append(request)
            return [Text(text="ok")]

    tools = [
        {"type": "function", "name": "a", "parameters": {"type": "object", "properties": {}}},
        {"type": "custom", "name": "b", "description": "B"},
        {"type": "web_search"},
    ]
    body = {
        "instructions": "Be kind",
        "input": [
            {"role": "developer", "content": [{"type": "input_text", "text": "Be brief"}]},
            {"role": "user", "content": "Hi"},
        ],
        "tools": tools,
        "reasoning": {"effort": "low", "summary": "auto"},
        "max_output_tokens": 500,
        "parallel_tool_calls": False,
    }
    with ResponsesSimulator(model=Curious()) as simulator:
        ask(simulator, body)
    request = seen[0]
    assert request.instructions == "Be kind\n\nBe brief"
    assert [(tool.kind, tool.name) for tool in request.tools] == [
        ("function", "a"),
        ("custom", "b"),
    ]
    assert (request.effort, request.summary, request.max_output_tokens) == ("low", "auto", 500)
    assert (request.parallel, request.tool_mode, request.stream) == (False, "auto", False)
    assert request.body == body | {"model": "gpt-5"}
