import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import KeptResults, ResultBudget


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
    if size < budget.per_result:  # a third of a run, so that fewer results fill it
        budget = ResultBudget(per_run=333_000, per_run_bytes=1_000_000)
    fitted = [budget.fit(piece * size) for _ in range(1_000 if size < budget.per_result else 30)]
    line = json.dumps(fitted, ensure_ascii=False).encode()
    assert len(line) < budget.per_run_bytes * 4 / 3
    assert piece * 1_000 in fitted[0] or size < 1_000


def test_a_run_whose_line_is_full_says_how_much_is_left_out_and_keeps_what_is_shorter():
    budget = ResultBudget(per_run_bytes=2_000)
    budget.fit("x" * 1_950)
    assert re.fullmatch(rf"x*{NOTICE.pattern}x*", budget.fit("x" * 3_000))
    assert re.fullmatch(NOTICE, budget.fit("\x01" * 3_000).strip("\x01"))
    assert budget.fit("No such user.") == "No such user."


def test_what_was_cut_before_is_not_cut_again_but_for_the_sake_of_the_run():
    budget = ResultBudget(per_result=2_000, per_run=5_000)
    cut = budget.fit("x" * 3_000)
    told = f"it was: {cut}"
    assert budget.fit(told, is_cut=True) == told
    assert len(NOTICE.sub("", budget.fit(told, is_cut=True))) == 1_000


def test_results_that_the_model_is_not_sent_any_more_take_nothing():
    budget = ResultBudget(per_result=5_000, per_run=6_000)
    texts = [budget.fit("x" * 5_000) for _ in range(2)]
    budget.release()
    assert budget.fit("x" * 5_000) == "x" * 5_000
    budget.release(texts[:1])
    assert len(NOTICE.sub("", budget.fit("x" * 5_000))) == 1_000


HINT = re.compile(r'\[read on with read_result: id "(r\d+)", offset (\d+), or a pattern\]\n')


def read_all(budget, result_id, offset):
    """Read on, page by page, and return what was read."""
    read = ""
    while True:
        page = budget.read_on({"id": result_id, "offset": offset})
        text, _, told = page.rpartition("\n[characters ")
        read += text
        following = re.search(r"read on with offset (\d+)", told)
        if following is None:
            return read
        offset = int(following[1])


@given(st.integers(0, 9_000), st.booleans())
def test_what_is_cut_can_be_read_on_to_the_last_character(size, is_in_parts):
    text = "".join(f"line {number}\n" for number in range(2_000))[:size]
    parts = tuple({"type": "text", "text": text[at : at + 3_000]} for at in range(0, size, 3_000))
    budget = ResultBudget(per_result=1_500, per_run=3_000, kept=KeptResults())
    fitted = budget.fit(parts if is_in_parts else text)
    told = "".join(part["text"] for part in fitted) if isinstance(fitted, tuple) else fitted
    hints = HINT.findall(told)
    assert bool(hints) == (size > 1_500)
    if hints:
        [(result_id, offset), *others] = hints
        assert all(other[0] == result_id for other in others)
        assert text[: int(offset)] + read_all(budget, result_id, int(offset)) == text


def test_a_result_that_is_not_cut_is_not_kept():
    kept = KeptResults()
    ResultBudget(kept=kept).fit("short")
    assert kept.size_bytes == 0


def test_a_run_that_may_read_no_more_still_reads_a_thousand_characters_at_once():
    budget = ResultBudget(per_run=2_000, per_run_bytes=2_000, kept=KeptResults())
    [(result_id, _)] = HINT.findall(budget.fit("x" * 30_000))
    assert budget.read_on({"id": result_id}).count("x") == 1_000


def test_parts_that_are_left_out_are_named_with_how_to_read_on():
    budget = ResultBudget(per_run_bytes=1_200, kept=KeptResults())
    parts = tuple({"type": "text", "text": letter * 600} for letter in "abc")
    fitted = budget.fit(parts)
    [(result_id, offset)] = HINT.findall(fitted[-1]["text"])
    assert (parts[0]["text"] + parts[1]["text"] + parts[2]["text"])[int(offset) :] == read_all(
        budget, result_id, int(offset)
    )
