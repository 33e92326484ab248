import pytest


SCHEMA = {"type": "object", "properties": {}}
F = {"type": "function", "name": "f", "parameters": SCHEMA}


@pytest.mark.parametrize(
    ("tool", "param", "code"),
    [
        ("f", "tools[0]", "invalid_type"),
        ({"name": "f"}, "tools[0].type", "missing_required_parameter"),
        ({"type": "function"}, "tools[0].name", "missing_required_parameter"),
        (F | {"name": 5}, "tools[0].name", "invalid_type"),
        (F | {"name": "no spaces"}, "tools[0].name", "invalid_value"),
        (F | {"parameters": []}, "tools[0].parameters", "invalid_type"),
        (
            F | {"parameters": {"type": "array"}},
            "tools[0].parameters",
            "invalid_function_parameters",
        ),
        (
            F | {"parameters": {"type": "object"}},
            "tools[0].parameters",
            "invalid_function_parameters",
        ),
        (F | {"strict": True}, "tools[0].parameters", "invalid_function_parameters"),
    ],
)
def test_a_tool_that_cannot_be_called_is_refused(server, ask, tool, param, code):
    error = ask(server, tools=[tool]).json()["error"]
    assert (error["param"], error["code"]) == (param, code)


@pytest.mark.parametrize(
    "tool",
    [
        F,
        F | {"strict": False},
        F | {"strict": True, "parameters": SCHEMA | {"additionalProperties": False}},
        {"type": "function", "name": "f"},
        {"type": "custom", "name": "note"},
        {"type": "web_search"},
    ],
)
def test_a_sound_tool_passes(server, ask, tool):
    assert ask(server, tools=[tool]).status_code == 200


@pytest.mark.parametrize(
    ("choice", "tools", "param"),
    [
        ("sometimes", [F], "tool_choice"),
        ("required", [], "tool_choice"),
        ({"type": "function", "name": "f"}, ..., "tool_choice"),
        ({"type": "function", "name": "g"}, [F], "tool_choice"),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [F | {"name": "g"}]},
            [F],
            "tool_choice",
        ),
        ({"type": "allowed_tools", "mode": "none", "tools": [F]}, [F], "tool_choice.mode"),
        ({"type": "allowed_tools", "mode": {"a": 1}, "tools": [F]}, [F], "tool_choice.mode"),
        ({"type": "function", "name": {"a": 1}}, [F], "tool_choice"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(server, ask, choice, tools, param):
    response = ask(server, tools=tools, tool_choice=choice)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


@pytest.mark.parametrize("choice", ["none", "auto", None])
def test_no_tools_need_no_choice(server, ask, choice):
    assert ask(server, tool_choice=choice).status_code == 200
