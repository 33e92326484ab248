import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from counting import is_linear
from stream_text import REDACTED, KnownSecrets, SecretFilter


SECRET = 'p&ss"w/rd-é\\1'
WRITTEN = [
    SECRET,
    json.dumps(SECRET)[1:-1],
    json.dumps(json.dumps(SECRET))[3:-3],
    quote(SECRET, safe=""),
    quote(quote(SECRET)),
    repr(SECRET)[1:-1],
    ascii(SECRET)[1:-1],
    "\\u0070%26\\x73s%22%77/rd\\u002d\\u00e9%5C%31",
    "%2570&s\\\\u0073\\u{22}\\U00000077%u002frd-%c3%A9%5c\\\\1",
]


def stream(known, pieces):
    """Return what comes out for each piece, and at the end."""
    secret_filter = SecretFilter(known)
    return [*map(secret_filter.feed, pieces), secret_filter.close()]


@pytest.mark.untraced
@pytest.mark.parametrize("written", WRITTEN)
def test_no_cut_lets_a_secret_through(written):
    known = KnownSecrets([SECRET, "p&ss-and-more"])
    text = f"It is {written}; {written}."
    whole = f"It is {REDACTED}; {REDACTED}."
    assert known.redact(text) == whole
    assert "".join(stream(known, text)) == whole
    for cut in range(len(text)):
        shown = stream(known, [text[:cut], text[cut:]])
        assert "".join(shown) == whole


def test_only_the_beginning_of_a_secret_waits():
    known = KnownSecrets(["hunter22"])
    pieces = ["The h", "unt", "er is", " hunter2", " 100%", "!"]
    assert stream(known, pieces) == ["The ", "", "hunter is", " ", "hunter2 100", "%!", ""]


def test_the_longer_of_two_secrets_is_waited_for():
    known = KnownSecrets(["secret", "secret-and-more"])
    assert stream(known, ["my secret", "-and-", "more!"]) == ["my ", "", f"{REDACTED}!", ""]
    assert stream(known, ["my secret", "-and-less."]) == ["my ", f"{REDACTED}-and-less.", ""]


def test_a_secret_that_ends_as_another_begins_goes_at_once():
    known = KnownSecrets(["abcdabc", "abcxyz"])
    assert stream(known, ["abcdabc", "xyz"]) == [REDACTED, "xyz", ""]


def test_what_was_held_back_comes_at_the_end():
    assert stream(KnownSecrets(["hunter22"]), ["a hunter"]) == ["a ", "hunter"]


def test_without_secrets_nothing_waits():
    assert stream(KnownSecrets([]), ["50%", "\\", "x"]) == ["50%", "\\", "x", ""]


LETTERS = 'ab"\\%25é'


@pytest.mark.untraced
@given(
    st.lists(
        st.text(LETTERS, min_size=6, max_size=9).filter(
            lambda text: not text.endswith("\\") and text.strip() == text
        ),
        min_size=1,
        max_size=3,
    ),
    st.lists(st.text(LETTERS, max_size=4) | st.integers(0, 2), max_size=12),
)
def test_any_cut_gives_what_the_whole_text_gives(secrets, pieces):
    known = KnownSecrets(secrets)
    texts = [
        json.dumps(secrets[piece % len(secrets)])[1:-1] if isinstance(piece, int) else piece
        for piece in pieces
    ]
    assert "".join(stream(known, texts)) == known.redact("".join(texts))
    assert "".join(stream(known, "".join(texts))) == known.redact("".join(texts))


def as_code(character, way):
    pairs = character.encode("utf-16-be")
    return {
        "u": "".join(f"\\u{pairs[i]:02x}{pairs[i + 1]:02X}" for i in range(0, len(pairs), 2)),
        "x": "".join(f"\\x{octet:02x}" for octet in character.encode()),
        "U": f"\\U{ord(character):08X}",
        "{": f"\\u{{{ord(character):06x}}}",
        "%": "".join(f"%{octet:02X}" for octet in character.encode()),
        "f": "+" if character == " " else "".join(f"%{octet:02x}" for octet in character.encode()),
        "": character,
    }[way]


AGAIN = [
    str,
    lambda text: json.dumps(text)[1:-1],
    lambda text: quote(text, safe=""),
    lambda text: quote(text, safe="").lower(),
    quote_plus,
    *(lambda text, way=way: text.replace("\\", as_code("\\", way)) for way in "uxU{"),
]


@pytest.mark.untraced
@given(
    st.text('ab01u+ %25c{}&"é\U0001f511', min_size=8, max_size=11).filter(
        lambda text: text.strip() == text
    ),
    st.lists(st.sampled_from(["", "", "u", "x", "U", "{", "%", "f"]), min_size=11, max_size=11),
    st.sampled_from(AGAIN),
    st.sampled_from(["", ";", '"', "\\n", "%3B"]),
)
@settings(max_examples=settings.default.max_examples // 2)  # each is cut everywhere
def test_no_piece_of_a_secret_leaves_however_it_is_escaped_and_cut(secret, ways, again, after):
    written = again("".join(map(as_code, secret, ways)))
    if again is AGAIN[3]:
        assume("U" not in ways)  # whose small form is another code's
    text, known = f"; {written}{after}", KnownSecrets([secret])
    assert known.redact(text) == f"; {REDACTED}{after}"
    for cut in range(len(text)):
        assert "".join(stream(known, [text[:cut], text[cut:]])) == f"; {REDACTED}{after}"
    assert "".join(stream(known, text)) == f"; {REDACTED}{after}"


@pytest.mark.parametrize(
    ("secret", "written"),
    [
        ("a\\b&c-secret", "a\\u{5c}b&c-secret"),  # cut between `c}` and the next backslash
        ("hunter-22%", "hunter-22%25"),
        ("hunter-22%", "hunter-22%252525"),
        ("hunter-22%", "hunter-22%25u0025"),
        ("hunter-22%", "hunter-22%5Cu0025"),
        ("postgres://a%5Cb@c", "\\ postgres://a%5Cb@c"),  # what it holds is escaped already
        ("key \\%5c key-1", "key+%5C%255c+key-1"),
        ("key-\\u005c-key", "key-\\\\u005c-key"),
        ("u0075-secret", "\\u0075-u0075-secret"),
        ("\\" * 9 + "%secret", "\\u{5c}" * 9 + "%25secret"),
    ],
)
def test_what_a_secret_and_its_escapes_have_in_common_cuts_nothing(secret, written):
    known = KnownSecrets([secret])
    shown = known.redact(f"{written};")
    assert shown.endswith(f"{REDACTED};")
    assert written.startswith(shown.removesuffix(f"{REDACTED};"))
    for cut in range(len(written)):
        assert "".join(stream(known, [written[:cut], written[cut:] + ";"])) == shown


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("secret", "piece"),
    [
        ("a" * 500 + "b", "a" * 499),
        ("ab" * 20 + "c", "ab%"),
        ("%" * 20, "%2"),
        ("%" * 20, "%25u0025"),
        ("\\" * 20 + "x", "\\u{5c}"),
        ("&" * 40, "\\u{26}\\u{5c}"),
    ],
)
def test_twice_the_text_takes_twice_the_steps(secret, piece):
    known = KnownSecrets([secret])
    assert is_linear(lambda count: stream(known, [piece] * count), 40)
