import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import render_omission, without_omissions


def test_an_omission_names_what_is_left_out_and_why():
    told = render_omission("image", reason="no model reads SVG", name="plan.svg")

    assert told == '[image "plan.svg" omitted: no model reads SVG]'
    assert render_omission("audio", reason="too long") == "[audio omitted: too long]"


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=300))
def test_whatever_is_written_into_it_an_omission_can_be_taken_out_again(kind, name, reason):
    told = render_omission(kind, reason=reason, name=name)

    assert "\n" not in told
    assert without_omissions(f"before {told} after") == "before  after"


@pytest.mark.parametrize(
    "text", ["[image]", "[file]", "[video]", "[image omitted: this model is given text only]"]
)
def test_what_other_programs_write_there_is_taken_out_too(text):
    assert without_omissions(f"a{text}b") == "ab"


@pytest.mark.parametrize("text", ["[1]", "[note: omitted]", "a [link](x)", "plain"])
def test_other_brackets_stay(text):
    assert without_omissions(text) == text
