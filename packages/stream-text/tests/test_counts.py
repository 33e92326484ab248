import pytest

from stream_text import read_count


@pytest.mark.parametrize(
    ("written", "count"),
    [
        *((12, 12), (12.0, 12), ("12", 12), (" 12.0 ", 12), (0, 0), (-3, -3)),
        *(
            (nothing, None)
            for nothing in (12.5, "12.5", "-3", "", "x", "\uff11\uff12", "9" * 21, True, None, [], float("nan"), float("inf"))
        ),
    ],
    ids=repr,
)  # fmt: skip
def test_a_count_is_read_however_it_is_written(written: object, count: int | None) -> None:
    assert read_count(written) == count
