"""A function's results for a list that grows, each made once."""

from stream_text import GrowingMap


def test_what_stood_at_the_beginning_before_is_not_made_again() -> None:
    made: list[list[int]] = []

    def note(value: list[int]) -> tuple[int, ...]:
        made.append(value)
        return tuple(value)

    one, two, three = [1], [2], [3]
    growing = GrowingMap[list[int], tuple[int, ...]]()

    assert growing.map(note, [one, two]) == [(1,), (2,)]
    assert growing.map(note, [one, two, three]) == [(1,), (2,), (3,)]
    assert made == [one, two, three]
    # Behind the first that is another object, all is made anew, and so it is where the results depend on something else.
    assert growing.map(note, [one, [2], three]) == [(1,), (2,), (3,)]
    assert growing.map(note, [one], by="other") == [(1,)]
    assert made[3:] == [[2], three, one]


def test_a_list_of_results_belongs_to_who_asked_for_it() -> None:
    value = [1]
    growing = GrowingMap[list[int], int]()
    growing.map(len, [value]).clear()

    assert growing.map(len, [value]) == [1]
