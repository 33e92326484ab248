import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import ThinkFilter, strip_think


TEXTS = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<THINK>", "<thi", "</", "<", ">", "a", " ", "\n", "b<c", "nk>"]
    ),
    max_size=14,
).map("".join)


def run_filter(pieces, *, show):
    filter_ = ThinkFilter(show=show)
    return "".join([*(filter_.feed(piece) for piece in pieces), filter_.close()])


@pytest.mark.parametrize(
    ("text", "hidden", "shown"),
    [
        ("plain", "plain", "plain"),
        ("<think>\nplan\n</think>\n\nanswer", "answer", "<think>\nplan\n</think>\n\nanswer"),
        ("a<think>b</think>c", "ac", "a<think>b</think>c"),
        ("<think>a<think>b</think>c</think>answer", "answer", "<think>abc</think>answer"),
        ("<think>never closed", "", "<think>never closed\n</think>"),
        ("<think>never closed\n", "", "<think>never closed\n</think>"),
        ("stray</think> closing", "stray closing", "stray closing"),
        ("<think>a</think></think>b", "b", "<think>a</think>b"),
        ("<think>a</think><think>b</think>c", "c", "<think>a</think><think>b</think>c"),
        ("<thi</think>nk>a", "<thi nk>a", "<thi nk>a"),
        ("<thi<think>x</think>nk>a", "<thi nk>a", "<thi <think>x</think>nk>a"),
        ("<thi<think></think>nk>a", "<thi nk>a", "<thi nk>a"),
        ("<Think>loud</THINK>answer", "answer", "<think>loud</think>answer"),
        ("<think>\n\n</think>answer", "answer", "answer"),
        ("<think>  ", "", ""),
        ("1 < 2 and <thing>", "1 < 2 and <thing>", "1 < 2 and <thing>"),
        ("ends in <thin", "ends in <thin", "ends in <thin"),
        ("<think>ends in </thi", "", "<think>ends in </thi\n</think>"),
        ("  indented", "  indented", "  indented"),
        (" \n<think>a</think>\n b", "b", " \n<think>a</think>\n b"),
        ("", "", ""),
    ],
)
def test_thoughts_are_hidden_or_shown_in_balance(text, hidden, shown):
    assert run_filter([text], show=False) == hidden
    assert run_filter([text], show=True) == shown
    assert strip_think(text) == hidden


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no thoughts", "no thoughts"),
        ("<think>\nPlan\n</think>Answer", "Answer"),
        ("<think>a</think>\n\nOne <THINK>b</THINK>two", "One two"),
        ("Answer <think>cut off", "Answer "),
        ("stray</think> Answer", "stray Answer"),
        ("<think></think>", ""),
        ("I think> so", "I think> so"),
        (" \n", " \n"),
    ],
)
def test_thoughts_are_removed_and_answers_kept(text, expected):
    assert strip_think(text) == expected


def test_blank_space_alone_is_no_answer_of_a_stream():
    assert run_filter([" ", "\n"], show=False) == ""


def test_text_outside_thoughts_leaves_at_once():
    filter_ = ThinkFilter(show=False)
    assert filter_.feed("Hello ") == "Hello "
    assert filter_.feed("wor") == "wor"


def test_a_thought_is_closed_as_soon_as_its_tag_has_come():
    filter_ = ThinkFilter(show=True)
    assert filter_.feed("a <") == "a "
    assert filter_.feed("b> <th") == "<b> "
    assert filter_.feed("ink>c") == "<think>c"
    assert filter_.feed("</think>") == "</think>"


@given(TEXTS, st.lists(st.integers(0, 60)), st.booleans())
def test_any_split_of_the_text_gives_the_same(split, text, cuts, show):
    assert run_filter(split(text, cuts), show=show) == run_filter([text], show=show)


@given(TEXTS)
def test_shown_tags_are_always_balanced_and_never_nested(text):
    tags = re.findall("</?think>", run_filter([text], show=True), re.IGNORECASE)
    assert tags == ["<think>", "</think>"] * (len(tags) // 2)


@given(TEXTS)
def test_a_stripped_text_holds_no_tag_and_stays(text):
    stripped = strip_think(text)
    assert re.search("</?think>", stripped, re.IGNORECASE) is None
    assert strip_think(stripped) == stripped


@given(TEXTS.filter(lambda text: not re.search("</?think>", text, re.IGNORECASE)))
def test_a_text_without_tags_stays(text):
    assert strip_think(text) == text
    assert run_filter([text], show=True) == text


@pytest.mark.parametrize("piece", ["word ", " ", "<", "<think>", "</think>", "<think> </think>"])
@pytest.mark.parametrize("show", [False, True])
def test_twice_the_pieces_are_twice_the_work(assert_linear, piece, show):
    def act(count):
        run_filter([piece] * count, show=show)

    assert_linear(act)


def test_blank_space_that_opens_a_thought_costs_no_more(assert_linear):
    def act(count):
        run_filter(["<think>", *[" "] * count], show=True)

    assert_linear(act)


@pytest.mark.parametrize("text", ["", "\n", " \t\n "])
def test_blank_space_alone_is_stripped_of_nothing_and_shown_as_nothing(text):
    hiding = ThinkFilter(show=False)

    assert strip_think(text) == text
    assert hiding.feed(text) + hiding.close() == ""
