import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import ToolParameter, redact_log_data


REDACTED = "***REDACTED***"
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
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [SECRET, {"a": SECRET}, [SECRET], 5, None, True])
def test_the_value_of_a_sensitive_key_is_replaced(key, value):
    assert redact_log_data({"a": [{key: value}]}) == {"a": [{key: REDACTED}]}


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
        f"DB_PASSWORD={SECRET}\nnext",
        "x" * 1990 + f" token={SECRET}",
    ],
)
def test_pairs_in_other_text_are_redacted(text):
    logged = redact_log_data(text)

    assert SECRET not in logged
    assert logged != text


@pytest.mark.parametrize("text", ["", "plain words", "a = b", "[not json", "{", "the keys: 5"])
def test_other_text_stays(text):
    assert redact_log_data(text) == text


def test_what_json_does_not_know_is_named_and_never_shown():
    data = [b"abc", bytearray(2), ToolParameter(name=SECRET), (1, 2), {3}]

    assert redact_log_data(data) == ["<3 bytes>", "<2 bytes>", "<ToolParameter>", [1, 2], [3]]


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


@given(PLANTED.flatmap(bury).flatmap(bury).flatmap(bury))
def test_a_planted_secret_never_comes_out(data):
    assert SECRET not in json.dumps(redact_log_data(data))


@given(JSON_VALUES)
def test_redacting_changes_nothing_given_and_gives_plain_json(data):
    before = copy.deepcopy(data)

    json.dumps(redact_log_data(data))

    assert data == before
