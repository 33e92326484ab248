"""Markdown in which nothing is left that hides what comes behind it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import MarkdownGuard, ThinkFilter


_FENCES = [f"{mark * count}" for mark in "`~" for count in (3, 4, 6)]
_PIECES = [
    *_FENCES,
    *(
        "\n",
        "\n\n",
        " ",
        "    ",
        "<b>",
        "<!--",
        "<think>",
        "</think>",
        "</details>",
        "`",
        "``",
        "$$",
        "$",
        "\\[",
        "\\]",
    ),
    *(
        "\\(x\\)",
        "![a](b)",
        "![",
        "[",
        "]:",
        "|",
        "- ",
        "> ",
        "word",
        "CODE_BLOCK_PLACEHOLDER",
        "\r",
        "\u2028",
        "http://a",
    ),
]
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)
_COMMENTS = (
    "<!--\n```\n-->\n\n<!--\n~~~\n-->\n\n<!--\n$$$$$$$$$$$$$$$$$$$$$$$\n-->\n\n<!-- {})-->\n\n"
)


def show(pieces):
    """Return what is shown of a text, and what closes it."""
    thoughts, guard = ThinkFilter(show=True), MarkdownGuard()
    shown = "".join([guard.feed(thoughts.feed(piece)) for piece in pieces])
    return shown + guard.feed(thoughts.close()), guard.close()


@pytest.mark.parametrize(
    ("text", "shown", "closing"),
    [
        ("", "", ""),
        ("Done.\n", "Done.\n", "\n"),
        ("a < b <!-- <div hidden>", "a &lt; b &lt;!-- &lt;div hidden>", "\n\n"),
        ("a<think>plan</think> `<think>`", "a&lt;think>plan&lt;/think> `< think>`", "\n\n"),
        ("```\n<think>a</think>```", "```\n< think>a< /think>```", f"\n\n{_COMMENTS.format('')}"),
        ("So.\n<think>plan", "So.\n<think>plan", "</think>\n\n"),
        ("```html\n<b>", "```html\n<b>", "\n```\n\n"),
        ("````\n<b>\n", "````\n<b>\n", "````\n\n"),
        ("~~~\n<b>\n ~~~ \n<b>", "~~~\n<b>\n ~~~ \n&lt;b>", "\n\n"),
        ("```\n<b>\n```", "```\n<b>\n```", "\n\n"),
        ("$$\na < b", "$$\na &lt; b", "\n$$\n\n"),
        ("\\[\na\n\\]\n\\(x\\) $$y$$ ![z](z.png)", None, "\n\n"),
        ("1 `<a>` 2 `<b>` <c>", "1 `<a>` 2 `<b>` &lt;c>", "\n\n"),
        ("用`<a>`\n`<b>`", None, "\n\n"),
        ("`<a\n`<b>`\n\n`<c>`", "`<a `\n`&lt;b>`\n\n`<c>`", "\n\n"),
        ("`<a|b>` c|d", "`<a\\|b>` c|d", "\n\n"),
        ("\\`<a>`", "\\`&lt;a>`", "\n\n"),
        ("http://x`y <a>`", "http://x`y &lt;a>`", "\n\n"),
        ("x" * 501 + "`<a>`", "x" * 501 + "`&lt;a>`", "\n\n"),
        ("a\r\n\u2028b", "a\n b", "\n\n"),
        ("CODE_BLOCK_PLACEHOLDER", "CODE_BLOCK_PLACEHOLDE R", "\n\n"),
        ("```\n</details>```", "```\n</details >```", f"\n\n{_COMMENTS.format('')}"),
    ],
)
def test_what_is_shown_of_a_text_and_what_closes_it(text, shown, closing):
    assert show([text]) == (text if shown is None else shown, closing)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<think>plan</think>4", "<think>plan</think>\n\n4"),
        ("<think>plan</think>\n\n\n4", "<think>plan</think>\n\n\n4"),
        ("<think>plan</think> \n 4", "<think>plan</think> \n \n4"),
        ("a\n <think>b</think>c", "a\n \n<think>b</think>\n\nc"),
        ("a\n<think>b</think><think>c</think>", "a\n<think>b</think>\n\n<think>c</think>"),
        (
            "<think>\n\n`<a>`\n\n```\nb</think>c",
            "<think>\n\n`&lt;a>`\n\n```\nb\n```\n</think>\n\nc",
        ),
    ],
)
def test_a_thought_begins_a_line_ends_with_a_blank_one_and_leaves_nothing_open(text, shown):
    assert show([text]) == (shown, "\n\n")


@pytest.mark.parametrize(
    ("text", "brackets"),
    [
        ("- a\n  ```\n", 0),
        ("a ``` b\n", 0),
        ("```\na\n```~\n", 0),
        ("\\(\\)\n", 0),
        ("\\[\n", 1),
        ("a $$ b\n", 0),
        ("$$\n~~~\n", 0),
        ("![a [b\n", 2),
        ("[a]: \n", 1),
    ],
)
def test_what_is_doubtful_is_closed_in_comments_and_no_code_is_told_from_there_on(text, brackets):
    closing = "\n" + _COMMENTS.format("]" * brackets)
    assert show([text]) == (text, closing)
    if text != "\\[\n":
        again = f"{text}\n`<b>`\n\n"
        assert show([again])[0] == again.replace("<", "&lt;")


def test_a_thought_counts_where_another_text_begins():
    guard = MarkdownGuard()
    shown = guard.feed("```\na\n")
    guard.set_apart()
    shown += guard.feed("\n <think>b</think>\n\n```\n<think>")
    assert shown == "```\na\n\n \n```\n<think>b</think>\n\n```\n< think>"


def test_a_fence_of_any_length_is_closed():
    assert f"<!--\n{'`' * 9}\n-->" in show(["`" * 9])[1]


@given(_TEXTS)
def test_how_a_text_is_cut_makes_no_difference(text):
    assert "".join(show(text)) == "".join(show([text]))


@given(_TEXTS)
def test_what_was_closed_leaves_nothing_open(text):
    guard = MarkdownGuard()
    guard.feed(text)
    assert (guard.close() + "x").endswith("x")
    assert guard.feed("<b>\n") == "&lt;b>\n"
    assert not guard.close().startswith("```")


@given(_TEXTS)
def test_outside_of_code_only_thoughts_begin_a_tag(text):
    shown, _ = show([text.replace("`", "").replace("~", "")])
    rest = shown.replace("<think>", "").replace("</think>", "")
    assert "<" not in rest.replace("<!--\n", "").replace("<!-- ]", "").replace("<!-- )", "")
