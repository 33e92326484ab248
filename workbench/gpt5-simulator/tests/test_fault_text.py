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
        ("", "unknown fault ''; expected one of: none, http, "),
        ("meteor", "unknown fault 'meteor'; expected one of: none, http, "),
        (
            "cut;after_beers=2",
            "unknown setting 'after_beers'; expected one of: after_bytes, after_events, times",
        ),
        ("cut;after_events=two", "after_events must be a whole number from 0 up, got 'two'"),
        ("cut;after_events=-1", "after_events must be a whole number from 0 up, got '-1'"),
        ("silence;seconds=-1", "seconds must be a number from 0 up or none, got '-1'"),
        ("late_error;flat=perhaps", "flat must be true or false, got 'perhaps'"),
        ("encrypted_content_refused;part=output", "part must be input or include, got 'output'"),
        ("http;status=200", "status must be a whole number from 400 to 599, got '200'"),
        ("server_error;status=600", "status must be a whole number from 400 to 599, got '600'"),
        ("http", "expected a value for status"),
    ],
)
def test_text_that_is_no_fault_is_refused_with_the_reason(text, reason):
    with pytest.raises(FaultError, match=reason) as caught:
        parse_fault(text)
    assert caught.value.text == text
