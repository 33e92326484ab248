import pytest

from dify_plugin_kit.settings import bound_timeouts, read_float, read_int


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


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), (" 7 ", 7), ("-3", 1), ("100", 9), ("", 5), ("x", 5), ("2.5", 5)]
)
def test_a_whole_number_is_brought_within_its_range_or_is_the_default(text, number):
    assert read_int({"N": text}, "N", default=5, minimum=1, maximum=9) == number


@pytest.mark.parametrize(
    ("text", "number"), [("0.5", 0.5), ("-inf", 0.1), ("inf", 2), ("nan", None), ("", None)]
)
def test_a_number_is_brought_within_its_range_or_is_the_default(text, number):
    assert read_float({"N": text}, "N", default=None, minimum=0.1, maximum=2) == number
