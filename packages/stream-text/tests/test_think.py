import re
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import ThinkReader, render_thinking


TEXTS = st.lists(
    st.sampled_from(
        [
            *("<think>", "</think>", "<THINK>", "</Think>", "<thi", "</", "<", ">", "nk>"),
            *("a", " ", "\n", "b<c", "\u0131", "\u212a"),
        ]
    ),
    max_size=14,
).map("".join)
CUTS = st.lists(st.integers(0, 60))


def read(pieces, *, trim=False):
    """Return the blocks of a text as (kind, text), each put together."""
    reader = ThinkReader(trim=trim)
    found = [piece for text in pieces for piece in reader.feed(text)] + reader.close()
    assert all(piece.text for piece in found)
    blocks = groupby(found, key=lambda piece: (piece.block, piece.kind))
    return [(kind, "".join(piece.text for piece in group)) for (_, kind), group in blocks]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("plain", [("answer", "plain")]),
        ("<think>\na\n</think>\n\nb", [("thought", "\na\n"), ("answer", "\n\nb")]),
        ("a<think>b</think>c", [("answer", "a"), ("thought", "b"), ("answer", "c")]),
        ("<think>a<think>b</think>c</think>d", [("thought", "abc"), ("answer", "d")]),
        ("<think>a</think><think>b</think>", [("thought", "a"), ("thought", "b")]),
        ("<Think>a</THINK>b", [("thought", "a"), ("answer", "b")]),
        ("<think>never closed", [("thought", "never closed")]),
        ("<think>ends in </thi", [("thought", "ends in </thi")]),
        ("stray</think> closing", [("answer", "stray closing")]),
        ("<thi</think>nk>a", [("answer", "<thi nk>a")]),
        ("<think><th<think>ink></think>a</think>", [("thought", "<th ink>a")]),
        ("1 < 2 and <thing>", [("answer", "1 < 2 and <thing>")]),
        ("<th\u0131nk>a</th\u0131nk>", [("answer", "<th\u0131nk>a</th\u0131nk>")]),
        ("<think></think>", []),
        ("", []),
    ],
)
def test_thoughts_are_told_from_the_answer(text, blocks):
    assert read([text]) == blocks


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("Hello", [("answer", "Hello")]),
        ("<think>\nplan\n</think>\n\nHello", [("thought", "plan"), ("answer", "Hello")]),
        ("<think>plan</think>Hello", [("thought", "plan"), ("answer", "Hello")]),
        ("<think>one\n\ntwo\n\n</think>Hi", [("thought", "one\n\ntwo\n"), ("answer", "Hi")]),
        ("Let me see. <think>plan</think> So", [
            ("answer", "Let me see. "),
            ("thought", "plan"),
            ("answer", "So"),
        ]),
        ("<think>a</think><think>b</think>c", [
            ("thought", "a"),
            ("thought", "b"),
            ("answer", "c"),
        ]),
        ("<think>never closed", [("thought", "never closed")]),
        ("<think>ends in a line break\n", [("thought", "ends in a line break\n")]),
        ("<think>\n\n</think>\n\nHi", [("answer", "Hi")]),
        ("<think>a\n<think>\nb\n</think>\nc\n</think>\nd", [
            ("thought", "a\n\nb\n\nc"),
            ("answer", "d"),
        ]),
        ("  indented <thing> and <", [("answer", "  indented <thing> and <")]),
        ("  <thi", [("answer", "  <thi")]),
        ("a <<think>b</think>c", [("answer", "a <"), ("thought", "b"), ("answer", "c")]),
        (" \n", []),
        ("\n<think>a</think> \n", [("thought", "a")]),
    ],
)  # fmt: skip
def test_what_only_lays_out_the_text_is_trimmed(text, blocks):
    assert read([text], trim=True) == blocks
    assert read(text, trim=True) == blocks


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("Use the <think> tag.", [("answer", "Use the <think> tag.")]),
        ("Hm.\n<think>plan</think>\n4", [
            ("answer", "Hm.\n"),
            ("thought", "plan"),
            ("answer", "4"),
        ]),
        ("<think>the <THINK> tag</think> opens</think>4", [
            ("thought", "the < THINK> tag< /think> opens"),
            ("answer", "4"),
        ]),
        ("Hm.\n<think>left open", [("answer", "Hm.\n<think>left open")]),
    ],
)  # fmt: skip
def test_only_what_begins_a_line_is_a_thought_where_that_is_asked_for(text, blocks):
    for pieces in ([text], text):
        reader = ThinkReader(trim=True, by_line=True)
        found = [piece for part in pieces for piece in reader.feed(part)] + reader.close()
        kinds = groupby(found, key=lambda piece: piece.kind)
        assert [(kind, "".join(piece.text for piece in part)) for kind, part in kinds] == blocks


@given(TEXTS, CUTS, st.booleans())
def test_any_split_of_a_text_gives_the_same(split, text, cuts, trim):
    assert read(split(text, cuts), trim=trim) == read([text], trim=trim)


@given(TEXTS.filter(lambda text: not re.search("</?think>", text, re.IGNORECASE | re.ASCII)))
def test_a_text_without_tags_is_an_answer_as_it_is(text):
    assert read([text]) == ([("answer", text)] if text else [])


@given(TEXTS)
def test_no_block_holds_a_tag(text):
    assert not any(re.search("</?think>", block, re.IGNORECASE) for _, block in read([text]))


@given(TEXTS, st.booleans())
def test_trimming_only_leaves_out_blank_space(text, trim):
    words = ["".join(block.split()) for _, block in read([text], trim=trim)]
    assert "".join(words) == "".join("".join(block.split()) for _, block in read([text]))


@given(st.text().filter(lambda text: "think>" not in text.lower()))
def test_what_is_rendered_reads_back_as_one_thought(thought):
    blocks = read([render_thinking(thought)], trim=True)
    assert blocks == ([("thought", thought)] if thought else [])


def test_a_rendered_thought_cannot_end_early():
    text = render_thinking("a</think>b<THINK>c") + "d"
    assert read([text], trim=True) == [("thought", "a< /think>b< THINK>c"), ("answer", "d")]


def test_only_what_may_become_a_tag_is_held_back():
    reader = ThinkReader()
    assert [piece.text for piece in reader.feed("a <")] == ["a "]
    assert [piece.text for piece in reader.feed("b> <th")] == ["<b> "]
    assert reader.feed("ink>") == []
    assert reader.in_thought
    assert [piece.text for piece in reader.feed("c")] == ["c"]


def test_a_line_break_at_the_end_of_a_thought_waits_for_what_follows():
    reader = ThinkReader(trim=True)
    pieces = [reader.feed(text) for text in ("<think>", "\n", "a\n", "b", "\n", "</think>")]
    assert [[piece.text for piece in found] for found in pieces] == [[], [], ["a"], ["\nb"], [], []]


def test_more_text_after_the_end_of_a_block_is_another_block():
    reader = ThinkReader(trim=True)
    pieces = [*reader.feed("One <"), *reader.end_block(), *reader.feed("two")]
    assert pieces == [("answer", 0, "One "), ("answer", 0, "<"), ("answer", 1, "two")]


def test_an_open_thought_goes_on_after_the_end_of_a_block():
    reader = ThinkReader(trim=True)
    pieces = [
        *reader.feed("<think>first\n"),
        *reader.end_block(),
        *reader.feed("\nsecond</think>done"),
    ]
    assert pieces == [
        ("thought", 1, "first"),
        ("thought", 1, "\n"),
        ("thought", 2, "\nsecond"),
        ("answer", 3, "done"),
    ]


def test_blank_space_at_the_end_of_a_block_is_no_answer():
    reader = ThinkReader(trim=True)
    assert [*reader.feed("<think>x</think>\n\n"), *reader.feed("\n"), *reader.end_block()] == [
        ("thought", 1, "x")
    ]


@pytest.mark.parametrize("piece", ["word ", " ", "<", "</thi", "<think>", "</think>", "a<think>b"])
@pytest.mark.parametrize("trim", [False, True])
def test_twice_the_pieces_are_twice_the_work(assert_linear, piece, trim):
    def act(count):
        read([piece] * count, trim=trim)

    assert_linear(act)
