import pytest

from gpt5_simulator import (
    CutStream,
    EncryptedContentRefused,
    FaultError,
    HttpError,
    LateError,
    Silence,
    UnverifiedOrganization,
    parse_fault,
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("none", None),
        ("rate_limit", HttpError(status=429)),
        ("rate_limit;retry_after=1", HttpError(status=429, retry_after=1.0)),
        (
            "rate_limit, retry_after=soon, times=none",
            HttpError(status=429, retry_after="soon", times=None),
        ),
        ("quota", HttpError(status=429, code="insufficient_quota")),
        ("http;status=418;message=tea = good", HttpError(status=418, message="tea = good")),
        ("cut;after_bytes=10;", CutStream(after_bytes=10)),
        ("silence;seconds=0.5", Silence(seconds=0.5)),
        ("silence;seconds=none", Silence()),
        ("late_error;flat=True", LateError(flat=True)),
        (
            "unverified_organization;summary=false;stream=true",
            UnverifiedOrganization(summary=False, stream=True),
        ),
        ("encrypted_content_refused;part=include", EncryptedContentRefused(part="include")),
    ],
)
def test_a_fault_is_read_from_text(text, fault):
    assert parse_fault(text) == fault


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected one of none, http, .*, got ''"),
        ("meteor", "got 'meteor'"),
        (
            "cut;after_beers=2",
            "expected settings among after_bytes, after_events, times, got 'after_beers'",
        ),
        ("cut;after_events=two", "after_events does not take 'two'"),
        ("cut;after_events=-1", "after_events does not take '-1'"),
        ("silence;seconds=-1", "seconds does not take '-1'"),
        ("late_error;flat=perhaps", "flat does not take 'perhaps'"),
        ("encrypted_content_refused;part=output", "part does not take 'output'"),
        ("http", "expected a value for status"),
    ],
)
def test_text_that_is_no_fault_is_refused_with_the_reason(text, reason):
    with pytest.raises(FaultError, match=reason) as caught:
        parse_fault(text)
    assert caught.value.text == text
