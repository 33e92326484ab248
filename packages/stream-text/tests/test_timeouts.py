import pytest

from stream_text.timeouts import bound_timeouts


@pytest.mark.parametrize(
    ("told", "taken"),
    [
        ("120", "120"),
        ("120.9", "120"),
        ("1", "60"),
        ("-inf", "60"),
        ("99999", "3600"),
        ("inf", "3600"),
        ("", "900"),
        ("bad", "900"),
        ("nan", "900"),
    ],
)
def test_a_time_is_brought_within_its_range_and_is_900_where_it_is_none(
    told: str, taken: str
) -> None:
    environ = {"MAX_REQUEST_TIMEOUT": told}

    bound_timeouts(environ)

    assert environ == {"MAX_REQUEST_TIMEOUT": taken, "MAX_INVOCATION_TIMEOUT": "900"}
