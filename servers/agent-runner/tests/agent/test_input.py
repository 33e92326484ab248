import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_runner import AgentRunner, ConfigurationError, InputError, InputProblem, JsonOutput


SCHEMA = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "minLength": 1},
        "places": {"type": "array", "items": {"$ref": "#/$defs/place"}},
    },
    "required": ["prompt"],
    "additionalProperties": False,
    "$defs": {"place": {"type": "object", "required": ["name"]}},
}


@pytest.fixture
def problems(make_agent):
    def find(fields, schema=SCHEMA):
        with pytest.raises(InputError) as caught:
            AgentRunner().run(make_agent("", schema=schema), fields)
        assert isinstance(caught.value, ValueError)
        return [(problem.field, problem.message) for problem in caught.value.problems]

    return find


def test_what_is_json_already_is_checked_without_a_copy(make_agent, monkeypatch):
    monkeypatch.setattr("agent_runner._agent.input.parse_json", None)
    fields = {"prompt": "a", "places": [{"name": "b"}, {"name": None}, {"name": 1.5}]}
    AgentRunner().run(make_agent("", schema=SCHEMA), fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ("prompt", "expected to be present")),
        ({"prompt": 1}, ("prompt", "expected type 'string'")),
        ({"prompt": ""}, ("prompt", "expected minLength 1")),
        ({"prompt": "a", "places": [{}]}, ("places[0].name", "expected to be present")),
        ({"prompt": "a", "places": ({},)}, ("places[0].name", "expected to be present")),
        (
            {"prompt": "a", "x": 1},
            ("input", "Additional properties are not allowed ('x' was unexpected)"),
        ),
    ],
)
def test_a_problem_names_the_field_and_what_was_expected(problems, fields, expected):
    assert problems(fields) == [expected]


def test_all_problems_are_told_at_once(problems):
    assert problems({"places": 1}) == [
        ("prompt", "expected to be present"),
        ("places", "expected type 'array'"),
    ]


def test_of_very_many_problems_a_hundred_are_told(problems):
    """A list may have a million wrong items."""
    told = problems({"prompt": "a", "places": [1] * 500})

    assert told[0] == ("places[0]", "expected type 'object'")
    assert len(told) == 100


def test_no_value_is_quoted(problems):
    told = problems({"prompt": {"password": "hunter2"}})
    assert "hunter2" not in str(told)


def test_long_expectations_are_cut(problems):
    [(field, message)] = problems({}, {"enum": ["x" * 1000]})
    assert (field, message[:20], len(message)) == ("input", "expected enum ['xxxx", 201)


@pytest.mark.parametrize("name", ["runner_request_id", "client_request_id", "resume"])
def test_reserved_names_are_refused(problems, name):
    assert problems({name: "x", "prompt": "a"}) == [
        (name, "expected to be absent: the runner sets it")
    ]


@pytest.mark.parametrize("value", [object(), float("nan"), {"a": b"x"}, [{1, 2}]])
def test_what_is_not_json_is_refused(problems, value):
    assert problems({"prompt": value}) == [("prompt", "expected a JSON value")]


@pytest.mark.parametrize("fields", [{"a": 1}, {}])
async def test_a_script_that_goes_on_gets_what_it_goes_on_from(make_agent, make_runner, fields):
    folder = make_agent("print(input())", schema={"additionalProperties": {"type": "integer"}})
    resume = {"state": [1], "answer": {"answer": "yes"}}
    [output, _] = [one async for one in make_runner().run(folder, fields, resume=resume)]
    assert output.value["resume"] == resume
    assert fields.items() <= output.value.items()


def test_what_it_goes_on_from_is_json(make_agent):
    with pytest.raises(InputError, match="resume: expected a JSON value"):
        AgentRunner().run(make_agent(""), {}, resume={"state": object()})


def test_names_must_be_strings(problems):
    assert problems({1: "a"}) == [("input", "expected names that are strings, got 1")]


async def test_the_input_is_checked_as_the_script_will_see_it(make_agent, run_agent):
    folder = make_agent(
        "import json, sys; print(json.dumps(json.load(sys.stdin)['places']))", schema=SCHEMA
    )
    [output], _ = await run_agent(folder, {"prompt": "a", "places": ({"name": "Rome"},)})
    assert output == JsonOutput(value=[{"name": "Rome"}])


def test_the_error_lists_its_problems_in_words():
    error = InputError(InputProblem(field="a", message="expected b"))
    assert str(error) == "a: expected b"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{", "expected JSON"),
        ("[]", "expected a JSON Schema, which is an object"),
        ({"type": "strnig"}, "expected a valid JSON Schema"),
        ({"$schema": 1}, r"expected \$schema to be a string"),
        ({"$ref": "http://127.0.0.1:9/x.json"}, r"expected every \$ref to lead into"),
        ({"$ref": "#/$defs/none"}, r"expected every \$ref to lead into"),
        ({"$ref": "#"}, r"expected no \$ref that leads to itself"),
        ({"properties": {"a": {"pattern": "("}}}, "expected a valid JSON Schema"),
        (
            {
                "$schema": "http://json-schema.org/draft-04/schema#",
                "patternProperties": {"(": {}},
            },
            "expected a valid JSON Schema: pattern '\\('",
        ),
        ({"pattern": "^(?=a)"}, "expected a valid JSON Schema: .*without look-around"),
    ],
)
def test_a_schema_that_is_none_is_the_owners_fault(make_agent, schema, message):
    folder = make_agent("", schema=schema)
    with pytest.raises(ConfigurationError, match=rf"input_schema\.json: {message}"):
        AgentRunner().run(folder, {"a": "b"})


def test_a_schema_that_cannot_be_read_is_the_owners_fault(make_agent):
    folder = make_agent("")
    (folder / "input_schema.json").mkdir()
    with pytest.raises(ConfigurationError, match="expected a file that can be read"):
        AgentRunner().run(folder, {})


def call_deep(levels, call):
    return call_deep(levels - 1, call) if levels else call()


def test_a_schema_of_too_many_levels_for_its_caller_is_refused(make_agent):
    schema = {}
    for _ in range(190):
        schema = {"not": schema}
    folder = make_agent("", schema=schema)
    with pytest.raises(ConfigurationError, match="expected a schema of fewer levels"):
        call_deep(600, lambda: AgentRunner().run(folder, {}))


def test_no_pattern_keeps_the_runner_busy(problems):
    """Python's own `re` would look at this text for years."""
    schema = {"properties": {"a": {"pattern": "^(a+)+$"}}}
    assert problems({"a": "a" * 50 + "b"}, schema) == [("a", "expected pattern '^(a+)+$'")]


def test_an_older_draft_is_taken_at_its_word(problems):
    draft4 = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"a": {"maximum": 5, "exclusiveMaximum": True}},
    }
    assert problems({"a": 5}, draft4) == [("a", "expected maximum 5")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text().map("x{}".format), st.integers() | st.text() | st.none()))
def test_without_a_schema_any_object_is_taken(make_agent, fields):
    AgentRunner().run(make_agent(""), fields)
