import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_loop import ThinkFilter, strip_thoughts


texts = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<THINK>", "<thi", "</", "<", ">", "a", " ", "\n", "b<c", "nk>"]
    ),
    max_size=14,
).map("".join)


def run_filter(pieces, *, show):
    filter_ = ThinkFilter(show=show)
    return "".join([*(filter_.feed(piece) for piece in pieces), filter_.close()])


def split(text, cuts):
    positions = sorted({min(cut, len(text)) for cut in cuts})
    return [
        text[start:end] for start, end in zip([0, *positions], [*positions, len(text)], strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "hidden", "shown"),
    [
        ("plain", "plain", "plain"),
        ("<think>\nplan\n</think>\n\nanswer", "answer", "<think>\nplan\n</think>\n\nanswer"),
        ("a<think>b</think>c", "ac", "a<think>b</think>c"),
        (
            "<think>a<think>b</think>c</think>answer",
            "answer",
            "<think>abc</think>answer",
        ),
        ("<think>never closed", "", "<think>never closed\n</think>"),
        ("<think>never closed\n", "", "<think>never closed\n</think>"),
        ("stray</think> closing", "stray closing", "stray closing"),
        ("<think>a</think></think>b", "b", "<think>a</think>b"),
        ("<thi</think>nk>a", "<thi nk>a", "<thi nk>a"),
        ("<Think>loud</THINK>answer", "answer", "<think>loud</think>answer"),
        ("<think>\n\n</think>answer", "answer", "answer"),
        ("<think>  ", "", ""),
        ("1 < 2 and <thing>", "1 < 2 and <thing>", "1 < 2 and <thing>"),
        ("ends in <thin", "ends in <thin", "ends in <thin"),
        ("<think>ends in </thi", "", "<think>ends in </thi\n</think>"),
        ("  indented", "  indented", "  indented"),
        (" \n<think>a</think>\n b", "b", " \n<think>a</think>\n b"),
        (" \n", "", " \n"),
        ("", "", ""),
    ],
)
def test_thoughts_are_hidden_or_shown_in_balance(text, hidden, shown):
    assert run_filter([text], show=False) == hidden
    assert run_filter([text], show=True) == shown
    assert strip_thoughts(text) == hidden


def test_text_outside_thoughts_leaves_at_once():
    filter_ = ThinkFilter(show=False)
    assert filter_.feed("Hello ") == "Hello "
    assert filter_.feed("wor") == "wor"


def test_only_what_may_become_a_tag_is_held_back():
    filter_ = ThinkFilter(show=True)
    assert filter_.feed("a <") == "a "
    assert filter_.feed("b> <th") == "<b> "
    assert filter_.feed("ink>c") == "<think>c"


@given(texts, st.lists(st.integers(0, 60)), st.booleans())
def test_any_split_of_the_text_gives_the_same(text, cuts, show):
    assert run_filter(split(text, cuts), show=show) == run_filter([text], show=show)


@given(texts)
def test_shown_tags_are_always_balanced_and_never_nested(text):
    tags = re.findall("</?think>", run_filter([text], show=True), re.IGNORECASE)
    assert tags == ["<think>", "</think>"] * (len(tags) // 2)


@given(texts)
def test_hidden_text_holds_no_tag(text):
    assert re.search("</?think>", strip_thoughts(text), re.IGNORECASE) is None
