import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_text import (
    MAX_DEPTH,
    InvalidJsonError,
    dump_json,
    find_repeated_key,
    first_of_equal,
    has_many_values,
    iter_json,
    parse_json,
)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)  # fmt: skip


def nested(depth, opening="[", closing="]"):
    return opening * depth + closing * depth


LARGE = " " * 150_000


@given(VALUES)
def test_what_is_written_as_json_reads_back(value):
    text = json.dumps(value)
    assert parse_json(text) == parse_json(LARGE + text, yields=True) == value


@given(VALUES)
@settings(max_examples=settings.default.max_examples // 2)  # each is written with 10,000 others
def test_much_is_written_as_little_is(value):
    many = [value, [0] * 10_000]
    assert has_many_values(many)
    assert not has_many_values(value)
    assert not has_many_values(many, most=20_000)
    named = dict.fromkeys(map(str, range(501)), value)
    lists = [value] * 501 + [0] * 10_000
    for one in (value, many, {"of": many, "\ud800": value}, lists, named | {"of": many}):
        assert dump_json(one) == json.dumps(one, separators=(",", ":"))


@pytest.mark.parametrize("value", [dict.fromkeys(map(str, range(20_000)), 0), [0] * 60_000])
def test_while_much_is_written_little_more_is_held_than_its_text_twice(value):
    tracemalloc.start()
    try:
        text = dump_json(value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 3 * len(text)
    pieces = list(iter_json({"of": value}))
    assert "".join(pieces) == f'{{"of":{text}}}'
    assert 10 * max(map(len, pieces)) < len(text)


@pytest.mark.parametrize(
    "text", ["[NaN]", "[1e999]", '{"a"}', "[" * 100_000, nested(MAX_DEPTH + 1)]
)
def test_a_large_text_that_is_no_json_is_refused_as_a_small_one_is(text):
    with pytest.raises(InvalidJsonError):
        parse_json(LARGE + text, yields=True)


def test_of_a_key_that_stands_twice_the_later_counts_in_a_large_text():
    assert parse_json(LARGE + '{"a": 1, "a": {}}', yields=True) == {"a": {}}


@given(st.text())
def test_whatever_passes_can_be_written_again(text):
    try:
        value = parse_json(text)
    except InvalidJsonError:
        return
    assert json.loads(json.dumps(value, allow_nan=False)) == value


@pytest.mark.parametrize(
    "text",
    ["", "{", "NaN", "[-Infinity]", '{"a": NaN}', "1e999", "9" * 5000, "\ufeff{}", "{} {}", "'a'"],
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(InvalidJsonError):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":\n}', "Expecting value at line 2 column 1"),
        ('["', "Unterminated string starting at line 1 column 2"),
        ('["\n"]', "Invalid control character at line 1 column 3"),
        ("[NaN]", "NaN is not JSON"),
        ("1e999", "expected a number within the range of a float"),
        ("9" * 5000, "expected a number with fewer digits"),
    ],
)
def test_an_error_says_where_and_quotes_nothing(text, message):
    with pytest.raises(InvalidJsonError) as refused:
        parse_json(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(("depth", "is_refused"), [(MAX_DEPTH, False), (MAX_DEPTH + 1, True)])
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
def test_depth_has_a_bound(depth, is_refused, brackets):
    opening, closing = brackets
    text = opening * (depth - 1) + "[]" + closing * (depth - 1)
    if is_refused:
        with pytest.raises(InvalidJsonError, match="expected at most 200 levels"):
            parse_json(text)
    else:
        parse_json(text)


def test_a_depth_that_python_cannot_read_is_refused():
    with pytest.raises(InvalidJsonError):
        parse_json(nested(100_000))


def test_the_bound_can_be_chosen():
    assert parse_json(nested(2), max_depth=2) == [[]]
    with pytest.raises(InvalidJsonError):
        parse_json(nested(3), max_depth=2)


def test_many_brackets_side_by_side_are_not_deep():
    assert len(parse_json("[" + ",".join(["[]"] * 1000) + "]")) == 1000
    assert parse_json(json.dumps("[" * 1000)) == "[" * 1000


def test_of_a_key_that_stands_twice_the_later_counts():
    assert parse_json('{"a": 1, "a": 2}') == {"a": 2}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a": 1, "\\u0061": 2}', "a"),
        ('{"a": [{"b": {"c": 1, "b": 2, "c": 3}}], "b": 1}', "c"),
        ('{"a": {"a": 1}, "b": {"a": 2}}', None),
        ('{"a": 1, "a"', None),
        ("[" * 100_000, None),
        ("", None),
    ],
)
def test_a_key_that_stands_twice_in_one_object_is_found(text, key):
    assert find_repeated_key(text) == key


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ('{"a": [1, true]}\n\n{ "a":[1.0,true] } {"a":[1,true]}', '{"a": [1, true]}'),
        ('"é" "\\u00e9"\n', '"é"'),
        *(
            (text, text)
            for text in ("", " 1 ", "{} []", "1 true", "{} {", "No {} {}", "{} NaN", '{"a": 1')
        ),
    ],
)
def test_of_equal_values_in_a_row_the_first_is_taken(text, first):
    assert first_of_equal(text) == first
