import pytest

from stream_text import is_hidden


@pytest.mark.parametrize("character", "a é中\u3000\u0628—🙂\u0301")
def test_what_a_person_sees_is_not_hidden(character: str) -> None:
    assert not is_hidden(character)


@pytest.mark.parametrize(
    "character",
    "\x00\x1b\t\n\x7f\u0085\u00a0\u00ad\u034f\u061c\u115f\u180e\u2009\u200b\u200d\u2028\u202e\u2066\u2800\u3164\ue000\ufe0f\ufeff\uffa0\ufffe\ud800\U00016fe4\U0001d173\U000e0041\U000e0100\U0010fffd",
)
def test_what_has_no_width_turns_letters_around_or_is_blank_is_hidden(character: str) -> None:
    assert is_hidden(character)
