"""Secrets go in through every path, and none comes out."""

import json
import re
import string

from hypothesis import given
from hypothesis import strategies as st

from gpt5_audit import AuditLog


FIELDS = {
    *(
        "api_error_type",
        "audit_id",
        "base_url_host",
        "code",
        "enable_stream",
        "error_type",
        "event",
    ),
    *("event_type", "has_stop", "has_user", "input_message_count", "max_output_tokens", "model"),
    *("param", "request_id", "response_format", "response_model", "response_status", "status_code"),
    *("left_out", "service_tier", "cost", "currency", "duration_seconds"),
    *("cached_tokens", "input_tokens", "output_tokens", "reasoning_tokens"),
    *("stream", "stream_event_count", "stream_event_type", "tool_count", "use_custom_base_url"),
}


def token(alphabet, least, most, form="{}"):
    return st.text(alphabet, min_size=least, max_size=most).map(form.format)


ALPHANUMERIC = string.ascii_letters + string.digits

keys = st.one_of(
    token(ALPHANUMERIC + "_-", 20, 60, "sk-{}"),
    token(ALPHANUMERIC + "._-", 20, 60, "Bearer {}"),
    token(string.hexdigits.lower(), 32, 64),
    token(ALPHANUMERIC, 30, 40, "eyJ{0}.{0}.{0}"),
)
word = st.text(string.ascii_lowercase, min_size=6, max_size=12)
prompts = st.lists(word, min_size=3, max_size=7).map(" ".join)
words = st.lists(word, min_size=3, max_size=3).map("_".join)
# Hypothesis tries the words it finds in the source, but those of the API are no secrets.
texts = st.text(min_size=12, max_size=60).filter(lambda t: not re.fullmatch(r"[a-z0-9_.-]+", t))
payloads = st.one_of(keys, prompts, words, texts)
anything = st.recursive(
    texts | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)


class ServerError(Exception):
    def __init__(self, secret):
        super().__init__(secret)
        self.message = self.body = self.response = self.headers = self.request = secret
        self.code = self.param = self.type = self.field = secret
        self.request_id = self.status_code = secret


def lines_of(act):
    lines = []
    act(AuditLog(lines.append))
    return lines


def check(lines, *secrets):
    for line in lines:
        prefix, _, text = line.partition(" ")
        values = json.loads(text)
        assert prefix == "openai_gpt5_audit"
        assert values.keys() <= FIELDS
        assert len(line) < 1500
        assert "\n" not in line
        assert not [secret for secret in secrets if secret in line]


@given(secret=payloads, extra=anything)
def test_no_part_of_a_request_comes_out_but_its_facts(secret, extra):
    body = {
        "model": "gpt-5.2",
        "instructions": secret,
        "input": [{"role": "user", "content": [{"type": "input_text", "text": secret}]}, extra],
        "tools": [
            {"name": secret, "description": secret, "parameters": {"properties": {secret: {}}}}
        ],
        "text": {"format": {"type": "json_schema", "name": secret, "schema": {secret: extra}}},
        "tool_choice": {"type": "function", "name": secret},
        "metadata": {secret: secret},
        "safety_identifier": secret,
        "prompt_cache_key": secret,
        "truncation": secret,
        secret: secret,
    }

    check(lines_of(lambda log: log.request(body)), secret)


@given(secret=payloads)
def test_settings_that_hold_something_else_are_left_out(secret):
    body = {
        "input": secret,
        "stream": secret,
        "max_output_tokens": secret,
        "tools": secret,
        "text": {"format": {"type": secret}},
    }

    check(lines_of(lambda log: log.request(body, enable_stream=secret)), secret)


@given(secret=keys | prompts)
def test_a_key_or_a_prompt_is_not_taken_for_a_model_or_an_id(secret):
    def act(log):
        log.request({"model": secret})
        log.success(secret, model=secret, response_model=secret, request_id=secret)
        log.error(ValueError(), audit_id=secret, model=secret, stream_event_type=secret)
        log.error({"response": {"usage": {secret: secret, "input_tokens": secret}}})
        usage = {"output_tokens": secret, "input_tokens_details": {"cached_tokens": secret}}
        log.success("", usage=usage, cost=secret, currency=secret, duration_seconds=secret)

    check(lines_of(act), secret)


@given(user=payloads, password=keys, path=st.sampled_from(["", "/v1", "/v1?x=1"]))
def test_user_information_of_a_url_stays_in(user, password, path):
    base_url = f"https://{user}:{password}@gateway.example.com{path}"

    check(
        lines_of(lambda log: log.request({}, base_url=base_url)), user, password.lower(), password
    )


@given(secret=keys | prompts)
def test_the_path_and_the_query_of_a_url_stay_in(secret):
    for base_url in (
        f"https://gateway.example.com/{secret}",
        f"https://gateway.example.com/v1?key={secret}#{secret}",
        f"{secret}://gateway.example.com",
        secret,
    ):
        check(lines_of(lambda log, url=base_url: log.request({}, base_url=url)), secret)


@given(secret=payloads)
def test_nothing_that_an_exception_carries_comes_out(secret):
    check(lines_of(lambda log: log.error(ServerError(secret))), secret)


@given(secret=payloads, extra=anything)
def test_nothing_that_a_server_writes_into_an_event_comes_out(secret, extra):
    details = {"code": secret, "type": secret, "param": secret, "message": secret, secret: extra}
    events = [
        {"type": secret, "request_id": secret, **details},
        {"type": "error", "error": details},
        {"type": "response.failed", "response": {"status": secret, "error": details}},
        {"type": "response.incomplete", "response": extra, "error": extra},
    ]
    for event in events:
        check(lines_of(lambda log, event=event: log.error(event, stream_event_type=secret)), secret)
