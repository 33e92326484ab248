import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import TagBreaker, ThinkFilter, break_tags, mend_tags, strip_think


PIECES = [
    *("<think>", "</think>", "<THINK>", "<thi", "</", "<", ">", "nk>", "a", " ", "\n", "b<c"),
    *(
        "`",
        "```",
        "~~~",
        "\n```html\n",
        "\n<think>",
        "\n</think>",
        "> ",
        "- ",
        "\r\n",
        "    ",
        "\t",
    ),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def run_filter(pieces, *, show):
    filter_ = ThinkFilter(show=show)
    return "".join([*(filter_.feed(piece) for piece in pieces), filter_.close()])


def plain(text):
    """Return a text with its tags as they may have been before they were shown as a thought's."""
    return re.sub("< *", "<", text).replace("THINK", "think")


@pytest.mark.parametrize(
    ("text", "hidden", "shown"),
    [
        ("plain", "plain", "plain"),
        ("<think>\nplan\n</think>\n\nanswer", "answer", "<think>\nplan\n</think>\n\nanswer"),
        ("a\n<think>b</think>c", "a\nc", "a\n<think>b</think>c"),
        ("a\r\n  <think>b</think>c", "a\r\n  c", "a\r\n  <think>b</think>c"),
        ("<think>never closed", "", "<think>never closed\n</think>"),
        ("<think>never closed\n", "", "<think>never closed\n</think>"),
        ("<think>a</think><think>b</think>c", "c", "<think>a</think><think>b</think>c"),
        (
            "<think>a</think> </think>\n</think>b</think>",
            "b</think>",
            "<think>a</think> \nb</think>",
        ),
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


FENCED = "```html\n<think>\nplan\n</think>\n```"


@pytest.mark.parametrize(
    "text",
    [
        "Use the `<think>` tag, and `</think>` behind it.",
        "Use the <think> tag.",
        "Models write <think>plan</think>answer.",
        "A stray</think> tag\n</think>",
        'They say "<think>" and\n> <think>\n> plan\n> </think>',
        f"So:\n{FENCED}\nIs that all?",
        f"{FENCED}\n\n{FENCED.replace('`', '~')}\n<thinking>",
        "````\n```\n<think>\n```\n</think>\n````",
        "1. Write:\n   ```\n<think>plan</think>\n   ```",
        "- ~~~ html\n<think>plan</think>\n  ~~~",
        "> ```\n> <think>plan</think>\n> ```",
        "\ta\n\t<think>plan</think>\n    <think>plan</think>",
        "The tag\n<think>\nopens a thought, `<think>` too.",
        "So:\n<think>\n",
        "So:\n```\n<think>\n",
    ],
)
def test_a_text_that_speaks_of_tags_stays_whole(text):
    for pieces in ([text], text):
        assert run_filter(pieces, show=False) == text
        assert plain(run_filter(pieces, show=True)) == text
    assert strip_think(text) == strip_think(text, rendered=True) == text


@pytest.mark.parametrize(
    "text",
    [
        "a ```\n<think>plan</think>",
        "``a`\n<think>plan</think>",
        "```a`b\n<think>plan</think>",
        "~~~\na\n~~~\n<think>plan</think>",
        "> ```\n> a\n<think>plan</think>",
        "> ```\na\n<think>plan</think>",
        "`a\n<think>plan</think>",
    ],
)
def test_code_that_is_over_or_none_hides_no_thought(text):
    assert run_filter([text], show=False) == text.removesuffix("<think>plan</think>")


@pytest.mark.parametrize(
    ("thought", "broken"),
    [
        ("a<think>b</think>c", "a< think>b< /think>c"),
        ("the `</think>` tag", "the `< /think>` tag"),
        ("``a` </think>`` b", "``a` < /think>`` b"),
        ("a\n```\n</THINK>\n```\nb", "a\n```\n< /THINK>\n```\nb"),
        ("so `<think>` begins", "so `< think>` begins"),
    ],
)
@pytest.mark.parametrize("before", ["", "Hello.\n"])
def test_a_tag_in_a_thought_is_broken_and_does_not_end_it(before, thought, broken):
    for pieces in ([text := f"{before}<think>{thought}</think>4"], text):
        assert run_filter(pieces, show=True) == f"{before}<think>{broken}</think>4"
        assert run_filter(pieces, show=False) == f"{before}4"


@pytest.mark.parametrize(
    ("text", "hidden", "shown"),
    [
        (
            "<think>the <think> tag</think>Hello <b>\n<think>so</think>.",
            "Hello <b>\n.",
            "<think>the < think> tag</think>Hello <b>\n<think>so</think>.",
        ),
        (
            "Hm.\n<think>the `</think>` tag",
            "Hm.\n` tag",
            "Hm.\n<think>the `</think>` tag",
        ),
        ("<think>```\na\n</think>4", "4", "<think>```\na\n</think>4"),
        ("<think>the <think> tag</think>", "", "<think>the < think> tag</think>"),
        (
            "<think>a<think></think>b\n<think>c",
            "b\n<think>c",
            "<think>a< think></think>b\n<think>c",
        ),
    ],
)
def test_tags_in_a_thought_that_are_not_balanced_cost_no_answer(text, hidden, shown):
    for pieces in ([text], text):
        assert run_filter(pieces, show=False) == hidden
        assert run_filter(pieces, show=True) == shown


def test_a_thought_left_open_in_a_text_is_closed_if_more_is_shown_behind_it():
    def show(text):
        filter_ = ThinkFilter(show=True)
        return filter_.feed(text) + filter_.close(goes_on=True)

    assert show("So.\n<think>plan") == "So.\n<think>plan\n</think>"
    assert show("So.\n<think>\n") == "So.\n"
    assert show("The <think> tag") == "The <think> tag"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>\nPlan\n</think>Answer", "Answer"),
        ("<think>\r\nPlan\r\n</think>\r\nAnswer", "Answer"),
        ("One\n<think>\nb\n</think>two", "One\ntwo"),
        ("<think>\nThe `</think>` tag, </think>\n</think>Answer", "Answer"),
        ("<think>\n```\nopen\n</think>\n```\n</think>\n```", "```\n</think>\n```"),
        ("<think>\nPlan</think>Answer", "Answer"),
        ("<think>\nPlan</think><think></think>Answer", "<think></think>Answer"),
        ("<think>\ncut off", ""),
        ("<think>", ""),
        ("So.\n<think>\nthe </think> tag", "So.\n tag"),
        ("So.\n<think>\ncut off", "So.\n<think>\ncut off"),
        ("<think>Plan</think>Answer", "<think>Plan</think>Answer"),
        ("<THINK>\nPlan\n</THINK>Answer", "<THINK>\nPlan\n</THINK>Answer"),
    ],
)
def test_only_thoughts_that_were_rendered_are_removed_where_that_is_asked_for(text, expected):
    assert strip_think(text, rendered=True) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no thoughts", "no thoughts"),
        ("<think>a</think>\n\nOne\n<THINK>b</THINK>two", "One\ntwo"),
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


def test_a_thought_is_shown_as_it_comes_and_closed_as_soon_as_its_tag_has_come():
    filter_ = ThinkFilter(show=True)
    assert filter_.feed("a <") == "a "
    assert filter_.feed("b>\n<th") == "<b>\n"
    assert filter_.feed("ink>c") == "<think>c"
    assert filter_.feed("</think>") == "</think>"
    assert filter_.feed("d") == "d"


@given(TEXTS, st.lists(st.integers(0, 60)), st.booleans())
def test_any_split_of_the_text_gives_the_same(split, text, cuts, show):
    assert run_filter(split(text, cuts), show=show) == run_filter([text], show=show)


@given(TEXTS)
def test_what_is_shown_reads_back_as_the_same_thoughts(text):
    shown = run_filter([text], show=True)
    assert run_filter([shown], show=True) == shown
    again, once = (plain(run_filter([told], show=False)) for told in (shown, text))
    assert again.strip() == once.strip()


@given(TEXTS)
def test_a_stripped_text_stays(text):
    stripped = strip_think(text)
    assert strip_think(stripped) == stripped


@given(TEXTS)
def test_whoever_sees_the_thoughts_sees_no_less_of_the_answer(text):
    shown = iter(plain(run_filter([text], show=True)))
    assert all(letter in shown for letter in plain(run_filter([text], show=False)))


@given(TEXTS.filter(lambda text: not re.search("</?think>", text, re.IGNORECASE)))
def test_a_text_without_tags_stays(text):
    assert strip_think(text) == text
    assert run_filter([text], show=True) == text


def run_breaker(pieces, *, everywhere=False):
    breaker = TagBreaker(everywhere=everywhere)
    return "".join([*(breaker.feed(piece) for piece in pieces), breaker.close()])


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("<think>\nplan\n</think>4", "< think>\nplan\n< /think>4"),
        ("Hm.\r\n  <THINK>plan</think>4", "Hm.\r\n  < THINK>plan< /think>4"),
        ("Hm.\n</think>\n4</think>", "Hm.\n< /think>\n4</think>"),
        ("< think>\n<  /think>", "<  think>\n<   /think>"),
        ("Use the <think> tag.", None),
        ("Use `<think>`:\n```\n<think>\n</think>\n```", None),
        ("<think>\n`</think>` ends it</think>", "< think>\n`</think>` ends it< /think>"),
        ("a <thi", None),
    ],
)
def test_a_tag_that_looks_like_a_mark_is_broken(text, broken):
    for pieces in ([text], text):
        assert run_breaker(pieces) == (text if broken is None else broken)


def test_in_a_thought_every_tag_is_broken():
    text = "the `</think>` tag <think> < think>"
    broken = "the `< /think>` tag < think> <  think>"
    assert run_breaker(text, everywhere=True) == broken
    assert break_tags(text) == broken.replace("<  ", "< ")


def test_text_leaves_at_once_up_to_what_may_become_a_tag():
    breaker = TagBreaker()
    assert [breaker.feed(piece) for piece in ("a <", "b> ", "\n< ", "thi", "nk>c")] == [
        *("a ", "<b> ", "\n", "", "<  think>c")
    ]


@given(TEXTS | st.text("<>/ thinkK\n`~", max_size=40), st.lists(st.integers(0, 60)))
def test_what_was_broken_holds_no_thought_and_can_be_mended(split, text, cuts):
    broken = run_breaker(split(text, cuts))
    assert broken == run_breaker([text])
    assert mend_tags(broken) == text
    assert broken.replace(" ", "") == text.replace(" ", "")
    assert strip_think(broken, rendered=True) == broken
    if text.strip():
        assert run_filter([broken], show=False) == broken
        assert run_filter([broken], show=True) == broken


@pytest.mark.parametrize(
    "piece",
    [
        *("word ", " ", "<", "<think>", "</think>", "<think> </think>", "`", "\n```\n"),
        *("\n<think>", "a\n<think></think>"),
    ],
)
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


@pytest.mark.parametrize("piece", ["word ", "<", "< ", "<think>", "\n</think>", "`", "\n> "])
def test_twice_the_pieces_are_broken_with_twice_the_work(assert_linear, piece):
    def act(count):
        run_breaker([piece] * count)

    assert_linear(act)
