"""Lines of any depth: what is too deep becomes a sentence, everything around it stays as it is."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dify_plugin_kit.stdin import DEEPEST, bound_depth, cut_depth, parse_line


SENTENCE = f"[left out: nested deeper than {DEEPEST} levels]"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('a"\\[]{}é'),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('a"\\[{'), inner, max_size=3)
    ),
    max_leaves=12,
)


def nested(levels: int, inside: Any, *, key: str = "a") -> Any:
    for level in range(levels):
        inside = [inside] if level % 2 else {key: inside}
    return inside


def refuse_depth(line: bytes) -> Any:
    """Parse as the SDK does: nothing that is deeper than 200 levels."""
    depth = deepest = 0
    value = json.loads(line)
    for character in line.decode():
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(character, 0)
        deepest = max(deepest, depth)
    if deepest > 200:
        raise ValueError("recursion limit exceeded")
    return value


@given(VALUES)
def test_a_line_that_is_not_deep_stays_as_it_is(value: Any) -> None:
    line = json.dumps(nested(100, value)).encode()
    assert cut_depth(line) is line


@given(VALUES, VALUES, st.integers(0, 3))
def test_only_what_is_too_deep_becomes_a_sentence(before: Any, after: Any, more: int) -> None:
    deep = nested(DEEPEST + more, [before])
    line = json.dumps({"before": before, "deep": [deep, after], "after": after}).encode()

    read = json.loads(cut_depth(line))

    assert (read["before"], read["after"], read["deep"][1]) == (before, after, after)
    assert SENTENCE in json.dumps(read)


@pytest.mark.parametrize("levels", [DEEPEST - 1, DEEPEST, DEEPEST + 1, 100_000])
def test_a_line_is_cut_at_one_depth_however_deep_it_is(levels: int) -> None:
    flat = cut_depth(b"[" * levels + b"]" * levels)

    assert flat.count(b"[") - flat.count(b"[left") == min(levels, DEEPEST)
    assert (SENTENCE.encode() in flat) == (levels > DEEPEST)
    json.loads(flat)


def test_brackets_in_texts_count_for_nothing() -> None:
    line = json.dumps({"text": "[{" * 1_000 + '\\"[' * 1_000}).encode()
    assert cut_depth(line) is line


def test_the_sdk_s_reader_parses_what_is_left_of_a_deep_line() -> None:
    made: list[object] = []

    def make(kind: object) -> SimpleNamespace:
        made.append(kind)
        return SimpleNamespace(validate_json=refuse_depth)

    module = SimpleNamespace(TypeAdapter=make)
    bound_depth(module)
    adapter = module.TypeAdapter(dict[str, Any])

    assert adapter.validate_json(b'{"a": 1}') == {"a": 1}
    assert (
        adapter.validate_json(json.dumps({"id": "s", "deep": nested(400, 1)}).encode())["id"] == "s"
    )
    assert module.TypeAdapter(dict[str, Any]) is adapter  # for which the SDK asks with each line
    assert made == [dict[str, Any]]


@pytest.mark.parametrize("line", [b"nonsense", b"[" * 300, b'{"a": "' + b"[" * 300])
def test_a_line_that_is_no_json_is_refused_as_before(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        parse_line(line, json.loads)
