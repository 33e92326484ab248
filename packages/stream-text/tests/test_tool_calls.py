import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import MergedToolCall, ToolCallMerger


def merge(*pieces):
    merger = ToolCallMerger()
    for piece in pieces:
        merger.add(**piece)
    return [(call.call_id, call.name, call.arguments) for call in merger.calls]


def test_pieces_with_an_index_are_joined():
    assert merge(
        {"index": 0, "call_id": "c1", "name": "add", "arguments": '{"a"'},
        {"index": 1, "call_id": "c2", "name": "sub", "arguments": "{"},
        {"index": 0, "arguments": ": 1}"},
        {"index": 1, "arguments": "}"},
    ) == [("c1", "add", '{"a": 1}'), ("c2", "sub", "{}")]


def test_pieces_that_repeat_their_id_are_joined():
    assert merge(
        {"call_id": "c1", "name": "add", "arguments": '{"a"'},
        {"call_id": "c2", "name": "sub"},
        {"call_id": "c1", "arguments": ": 1}"},
    ) == [("c1", "add", '{"a": 1}'), ("c2", "sub", "")]


def test_pieces_without_id_and_index_belong_to_the_latest_call():
    assert merge({"call_id": "c1", "name": "add", "arguments": "{"}, {"arguments": "}"}) == [
        ("c1", "add", "{}")
    ]


def test_a_whole_call_sent_again_replaces_the_pieces():
    whole = {"call_id": "c1", "name": "add", "arguments": '{"a": 1}'}
    assert merge({**whole, "arguments": '{"a":'}, {"arguments": " 1}"}, whole, whole) == [
        ("c1", "add", '{"a": 1}')
    ]


@pytest.mark.parametrize("arguments", ['{"a": 1}{"a": 2}', "[" * 100_000, "{}x", "11", "{{", ""])
def test_broken_arguments_are_never_mended(arguments):
    assert merge({"call_id": "c1", "name": "add", "arguments": arguments}) == [
        ("c1", "add", arguments)
    ]
    assert merge(
        {"call_id": "c1", "name": "add"},
        *({"arguments": character} for character in arguments[:100]),
    ) == [("c1", "add", arguments[:100])]


def test_an_id_or_name_that_comes_later_completes_the_call():
    assert merge(
        {"index": 0, "arguments": "{"},
        {"index": 0, "call_id": "c1"},
        {"index": 0, "name": "add", "arguments": "}"},
    ) == [("c1", "add", "{}")]


def test_a_reused_index_with_another_id_is_another_call():
    assert merge(
        {"index": 0, "call_id": "c1", "name": "add"},
        {"index": 0, "call_id": "c2", "name": "sub"},
        {"index": 0, "arguments": "{}"},
    ) == [("c1", "add", ""), ("c2", "sub", "{}")]


@pytest.mark.parametrize(
    ("pieces", "has_unnamed"),
    [
        ([{"arguments": "{}"}], True),
        ([{"name": "add"}, {"name": "sub"}], False),
        ([{"call_id": "c1"}], True),
        ([{"call_id": " ", "name": "add"}], False),
        ([{"call_id": None, "name": "add"}], False),
        ([{"call_id": "c1", "name": " "}], True),
    ],
)
def test_calls_without_id_or_name_are_left_out(pieces, has_unnamed):
    merger = ToolCallMerger()
    for piece in pieces:
        merger.add(**piece)
    assert (merger.calls, merger.has_calls, merger.has_unnamed) == ((), False, has_unnamed)
    assert [any(call) for call in merger.broken_calls] == [True] * len(pieces)


def test_ids_that_differ_in_blank_space_only_are_one_call():
    assert merge({"call_id": "c1", "name": " a "}, {"call_id": "c1 ", "name": "b"}) == [
        ("c1", "a", "")
    ]


def test_each_piece_says_what_it_adds():
    merger = ToolCallMerger()
    assert merger.add(call_id="c1", name="add", arguments='{"a"') == (0, "c1", "add", '{"a"')
    assert merger.add(call_id="c2") == (1, "c2", None, "")
    assert merger.add(call_id="c1", name="add", arguments=": 1}") == (0, None, None, ": 1}")
    assert merger.add(call_id="c1", name="add", arguments='{"a": 1}') is None
    assert merger.add(call_id="c1") is None
    assert merger.add(name="sub") == (1, None, "sub", "")
    assert merger.add(name="mul") == (2, None, "mul", "")
    assert merger.add() is None
    assert merger.calls == (
        MergedToolCall(call_id="c1", name="add", arguments='{"a": 1}'),
        MergedToolCall(call_id="c2", name="sub", arguments=""),
    )


def test_a_piece_that_says_nothing_begins_a_call_all_the_same():
    """A client that shows calls as they come must know of it, to tell that it never got a name."""
    merger = ToolCallMerger()
    assert merger.add() == (0, None, None, "")
    assert merger.add() is None
    assert merger.has_unnamed
    assert not merger.broken_calls


JSON_ARGUMENTS = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5)).map(
    json.dumps
)
CALLS = st.lists(
    st.tuples(JSON_ARGUMENTS | st.text(max_size=8), st.integers(1, 3)), min_size=1, max_size=4
)


def cut(data, split, calls, *, by):
    """Cut the arguments of each call anywhere, and name the call on each piece as servers do."""
    streams = []
    for number, (arguments, times) in enumerate(calls):
        cuts = data.draw(st.lists(st.integers(0, 40)))
        first, *rest = split(arguments * times, cuts)
        head = {"call_id": f"c{number}", "name": "add", "index": number}
        key = {} if by is None else {by: head[by]}
        pieces = [{**head, "arguments": first}, *({**key, "arguments": piece} for piece in rest)]
        streams.append(pieces)
    if by is None:
        return [piece for stream in streams for piece in stream]
    order = data.draw(
        st.permutations([number for number, stream in enumerate(streams) for _ in stream])
    )
    waiting = [iter(stream) for stream in streams]
    return [next(waiting[number]) for number in order]


@given(st.data(), CALLS, st.sampled_from(["call_id", "index", None]))
def test_pieces_in_any_cut_give_the_same_calls(split, data, calls, by):
    whole = merge(
        *(
            {"call_id": f"c{number}", "name": "add", "arguments": arguments * times}
            for number, (arguments, times) in enumerate(calls)
        )
    )
    assert sorted(merge(*cut(data, split, calls, by=by))) == whole


@given(st.data(), st.lists(JSON_ARGUMENTS, min_size=1, max_size=3), st.integers(0, 2))
def test_the_deltas_of_a_call_are_its_arguments(split, data, calls, repeats):
    merger = ToolCallMerger()
    pieces = cut(data, split, [(arguments, 1) for arguments in calls], by="call_id")
    pieces += [
        {"call_id": f"c{number}", "arguments": arguments}
        for number, arguments in enumerate(calls)
        for _ in range(repeats)
    ]
    deltas = [delta for piece in pieces if (delta := merger.add(**piece))]

    told = {}
    for delta in deltas:
        told[delta.number] = told.get(delta.number, "") + delta.arguments
    assert sorted(told.values()) == sorted(call.arguments for call in merger.calls) == sorted(calls)


@pytest.mark.parametrize("piece", [{"call_id": "c"}, {"index": 0}, {}])
def test_twice_the_pieces_are_twice_the_work(assert_linear, piece):
    def act(count):
        merge({"call_id": "c", "index": 0, "name": "add"}, *[{**piece, "arguments": "x"}] * count)

    assert_linear(act)


def test_twice_the_calls_are_twice_the_work(assert_linear):
    def act(count):
        merge(
            *({"call_id": f"c{number}", "index": number, "name": "add"} for number in range(count))
        )

    assert_linear(act)
