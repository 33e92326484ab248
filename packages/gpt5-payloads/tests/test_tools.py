import copy
from types import SimpleNamespace

import pytest

from gpt5_payloads import PayloadError, build_request, function_tool


WEATHER = {
    "name": "get_weather",
    "description": "Tell the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
CLOCK = {"name": "clock", "description": "Tell the time.", "parameters": {}}


def parameters_of(schema):
    return function_tool({"name": "f", "parameters": schema})["parameters"]


def choose(choice, tools=(WEATHER, CLOCK), model="gpt-5.2"):
    return build_request(
        model=model, input="hi", parameters={"tool_choice": choice}, tools=tools
    ).get("tool_choice")


def test_a_mapping_becomes_a_function_tool_that_is_not_strict():
    assert function_tool(WEATHER) == {"type": "function", **WEATHER, "strict": False}


def tool_with(schema, **said):
    return {"name": "f", "parameters": schema, **said}


CLOSED = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("tool", "strict"),
    [
        (tool_with(CLOSED), True),
        (tool_with(CLOSED, strict=None), True),
        (tool_with(CLOSED, strict=False), False),
        (tool_with(CLOSED, strict="true"), True),
        (tool_with(CLOSED | {"required": []}), False),
        (tool_with({}, strict=False), False),
        (SimpleNamespace(name="f", parameters=CLOSED, strict=None), True),
    ],
)
def test_a_tool_is_strict_where_the_api_takes_it_so_and_nobody_says_otherwise(tool, strict):
    assert function_tool(tool)["strict"] is strict


def test_a_tool_that_cannot_be_strict_is_told():
    with pytest.raises(PayloadError) as caught:
        function_tool(WEATHER | {"strict": True})

    assert str(caught.value) == (
        "parameters of tool 'get_weather' cannot be strict: additionalProperties must be false. Correct it, or leave strict out."
    )
    assert caught.value.field == "tools"


def test_a_tool_says_whether_it_is_strict_by_a_boolean():
    with pytest.raises(PayloadError, match=r"^tools.strict must be a boolean-like value$"):
        function_tool(WEATHER | {"strict": "maybe"})


def test_an_object_becomes_the_same_tool():
    assert function_tool(SimpleNamespace(**WEATHER)) == function_tool(WEATHER)


def test_a_missing_description_is_empty_text():
    assert function_tool(SimpleNamespace(name="f"))["description"] == ""


@pytest.mark.parametrize("parameters", [None, {}, "", []])
def test_missing_parameters_become_an_empty_object(parameters):
    assert parameters_of(parameters) == {"type": "object", "properties": {}}


def test_properties_are_filled_in_at_every_depth():
    schema = {
        "type": "object",
        "properties": {
            "options": {"type": "object"},
            "maybe": {"type": ["object", "null"]},
            "rows": {"type": "array", "items": {"type": "object"}},
            "either": {"anyOf": [{"type": "object"}, {"type": "string"}, True]},
        },
        "$defs": {"node": {"type": "object"}},
    }

    assert parameters_of(schema) == {
        "type": "object",
        "properties": {
            "options": {"type": "object", "properties": {}},
            "maybe": {"type": ["object", "null"], "properties": {}},
            "rows": {"type": "array", "items": {"type": "object", "properties": {}}},
            "either": {"anyOf": [{"type": "object", "properties": {}}, {"type": "string"}, {}]},
        },
        "$defs": {"node": {"type": "object", "properties": {}}},
    }


def test_data_inside_a_schema_is_left_alone():
    data = {"type": "object"}
    schema = {
        "type": "object",
        "properties": {
            "type": {"enum": [data], "default": data, "const": data, "examples": [data]},
            "properties": {"type": "string"},
        },
    }

    assert parameters_of(schema) == schema


def test_a_schema_without_a_type_is_one_of_an_object():
    assert parameters_of({"properties": {"a": {}}}) == {"type": "object", "properties": {"a": {}}}


def test_the_tool_given_is_not_changed():
    tool = {"name": "f", "parameters": {"properties": {"deep": {"type": "object"}}}}
    before = copy.deepcopy(tool)
    function_tool(tool)["parameters"]["properties"]["deep"]["properties"]["new"] = 1

    assert tool == before


@pytest.mark.parametrize("tool", [{}, {"name": None}, {"name": ""}, {"name": "  "}, object()])
def test_a_tool_needs_a_name(tool):
    with pytest.raises(PayloadError) as caught:
        function_tool(tool)

    assert str(caught.value) == "tool name is required"
    assert caught.value.field == "tools"


@pytest.mark.parametrize("name", ["get weather", "wetter_köln", "a.b", "x" * 129, 7, "f\n"])
def test_a_name_that_the_api_refuses_is_refused(name):
    with pytest.raises(PayloadError, match="1 to 128 letters") as caught:
        function_tool({"name": name})

    assert caught.value.field == "tools"
    assert len(str(caught.value)) < 160


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("text", "must be a JSON schema object"),
        ({"type": "string"}, "must be a JSON schema of type 'object'"),
        ({"type": ["array", "null"]}, "must be a JSON schema of type 'object'"),
        ({"default": object()}, "must contain only JSON values"),
    ],
)
def test_parameters_that_are_no_object_schema_are_refused(parameters, expected):
    with pytest.raises(PayloadError, match=expected) as caught:
        parameters_of(parameters)

    assert caught.value.field == "tools"


def test_absurdly_nested_parameters_are_refused():
    schema = {}
    for _ in range(100_000):
        schema = {"items": schema}

    with pytest.raises(PayloadError) as caught:
        parameters_of(schema)

    assert caught.value.field == "tools"


@pytest.mark.parametrize("mode", ["auto", "none", "required"])
def test_a_mode_is_sent_as_it_is(mode):
    assert choose(mode) == mode
    assert choose(f" {mode.upper()} ") == mode


def test_the_mode_is_auto_unless_said_otherwise():
    assert choose(None) == "auto"
    assert choose("") == "auto"


@pytest.mark.parametrize(
    "choice",
    [
        "get_weather",
        " get_weather ",
        {"type": "function", "name": "get_weather"},
        {"type": "function", "function": {"name": "get_weather"}},
        '{"type": "function", "name": "get_weather"}',
    ],
)
def test_a_named_function_becomes_the_named_form(choice):
    assert choose(choice) == {"type": "function", "name": "get_weather"}


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_allowed_tools_pass(mode):
    form = {
        "type": "allowed_tools",
        "mode": mode,
        "tools": [{"type": "function", "name": "clock"}],
    }

    assert choose(form) == form


@pytest.mark.parametrize(
    "choice",
    [
        "get_wether",
        {"type": "function", "name": "get_wether"},
        {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [
                {"type": "function", "name": "clock"},
                {"type": "function", "name": "get_wether"},
            ],
        },
    ],
)
def test_a_function_that_is_not_offered_is_named(choice):
    with pytest.raises(PayloadError, match="'get_wether', which is not among the tools") as caught:
        choose(choice)

    assert caught.value.field == "tool_choice"


@pytest.mark.parametrize(
    "choice",
    [
        7,
        ["auto"],
        {},
        {"type": None},
        {"type": "function"},
        {"type": "custom"},
        {"type": "mcp", "server_label": 1},
        {"type": "function", "name": None},
        {"type": "allowed_tools", "mode": "none", "tools": []},
        {"type": "allowed_tools", "mode": "auto", "tools": "clock"},
        {"type": "allowed_tools", "mode": "auto", "tools": ["clock"]},
    ],
)
def test_a_choice_of_no_known_form_is_refused_with_and_without_tools(choice):
    for tools in ((WEATHER,), ()):
        with pytest.raises(
            PayloadError, match="tool_choice must be auto, none, required"
        ) as caught:
            choose(choice, tools)
        assert caught.value.field == "tool_choice"


def test_a_choice_that_is_broken_json_is_refused():
    with pytest.raises(PayloadError, match="tool_choice must be valid JSON"):
        choose('{"type": "function"')


@pytest.mark.parametrize("choice", ["auto", "required", "get_weather"])
@pytest.mark.parametrize("tools", [(), None])
def test_without_tools_nothing_about_tools_is_sent(choice, tools):
    request = build_request(
        model="gpt-5.2",
        input="hi",
        parameters={"tool_choice": choice, "parallel_tool_calls": True},
        tools=tools,
    )

    assert request.keys().isdisjoint({"tools", "tool_choice", "parallel_tool_calls"})


@pytest.mark.parametrize(("given", "sent"), [(None, True), ("false", False), (1, True)])
def test_parallel_tool_calls_go_with_tools(given, sent):
    request = build_request(
        model="gpt-5.2", input="hi", parameters={"parallel_tool_calls": given}, tools=[CLOCK]
    )

    assert request["parallel_tool_calls"] is sent
    assert [tool["name"] for tool in request["tools"]] == ["clock"]


def test_a_model_that_refuses_parallel_tool_calls_is_not_sent_the_parameter():
    request = build_request(model="o3", input="hi", parameters={}, tools=[CLOCK])

    assert "parallel_tool_calls" not in request
    assert request["tool_choice"] == "auto"
