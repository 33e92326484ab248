import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_policy import (
    CONTEXT_GATHERING_POLICY,
    DEFAULT_INSTRUCTION,
    PERSISTENCE_POLICY,
    TOOL_PREAMBLE_POLICY,
    UNCERTAINTY_POLICY,
    PolicyError,
    build_system_instruction,
    check_overrides,
)


BLOCKS = {
    "persistence_policy": ("persistence", PERSISTENCE_POLICY),
    "context_gathering_policy": ("context_gathering", CONTEXT_GATHERING_POLICY),
    "uncertainty_policy": ("uncertainty_and_ambiguity", UNCERTAINTY_POLICY),
    "tool_preamble_policy": ("tool_preamble", TOOL_PREAMBLE_POLICY),
}
DEFAULT_TEXTS = [text for _, text in BLOCKS.values()]


def joined(*sections):
    return "\n\n".join(sections)


def test_the_instruction_comes_first_and_the_blocks_follow_in_their_order():
    assert build_system_instruction("Be brief.") == joined("Be brief.", *DEFAULT_TEXTS)


@pytest.mark.parametrize("blank", ["", "  \n", None])
def test_a_blank_instruction_becomes_the_default_one(blank):
    assert build_system_instruction(blank) == joined(DEFAULT_INSTRUCTION, *DEFAULT_TEXTS)


@pytest.mark.parametrize("blank", [None, "", " \n\t", "{}", {}, '{"extra_policy": null}'])
def test_blank_overrides_change_nothing(blank):
    assert build_system_instruction("Task", blank) == build_system_instruction("Task")


@pytest.mark.parametrize(
    "text", ["Answer in French.", "[1, 2]", '"quoted"', "12", "{broken", "null"]
)
def test_text_that_is_no_json_object_is_the_extra_policy_at_the_end(text):
    assert build_system_instruction("Task", f" {text}\n") == joined("Task", *DEFAULT_TEXTS, text)


NEARLY_JSON = [
    "{",
    '\ufeff{"extra_polisy": "Be brief."}',
    '{"extra_policy": "Answer in French.",}',
    ' {"extra_policy": "Answer in French."',
    '"extra_policy": "Answer in French."}',
    "{'extra_policy': 'Answer in French.'}",
    '{extra_policy: "Answer in French."}',
    '```json\n{"extra_policy": "Answer in French."}\n```',
    '\ufeff{"extra_policy": "Answer in French."}',
    '{"extra_policy": "Answer\nin French."}',
    '{"a":' * 100_000,
    '{"extra_policy": NaN}',
    '{"extra_policy": [-Infinity]}',
    '{"extra_policy": 1e999}',
    '{"extra_policy": ' + "[" * 300 + "]" * 300 + "}",
]


@pytest.mark.parametrize("text", NEARLY_JSON)
def test_text_that_is_nearly_json_is_told_and_not_used(text):
    assert build_system_instruction("Task", text) == build_system_instruction("Task")
    [finding] = check_overrides(text)
    assert finding.startswith("it looks like a JSON object but cannot be read as one")
    assert "French" not in finding


def test_what_is_wrong_with_nearly_json_is_told_with_its_place():
    [finding] = check_overrides('{"extra_policy": "Answer in French.",}')
    assert "line 1 column 3" in finding


@pytest.mark.parametrize("as_text", [True, False])
def test_unknown_keys_are_told_and_the_others_used(as_text):
    overrides = {"persistance_policy": "Stop.", "extra_policy": "Answer in French.", "z": 1}
    given_ = json.dumps(overrides) if as_text else overrides
    assert check_overrides(given_) == (
        "the key 'persistance_policy' is unknown and changes nothing",
        "the key 'z' is unknown and changes nothing",
    )
    assert build_system_instruction("Task", given_).endswith("\n\nAnswer in French.")


@pytest.mark.parametrize(
    "good",
    [
        None,
        "",
        "Be brief.",
        "{broken",
        "[1, 2]",
        "{}",
        {"extra_policy": "x"},
        5,
        "The extra_policy is yours.",
        '{"persistence_policy": null}',
    ],
)
def test_nothing_is_found_where_nothing_is_wrong(good):
    assert check_overrides(good) == ()


@pytest.mark.parametrize("key", BLOCKS)
def test_an_override_gets_its_tags_and_replaces_its_block_in_place(key):
    tag, default = BLOCKS[key]
    expected = [f"<{tag}>\nOurs.\n</{tag}>" if text is default else text for text in DEFAULT_TEXTS]

    assert build_system_instruction("Task", {key: " Ours. "}) == joined("Task", *expected)


@pytest.mark.parametrize(
    "text",
    [
        "<persistence>\nOurs.\n</persistence>",
        "<persistence>\nOurs.",
        "Ours.\n</persistence>",
        "Ours.",
    ],
)
def test_only_missing_tags_are_added(text):
    instruction = build_system_instruction("Task", {"persistence_policy": text})

    assert instruction.split("\n\n")[1] == "<persistence>\nOurs.\n</persistence>"


@pytest.mark.parametrize("key", BLOCKS)
@pytest.mark.parametrize("empty", ["", "  \n"])
def test_an_empty_text_removes_the_block(key, empty):
    expected = [text for text in DEFAULT_TEXTS if text is not BLOCKS[key][1]]

    assert build_system_instruction("Task", json.dumps({key: empty})) == joined("Task", *expected)


def test_null_keeps_the_default_block():
    instruction = build_system_instruction("Task", '{"persistence_policy": null}')

    assert instruction == build_system_instruction("Task")


def test_every_block_can_be_removed_so_that_the_instruction_stands_alone():
    assert build_system_instruction("Task", dict.fromkeys(BLOCKS, "")) == "Task"


LOOP = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        -math.inf,
        {"limit": [1, math.inf]},
        [[{"deep": (math.nan,)}]],
        {("a", "b"): 1},
        LOOP,
    ],
    ids=repr,
)
def test_a_value_that_json_does_not_know_changes_nothing_and_is_told(value):
    for key in (*BLOCKS, "extra_policy"):
        assert build_system_instruction("Task", {key: value}) == build_system_instruction("Task")
        assert check_overrides({key: value}) == (
            f"the key {key!r} has a value that JSON does not know and changes nothing",
        )


def test_the_other_keys_count_beside_such_a_value():
    overrides = {"persistence_policy": math.nan, "extra_policy": "Be brief."}
    assert build_system_instruction("Task", overrides) == joined(
        "Task", *DEFAULT_TEXTS, "Be brief."
    )


def test_unknown_keys_are_ignored():
    instruction = build_system_instruction("Task", '{"persistance_policy": "typo", "x": [1]}')

    assert instruction == build_system_instruction("Task")


def test_the_extra_policy_is_appended_without_tags():
    instruction = build_system_instruction("Task", {"extra_policy": " Be kind.\n"})

    assert instruction == joined("Task", *DEFAULT_TEXTS, "Be kind.")


@pytest.mark.parametrize(
    ("value", "text"), [(3, "3"), (True, "true"), (["a", "é"], '["a", "é"]'), (b"x", "\"b'x'\"")]
)
def test_a_value_that_is_no_text_is_written_as_json(value, text):
    assert build_system_instruction("Task", {"extra_policy": value}).endswith(f"\n\n{text}")


@pytest.mark.parametrize("model", ["gpt-5-codex", "gpt-5.3-codex", "team/GPT-5.1-Codex-Max"])
def test_codex_models_get_no_default_preamble(model):
    instruction = build_system_instruction("Task", model=model)

    assert instruction == joined("Task", *DEFAULT_TEXTS[:3])


@pytest.mark.parametrize("model", [None, "", "gpt-5.2", "my-deployment"])
def test_other_models_get_the_preamble(model):
    assert TOOL_PREAMBLE_POLICY in build_system_instruction("Task", model=model)


def test_an_overridden_preamble_is_kept_for_codex_models():
    overrides = {"tool_preamble_policy": "One word."}

    instruction = build_system_instruction("Task", overrides, model="gpt-5-codex")

    assert instruction.endswith("<tool_preamble>\nOne word.\n</tool_preamble>")


def test_overrides_of_another_type_are_refused_by_name():
    with pytest.raises(PolicyError, match="must be text, a mapping or None, got list") as caught:
        build_system_instruction("Task", ["x"])

    assert caught.value.field == "prompt_policy_overrides"


def test_an_instruction_of_another_type_is_refused_by_name():
    with pytest.raises(PolicyError, match="base_instruction must be text or None, got int"):
        build_system_instruction(5)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
OVERRIDES = st.dictionaries(st.sampled_from([*BLOCKS, "extra_policy", "other"]), JSON_VALUES)


@given(st.text(), st.none() | st.text() | OVERRIDES)
def test_any_text_gives_the_same_instruction_twice_and_never_an_empty_one(instruction, overrides):
    first = build_system_instruction(instruction, overrides)

    assert first == build_system_instruction(instruction, overrides)
    assert first.strip() == first != ""


@given(OVERRIDES)
def test_json_text_and_mapping_mean_the_same(overrides):
    as_text = build_system_instruction("Task", json.dumps(overrides))

    assert as_text == build_system_instruction("Task", overrides)
