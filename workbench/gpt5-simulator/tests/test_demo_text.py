"""Agents that describe their tools in the instructions and read the next step from the text of the answer."""

import json

import pytest


TOOLS = [
    {
        "name": "clock",
        "description": "Tell the current time.",
        "parameters": {
            "type": "object",
            "properties": {"timezone": {"type": "string"}},
            "required": ["timezone"],
        },
    },
    {
        "name": "calculator",
        "description": None,
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
        },
    },
]
FUNCTIONS = {
    "clock": lambda timezone: f"12:03 in {timezone}",
    "calculator": lambda expression: f"{expression} = 391",
}
LINE = "End with a line that begins with FinalAnswer:"
BLOB = 'End with the action "Final Answer" and your answer as its input.'


def instructions(end, tools=TOOLS):
    """Return a prompt as such agents write it, for two ways to end."""
    return f"""Help as well as you can. [1] Be [{{kind}}].

These are your tools: {json.dumps(tools)}

To use one, write a JSON object with "action" (its name) and "action_input" (its arguments), and wait for the observation:

Thought: what to do next
Action: {{"action": "name", "action_input": {{"parameter": "value"}}}}
Observation: what the tool says

{end}
"""


def read_step(text):
    """Read a step as such agents do: an action is the first JSON object, of an input and a name; all else is an answer."""
    start = text.find("{")
    if start < 0:
        return None, text.rpartition("FinalAnswer:")[2].strip()
    action, _ = json.JSONDecoder().raw_decode(text, start)
    (name,) = [value for key, value in action.items() if "input" not in key]
    (value,) = [value for key, value in action.items() if "input" in key]
    return name, value


@pytest.fixture
def say(server, ask):
    """Ask a question, with what was said since in one message of the assistant; return the text of the next step."""

    def run(question, scratchpad="", *, end=LINE, role="system", **settings):
        items = [
            {"role": role, "content": instructions(end)},
            {"role": "user", "content": question},
        ]
        if scratchpad:
            items.append({"role": "assistant", "content": scratchpad})
            items.append({"role": "user", "content": "continue"})
        response = ask(server, settings, input=items)
        assert response.status_code == 200, response.text
        (message,) = [item for item in response.json()["output"] if item["type"] == "message"]
        return message["content"][0]["text"]

    return run


@pytest.mark.parametrize("end", [LINE, BLOB])
@pytest.mark.parametrize("name_key", ["action", "action_name"])
def test_tools_are_called_one_a_step_and_then_quoted(say, end, name_key):
    scratchpad, steps = "", []
    for _ in range(5):
        text = say("What time is it in Tokyo, and what is 17 * 23?", scratchpad, end=end)
        name, value = read_step(text)
        steps.append((name, value))
        if name not in FUNCTIONS:
            break
        action = json.dumps({name_key: name, "action_input": value})
        thought = text.partition("\n")[0]
        observation = FUNCTIONS[name](**value)
        scratchpad += f"{thought}\n\nAction: {action}\n\nObservation: {observation}\n\n"
    assert steps[:2] == [
        ("clock", {"timezone": "Asia/Tokyo"}),
        ("calculator", {"expression": "17 * 23"}),
    ]
    (final,) = steps[2:]
    assert final[0] == (None if end == LINE else "Final Answer")
    assert "- clock: 12:03 in Asia/Tokyo\n- calculator: 17 * 23 = 391" in final[1]


def test_nothing_but_the_action_and_a_thought_is_said(say):
    assert say("What time is it in {Tokyo}?") == (
        "Thought: Next is clock.\n"
        'Action: {"action":"clock","action_input":{"timezone":"Asia/Tokyo"}}'
    )


def test_an_answer_before_the_question_is_not_part_of_it(server, ask):
    items = [
        {"role": "user", "content": "What time is it in Tokyo?"},
        {"role": "assistant", "content": "It is noon."},
        {"role": "user", "content": "What is 17 * 23?"},
    ]
    response = ask(server, instructions=instructions(LINE), input=items)
    assert read_step(response.json()["output"][-1]["content"][0]["text"]) == (
        "calculator",
        {"expression": "17 * 23"},
    )


@pytest.mark.parametrize("tools", [[], [{"title": "x"}], "none"])
def test_a_question_without_tools_is_answered(server, ask, tools):
    response = ask(
        server, instructions=instructions(LINE, tools), input="What time is it in Tokyo?"
    )
    name, answer = read_step(response.json()["output"][-1]["content"][0]["text"])
    assert name is None
    assert "There is no tool for" in answer
