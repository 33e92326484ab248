import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import MergedToolCall, ToolCallMerger, canonical_arguments


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
    "piece", [{"arguments": "{}"}, {"call_id": "c1"}, {"call_id": "c1", "name": " "}]
)
def test_a_call_without_a_name_is_left_out(piece):
    merger = ToolCallMerger()
    merger.add(**piece)

    assert (merger.calls, merger.has_calls, merger.has_unnamed) == ((), False, True)
    assert len(merger.broken_calls) == 1


@pytest.mark.parametrize("call_id", ["", " ", None])
def test_calls_without_an_id_get_ids_of_ours(call_id):
    pieces = [{"call_id": call_id, "name": name} for name in ("add", "sub", "add")]
    first, again = ToolCallMerger(seed="1"), ToolCallMerger(seed="1")
    other = ToolCallMerger()
    for merger in (first, again, other):
        for piece in pieces:
            merger.add(**piece)

    ids = {call.call_id for call in (*first.calls, *other.calls)}
    assert first.calls == again.calls
    assert other.calls == other.calls
    assert len(ids) == 6
    assert all(call_id.startswith("call_") and len(call_id) == 29 for call_id in ids)
    assert not (first.has_unnamed)
    assert not (first.broken_calls)


ONE_ID = {
    "other arguments": ([("add", '{"a": 1}'), ("add", '{"a": 2}')], ['{"a": 1}', '{"a": 2}']),
    "another name": ([("add", "{}"), ("sub", "{}")], ["{}", "{}"]),
    "another name, no arguments": ([("add", ""), ("sub", "")], ["", ""]),
    "the same, written otherwise": ([("add", '{"a": 1}'), ("add", '{"a":1}')], ['{"a": 1}']),
    "the same three times": ([("add", "{}")] * 3, ["{}"]),
    "three calls": (
        [("add", f'{{"a":{number}}}') for number in (1, 2, 1, 3)],
        ['{"a":1}', '{"a":2}', '{"a":3}'],
    ),
    "a second one that is cut": ([("add", "{}"), ("add", '{"a')], ["{}", '{"a']),
}


@pytest.mark.parametrize(("calls", "expected"), ONE_ID.values(), ids=ONE_ID)
@pytest.mark.parametrize("cuts", [0, 1])
@pytest.mark.parametrize("index", [None, 0])
def test_different_calls_with_one_id_are_different_calls(calls, expected, cuts, index):
    merger = ToolCallMerger(seed="1")
    deltas = []
    for name, arguments in calls:
        pieces = [arguments[:3], arguments[3:]] if cuts else [arguments]
        for number, piece in enumerate(pieces):
            head = {"name": name} if number == 0 else {}
            delta = merger.add(call_id="c1", index=index, arguments=piece, **head)
            deltas += [delta] if delta else []

    made = [call.arguments for call in merger.calls]
    ids = [call.call_id for call in merger.calls]
    assert made == expected
    assert ids[0] == "c1"
    assert len(set(ids)) == len(ids)
    told = {delta.call_id: delta.number for delta in (*deltas, *merger.close()) if delta.call_id}
    assert list(told) == ids
    assert len(set(told.values())) == len(ids)
    assert merger.close() == []


def test_a_name_on_every_piece_begins_no_call_inside_the_arguments():
    head = {"call_id": "c1", "name": "add"}
    pieces = [{**head, "arguments": piece} for piece in ('{"a":"{}', "{}", '{}"}')]

    assert merge(*pieces) == [("c1", "add", '{"a":"{}{}{}"}')]


def test_a_call_that_comes_again_beside_another_counts_once():
    whole = {"call_id": "c1", "name": "add", "arguments": '{"a":1}'}
    again = [{**whole, "arguments": '{"a"'}, {"call_id": "c2", "name": "sub"}]

    assert merge(whole, *again, {"call_id": "c1", "arguments": ":1}"}) == [
        ("c1", "add", '{"a":1}'),
        ("c2", "sub", ""),
    ]


def test_arguments_that_a_platform_has_wrapped_are_the_same():
    wrapped = canonical_arguments('{"invalid_arguments": "{a"}')

    assert wrapped == canonical_arguments("{a") == "{a"
    assert canonical_arguments('{"b":1,"a":2}') == canonical_arguments('{"a": 2, "b": 1}')


def test_ids_that_differ_in_blank_space_only_are_one_call():
    assert merge({"call_id": "c1", "name": " a "}, {"call_id": "c1 ", "name": "a"}) == [
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
    assert merger.calls[:2] == (
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
