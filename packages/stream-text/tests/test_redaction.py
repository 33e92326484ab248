import copy
import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counting import not_for_ever
from stream_text import (
    REDACTED,
    KnownSecrets,
    SecretFilter,
    iter_header_secrets,
    redact_log_data,
    redact_text,
)


SECRET = "hunter2-squeamish"
KEYS = [
    "token",
    "access_token",
    "client_secret",
    "Authorization",
    "PASSWORD",
    "api_key",
    "apikey",
    "apiKey",
    "x-api-key",
    "Access Key",
    "privateKey",
    "credentials",
    "auth",
    "oauth_client",
    "authentication",
    "passwd",
    "passphrase",
    "Set-Cookie",
    "session_id",
    "webhookUrl",
    "jwt",
    "signing_key",
    "signingKey",
    "ssh-key",
    "db_pass",
    "MYSQL_PWD",
    "sentryDsn",
]


class Opaque:
    def __repr__(self):
        return SECRET


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [SECRET, {"a": SECRET}, [SECRET], 5, None, True])
def test_the_value_of_a_sensitive_key_is_replaced(key, value):
    assert redact_log_data({"a": [{key: value}]}) == {"a": [{key: REDACTED}]}


@pytest.mark.parametrize(
    "key",
    [
        *("key", "keys", "keyboard", "monkey", "bypass", "compass", "passage", "PWD", "pass"),
        *("author", "authors", "authority", "session", "sessions", "private", "keyFile"),
    ],
)
def test_ordinary_words_are_no_secrets(key):
    assert redact_log_data({key: SECRET}) == {key: SECRET}


@pytest.mark.parametrize(
    "text",
    [
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 3 instead.",
        "max_output_tokens: must be at least 16, got 3",
        "thinking.budget_tokens: Input should be greater than or equal to 1024",
        "usage: {'input_tokens_details': {'cached_tokens': 0}, 'total_tokens': 12}",
        "total tokens: 120000, tokens = 30,000, x-ratelimit-reset-tokens: 6",
        r"(tokens: 5). {\"rate_tokens\": 7}",
        r"{\"maxTokens\": \"many\"} of tokens_per_minute=30k",
        '"name": "max_output_tokens", "value": "12"',
    ],
)
def test_words_about_counts_of_tokens_stay(text):
    assert redact_text(text) == text
    assert redact_log_data({"message": text}) == {"message": text}


@pytest.mark.parametrize(
    "text",
    [
        f"max_output_tokens: api_key={SECRET}",
        f"auth_max_tokens: {SECRET}",
        f"max_tokens_secret = {SECRET}",
        f"admin_tokens: {SECRET}",
        f"tokens=12345{SECRET}",
        f"bot_tokens: 12345:{SECRET}",
        f"tokens=1.{SECRET}",
        f'"name": "auth_max_tokens", "value": "{SECRET}"',
    ],
)
def test_secrets_beside_counts_of_tokens_do_not(text):
    assert SECRET not in redact_text(text)


def test_numbers_of_tokens_stay():
    usage = {"total_tokens": 12, "prompt_tokens": 7.0, "tokens": ["x"], "token": 5}

    assert redact_log_data(usage) == {**usage, "tokens": REDACTED, "token": REDACTED}


@pytest.mark.parametrize(("length", "logged"), [(1999, 1999), (2000, 2000), (2001, 2000)])
def test_strings_are_cut_at_two_thousand_characters(length, logged):
    assert redact_log_data(["x" * length, {"y" * length: 1}]) == ["x" * logged, {"y" * logged: 1}]


@pytest.mark.parametrize(
    ("data", "logged"),
    [
        ({"k\ud83d": "v\ud83d"}, {"k?": "v?"}),
        ('{"a": "\\ud83d"}', '{"a": "?"}'),
    ],
)
def test_what_utf_8_cannot_carry_is_replaced(data, logged):
    """One such character in a log would end the run that writes it."""
    assert redact_log_data(data) == logged


def test_json_inside_a_string_is_redacted_by_structure():
    text = json.dumps({"credentials": {"user": SECRET}, "q": json.dumps({"api_key": SECRET})})

    logged = json.loads(redact_log_data(text))

    assert logged == {"credentials": REDACTED, "q": json.dumps({"api_key": REDACTED})}


@pytest.mark.parametrize(
    "text",
    [
        f'{{"api_key": "{SECRET}"',
        f'{{"api_key": "quoted \\" {SECRET}", ',
        f'{{"api_key": "{SECRET}',
        f"{{'password': '{SECRET}', x}}",
        f'said {{\\"client_secret\\": \\"{SECRET}\\"}}',
        f"https://example.test/?api_key={SECRET}&page=2",
        f"Authorization: Bearer {SECRET}",
        f"authorization: {SECRET}",
        f"bearer {SECRET}",
        f"Incorrect API key provided: sk-proj-{SECRET}.",
        f'{{"error": "no such key: sk-{SECRET}"}}',
        *(f"no such key: {prefix}-{SECRET}" for prefix in ("sess", "pk", "rk", "org", "proj")),
        f"no such key: sk-****{SECRET}",
        f"DB_PASSWORD={SECRET}\nnext",
        f"MYSQL_PWD={SECRET}",
        f"signingKey: {SECRET}",
        f"Cookie: a=1; b={SECRET}",
        f"postgres://admin:{SECRET}@db.example/main",
        f"https://:{SECRET}@example.test",
        "x" * 1990 + f" token={SECRET}",
    ],
)
def test_pairs_in_other_text_are_redacted(text):
    logged = redact_log_data(text)

    assert SECRET not in logged
    assert logged != text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words",
        "a = b",
        "[not json",
        "{",
        "the keys: 5",
        "author: Ann",
        "http://a.test:80/b@c",
    ],
)
def test_other_text_stays(text):
    assert redact_log_data(text) == text


@pytest.mark.parametrize(
    "names", [("name", "value"), ("key", "value"), ("Name", "Value"), ("field", "value")]
)
def test_a_value_is_a_secret_that_the_name_beside_it_says_is_one(names):
    pair = dict(zip(names, ["password", SECRET], strict=True))
    texts = [json.dumps(pair), f"got {json.dumps(pair)}", f"got {pair}", json.dumps(str(pair))]

    assert redact_log_data([pair])[0] == {**pair, names[1]: REDACTED}
    for text in texts:
        assert SECRET not in redact_text(text)
        assert SECRET not in redact_log_data(text)
    backwards = dict(reversed(pair.items()))
    assert SECRET not in json.dumps(redact_log_data(backwards))


@pytest.mark.parametrize(
    "pair",
    [
        {"name": "city", "value": "Oslo"},
        {"name": "total_tokens", "value": 12},
        {"name": ["password"], "value": "Oslo"},
        {"title": "password", "value": "Oslo"},
        {"name": "password", "type": "string"},
        {"name": f"How do I reset {'it ' * 40}, my password", "value": "Like this"},
    ],
)
def test_other_values_beside_names_stay(pair):
    assert redact_log_data([pair, json.dumps(pair)]) == [pair, json.dumps(pair)]


def test_a_number_that_is_a_known_secret_is_taken_out_of_log_data():
    known = KnownSecrets(["0.73125", "48151623"])

    logged = redact_log_data([0.73125, 48151623, 0.73, 4815, True, {"n": 0.73125}], known=known)
    assert redact_log_data(10**5_000, known=known) == 10**5_000

    assert logged == [REDACTED, REDACTED, 0.73, 4815, True, {"n": REDACTED}]


def test_what_json_does_not_know_is_named_and_never_shown():
    data = [b"abc", bytearray(2), Opaque(), (1, 2), {3}]

    assert redact_log_data(data) == ["<3 bytes>", "<2 bytes>", "<Opaque>", [1, 2], [3]]


def test_nesting_ends_somewhere():
    loop = {}
    loop["again"] = loop

    assert "<nested too deeply>" in json.dumps(redact_log_data(loop))


def test_json_text_that_nests_too_deeply_is_treated_as_text():
    text = "[" * 100_000

    assert redact_log_data(text) == text[:2000]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


def bury(value):
    """Wrap a value in what it may come in: mappings, lists, JSON text."""
    return (
        st.builds(lambda key, other: {key: value, "other": other}, st.text(max_size=5), JSON_VALUES)
        | st.builds(lambda other: [other, value], JSON_VALUES)
        | st.just(json.dumps([value]))
    )


PLANTED = st.sampled_from(KEYS).map(lambda key: {key: SECRET})


@pytest.mark.untraced
@given(PLANTED.flatmap(bury).flatmap(bury).flatmap(bury))
def test_a_planted_secret_never_comes_out(data):
    assert SECRET not in json.dumps(redact_log_data(data))


@given(JSON_VALUES)
def test_redacting_changes_nothing_given_and_gives_plain_json(data):
    before = copy.deepcopy(data)

    json.dumps(redact_log_data(data))

    assert data == before


def test_a_name_of_any_length_costs_no_more(assert_linear):
    assert_linear(lambda count: redact_text("token" * count))


@pytest.mark.parametrize(
    "text",
    [
        'p@ss"w/rd',
        "p%40ss%22w%2Frd",
        "p%40ss%22w/rd",
        'p@ss\\"w/rd',
    ],
)
def test_a_known_secret_is_found_in_every_form(text):
    assert KnownSecrets(['p@ss"w/rd']).redact(f"a {text} b") == f"a {REDACTED} b"


def as_go_writes(text):
    """Write JSON as Go's `json.Marshal` does."""
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    return re.sub("[&<>]", lambda match: f"\\u{ord(match[0]):04x}", written)


ENCODINGS = {
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON in UTF-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "Go": as_go_writes,
    "JSON with slashes escaped": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "JSON with large hex digits": lambda text: re.sub(
        r"\\u[0-9a-f]{4}", lambda match: "\\u" + match[0][2:].upper(), json.dumps(text)[1:-1]
    ),
    "URL": lambda text: quote(text, safe=""),
    "path": quote,
    "form": quote_plus,
    "URL with small hex digits": lambda text: re.sub(
        "%..", lambda match: match[0].lower(), quote(text, safe="")
    ),
    "repr": lambda text: repr(text)[1:-1],
    "repr of both quotes": lambda text: repr(text + "'\"")[1:-4],
    "ascii": lambda text: ascii(text)[1:-1],
    "repr of bytes": lambda text: repr(text.encode())[2:-1],
}
WRITERS = {
    "%5A": lambda character: "".join(f"%{octet:02X}" for octet in character.encode()),
    "%5a": lambda character: "".join(f"%{octet:02x}" for octet in character.encode()),
    "\\u005A": lambda character: "".join(
        f"\\u{high:02X}{low:02X}"
        for high, low in zip(*[iter(character.encode("utf-16-be"))] * 2, strict=True)
    ),
    "\\x5a": lambda character: "".join(f"\\x{octet:02x}" for octet in character.encode()),
    "\\U0000005A": lambda character: f"\\U{ord(character):08X}",
    "\\u{5a}": lambda character: f"\\u{{{ord(character):x}}}",
}
EVERY_CHARACTER = {
    f"every character as {name}": lambda text, write=write: "".join(map(write, text))
    for name, write in WRITERS.items()
}
AWKWARD = [
    "sk-Proj_09AZaz",
    'p&ss/w<o>rd+é"1',
    "it's \\ a\\\\b",
    "50% off\tor\nmore",
    "key-\U0001f511-\x01\x7f",
    "'\\\"%25%+",
]


@pytest.mark.untraced
@pytest.mark.parametrize("name", ENCODINGS | EVERY_CHARACTER)
@pytest.mark.parametrize("secret", AWKWARD)
def test_a_known_secret_is_found_however_it_is_written_and_written_again(secret, name):
    once = (ENCODINGS | EVERY_CHARACTER)[name](secret)
    texts = [once, *(write_again(once) for write_again in ENCODINGS.values())]

    redacted = KnownSecrets([secret]).redact(";".join(texts))

    assert redacted == ";".join([REDACTED] * len(texts))


@pytest.mark.untraced
@given(st.data(), st.sampled_from(AWKWARD))
def test_a_known_secret_is_found_with_any_of_its_characters_escaped(data, secret):
    if "\\" in secret:  # beside which an escape is another character's
        secret = secret.replace("\\", "/")
    writers = st.sampled_from([str, *WRITERS.values()])
    written = "".join(data.draw(writers)(character) for character in secret)
    twice = data.draw(st.sampled_from([str, *ENCODINGS.values()]))(written)

    for text in (written, twice):
        assert KnownSecrets([secret]).redact(f";{text};") == f";{REDACTED};"


@pytest.mark.untraced
@pytest.mark.parametrize(
    "near",
    [
        *("\\u005", "%5", "%25", "%5C", "\\\\", "\\u005a%5A", "%255C%255Cu005A", "Z\\x5a"),
        *("&#90;", "&amp;", "Z\u200b", "Z" + "\u200b" * 16),
    ],
)
def test_what_almost_is_an_escaped_secret_costs_no_more_than_its_length(near):
    known = KnownSecrets(["Z" * 100 + "!", "Zebra-" * 20])
    text = near * (50_000 // len(near)) + "Z"
    with not_for_ever():
        assert known.redact(text) == text


def test_a_known_secret_stays_found_in_json_of_json_of_json():
    text = 'p&ss"w/rd'
    for _ in range(3):
        text = as_go_writes(text)

    assert KnownSecrets(['p&ss"w/rd']).redact(f'"{text}"') == f'"{REDACTED}"'


@pytest.mark.parametrize(
    "text", ["sk-simple-key", "Bearer sk-simple-key", '{"a": " sk-simple-key"}']
)
def test_a_known_secret_is_found_without_the_blanks_around_it(text):
    assert KnownSecrets([" sk-simple-key\t\n"]).redact(text) == text.replace(
        "sk-simple-key", REDACTED
    )


@pytest.mark.parametrize(
    "text",
    ["anbnsecr", "au0026b-secr", "ax26b-secr", "pass%25x0rd", "%70asu0073%25w0rd", "p\\ass%w0rd"],
)
def test_what_only_resembles_a_form_of_a_secret_stays(text):
    assert KnownSecrets(["a\nb\nsecr", "a&b-secr", "pass%w0rd"]).redact(text) == text


@pytest.mark.untraced
@pytest.mark.parametrize(
    "secret", ["\\" * 20, "%25" * 20, "%" * 20, " +" * 20, "a\\" * 20, "&<" * 20]
)
def test_what_almost_is_a_secret_costs_no_more_than_its_length(secret):
    """Each place is looked at once."""
    known = KnownSecrets(["x" + secret + "x"])
    near = ENCODINGS["URL"](ENCODINGS["JSON"]("x" + secret)) + "y"
    with not_for_ever():
        assert known.redact(near * 2_000) == near * 2_000


def test_a_known_secret_may_end_in_backslashes():
    assert KnownSecrets(["hunter\\\\"]).redact(json.dumps("%: hunter\\\\")) == f'"%: {REDACTED}"'


def test_a_known_secret_with_blanks_is_found_in_a_form():
    assert KnownSecrets(["open sesame"]).redact("q=open+sesame") == f"q={REDACTED}"


def test_one_of_several_secrets_with_blanks_is_found_in_a_form():
    secrets = KnownSecrets(["open sesame", "another-secret"])
    assert secrets.redact("q=open+sesame&r=open%2Bsesame") == f"q={REDACTED}&r={REDACTED}"


def test_a_known_secret_in_other_letters_is_found_in_json():
    secrets = KnownSecrets(["gr\u00fcn-und-blau"])
    assert secrets.redact(json.dumps("gr\u00fcn-und-blau")) == f'"{REDACTED}"'
    assert secrets.redact("gr%C3%BCn-und-blau") == REDACTED


OTHER_FORMS = {
    "HTML": html.escape,
    "HTML twice": lambda text: html.escape(html.escape(text)),
    "HTML in JSON": lambda text: json.dumps(html.escape(text)).replace("&", "\\u0026")[1:-1],
    "decimal entities": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "hexadecimal entities": lambda text: "".join(f"&#x{ord(character):04X};" for character in text),
    "zero-width spaces": "\u200b".join,
    "two joiners": "\u200d\ufeff".join,
    "soft hyphens": "\u00ad".join,
    "word joiners in JSON": lambda text: json.dumps("\u2060".join(text))[1:-1],
    "hexadecimal": lambda text: text.encode().hex(),
    "large hexadecimal": lambda text: text.encode().hex().upper(),
    "base64": lambda text: b64encode(text.encode()).decode(),
    "base64 of URLs": lambda text: urlsafe_b64encode(text.encode()).decode().rstrip("="),
}


@pytest.mark.parametrize("secret", ['sk-p&s"w<rd\\1\u00e9/2', "hunter22", "aB3~dE5?gH7>kL9"])
@pytest.mark.parametrize("write", OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_a_known_secret_is_found_in_other_forms_and_however_these_stream(secret, write):
    known = KnownSecrets([secret, "another-secret"])
    text = f"It is <{write(secret)}> & no more"

    streamed = SecretFilter(known)
    shown = "".join([*map(streamed.feed, text), streamed.close()])

    assert known.redact(text) == f"It is <{REDACTED}> & no more"
    assert shown == known.redact(text)
    assert known.redact("x" * 2_000 + text) == "x" * 2_000 + shown


@pytest.mark.parametrize("before", range(3))
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
def test_a_known_secret_is_found_wherever_it_stands_in_what_was_encoded(before, encode):
    octets = b"~" * before + b"aB3~dE5?gH7>kL9" + b"~~~"

    redacted = KnownSecrets(["aB3~dE5?gH7>kL9"]).redact(encode(octets).decode())

    assert REDACTED in redacted
    assert len(redacted) <= len(REDACTED) + 10  # what is around it


def test_a_secret_with_backslashes_is_found_among_others():
    known = KnownSecrets(["hunter\\22", "another-secret"])

    assert known.redact("hunter\\\\22 or hunter&#92;22") == f"{REDACTED} or {REDACTED}"


def test_words_are_not_looked_for_where_they_are_encoded():
    text = f"{b'hunter2'.hex()} {b64encode(b'hunter2').decode()}"

    assert KnownSecrets(["hunter2"]).redact(text) == text


@pytest.mark.parametrize(
    "text", ["h\u00e9 hunter2\u200b2", "\u2764\ufe0f hunter22", "gr\u00fc\u200bn-blau"]
)
def test_what_nobody_sees_is_looked_for_in_texts_of_any_letters(text):
    known = KnownSecrets(["hunter22", "gr\u00fcn-blau"])

    assert REDACTED in known.redact(text)
    assert KnownSecrets(["hunter23"]).redact(text) == text


def test_each_line_of_a_known_secret_is_one():
    secrets = KnownSecrets(["-----BEGIN-----\nabcdef\n-----END-----"])
    assert secrets.redact("line 2 is abcdef") == f"line 2 is {REDACTED}"
    assert secrets.redact("-----BEGIN-----\nabcdef\n-----END-----") == REDACTED


def test_nothing_stays_behind_of_the_longer_of_two_secrets():
    assert KnownSecrets(["secret", "secret-and-more"]).redact("secret-and-more") == REDACTED


@pytest.mark.parametrize("value", ["", "true", "eu-1", "   \t  ", "12345"])
def test_short_words_are_no_secrets(value):
    text = f"a {value} b"
    assert KnownSecrets([value]).redact(text) == text


def test_what_is_no_text_is_no_secret():
    assert KnownSecrets([None, 1234567, ["hunter2"], "hunter22"]).redact("1234567 hunter22") == (
        f"1234567 {REDACTED}"
    )


def test_how_short_a_secret_may_be_is_a_setting():
    assert KnownSecrets(["pi3!"], shortest=4).redact("pi3!") == REDACTED


def test_a_known_secret_that_no_url_can_carry_is_found_as_it_is():
    assert KnownSecrets(["half-\ud83d"]).redact("half-\ud83d") == REDACTED


@pytest.mark.untraced
@given(st.text(min_size=6).filter(lambda text: len(text.strip()) >= 6), st.text(), st.text())
def test_a_known_secret_never_stays_whole(secret, before, after):
    redacted = KnownSecrets([secret]).redact(before + secret + after)
    assert secret not in redacted.replace(REDACTED, "") or secret in before + after


def test_known_secrets_are_taken_out_of_log_data_before_it_is_cut():
    known = KnownSecrets([SECRET])
    data = {SECRET: ["x" * 1995 + SECRET, json.dumps({"a": SECRET})]}

    logged = redact_log_data(data, known=known)

    assert logged == {REDACTED: ["x" * 1995 + REDACTED[:5], json.dumps({"a": REDACTED})]}


@pytest.mark.parametrize("text", ["pa%25ss%250rd", "pa%2525ss%25250rd", "pa%ss%250rd"])
def test_the_beginning_of_a_secret_with_a_percent_sign_is_held_back(text: str) -> None:
    known = KnownSecrets(["pa%ss%0rd"])
    for end in range(1, len(text)):
        assert known.split(f"; {text[:end]}") == ("; ", text[:end])


@pytest.mark.parametrize(
    ("headers", "secrets"),
    [
        ({"A": "Basic dXNlcg==", "B": "plain", "C": 5}, {"Basic dXNlcg==", "dXNlcg==", "plain"}),
        ('{"A": "plain"}', {'{"A": "plain"}', "plain"}),
        ('{"A": "1st", "A": "2nd"}', {'{"A": "1st", "A": "2nd"}', "1st", "2nd"}),
        ("A: broken", {"A: broken"}),
        ('["A"]', {'["A"]'}),
        (None, set()),
    ],
)
def test_every_value_of_headers_is_a_secret(headers, secrets):
    assert set(iter_header_secrets(headers)) - {""} == secrets


LETTERS = st.sampled_from(
    [
        *(
            "tok",
            "en",
            "TO\u212aEN",
            "\u017fecret",
            "pa\u017fsword",
            "API KEY",
            "private-key",
            "key",
            "_key",
        ),
        *("db_dsn", "db-pass", "signingKey", "session id", "jwt", "auth", "author", "Cookie: "),
        *(
            "bearer ",
            "ba\u017f\u0131c ",
            "BAS\u0130C ",
            "sk-",
            "S\u212a-",
            "se\u017fs-",
            "org-",
            "pk-",
            "://",
            "u:p@",
            ": ",
            "=",
        ),
        *('"', "a", "b" * 9, " ", "\n"),
    ]
)


@given(st.lists(LETTERS, max_size=8))
def test_a_pattern_is_looked_for_wherever_it_could_be_found(pieces):
    text = "".join(pieces)
    all_words = (
        "cookie. bearer. sess-. ://. key.\n"  # With one of each kind nothing is passed over.
    )
    assert redact_text(all_words + text) == all_words + redact_text(text)
