import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_simulator import ResponsesSimulator


CLOSED = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def schema_format(schema, **more):
    return {
        "format": {"type": "json_schema", "name": "shape", "strict": True, "schema": schema} | more
    }


@pytest.mark.parametrize(
    ("settings", "param", "code"),
    [
        ({"model": ...}, "model", "missing_required_parameter"),
        ({"input": ...}, "input", "missing_required_parameter"),
        ({"text": {"format": {"type": {"a": 1}}}}, "text.format.type", "invalid_value"),
        ({"stop": ["x"]}, "stop", "unknown_parameter"),
        ({"max_tokens": 99}, "max_tokens", "unknown_parameter"),
        ({"model": 5}, "model", "invalid_type"),
        ({"input": 5}, "input", "invalid_type"),
        ({"stream": "yes"}, "stream", "invalid_type"),
        ({"max_output_tokens": True}, "max_output_tokens", "invalid_type"),
        ({"max_output_tokens": 1.5}, "max_output_tokens", "invalid_type"),
        ({"tools": {}}, "tools", "invalid_type"),
        ({"max_output_tokens": 15}, "max_output_tokens", "integer_below_min_value"),
        ({"safety_identifier": "x" * 129}, "safety_identifier", "string_above_max_length"),
        ({"prompt_cache_key": "x" * 65}, "prompt_cache_key", "string_above_max_length"),
        ({"metadata": {str(n): "" for n in range(17)}}, "metadata", "object_above_max_properties"),
        ({"reasoning": {"budget": 5}}, "reasoning.budget", "unknown_parameter"),
        ({"text": {"style": "x"}}, "text.style", "unknown_parameter"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type", "invalid_value"),
        (
            {"text": {"format": {"type": "json_schema"}}},
            "text.format.name",
            "missing_required_parameter",
        ),
        ({"text": schema_format("x")}, "text.format.schema", "invalid_type"),
        ({"text": schema_format({"type": "object"})}, "text.format.schema", "invalid_json_schema"),
        ({"text": {"verbosity": "loud"}}, "text.verbosity", "unsupported_value"),
        ({"temperature": 0.5}, "temperature", None),
        ({"top_p": 1}, "top_p", None),
        ({"stream_options": {}}, "stream_options", None),
        ({"include": ["everything"]}, "include[0]", "invalid_value"),
        ({"truncation": ["auto"]}, "truncation", "invalid_value"),
        ({"previous_response_id": "resp_x"}, "previous_response_id", "previous_response_not_found"),
    ],
)
def test_a_bad_request_is_refused_as_openai_does(server, ask, settings, param, code):
    response = ask(server, settings)
    error = response.json()["error"]
    assert response.status_code == 400
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)


@pytest.mark.parametrize(
    ("model", "settings", "param"),
    [
        ("gpt-5", {"reasoning": {"effort": "none"}}, "reasoning.effort"),
        ("gpt-5", {"reasoning": {"effort": "xhigh"}}, "reasoning.effort"),
        ("gpt-5", {"reasoning": {"summary": "concise"}}, "reasoning.summary"),
        ("gpt-5.1", {"reasoning": {"effort": "minimal"}}, "reasoning.effort"),
        ("gpt-5.2-pro", {"reasoning": {"effort": "low"}}, "reasoning.effort"),
        ("gpt-5.3-codex", {"text": {"verbosity": "low"}}, "text.verbosity"),
        ("gpt-5.5-pro", {"stream": True}, "stream"),
    ],
)
def test_what_a_model_does_not_accept_is_refused_by_name(server, ask, model, settings, param):
    error = ask(server, settings, model=model).json()["error"]
    assert (error["param"], error["code"]) == (param, "unsupported_value")


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("gpt-5-mini", {"reasoning": {"effort": "minimal", "summary": "detailed"}}),
        ("gpt-5-2025-08-07", {"reasoning": {"effort": "high"}}),
        ("gpt-5.1", {"reasoning": {"effort": "none"}, "temperature": 0.2, "top_p": 0.9}),
        ("gpt-5.4", {"temperature": 1}),
        ("gpt-5.6-terra", {"reasoning": {"effort": "max", "summary": "concise"}}),
        ("gpt-5", {"safety_identifier": "x" * 128, "truncation": "auto", "metadata": None}),
        ("gpt-5", {"text": schema_format(CLOSED), "max_output_tokens": 4096}),
        ("gpt-5", {"text": schema_format({"type": "object"}, strict=False)}),
        ("gpt-5", {"context_management": [None], "reasoning": {"effort": None}}),
        ("gpt-5", {"metadata": {"team": "maps"}, "client_metadata": {"turn_id": "1"}}),
    ],
)
def test_what_a_model_accepts_passes(server, ask, model, settings):
    assert ask(server, settings, model=model).status_code == 200


def test_the_message_lists_the_accepted_values(server, ask):
    error = ask(server, reasoning={"effort": "none"}).json()["error"]
    assert error["message"] == (
        "Unsupported value: 'none' is not supported with the 'gpt-5-2025-08-07' model. "
        "Supported values are: 'minimal', 'low', 'medium', and 'high'."
    )
    codex = ask(server, model="gpt-5.3-codex", text={"verbosity": "high"}).json()["error"]
    assert codex["message"].endswith("Supported values are: 'medium'.")
    summary = ask(server, reasoning={"summary": "short"}).json()["error"]
    assert summary["message"].endswith("Supported values are: 'auto' and 'detailed'.")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "an integer"),
        (1.5, "a decimal number"),
        ("x", "a string"),
        ([], "an array"),
    ],
)
def test_the_message_names_the_type_that_came(server, ask, value, name):
    response = ask(server, input=[value])
    message = response.json()["error"]["message"]
    assert message == f"Invalid type for 'input[0]': expected an object, but got {name} instead."


def test_the_message_names_an_object_that_came(server, ask):
    message = ask(server, model={}).json()["error"]["message"]
    assert message == "Invalid type for 'model': expected a string, but got an object instead."


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5-turbo", "gpt-5-codex", "gpt-5.1-codex"])
def test_models_that_are_not_served_are_not_found(server, ask, model):
    response = ask(server, model=model)
    error = response.json()["error"]
    assert response.status_code == 404
    assert error["code"] == "model_not_found"
    assert model in error["message"]


def test_a_retired_model_is_told_as_the_real_server_tells_it(server, ask):
    assert ask(server, model="gpt-5-codex").json()["error"] == {
        "message": "The model `gpt-5-codex` has been deprecated",
        "type": "invalid_request_error",
        "param": None,
        "code": "model_not_found",
    }


def test_a_parameter_that_a_model_does_not_take_is_refused_whatever_its_value(ask):
    with ResponsesSimulator(models=["gpt-5-codex"]) as simulator:
        refused = ask(simulator, model="gpt-5-codex", text={"verbosity": "medium"}).json()["error"]
        taken = ask(simulator, model="gpt-5-codex", text={})
    assert refused["message"] == (
        "Unsupported parameter: 'text.verbosity' is not supported with this model."
    )
    assert (refused["param"], refused["code"]) == ("text.verbosity", None)
    assert taken.status_code == 200


def test_an_open_object_deep_in_a_strict_schema_is_found(server, ask):
    inner = {
        "type": "object",
        "properties": {"x": {"type": "string"}},
        "additionalProperties": False,
    }
    schema = CLOSED | {
        "properties": {"list": {"type": "array", "items": inner}},
        "required": ["list"],
    }
    message = ask(server, text=schema_format(schema)).json()["error"]["message"]
    assert "In context=('properties', 'list', 'items')" in message
    assert "Missing 'x'" in message


def closed(**properties):
    return CLOSED | {"properties": properties, "required": [*properties]}


def nested(levels):
    return {"type": "array", "items": nested(levels - 1)} if levels else {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array", "items": {}}, "got 'type: \"array\"'."),
        (CLOSED | {"anyOf": [CLOSED]}, "got 'type: \"None\"'."),
        (
            closed(a={"type": "array"}),
            "In context=('properties', 'a'), array schema missing items.",
        ),
        (closed(a={"type": "any"}), "'any' is not valid under any of the given schemas"),
        (closed(a={"description": "b"}), "schema must have a 'type' key."),
        (closed(a={"anyOf": [{"oneOf": [{}]}]}), "'anyOf', '0'), 'oneOf' is not permitted."),
        (closed(a={"items": True, "type": "array", "default": []}), "'default' is not permitted."),
        (closed(a={"type": "string", "format": "uri"}), "'uri' is not a valid format."),
        (closed(a={"$ref": "#", "title": "b"}), "$ref cannot have keywords {'title'}."),
        (closed(a=nested(10)), "11 levels of nesting exceeds limit of 10."),
        (closed(**{f"p{n}": {"$ref": "#"} for n in range(5_001)}), "5001 object properties"),
        (closed(a={"enum": [*range(1_001)]}), "1001 enum values exceeds limit of 1000."),
        (closed(a={"enum": ["b" * 61 + str(n) for n in range(251)]}), "of a large enum exceeds"),
        (closed(a={"const": "b" * 120_000}), "120001 characters in names and values exceeds"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_strict_schema_is_refused_as_openai_s_guide_says(server, ask, schema, said):
    error = ask(server, text=schema_format(schema)).json()["error"]
    assert error["message"].startswith("Invalid schema for response_format 'shape': ")
    assert said in error["message"]
    assert (error["param"], error["code"]) == ("text.format.schema", "invalid_json_schema")


def test_a_strict_schema_within_all_limits_is_taken(server, ask):
    levels = {"$defs": {"deep": nested(10)}}
    schema = closed(a=nested(9), b={"$ref": "#/$defs/deep"}, c={"enum": [*range(1_000)]}) | levels
    assert ask(server, text=schema_format(schema)).status_code == 200
    assert ask(server, text=schema_format(schema, name="a.b")).json()["error"]["param"] == (
        "text.format.name"
    )


@pytest.mark.parametrize(
    ("content", "kind", "code"),
    [
        (b"{}", "text/plain", "unsupported_content_type"),
        (b"{", "application/json", None),
        (b'{"model": NaN}', "application/json", None),
        (b"[]", "application/json; charset=utf-8", None),
        (b"[" * 100_000, "application/json", None),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(server, content, kind, code):
    headers = {"authorization": "Bearer k", "content-type": kind}
    response = httpx.post(f"{server.base_url}/responses", content=content, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == code


def test_checks_can_be_turned_off(ask):
    with ResponsesSimulator(strict=False) as simulator:
        response = ask(simulator, model="anything", stop=["x"], max_output_tokens=3)
    assert response.status_code == 200
    assert response.json()["model"] == "anything"


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "name", "role", "content", "id"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
_NAMES = ["model", "input", "tools", "tool_choice", "reasoning", "text", "include", "metadata"]


@given(body=st.dictionaries(st.sampled_from(_NAMES), _JSON), keeps_model=st.booleans())
def test_no_request_makes_the_server_stumble(server, ask, body, keeps_model):
    request = body | ({"model": "gpt-5"} if keeps_model else {})
    assert ask(server, request).status_code in {200, 400, 404}
