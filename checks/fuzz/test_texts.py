"""Texts, lines, JSON and secrets: one meaning in any cut, only documented errors, and no secret that gets through."""

import json
import re
from typing import Any
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import parse_tool_arguments
from shapes import TEXTS, VALUES, cuts, nested
from stream_text import (
    InvalidJsonError,
    KnownSecrets,
    LineSplitter,
    TagBreaker,
    ThinkFilter,
    ThinkReader,
    ToolCallMerger,
    mend_tags,
    parse_json,
    redact_log_data,
    redact_text,
    render_thinking,
    strip_think,
)


TAGGED = st.lists(
    st.sampled_from(
        [
            *("<think>", "</think>", "<THINK>", "<thi", "nk>", "</", "<", ">", "a", " ", "\n"),
            *("\n<think>", "\n</think>", "`", "\n```\n", "~~~", "> ", "\r\n"),
        ]
    )
    | st.text(max_size=3),
    max_size=12,
).map("".join)


@st.composite
def cut_texts(draw: st.DrawFn, texts: st.SearchStrategy[str] = TAGGED) -> tuple[str, list[str]]:
    text = draw(texts)
    edges = sorted(draw(st.lists(st.integers(0, len(text)), max_size=5)))
    return text, [
        text[start:end] for start, end in zip([0, *edges], [*edges, len(text)], strict=True)
    ]


def merge(reader: ThinkReader, pieces: list[str]) -> list[list[Any]]:
    merged: list[list[Any]] = []
    for kind, block, text in [p for piece in pieces for p in reader.feed(piece)] + reader.close():
        assert text
        if merged and merged[-1][:2] == [kind, block]:
            merged[-1][2] += text
        else:
            merged.append([kind, block, text])
    return merged


@given(cut_texts(), st.booleans())
def test_thoughts_do_not_depend_on_the_cut(case: tuple[str, list[str]], trim: bool) -> None:
    text, pieces = case
    whole = merge(ThinkReader(trim=trim), [text])

    assert merge(ThinkReader(trim=trim), pieces) == whole
    assert not any(re.search("</?think>", part, re.IGNORECASE) for _, _, part in whole)


@given(cut_texts(), st.booleans())
def test_shown_text_does_not_depend_on_the_cut(case: tuple[str, list[str]], show: bool) -> None:
    text, pieces = case

    def filtered(*given_: str) -> str:
        thoughts = ThinkFilter(show=show)
        return "".join(map(thoughts.feed, given_)) + thoughts.close()

    shown = filtered(text)
    assert filtered(*pieces) == shown
    assert filtered(shown) == shown
    assert strip_think(strip_think(text)) == strip_think(text)


@given(cut_texts(), st.booleans())
def test_words_that_are_broken_can_be_mended(case: tuple[str, list[str]], everywhere: bool) -> None:
    text, pieces = case

    def broken(*given_: str) -> str:
        breaker = TagBreaker(everywhere=everywhere)
        return "".join(map(breaker.feed, given_)) + breaker.close()

    assert broken(*pieces) == broken(text)
    assert everywhere or mend_tags(broken(text)) == text
    assert not text.strip() or strip_think(broken(text)) == broken(text)


@given(TAGGED.filter(str.strip))
def test_a_rendered_thought_is_read_as_one_thought(thought: str) -> None:
    pieces = merge(ThinkReader(trim=True), [render_thinking(thought)])

    assert [kind for kind, _, _ in pieces] in (["thought"], [])


@given(st.data(), st.integers(0, 40))
def test_lines_do_not_depend_on_the_cut(data: st.DataObject, limit: int) -> None:
    body = data.draw(
        st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\r", b"x" * 30])).map(b"".join)
    )

    def split(pieces: list[bytes]) -> tuple[list[bytes], bool]:
        splitter = LineSplitter(max_line_bytes=limit)
        return [
            line for piece in pieces for line in splitter.feed(piece)
        ] + splitter.close(), splitter.overflowed

    lines, overflowed = split([body])
    assert split(data.draw(cuts(body))) == (lines, overflowed)
    assert all(len(line) <= limit for line in lines)
    assert overflowed or b"\n".join(lines) == body.removesuffix(b"\n")


JSON_TEXTS = st.one_of(
    VALUES.map(json.dumps),
    st.sampled_from(
        ["NaN", "-Infinity", "1e999", "9" * 5_000, "[" * 3_000, '{"a":' * 3_000, '"\\ud800"']
    ),
    st.lists(
        st.sampled_from([*'[]{}",:0-1.eE \\u', "null", "true", "NaN", "\ud800"]), max_size=12
    ).map("".join),
)


@given(JSON_TEXTS, st.integers(0, 300))
def test_json_is_read_as_the_standard_has_it_or_refused(text: str, max_depth: int) -> None:
    try:
        value = parse_json(text, max_depth=max_depth)
    except InvalidJsonError as error:
        assert len(str(error)) < 200
        return
    json.dumps(value, allow_nan=False)
    assert value == json.loads(text)


SECRETS = st.text(min_size=6, max_size=12).filter(
    # What stands in a secret's place is no secret.
    lambda text: len(text.strip()) >= 6 and text.isprintable() and "redacted" not in text
)


@given(SECRETS, TEXTS, TEXTS, st.integers(0, 3))
def test_a_known_secret_never_gets_through(secret: str, before: str, after: str, way: int) -> None:
    written = json.dumps(secret)
    inner = [secret, quote(secret), written[1:-1], json.dumps(written)[1:-1]][way]
    known = KnownSecrets([secret])
    for text in (
        known.redact(before + inner + after),
        known.redact(redact_text(before + inner + after)),
    ):
        assert inner not in text or inner in before + after or inner in "[redacted]"
    logged = redact_log_data({"a": [before + inner + after], inner: 1}, known=known)
    assert inner not in str(logged) or inner in before + after or inner in "{'a': ['[redacted]']}"


@given(VALUES)
def test_anything_can_be_logged(value: Any) -> None:
    json.dumps(redact_log_data(value), ensure_ascii=False).encode()
    assert isinstance(redact_text(str(value)), str)


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "call_id": st.sampled_from(["c1", "c2", "", " c1 "]) | TEXTS,
                "index": st.integers(-1, 3) | st.none(),
                "name": st.sampled_from(["f", "g", ""]) | TEXTS,
                "arguments": st.sampled_from(["{", "}", "{}", '{"a":', "1}", '{"a":1}', "x"])
                | TEXTS,
            },
        ),
        max_size=8,
    )
)
def test_merged_calls_are_what_the_deltas_said(pieces: list[dict[str, Any]]) -> None:
    merger = ToolCallMerger()
    deltas = [delta for piece in pieces if (delta := merger.add(**piece))]

    told: dict[int, str] = {}
    for delta in (*deltas, *merger.close()):
        told[delta.number] = told.get(delta.number, "") + delta.arguments
    assert merger.has_calls == bool(merger.calls)
    for call in merger.calls:
        assert call.call_id.strip()
        assert call.name.strip()
        is_whole = parse_tool_arguments(call.arguments).ok
        assert not is_whole or any(text.startswith(call.arguments) for text in told.values())


def test_depth_has_a_bound_that_is_told() -> None:
    assert parse_json(json.dumps(nested(200))) == nested(200)
