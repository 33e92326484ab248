import json

import pytest

from gpt5_simulator import ResponsesSimulator


DEMO = "What time is it in Tokyo, and what is 17 * 23?"
STATELESS = {"store": False, "include": ["reasoning.encrypted_content"]}


def calls_in(response):
    return [
        (item["name"], json.loads(item["arguments"]))
        for item in response.json()["output"]
        if item["type"] == "function_call"
    ]


def text_of(response):
    return response.json()["output"][-1]["content"][0]["text"]


@pytest.fixture
def talk(server, ask):
    """Run a question to its answer; tools are functions of their arguments. Return the calls by round, and the answer."""

    def run(question, tools, functions, *, simulator=server, **settings):
        items = [{"role": "user", "content": question}]
        rounds = []
        for _ in range(8):
            response = ask(simulator, STATELESS, input=items, tools=tools, **settings)
            assert response.status_code == 200, response.text
            output = response.json()["output"]
            items += output
            calls = [item for item in output if item["type"] == "function_call"]
            if not calls:
                return rounds, text_of(response)
            rounds.append(calls_in(response))
            for call in calls:
                result = str(functions[call["name"]](**json.loads(call["arguments"])))
                items.append(
                    {"type": "function_call_output", "call_id": call["call_id"], "output": result}
                )
        raise AssertionError(rounds)

    return run


FUNCTIONS = {
    "clock": lambda timezone: f"12:03 in {timezone}",
    "calculator": lambda expression: eval(expression, {}),
}


def test_two_questions_become_two_calls_at_once_and_one_answer(talk, clock, calculator):
    rounds, answer = talk(DEMO, [clock, calculator], FUNCTIONS)
    assert rounds == [
        [("clock", {"timezone": "Asia/Tokyo"}), ("calculator", {"expression": "17 * 23"})]
    ]
    assert "12:03 in Asia/Tokyo" in answer
    assert "391" in answer


def test_reasoning_comes_before_the_calls_and_before_the_answer(server, ask, clock):
    body = {"input": "What time is it in Rome?", "tools": [clock], "reasoning": {"summary": "auto"}}
    output = ask(server, body).json()["output"]
    assert [item["type"] for item in output] == ["reasoning", "function_call"]
    assert [part["text"] for part in output[0]["summary"]] == [
        "**Planning the next step**\n\nThe question asks for clock."
    ]


@pytest.mark.parametrize(
    ("effort", "kinds"),
    [("minimal", ["function_call"]), ("low", ["reasoning", "function_call"])],
)
def test_the_least_effort_is_no_reasoning(server, ask, clock, effort, kinds):
    body = {"input": "What time is it in Rome?", "tools": [clock], "reasoning": {"effort": effort}}
    assert [item["type"] for item in ask(server, body).json()["output"]] == kinds


def test_calls_come_one_by_one_when_they_may_not_be_parallel(talk, clock, calculator):
    rounds, answer = talk(DEMO, [clock, calculator], FUNCTIONS, parallel_tool_calls=False)
    assert [len(calls) for calls in rounds] == [1, 1]
    assert "391" in answer


def test_a_failed_tool_is_quoted_like_any_other(talk, function_tool, calculator):
    fail = function_tool("fail_on_demand", "Fails on demand.", reason={"type": "string"})
    functions = FUNCTIONS | {"fail_on_demand": lambda **_: "tool invoke error: out of ink"}
    question = "Fail with the reason “ink”, and what is 2 + 2?"
    rounds, answer = talk(question, [fail, calculator], functions)
    assert rounds == [
        [("fail_on_demand", {"reason": "ink"}), ("calculator", {"expression": "2 + 2"})]
    ]
    assert "- fail_on_demand: tool invoke error: out of ink\n- calculator: 4" in answer


def test_the_tool_with_the_most_words_in_common_is_called(server, ask, clock, function_tool):
    weather = function_tool("get_weather", "Tell the weather.", city={"type": "string"})
    for tools in ([clock, weather], [weather, clock]):
        response = ask(server, input="What is the weather in Tokyo at this time?", tools=tools)
        assert calls_in(response) == [("get_weather", {"city": "Tokyo"})]


@pytest.mark.parametrize(
    ("question", "zones"),
    [
        ("What time is it in New York?", ["America/New_York"]),
        ("What time is it in Asia/Dubai?", ["Asia/Dubai"]),
        ("What time is it in Rome?", ["UTC"]),
        (
            "What time is it in Paris? And what time is it in London?",
            ["Europe/Paris", "Europe/London"],
        ),
        (
            "What time is it in Paris and then what time is it in London",
            ["Europe/Paris", "Europe/London"],
        ),
        (
            "What time is it in Paris and\nwhat time is it in London",
            ["Europe/Paris", "Europe/London"],
        ),
        ("Is Tokyo large?", []),
    ],
)
def test_a_question_falls_into_parts_that_name_a_place(server, ask, clock, question, zones):
    calls = calls_in(ask(server, input=question, tools=[clock]))
    assert calls == [("clock", {"timezone": zone}) for zone in zones]


def test_the_same_call_is_not_made_twice(talk, calculator):
    rounds, _ = talk("What is 2 + 2? I said: what is 2 + 2?", [calculator], FUNCTIONS)
    assert rounds == [[("calculator", {"expression": "2 + 2"})]]


def test_without_a_fitting_tool_it_says_that_it_is_a_simulator(server, ask, clock):
    alone = text_of(ask(server, input="Tell me a joke"))
    offered = text_of(ask(server, input="Tell me a joke", tools=[clock]))
    silent = text_of(ask(server, input=""))
    assert "simulator" in alone
    assert "There is no tool for “Tell me a joke”" in alone
    assert "There is no tool for “Tell me a joke”" in offered
    assert "what was asked" in silent


def test_long_results_are_quoted_in_part(talk, function_tool):
    dump = function_tool("dump_log", "Dump the log.")
    _, answer = talk("dump the log", [dump], {"dump_log": lambda: "x" * 9000})
    assert answer.count("x") == 500


def test_an_empty_result_is_shown_as_nothing(talk, function_tool):
    dump = function_tool("dump_log", "Dump the log.")
    _, answer = talk("dump the log", [dump], {"dump_log": lambda: ""})
    assert answer.endswith("dump_log: (nothing)")


def test_no_tool_is_called_when_none_may_be(server, ask, clock):
    response = ask(server, input="What time is it in Rome?", tools=[clock], tool_choice="none")
    assert calls_in(response) == []


def test_the_closing_call_answers_from_what_is_there(server, ask, clock, calculator):
    items = [
        {"role": "user", "content": DEMO},
        {"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "noon"},
        {"role": "user", "content": "Answer now with what you have."},
    ]
    response = ask(server, input=items, tools=[clock, calculator], tool_choice="none")
    assert "clock: noon" in text_of(response)


def test_a_required_call_is_made_whether_it_fits_or_not(server, ask, clock, calculator):
    response = ask(server, input="Hello", tools=[clock, calculator], tool_choice="required")
    assert len(calls_in(response)) == 1


def test_a_required_call_ends_with_the_tool_for_the_final_answer(
    server, ask, clock, calculator, function_tool
):
    final = function_tool("final_result", "Give the final answer.", answer={"type": "string"})
    items = [
        {"role": "user", "content": "What is 5 + 5?"},
        {"type": "function_call", "call_id": "c", "name": "calculator", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "10"},
    ]
    response = ask(server, input=items, tools=[clock, calculator, final], tool_choice="required")
    ((name, arguments),) = calls_in(response)
    assert name == "final_result"
    assert "calculator: 10" in arguments["answer"]


def test_a_required_call_goes_to_a_tool_that_has_not_run_since_the_user_spoke(
    server, ask, clock, calculator
):
    done = [
        {"type": "function_call", "call_id": "c", "name": "calculator", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "10"},
    ]
    user = {"role": "user", "content": "What is 5 + 5?"}
    settings = {"tools": [clock, calculator], "tool_choice": "required"}
    after = ask(server, settings, input=[user, *done])
    asked = ask(server, settings, input=[user, *done, user | {"content": "Hello"}])
    assert [name for name, _ in calls_in(after)] == ["clock"]
    assert [name for name, _ in calls_in(asked)] == ["clock"]


def test_a_named_tool_is_the_only_one_called(server, ask, clock, calculator):
    choice = {"type": "function", "name": "calculator"}
    response = ask(server, input=DEMO, tools=[clock, calculator], tool_choice=choice)
    assert [name for name, _ in calls_in(response)] == ["calculator"]


@pytest.mark.parametrize(
    ("mode", "question", "calls"),
    [("auto", "Hello", 0), ("required", "Hello", 1), ("auto", DEMO, 1)],
)
def test_only_allowed_tools_are_called(server, ask, clock, *, mode, question, calls):
    allowed = {
        "type": "allowed_tools",
        "mode": mode,
        "tools": [{"type": "function", "name": "clock"}],
    }
    tools = [clock, clock | {"name": "calculator"}]
    response = ask(server, input=question, tools=tools, tool_choice=allowed)
    assert [name for name, _ in calls_in(response)] == ["clock"] * calls


def test_a_required_call_without_a_function_is_an_answer(server, ask):
    response = ask(server, tools=[{"type": "computer"}], model="gpt-5.4", tool_choice="required")
    assert "simulator" in text_of(response)


def test_a_custom_tool_gets_the_words(server, ask):
    tool = {"type": "custom", "name": "take_note", "description": "Take a note."}
    items = [{"role": "user", "content": "take a note that I am late"}]
    call = ask(server, input=items, tools=[tool]).json()["output"][-1]
    assert (call["type"], call["input"]) == ("custom_tool_call", "take a note that I am late")
    output = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "noted"}
    assert "take_note: noted" in text_of(ask(server, input=[*items, call, output], tools=[tool]))


def test_instructions_that_ask_for_preambles_get_them(server, ask, clock):
    body = {
        "instructions": "<tool_preambles>…",
        "input": "What time is it in Rome?",
        "tools": [clock],
    }
    output = ask(server, body, model="gpt-5.4").json()["output"]
    message = next(item for item in output if item["type"] == "message")
    assert (message["phase"], message["content"][0]["text"]) == (
        "commentary",
        "I will use clock for this.",
    )
    assert output[-1]["type"] == "function_call"


def test_an_answered_question_is_not_answered_again(server, ask, clock, calculator):
    items = [
        {"role": "user", "content": "What time is it in Rome?"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me look."}],
        },
        {"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "noon"},
        {"role": "assistant", "content": "It is noon."},
        {"role": "user", "content": "And what is 2 + 2?"},
    ]
    calls = calls_in(ask(server, input=items, tools=[clock, calculator]))
    assert calls == [("calculator", {"expression": "2 + 2"})]


def test_what_is_said_before_a_call_is_no_answer(server, ask, clock):
    items = [
        {"role": "user", "content": "What time is it in Rome?"},
        {"role": "assistant", "content": "I see."},
        {"role": "assistant", "content": "Let me look."},
        {"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "noon"},
    ]
    response = ask(server, input=items, tools=[clock])
    assert calls_in(response) == []
    assert "clock: noon" in text_of(response)


def test_results_may_come_in_any_order(server, ask, clock, calculator):
    names = ["calculator", "clock"]
    calls = [
        {"type": "function_call", "call_id": name, "name": name, "arguments": "{}"}
        for name in names
    ]
    outputs = [
        {"type": "function_call_output", "call_id": name, "output": f"from {name}"}
        for name in names
    ]
    items = [{"role": "user", "content": DEMO}, *calls, *outputs]
    answer = text_of(ask(server, input=items, tools=[clock, calculator]))
    assert "clock: from clock" in answer
    assert "calculator: from calculator" in answer


def test_a_wish_added_on_the_way_is_served_too(server, ask, clock, calculator):
    items = [
        {"role": "user", "content": "What time is it in Rome?"},
        {"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "noon"},
        {"role": "user", "content": "What is 2 + 2?"},
    ]
    calls = calls_in(ask(server, input=items, tools=[clock, calculator]))
    assert calls == [("calculator", {"expression": "2 + 2"})]


def test_a_conversation_that_ends_with_an_answer_asks_its_last_question_again(
    server, ask, calculator
):
    items = [{"role": "user", "content": "What is 2 + 2?"}, {"role": "assistant", "content": "4"}]
    calls = calls_in(ask(server, input=items, tools=[calculator]))
    assert calls == [("calculator", {"expression": "2 + 2"})]


@pytest.mark.parametrize(
    ("words", "expression"),
    [
        ("what is 12+30", "12+30"),
        ("what is 7 - 2?", "7 - 2"),
        ("what is 2 ** 8 // 3 % 5", "2 ** 8 // 3 % 5"),
        ("what is (3.5 + 4) * -12 - 5.", "(3.5 + 4) * -12 - 5"),
    ],
)
def test_sums_are_found(server, ask, calculator, words, expression):
    assert calls_in(ask(server, input=words, tools=[calculator])) == [
        ("calculator", {"expression": expression})
    ]


@pytest.mark.parametrize("words", ["What happened on 2026-11-21?", "Dial 555-1234", "Hello 5"])
def test_what_only_looks_like_a_sum_is_none(server, ask, calculator, words):
    assert calls_in(ask(server, input=words, tools=[calculator])) == []


def test_the_answer_takes_the_asked_format(ask, calculator):
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string"}, "value": {"type": "number"}},
        "required": ["answer", "value"],
        "additionalProperties": False,
    }
    shape = {"type": "json_schema", "name": "sum", "schema": schema, "strict": True}
    items = [
        {"role": "user", "content": "Work it out: 2 + 2"},
        {"type": "function_call", "call_id": "c", "name": "calculator", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "4"},
    ]
    with ResponsesSimulator() as simulator:
        as_schema = text_of(ask(simulator, input=items, tools=[calculator], text={"format": shape}))
        as_object = text_of(ask(simulator, text={"format": {"type": "json_object"}}))
    assert "calculator: 4" in json.loads(as_schema)["answer"]
    assert json.loads(as_schema)["value"] == 4
    assert list(json.loads(as_object)) == ["answer"]
