from hypothesis import given
from hypothesis import strategies as st

from gpt5_messages import StopFilter


def run(stop: list[str], *pieces: str) -> str:
    words = StopFilter(stop)
    return "".join(words.feed(piece) for piece in pieces) + words.flush()


def test_text_ends_before_the_stop_sequence() -> None:
    assert run(["END"], "one END two") == "one "


def test_a_stop_sequence_is_found_across_pieces() -> None:
    assert run(["END"], "one E", "N", "D two") == "one "


def test_text_that_only_looks_like_a_beginning_is_let_through() -> None:
    assert run(["END"], "one EN", "Q") == "one ENQ"


def test_a_beginning_at_the_very_end_is_let_through() -> None:
    assert run(["END"], "one EN") == "one EN"


def test_only_what_could_become_a_stop_sequence_is_held_back() -> None:
    assert StopFilter(["END"]).feed("one EN") == "one "


def test_after_a_hit_nothing_more_is_shown() -> None:
    words = StopFilter(["x"])
    words.feed("ax")

    assert (words.hit, words.feed("more"), words.flush()) == ("x", "", "")


def test_without_stop_sequences_everything_passes_at_once() -> None:
    assert StopFilter(["", ""]).feed("all of it") == "all of it"


def test_stop_sequences_are_plain_text_not_patterns() -> None:
    assert run([".*"], "a.b.*c") == "a.b"


@given(
    text=st.text(alphabet="abc", max_size=30),
    stop=st.lists(st.text(alphabet="abc", min_size=1, max_size=3), max_size=3),
    cut=st.integers(min_value=0, max_value=30),
)
def test_any_cut_of_the_text_shows_the_same(text: str, stop: list[str], cut: int) -> None:
    assert run(stop, text[:cut], text[cut:]) == run(stop, text) == run(stop, *text)


@given(text=st.text(alphabet="abc"), stop=st.lists(st.text(alphabet="abc", min_size=1), min_size=1))
def test_no_stop_sequence_is_ever_shown(text: str, stop: list[str]) -> None:
    shown = run(stop, *text)

    assert text.startswith(shown)
    assert not any(word in shown for word in stop)
