import pytest

from gpt5_simulator import FunctionCall, Reasoning, ResponsesSimulator, ScriptedModel, Text


USER = {"role": "user", "content": "Hi"}
CALL = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
CUSTOM = {"type": "custom_tool_call", "call_id": "call_2", "name": "g", "input": "x"}
CUSTOM_OUTPUT = {"type": "custom_tool_call_output", "call_id": "call_2", "output": "2"}
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]}
STATELESS = {"store": False, "include": ["reasoning.encrypted_content"]}


@pytest.mark.parametrize(
    ("item", "param", "code"),
    [
        ("text", "input[0]", "invalid_type"),
        ({"type": "thought"}, "input[0]", "invalid_value"),
        ({"content": "x"}, "input[0].role", "missing_required_parameter"),
        ({"role": "tool", "content": "x"}, "input[0].role", "invalid_value"),
        ({"role": "user"}, "input[0].content", "missing_required_parameter"),
        ({"role": "user", "content": 5}, "input[0].content", "invalid_type"),
        ({"role": "user", "content": ["x"]}, "input[0].content[0]", "invalid_type"),
        (
            {"role": "user", "content": [{"type": "output_text", "text": "x"}]},
            "input[0].content[0].type",
            "invalid_value",
        ),
        (
            {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]},
            "input[0].content[0].type",
            "invalid_value",
        ),
        (
            {"role": "user", "content": [{"type": "input_text"}]},
            "input[0].content[0].text",
            "missing_required_parameter",
        ),
        ({"type": "reasoning", "id": "rs_1"}, "input[0].summary", "missing_required_parameter"),
        (
            {"type": "function_call", "call_id": "c", "name": "f"},
            "input[0].arguments",
            "missing_required_parameter",
        ),
        (
            {"type": "function_call_output", "call_id": "c"},
            "input[0].output",
            "missing_required_parameter",
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": {}},
            "input[0].arguments",
            "invalid_type",
        ),
    ],
)
def test_an_item_of_the_wrong_shape_is_refused_with_its_place(server, ask, item, param, code):
    response = ask(server, input=[item])
    error = response.json()["error"]
    assert response.status_code == 400
    assert (error["param"], error["code"]) == (param, code)


@pytest.mark.parametrize(
    "items",
    [
        [USER, CALL, OUTPUT],
        [USER, CUSTOM, CUSTOM_OUTPUT, USER],
        [USER, ANSWER, USER],
        [{"role": "developer", "content": "Be kind"}, USER],
        [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "x"},
                    {"type": "input_image", "image_url": "https://example.com/a.png"},
                ],
            }
        ],
        [USER, {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, USER],
    ],
)
def test_a_sound_conversation_passes(server, ask, items):
    assert ask(server, input=items).status_code == 200


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([USER, CALL], "No tool output found for function call call_1."),
        ([USER, CUSTOM], "No tool output found for custom tool call call_2."),
        ([USER, OUTPUT], "No tool call found for function call output with call_id call_1."),
        (
            [USER, CALL, CUSTOM_OUTPUT],
            "No tool call found for custom tool call output with call_id call_2.",
        ),
    ],
)
def test_calls_and_outputs_have_to_pair_up(server, ask, items, message):
    error = ask(server, input=items).json()["error"]
    assert (error["message"], error["param"]) == (message, "input")


@pytest.mark.parametrize("name", ["id", "call_id"])
def test_an_id_that_is_too_long_is_refused(server, ask, name):
    error = ask(server, input=[USER, CALL | {name: "f" * 65}, OUTPUT]).json()["error"]
    assert (error["param"], error["code"]) == (f"input[1].{name}", "string_above_max_length")


def test_codex_models_take_no_system_messages(server, ask):
    items = [{"role": "system", "content": "Be kind"}, USER]
    refused = ask(server, model="gpt-5.3-codex", input=items)
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == "System messages are not allowed."
    assert ask(server, model="gpt-5.2", input=items).status_code == 200


@pytest.fixture
def thinker():
    turns = [
        [Reasoning(), FunctionCall(name="f", arguments={}, call_id="call_1")],
        [Text(text="Done")],
    ]
    with ResponsesSimulator(model=ScriptedModel(turns, repeat=True)) as simulator:
        yield simulator


def test_reasoning_can_be_replayed_with_its_call(thinker, ask):
    first = ask(thinker, STATELESS, input=[USER]).json()["output"]
    second = ask(thinker, STATELESS, input=[USER, *first, OUTPUT])
    assert second.json()["output"][0]["content"][0]["text"] == "Done"


def test_reasoning_may_be_replayed_without_its_id(thinker, ask):
    reasoning, call = ask(thinker, STATELESS, input=[USER]).json()["output"]
    del reasoning["id"]
    assert ask(thinker, STATELESS, input=[USER, reasoning, call, OUTPUT]).status_code == 200


@pytest.mark.parametrize(
    "change", ["letter", "other item", "other key", "cut", "no text", "not ours"]
)
def test_reasoning_that_was_changed_or_is_foreign_is_refused(thinker, ask, change):
    reasoning, call = ask(thinker, STATELESS, input=[USER]).json()["output"]
    token = reasoning["encrypted_content"]
    changed = {
        "letter": reasoning
        | {"encrypted_content": ("B" if token[50] == "A" else "A").join([token[:50], token[51:]])},
        "other item": reasoning | {"id": "rs_other"},
        "other key": reasoning,
        "cut": reasoning | {"encrypted_content": token[:-9]},
        "no text": reasoning | {"encrypted_content": 5},
        "not ours": reasoning | {"encrypted_content": "é"},
    }[change]
    key = "sk-other" if change == "other key" else "sk-test"
    response = ask(thinker, STATELESS, input=[USER, changed, call, OUTPUT], key=key)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_encrypted_content"


def test_the_token_of_the_added_event_is_not_good_enough(thinker, ask, events_of):
    events = events_of(ask(thinker, STATELESS, input=[USER], stream=True))
    early = next(event["item"] for event in events if event["type"].endswith("item.added"))
    call = events[-1]["response"]["output"][1]
    response = ask(thinker, STATELESS, input=[USER, early, call, OUTPUT])
    assert response.json()["error"]["code"] == "invalid_encrypted_content"


@pytest.mark.parametrize("followers", [[], [USER], [CALL_OUTPUT := OUTPUT]])
def test_reasoning_needs_what_it_led_to(thinker, ask, followers):
    reasoning = ask(thinker, STATELESS, input=[USER]).json()["output"][0]
    calls = [CALL] if CALL_OUTPUT in followers else []
    response = ask(thinker, STATELESS, input=[USER, *calls, reasoning, *followers])
    wanted = f"Item '{reasoning['id']}' of type 'reasoning' was provided without its required following item."
    assert response.json()["error"]["message"] == wanted


def test_one_reasoning_item_may_follow_another(thinker, ask):
    first, _ = ask(thinker, STATELESS, input=[USER]).json()["output"]
    ask(thinker, STATELESS, input=[USER])
    reasoning, call = ask(thinker, STATELESS, input=[USER]).json()["output"]
    items = [USER, first, reasoning, call, OUTPUT]
    assert ask(thinker, STATELESS, input=items).status_code == 200


def test_two_items_of_one_id_are_refused(thinker, ask):
    reasoning, call = ask(thinker, STATELESS, input=[USER]).json()["output"]
    error = ask(thinker, STATELESS, input=[USER, reasoning, reasoning, call, OUTPUT]).json()[
        "error"
    ]
    assert (error["param"], error["code"]) == ("input", None)
    assert error["message"] == (
        f"Duplicate item found with id {reasoning['id']}. Remove duplicate items from your input and try again."
    )


def test_reasoning_by_id_alone_is_found_only_where_it_was_stored(thinker, ask):
    for store, status in ((True, 200), (False, 404)):
        reasoning, call = ask(thinker, input=[USER], store=store).json()["output"]
        response = ask(thinker, input=[USER, reasoning, call, OUTPUT])
        assert response.status_code == status
    message = response.json()["error"]["message"]
    assert message.startswith(f"Item with id '{reasoning['id']}' not found.")


def test_a_conversation_goes_on_from_a_stored_response(thinker, ask):
    first = ask(thinker, input=[USER]).json()
    second = ask(thinker, input=[OUTPUT], previous_response_id=first["id"])
    assert second.status_code == 200
    assert second.json()["previous_response_id"] == first["id"]
