import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import ResultBudget


NOTICE = re.compile(r"\n\[\.\.\. [\d,]+ characters left out here \.\.\.\]\n")


@pytest.mark.parametrize("text", ["", "short", "x" * 200_000])
def test_a_result_within_the_budget_stays_as_it_is(text):
    assert ResultBudget().fit(text) == text


def test_a_long_result_keeps_its_beginning_and_its_end_and_says_what_is_missing():
    text = "b" * 3_000 + "m" * 10_000 + "e" * 1_000

    fitted = ResultBudget(per_result=4_000).fit(text)

    assert fitted == ("b" * 3_000 + "\n[... 10,000 characters left out here ...]\n" + "e" * 1_000)


def test_a_run_that_has_used_up_its_budget_still_gets_a_thousand_characters():
    budget = ResultBudget(per_result=5_000, per_run=6_000)

    fitted = [budget.fit("x" * 5_000) for _ in range(3)]

    assert [text.count("x") for text in fitted] == [5_000, 1_000, 1_000]


@given(st.lists(st.integers(0, 6_000).map(lambda size: ("word\n" * size)[:size]), max_size=8))
def test_what_is_kept_is_never_over_the_budget_nor_anything_but_the_text(texts):
    budget = ResultBudget(per_result=2_000, per_run=3_000)
    kept = [NOTICE.split(budget.fit(text)) for text in texts]

    for text, parts in zip(texts, kept, strict=True):
        assert text.startswith(parts[0])
        assert text.endswith(parts[-1])
        assert sum(map(len, parts)) <= 2_000
    assert sum(len(part) for parts in kept for part in parts) <= 3_000 + 1_000 * len(texts)


@pytest.mark.parametrize("piece", ["x", "ä", "あ", "😀", '"', "\x01"])
@pytest.mark.parametrize("size", [50, 3_000, 200_000])
def test_the_results_of_a_run_fit_into_a_line_in_any_script(piece, size):
    budget = ResultBudget()
    fitted = [budget.fit(piece * size) for _ in range(3_000 if size < 200_000 else 30)]
    line = json.dumps(fitted, ensure_ascii=False).encode()
    assert len(line) < 4_000_000
    assert piece * 1_000 in fitted[0] or size < 1_000


def test_a_run_whose_line_is_full_says_how_much_is_left_out_and_keeps_what_is_shorter():
    budget = ResultBudget(per_run_bytes=2_000)
    budget.fit("x" * 1_950)
    assert re.fullmatch(rf"x*{NOTICE.pattern}x*", budget.fit("x" * 3_000))
    assert re.fullmatch(NOTICE, budget.fit("\x01" * 3_000).strip("\x01"))
    assert budget.fit("No such user.") == "No such user."


def test_one_result_can_be_shortened_without_taking_from_the_run():
    budget = ResultBudget(per_result=2_000, per_run=2_000)
    assert len(NOTICE.sub("", budget.shorten("x" * 3_000))) == 2_000
    assert budget.fit("x" * 2_000) == "x" * 2_000
