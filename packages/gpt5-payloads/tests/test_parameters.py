import pytest

from gpt5_payloads import PayloadError, RequestParameters, build_request


def build(model="gpt-5.2", **parameters):
    return build_request(model=model, input="hi", parameters=parameters)


def refusal_of(**parameters):
    with pytest.raises(PayloadError) as caught:
        build(**parameters)
    return caught.value


def test_missing_parameters_have_the_documented_defaults():
    assert build() == {
        "model": "gpt-5.2",
        "input": "hi",
        "stream": True,
        "stream_options": {"include_obfuscation": False},
        "store": False,
        "max_output_tokens": 8192,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
    }


@pytest.mark.parametrize("name", RequestParameters.__annotations__)
def test_a_blank_parameter_counts_as_missing(name):
    # A switch that is on by default is not switched off by an empty text.
    blanks = [None] if name in {"parallel_tool_calls", "enable_stream"} else [None, "", " \n "]

    for blank in blanks:
        assert build(**{name: blank}) == build()


@pytest.mark.parametrize("name", RequestParameters.__annotations__)
def test_a_parameter_refuses_by_its_name_what_it_cannot_be(name):
    asked = {"response_format": "json_schema"} if name == "json_schema" else {}
    for value in (object(), [object()], 10**30, -1):
        error = refusal_of(**asked, **{name: value})

        assert error.field == name
        assert name in str(error)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (1, 16),
        (15, 16),
        (16, 16),
        (17, 17),
        (128_000, 128_000),
        ("4096", 4096),
        (" 4096 ", 4096),
        (512.0, 512),
    ],
)
def test_max_output_tokens_are_raised_to_the_minimum_of_the_api(given, sent):
    assert build(max_output_tokens=given)["max_output_tokens"] == sent


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        128_001,
        "many",
        "-5",
        "1e3",
        "8_192",
        "٣٢",
        True,
        1.5,
        float("nan"),
        float("inf"),
        [],
        "9" * 5000,
    ],
)
def test_max_output_tokens_out_of_range_are_refused(value):
    error = refusal_of(max_output_tokens=value)

    assert str(error) == "max_output_tokens must be an integer between 1 and 128000"
    assert error.field == "max_output_tokens"


def test_max_output_tokens_fit_the_model():
    assert build(model="gpt-5.2-chat", max_output_tokens=128_000)["max_output_tokens"] == 16_384


@pytest.mark.parametrize(
    ("model", "given", "sent"),
    [
        ("gpt-5", "none", "minimal"),
        ("gpt-5", "xhigh", "high"),
        ("gpt-5.1", "minimal", "none"),
        ("gpt-5.1", "xhigh", "high"),
        ("gpt-5.2", "xhigh", "xhigh"),
        ("gpt-5.2", "max", "xhigh"),
        ("gpt-5.2-pro", "none", "medium"),
        ("gpt-5.2-pro", "low", "medium"),
        ("gpt-5-codex", "minimal", "low"),
        ("gpt-5.3-codex", "none", "low"),
        ("gpt-5.6", "max", "max"),
        ("my-deployment", "minimal", "minimal"),
        ("my-deployment", "max", "max"),
    ],
)
def test_the_effort_fits_the_model(model, given, sent):
    assert build(model=model, reasoning_effort=given)["reasoning"]["effort"] == sent


@pytest.mark.parametrize(
    ("model", "given", "sent"),
    [
        ("gpt-5", "concise", "auto"),
        ("gpt-5", "detailed", "detailed"),
        ("gpt-5.2", "concise", "concise"),
        ("my-deployment", "concise", "concise"),
    ],
)
def test_the_summary_fits_the_model(model, given, sent):
    assert build(model=model, reasoning_summary=given)["reasoning"]["summary"] == sent


@pytest.mark.parametrize("off", ["off", " Off ", False])
@pytest.mark.parametrize("model", ["gpt-5.2", "gpt-5", "my-deployment"])
def test_no_summary_is_asked_for_where_it_is_off(off, model):
    assert build(model=model, reasoning_summary=off)["reasoning"] == {"effort": "medium"}


@pytest.mark.parametrize("summary", ["auto", "detailed", "off", None])
@pytest.mark.parametrize(
    "shape",
    [
        {"response_format": "json_schema", "json_schema": {"type": "object"}},
        {"response_format": "json_object"},
    ],
)
def test_no_summary_is_asked_for_where_the_answer_is_json(summary, shape):
    request = build_request(
        model="gpt-5.2", input="JSON please", parameters={"reasoning_summary": summary, **shape}
    )

    assert request["reasoning"] == {"effort": "medium"}
    assert request["include"] == ["reasoning.encrypted_content"]


@pytest.mark.parametrize(
    ("model", "given", "text"),
    [
        ("gpt-5.2", "high", {"verbosity": "high"}),
        ("gpt-5.3-codex", "high", {"verbosity": "medium"}),
        ("gpt-5-codex", "medium", {}),
        ("my-deployment", "low", {"verbosity": "low"}),
    ],
)
def test_the_verbosity_fits_the_model(model, given, text):
    assert build(model=model, verbosity=given)["text"] == {"format": {"type": "text"}} | text


@pytest.mark.parametrize("model", ["gpt-5-chat-latest", "gpt-4o", "gpt-4.1-mini"])
def test_a_model_that_does_not_reason_is_sent_no_reasoning(model):
    assert build(model=model, reasoning_effort="high").keys().isdisjoint({"reasoning", "include"})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("reasoning_effort", "none, minimal, low, medium, high, xhigh, max"),
        ("reasoning_summary", "auto, concise, detailed, off"),
        ("verbosity", "low, medium, high"),
        ("response_format", "text, json_schema, json_object"),
    ],
)
@pytest.mark.parametrize("value", ["ultra", 3, ["low"]])
def test_a_value_that_no_model_has_is_refused_with_what_was_expected(name, options, value):
    error = refusal_of(**{name: value})

    assert str(error) == f"unsupported {name}: {value}; expected {options}"
    assert error.field == name


def test_a_refused_value_is_cut_short_in_the_message():
    assert len(str(refusal_of(verbosity="v" * 10_000))) < 150


def test_case_and_blanks_around_an_option_do_not_matter():
    assert build(reasoning_effort=" High ")["reasoning"]["effort"] == "high"


def test_a_json_schema_becomes_the_text_format():
    schema = {"type": "object", "properties": {}}
    text = build(response_format="json_schema", json_schema={"schema": schema})["text"]

    assert text == {
        "format": {
            "type": "json_schema",
            "name": "structured_output",
            "schema": schema,
            "strict": False,
        },
        "verbosity": "medium",
    }


def test_the_schema_is_ignored_in_text_mode():
    assert build(json_schema="not JSON at all") == build()


@pytest.mark.parametrize(
    "messages",
    [
        "Answer in JSON.",
        [{"role": "user", "content": "json!"}],
        [{"role": "user", "content": [{"type": "input_text", "text": "As Json."}]}],
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Some JSON?"}],
    ],
)
def test_json_without_a_schema_can_be_asked_for(messages):
    shape = {"response_format": "json_object"}
    request = build_request(model="gpt-5.2", input=messages, parameters=shape)

    assert request["text"]["format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    "messages",
    [
        "Answer me.",
        [],
        [{"role": "user", "content": "Hi"}],
        [{"type": "reasoning", "encrypted_content": "JSON", "summary": []}],
    ],
)
def test_json_that_no_message_speaks_of_is_refused_as_the_api_would(messages):
    shape = {"response_format": "json_object"}
    with pytest.raises(PayloadError, match="needs the word JSON in a message") as caught:
        build_request(model="gpt-5.2", input=messages, parameters=shape, instructions="JSON")

    assert caught.value.field == "response_format"


def test_json_schema_mode_needs_a_schema():
    assert refusal_of(response_format="json_schema").field == "json_schema"


def test_a_model_without_structured_outputs_refuses_json_schema_mode():
    with pytest.raises(PayloadError, match="expected text") as caught:
        build(model="gpt-3.5-turbo", response_format="json_schema", json_schema={"schema": {}})

    assert caught.value.field == "response_format"


@pytest.mark.parametrize("name", ["enable_stream", "parallel_tool_calls"])
@pytest.mark.parametrize("value", ["", "yes", 2, 1.0, []])
def test_switches_are_read_strictly(name, value):
    error = refusal_of(**{name: value})

    assert str(error) == f"{name} must be a boolean-like value"
    assert error.field == name


@pytest.mark.parametrize(
    ("model", "effort", "is_sent"),
    [
        ("gpt-5.2", "none", True),
        ("gpt-5.2", "low", False),
        ("gpt-5", "minimal", False),
        ("gpt-6-astra", "none", False),
        ("gpt-6-luna", "none", True),
        ("o3", "low", False),
        ("gpt-5-chat-latest", "high", True),
        ("gpt-4o", "high", True),
        ("some-deployment", "high", True),
    ],
)
def test_settings_of_chance_are_left_out_where_a_model_refuses_them(model, effort, is_sent):
    request = build(model, reasoning_effort=effort, temperature="0.3", top_p=1)
    sent = {key: request[key] for key in ("temperature", "top_p") if key in request}

    assert sent == ({"temperature": 0.3, "top_p": 1.0} if is_sent else {})


@pytest.mark.parametrize(
    ("name", "most"), [("temperature", "between 0 and 2"), ("top_p", "between 0 and 1")]
)
@pytest.mark.parametrize("value", [-0.1, 2.1, "much", True, [], float("nan"), 10**400])
def test_settings_of_chance_out_of_range_are_refused(name, most, value):
    error = refusal_of(**{name: value})

    assert str(error) == f"{name} must be a number {most}"
    assert error.field == name


def test_unknown_parameters_are_never_forwarded():
    assert (
        build(presence_penalty=0.3, user="alice", metadata={"a": 1}, seed=7, model="gpt-5.2")
        == build()
    )


def test_a_threshold_of_compaction_goes_along_and_is_bounded():
    assert build(compact_threshold="200000")["context_management"] == [
        {"type": "compaction", "compact_threshold": 200_000}
    ]
    assert refusal_of(compact_threshold=999).field == "compact_threshold"
