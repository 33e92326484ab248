"""Declarations, arguments and results of tools, in any shape: a value, a sentence for the model, or a documented error."""

import contextlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_policy import PolicyError, build_system_instruction, check_overrides
from agent_tooling import (
    STRATEGY_OBSERVATIONS,
    TOOL_LAYER_OBSERVATIONS,
    FailureMemory,
    ResultBudget,
    ToolingError,
    bind_arguments,
    cast_value,
    llm_json_schema,
    merge_blob_chunks,
    merge_parameters,
    missing_hidden_parameters,
    observation_text,
    option_violation,
    parse_tool_arguments,
    prepare_arguments,
    unique_tool_names,
)
from shapes import LEAVES, TEXTS, VALUES
from test_texts import JSON_TEXTS


TYPES = st.sampled_from(
    [
        "string",
        "number",
        "boolean",
        "select",
        "secret-input",
        "file",
        "files",
        "array",
        "object",
        "any",
        "app-selector",
        "model-selector",
        "dynamic-select",
        "checkbox",
        "system-files",
        "date",
        "future",
    ]
)
NAMES = st.sampled_from(["a", "b", "c"])
PARAMETERS = st.fixed_dictionaries(
    {
        "name": NAMES | LEAVES,
        "type": TYPES | LEAVES,
        "form": st.sampled_from(["llm", "form", "schema"]) | LEAVES,
    },
    optional={
        "required": LEAVES,
        "default": VALUES,
        "llm_description": LEAVES,
        "input_schema": VALUES,
        "options": st.lists(st.fixed_dictionaries({"value": LEAVES}) | LEAVES, max_size=3) | LEAVES,
        "min": LEAVES,
        "max": LEAVES,
        "multiple": LEAVES,
    },
)
GOOD_PARAMETERS = st.fixed_dictionaries(
    {"name": NAMES, "type": TYPES, "form": st.sampled_from(["llm", "form", "schema"])},
    optional={
        "required": st.booleans(),
        "default": VALUES,
        "min": LEAVES,
        "max": LEAVES,
        "multiple": st.booleans(),
    },
)
LISTS = st.lists(GOOD_PARAMETERS, max_size=3) | st.lists(PARAMETERS | LEAVES, max_size=3)
ARGUMENTS = st.dictionaries(NAMES | TEXTS, VALUES, max_size=3)


@given(LISTS, ARGUMENTS, ARGUMENTS)
def test_any_declaration_and_arguments_are_taken_or_refused_as_documented(
    parameters: list[Any], runtime: dict[str, Any], arguments: dict[str, Any]
) -> None:
    for call in (
        lambda: merge_parameters(parameters, parameters),
        lambda: json.dumps(llm_json_schema(parameters)),
        lambda: json.dumps(llm_json_schema(parameters, portable=True)),
        lambda: missing_hidden_parameters(parameters, runtime),
        lambda: prepare_arguments(parameters, runtime, arguments),
        lambda: option_violation(parameters, arguments),
        lambda: [
            cast_value(parameter, value) for parameter in parameters for value in arguments.values()
        ],
    ):
        try:
            call()
        except ToolingError as error:
            assert len(str(error)) < 2_000


@given(LISTS, JSON_TEXTS | VALUES, ARGUMENTS)
def test_a_models_arguments_are_bound_or_refused_with_a_sentence(
    parameters: list[Any], text: Any, runtime: dict[str, Any]
) -> None:
    parsed = parse_tool_arguments(text)
    assert parsed.ok != bool(parsed.error)
    json.dumps(parsed.args, allow_nan=False, ensure_ascii=False).encode()
    try:
        bound = bind_arguments("tool", parameters, parsed.args, runtime)
    except ToolingError:
        return
    assert bound.ok != bool(bound.error)
    memory = FailureMemory()
    memory.record_success("tool", bound.args, "x")
    memory.record_failure("tool", parsed.args)
    assert memory.recall("tool", parsed.args)


PAYLOADS = st.dictionaries(
    st.sampled_from(
        [
            "text",
            "json_object",
            "blob",
            "variable_name",
            "variable_value",
            "stream",
            "id",
            "sequence",
            "total_length",
            "end",
            "context",
            "retriever_resources",
            "suppress_output",
        ]
    ),
    VALUES | st.binary(max_size=20),
    max_size=5,
)
MESSAGES = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "text",
                "link",
                "image",
                "json",
                "blob",
                "blob_chunk",
                "file",
                "variable",
                "log",
                "retriever_resources",
                "image_link",
                "new",
            ]
        )
        | LEAVES,
        "message": PAYLOADS | VALUES,
    },
    optional={"meta": VALUES},
)


@given(
    st.lists(MESSAGES | LEAVES, max_size=5) | VALUES,
    st.sampled_from([STRATEGY_OBSERVATIONS, TOOL_LAYER_OBSERVATIONS]),
)
def test_any_result_becomes_a_text_that_can_be_sent(messages: Any, policy: Any) -> None:
    text = observation_text(messages, policy=policy)
    text.encode()
    assert len(ResultBudget(per_result=1_000).fit(text)) <= 1_100
    with contextlib.suppress(ToolingError):
        list(merge_blob_chunks(messages if isinstance(messages, list) else [messages]))


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "identity": st.fixed_dictionaries(
                    {"name": TEXTS | LEAVES, "provider": TEXTS | LEAVES}
                )
            }
        ),
        max_size=6,
    )
)
def test_tool_names_are_valid_and_distinct(tools: list[Any]) -> None:
    try:
        names = unique_tool_names(tools)
    except ToolingError:
        return
    assert len(set(names)) == len(names) == len(tools)
    assert all(0 < len(name) <= 64 and name.replace("-", "_").isascii() for name in names)


@given(
    TEXTS | st.none(),
    JSON_TEXTS
    | VALUES
    | st.dictionaries(
        st.sampled_from(["extra_policy", "persistence_policy"]) | TEXTS, VALUES, max_size=3
    ),
)
def test_any_overrides_make_an_instruction(base: Any, overrides: Any) -> None:
    check_overrides(overrides)
    try:
        text = build_system_instruction(base, overrides)
    except PolicyError as error:
        assert error.field
        return
    assert text == build_system_instruction(base, overrides)
    assert text.strip()
