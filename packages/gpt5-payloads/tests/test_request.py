import copy
import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_payloads import PayloadError, WireRules, build_request, profile_for
from stream_text import GrowingMap


MODELS = [
    *("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5-pro", "gpt-5-chat-latest", "gpt-5-codex"),
    *("gpt-5.1", "gpt-5.1-chat-latest", "gpt-5.1-codex", "gpt-5.1-codex-max", "gpt-5.2"),
    *("gpt-5.2-pro", "gpt-5.3-codex", "gpt-5.4", "gpt-5.4-pro", "gpt-5.5-pro", "gpt-5.6-terra"),
    *("openai/gpt-5.2", "ft:gpt-5-mini:org::id", "gpt-4o", "o3", "some-deployment"),
]
TOOL = {"name": "lookup", "description": "Look it up.", "parameters": {"properties": {}}}
SCHEMA = {"name": "answer", "schema": {"type": "object", "properties": {}}}


def build(model="gpt-5.2", **given):
    return build_request(**{"model": model, "input": "hi", "parameters": {}} | given)


class OnlyWhatIsAsked(WireRules):
    sends_defaults = False


def outcome_of(**arguments):
    try:
        return build_request(**arguments)
    except PayloadError as error:
        return error


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("enabled", [True, False])
def test_it_streams_only_if_both_sides_want_it(wanted, enabled):
    request = build(stream=wanted, parameters={"enable_stream": enabled})

    assert request["stream"] is (wanted and enabled)


def test_a_model_that_cannot_stream_is_not_asked_to():
    assert build(model="gpt-5.5-pro")["stream"] is False


@pytest.mark.parametrize(
    ("stop", "sent"), [(["END"], "disabled"), ([], None), ((), None), (None, None)]
)
def test_stop_sequences_disable_truncation_and_are_not_sent(stop, sent):
    request = build(stop=stop)

    assert request.get("truncation") == sent
    assert "stop" not in request


def test_the_optional_texts_are_sent_when_there_are_any():
    request = build(
        instructions="Be brief.", safety_identifier="a" * 128, prompt_cache_key="b" * 64
    )

    assert request["instructions"] == "Be brief."
    assert request["safety_identifier"] == "a" * 128
    assert request["prompt_cache_key"] == "b" * 64


def test_rules_without_defaults_send_only_what_is_asked_for():
    assert build(model="gpt-5.5-pro", rules=OnlyWhatIsAsked(include_obfuscation=None)) == {
        "model": "gpt-5.5-pro",
        "input": "hi",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
    }


def test_rules_decide_what_the_parameters_and_the_model_leave_open():
    rules = OnlyWhatIsAsked(system_role="system", summary="concise", send_max_output_tokens=False)
    items = [{"role": "developer", "content": "Be kind."}, {"type": "reasoning", "summary": []}]
    asked = {"reasoning_effort": "low", "max_output_tokens": 99, "temperature": 0.5}

    request = build(model="gpt-5.4", input=items, parameters=asked, rules=rules)

    assert request["input"][0]["role"] == "system"
    assert request["reasoning"] == {"effort": "low", "summary": "concise", "context": "all_turns"}
    assert request["temperature"] == 0.5
    assert "max_output_tokens" not in request


def test_a_model_behind_the_name_decides_what_is_sent():
    assert build(model="mine", base_model="gpt-4o") == build(model="gpt-4o") | {"model": "mine"}


@pytest.mark.parametrize("blank", [None, ""])
def test_blank_optional_texts_are_left_out(blank):
    assert build(instructions=blank, safety_identifier=blank, prompt_cache_key=blank) == build()


@pytest.mark.parametrize(
    ("field", "value"),
    [("safety_identifier", "a" * 129), ("prompt_cache_key", "b" * 65), ("prompt_cache_key", 7)],
)
def test_identifiers_longer_than_the_api_takes_are_refused(field, value):
    with pytest.raises(PayloadError, match=f"^{field} must be a text of at most") as caught:
        build(**{field: value})

    assert caught.value.field == field


@pytest.mark.parametrize("model", ["", "  ", None, 5])
def test_a_model_is_required(model):
    with pytest.raises(PayloadError) as caught:
        build(model=model)

    assert caught.value.field == "model"


def test_a_model_name_is_sent_as_it_is():
    assert build(model=" openai/gpt-5-2025-08-07 ")["model"] == "openai/gpt-5-2025-08-07"


@pytest.mark.parametrize("value", [None, 7, b"hi", {"role": "user"}, ["hi"], [None]])
def test_input_that_is_neither_text_nor_items_is_refused(value):
    with pytest.raises(PayloadError, match=r"^input must") as caught:
        build(input=value)

    assert caught.value.field == "input"


def test_items_go_out_in_order_and_unchanged():
    items = [
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be."}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"},
        MappingProxyType({"type": "function_call_output", "call_id": "c1", "output": ""}),
    ]

    assert build(input=items)["input"] == [dict(item) for item in items]


def test_a_codex_model_hears_the_system_as_the_developer():
    items = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "system"}]

    assert build(model="gpt-5.3-codex", input=items)["input"] == [
        {"type": "message", "role": "developer", "content": "Be kind."},
        {"type": "message", "role": "user", "content": "system"},
    ]
    assert items[0]["role"] == "system"


odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
)
good_values = {
    "max_output_tokens": st.integers(1, 128_000),
    "reasoning_effort": st.sampled_from(
        ["none", "minimal", "low", "medium", "high", "xhigh", "max"]
    ),
    "reasoning_summary": st.sampled_from(["auto", "concise", "detailed"]),
    "verbosity": st.sampled_from(["low", "medium", "high"]),
    "response_format": st.sampled_from(["text", "json_schema"]),
    "json_schema": st.sampled_from([SCHEMA, json.dumps(SCHEMA)]),
    "tool_choice": st.sampled_from(["auto", "none", "required", "lookup"]),
    "parallel_tool_calls": st.sampled_from([True, False, "true", "0"]),
    "enable_stream": st.sampled_from([True, False, "false", 1]),
}
good_parameters = st.fixed_dictionaries({}, optional=good_values)
any_parameters = st.fixed_dictionaries(
    {}, optional={name: good | odd_values for name, good in good_values.items()}
) | st.dictionaries(st.text(max_size=8), odd_values)
calls = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "input": st.just([{"role": "system", "content": "Be kind."}]),
        "tools": st.sampled_from([[], [TOOL]]),
        "stream": st.booleans(),
        "stop": st.sampled_from([None, [], ["END"]]),
    }
)


@given(call=calls, parameters=good_parameters)
def test_a_request_never_holds_what_the_model_refuses(call, parameters):
    profile = profile_for(call["model"])
    if not profile.structured_outputs or "json_schema" not in parameters:
        parameters = parameters | {"response_format": "text"}
    request = build_request(**call, parameters=parameters)
    reasoning = request.get("reasoning")

    assert (reasoning is not None) == profile.reasoning
    assert reasoning is None or reasoning["effort"] in profile.efforts
    assert not reasoning or reasoning.get("summary", "auto") in profile.summaries
    assert ("verbosity" in request["text"]) == bool(profile.verbosities)
    assert request["text"].get("verbosity", "") in {"", *profile.verbosities}
    assert 16 <= request["max_output_tokens"] <= profile.max_output_tokens
    assert not request["stream"] or profile.streaming
    assert ("tools" in request) == ("tool_choice" in request) == bool(call["tools"])
    assert request["input"][0]["role"] == profile.system_role


@given(call=calls, parameters=any_parameters)
def test_any_parameters_give_a_request_or_an_error_that_names_its_field(call, parameters):
    outcome = outcome_of(**call, parameters=parameters)

    if isinstance(outcome, PayloadError):
        assert outcome.field.partition(".")[0] in good_values
        assert outcome.field in str(outcome)
    else:
        assert json.loads(json.dumps(outcome, allow_nan=False)) == outcome


@given(call=calls, parameters=good_parameters)
def test_equal_arguments_give_equal_bytes_and_stay_unchanged(call, parameters):
    parameters = {"json_schema": SCHEMA} | parameters
    before = copy.deepcopy((call, parameters))

    first, second = (outcome_of(**call, parameters=parameters) for _ in range(2))

    assert json.dumps(first, default=repr) == json.dumps(second, default=repr)
    assert (call, parameters) == before


def test_items_that_the_last_request_had_are_not_fitted_again():
    fitted, asked = GrowingMap(), [{"role": "system", "content": "a"}]
    first = build(input=asked, fitted=fitted)["input"]
    asked.append({"role": "user", "content": "b"})
    second, other = (
        build(model=model, input=asked, fitted=fitted)["input"] for model in ("gpt-5.2", "codex")
    )

    assert second[0] is first[0]
    assert second == build(input=asked)["input"]
    assert other == build(model="codex", input=asked)["input"] != second
