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


def schema_of(**words):
    return {"type": "object", "properties": {"a": words}}


INVALID = "Invalid schema for function 'f': "
AT_THE_ROOT = "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level."


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (SCHEMA | {"anyOf": [{}]}, AT_THE_ROOT),
        (SCHEMA | {"enum": [{}]}, AT_THE_ROOT),
        (SCHEMA | {"required": None}, "None is not of type 'array'"),
        (schema_of(type="array"), "In context=('properties', 'a'), array schema missing items."),
        (
            schema_of(anyOf=[{"type": ["array", "null"]}]),
            "In context=('properties', 'a', 'anyOf', '0'), array schema missing items.",
        ),
        (
            schema_of(type="array", items={"type": "object"}),
            "In context=('properties', 'a', 'items'), object schema missing properties.",
        ),
        (schema_of(type="any"), "'any' is not valid under any of the given schemas"),
        (schema_of(type=[]), "[] is not valid under any of the given schemas"),
        (schema_of(exclusiveMinimum=True), "True is not of type 'number'"),
        (schema_of(items=[]), "[] is not of type 'object', 'boolean'"),
        (SCHEMA | {"required": ["a", "a"]}, "['a', 'a'] has non-unique elements"),
        (SCHEMA | {"required": [1]}, "1 is not of type 'string'"),
        (schema_of(minItems=-1), "-1 is less than the minimum of 0"),
        (schema_of(multipleOf=0), "0 is less than or equal to the minimum of 0"),
        (schema_of(anyOf=[]), "[] should be non-empty"),
        (schema_of(allOf={}), "{} is not of type 'array'"),
        (schema_of(allOf=[1]), "1 is not of type 'object', 'boolean'"),
        (schema_of(properties=[]), "[] is not of type 'object'"),
        (schema_of(properties={"b": None}), "None is not of type 'object', 'boolean'"),
        (schema_of(description=None), "None is not of type 'string'"),
        (schema_of(pattern=r"\p{L}"), r"'\\p{L}' is not a 'regex'"),
        (schema_of(patternProperties={r"\z": {}}), r"'\\z' is not a 'regex'"),
        (SCHEMA | {"$id": "My Schema"}, "'My Schema' is not a 'uri-reference'"),
        (
            schema_of(**{"$ref": "#/$defs/b/0"}) | {"$defs": {"b": {"enum": []}}},
            "Error resolving schema reference '#/$defs/b/0'",
        ),
        (schema_of(**{"$ref": "Tree"}), "Error resolving schema reference 'Tree'"),
    ],
)
def test_a_schema_is_refused_in_the_words_of_the_api(server, ask, schema, said):
    error = ask(server, tools=[F | {"parameters": schema, "strict": False}]).json()["error"]
    assert error["message"] == INVALID + said
    assert (error["param"], error["code"]) == ("tools[0].parameters", "invalid_function_parameters")


def test_look_around_is_refused_by_its_place(server, ask):
    schema = schema_of(items={"anyOf": [{"pattern": "^(?!x)"}]})
    error = ask(server, tools=[F | {"parameters": schema}]).json()["error"]
    assert (error["param"], error["code"]) == ("tools", "invalid_json_schema")
    assert error["message"] == (
        "Invalid JSON schema: regex lookaround is not supported. Found at $.properties.a.items.anyOf[0].pattern."
    )


@pytest.mark.parametrize(
    "words",
    [
        {"type": "array", "items": {}, "minItems": 1.0},
        {"type": ["array", "null"], "prefixItems": [True], "items": False},
        {"anyOf": [{"const": 1}], "not": {"enum": ["x"]}, "x-more": 7, "default": None},
        {"$ref": "#"},
        {"$ref": "#/properties/a/allOf/0", "allOf": [True]},
        {"$ref": "#/$defs/a~1b%20c", "$defs": {}},
    ],
)
def test_what_the_api_takes_in_a_schema_passes(server, ask, words):
    schema = schema_of(**words) | {"$defs": {"a/b c": {}}}
    assert ask(server, tools=[F | {"parameters": schema}]).status_code == 200


def test_two_functions_of_one_name_are_refused(server, ask):
    error = ask(server, tools=[F, {"type": "web_search"}, F]).json()["error"]
    assert (error["param"], error["code"]) == ("tools", "invalid_value")
