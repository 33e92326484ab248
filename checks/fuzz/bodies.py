"""Bodies of every shape and size: those that a route takes, changed, broken, or grown at any of their places."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from shapes import mutated, places
from test_texts import JSON_TEXTS


_MARK = "What grows here"
_UNKNOWN = "unknown"
_WORST = "lists"
SMALL = (300, 20_000)


def _many(item: bytes) -> Callable[[int], bytes]:
    def grow(size: int) -> bytes:
        count = max(size // (len(item) + 1), 1)
        return b"[" + (item + b",") * (count - 1) + item + b"]"

    return grow


def _numbered(form: str, around: str) -> Callable[[int], bytes]:
    def grow(size: int) -> bytes:
        count = max(size // (len(form % 0) + 6), 1)
        return around.replace("*", ",".join(form % number for number in range(count))).encode()

    return grow


def _deep(opening: bytes, closing: bytes) -> Callable[[int], bytes]:
    def grow(size: int) -> bytes:
        levels = max(size // len(opening + closing), 1)
        return opening * levels + b"0" + closing * levels

    return grow


def _text(piece: bytes) -> Callable[[int], bytes]:
    return lambda size: b'"' + piece * (size // len(piece)) + b'"'


def _digits(size: int) -> bytes:
    return b"9" * size


_MESSAGE = b'{"role":"user","content":"Hello there"}'
_PART = b'{"type":"input_text","text":"Hello"}'
_RESULT = b'{"type":"function_call_output","call_id":"c","output":"4"}'
_TOOL = '{"type":"function","name":"f%06d","parameters":{"type":"object","properties":{},"required":[]}}'
_LAYER = '{"name":"l%06d","type":"plain.prompt","config":{"user":"Hi"}}'
_FIELD = '"p%06d":{"type":["string","null"],"pattern":"^(a+)+$","enum":["a",null]}'
_OBJECT = '{"type":"object","properties":{*}}'
_REFERENCE = '"d%06d":{"$ref":"#/$defs/d000000","$anchor":"a"}'

GROWTHS: dict[str, Callable[[int], bytes]] = {
    "lists": _many(b"[]"),
    "objects": _many(b"{}"),
    "pairs": _many(b'{"a":1}'),
    "zeros": _many(b"0"),
    "fractions": _many(b"1.5e-7"),
    "texts": _many(b'""'),
    "lists in lists": _many(b"[[[[[[]]]]]]"),
    "messages": _many(_MESSAGE),
    "parts": _many(_PART),
    "messages of parts": _many(b'{"role":"user","content":[' + _PART + b"]}"),
    "results": _many(_RESULT),
    "files": _numbered('{"name":"%06d","data":""}', "[*]"),
    "tools": _numbered(_TOOL, "[*]"),
    "layers": _numbered(_LAYER, "[*]"),
    "names": _numbered('"n%06d":0', "{*}"),
    "objects by name": _numbered('"n%06d":{"approved":true}', "{*}"),
    "a name again": _numbered('"n":%06d', "{*}"),
    "schema": _numbered(_FIELD, _OBJECT),
    "references": _numbered(_REFERENCE, '{"$ref":"#/$defs/d000000","$defs":{*}}'),
    "choices": _numbered('{"const":"%06d"}', '{"anyOf":[*]}'),
    "deep lists": _deep(b"[", b"]"),
    "deep objects": _deep(b'{"a":', b"}"),
    "deep schema": _deep(b'{"type":"object","properties":{"a":', b"}}"),
    "digits": _digits,
    "text": _text(b"a"),
    "text of signs": _text(b"{[:,"),
    "text of quotes": _text(rb"\","),
    "text of halves": _text(rb"\ud83d"),
    "text of nothing": _text(rb"\u0000"),
    "text of astral characters": _text("😀".encode()),
    "address": lambda size: b'"data:image/png;base64,' + b"A" * size + b'"',
}
"""What stands at a place in JSON, by the bytes that it is to have about."""

BROKEN = st.one_of(
    st.just(b""),
    st.binary(max_size=30),
    JSON_TEXTS.map(lambda text: text.encode(errors="surrogatepass")),
    st.sampled_from([b"\xef\xbb\xbf{}", '{"input": "é"}'.encode("latin-1"), "{}".encode("utf-16")]),
)


def whole(value: Any) -> bytes:
    """Return a value as JSON."""
    return json.dumps(value).encode()


@st.composite
def grown(draw: st.DrawFn, body: dict[str, Any], sizes: tuple[int, ...]) -> tuple[str, bytes]:
    """Return a body that has grown at one of its places, or by a member that nobody knows, and what it is; perhaps it is cut off."""
    value = _copy(body)
    holder, key = draw(st.sampled_from(list(places(value))))
    kind, size = draw(st.sampled_from(sorted(GROWTHS))), draw(st.sampled_from(sizes))
    is_cut = draw(st.integers(0, 9)) == 0
    what, made = _grow(value, holder, key, kind, size)
    return (f"{what}, cut off", made[: -len(made) // 3]) if is_cut else (what, made)


def worst(body: dict[str, Any], size: int) -> tuple[str, bytes]:
    """Return a body in which the largest member has become what has held up servers most, and what it is."""
    value = _copy(body)
    key = max(value, key=lambda name: len(whole(value[name])))
    return _grow(value, value, key, _WORST, size)


def _copy(body: dict[str, Any]) -> dict[str, Any]:
    """Return a copy that has one place more."""
    copy: dict[str, Any] = json.loads(json.dumps({**body, _UNKNOWN: None}))
    return copy


def _grow(
    value: dict[str, Any], holder: Any, key: str | int, kind: str, size: int
) -> tuple[str, bytes]:
    holder[key] = _MARK
    if value[_UNKNOWN] is None:
        del value[_UNKNOWN]
    made = whole(value).replace(whole(_MARK), GROWTHS[kind](size))
    return f"{size:,} bytes of {kind} at {key!r}", made


def small(body: dict[str, Any]) -> st.SearchStrategy[tuple[str, bytes]]:
    """Return bodies of a few kilobytes at most, and what each is."""
    return st.one_of(
        mutated(body).map(whole).map(lambda made: ("changed", made)),
        grown(body, SMALL),
        BROKEN.map(lambda made: ("broken", made)),
    )
