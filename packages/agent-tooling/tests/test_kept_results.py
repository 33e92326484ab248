"""Results that a model has read in part, and reads on in."""

import json
import random
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import KeptResults, Tool, ToolError, read_result_schema


TEXT = "".join(f"row {number}: {'é' if number % 7 else '😀'}\n" for number in range(5_000))


def keep(text=TEXT, **settings):
    kept = KeptResults(**settings)
    return kept, kept.keep(text)


def offsets(told):
    return [int(found) for found in re.findall(r"^offset (\d+):$", told, re.MULTILINE)]


def test_a_page_says_where_it_is_and_how_to_go_on():
    kept, result_id = keep("abcdefghij")
    page = kept.read({"id": result_id, "offset": 2}, max_characters=3)
    assert page == "cde\n[characters 2 to 5 of 10; read on with offset 5]"
    page = kept.read({"id": result_id, "offset": 5}, max_characters=9)
    assert page == "fghij\n[characters 5 to 10 of 10; this is the end]"


def test_a_result_can_be_searched_by_a_regular_expression_from_an_offset_on():
    kept, result_id = keep()
    told = kept.read({"id": result_id, "pattern": r"row 4\d\d7:"}, max_characters=50_000)
    at = offsets(told)
    assert [TEXT[place : place + 9] for place in at] == [
        f"row 4{tens:02}7:" for tens in range(100)
    ][: len(at)]
    assert len(at) == 20
    following = int(re.search(r"look on with offset (\d+)", told)[1])
    told = kept.read(
        {"id": result_id, "pattern": r"row 4\d\d7:", "offset": following}, max_characters=50_000
    )
    assert TEXT[offsets(told)[0] :].startswith("row 4207:")


def test_what_is_no_expression_is_looked_for_as_it_is():
    kept, result_id = keep("f(x\n" * 30)
    told = kept.read({"id": result_id, "pattern": "f(x"}, max_characters=50_000)
    assert told.startswith("[20 found as a plain text; searched from 0 to 79 of 120 characters")
    assert "look on with offset 79" in told


def test_without_the_extra_every_pattern_is_a_plain_text(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    kept, result_id = keep("a.c abc a.c")
    told = kept.read({"id": result_id, "pattern": "a.c"}, max_characters=50_000)
    assert offsets(told) == [0, 8]
    assert "look on" not in told
    assert "regular" not in json.dumps(read_result_schema())


def test_what_is_nowhere_is_told_so():
    kept, result_id = keep()
    told = kept.read({"id": result_id, "pattern": "nowhere"}, max_characters=50_000)
    assert told == f"[0 found; searched from 0 to {len(TEXT):,} of {len(TEXT):,} characters]"


def test_places_that_do_not_fit_are_found_by_looking_on():
    kept, result_id = keep()
    pattern = "row [0-9]*0:"
    found, offset = [], 0
    while True:
        told = kept.read(
            {"id": result_id, "pattern": pattern, "offset": offset}, max_characters=1_000
        )
        found += offsets(told)
        following = re.search(r"look on with offset (\d+)", told)
        if following is None:
            break
        offset = int(following[1])
    assert found == [match.start() for match in re.finditer(pattern, TEXT)]


HOSTILE = ["((a{0,100}){0,10}b)", ".{500}z", "(a?){100}a{100}b", "(x+x+)+y", "(a|aa)+$", "^(a+)+$"]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_no_pattern_can_make_a_search_take_long(pattern):
    text = "a" * 2_000_000
    kept, result_id = keep(text)
    told = kept.read({"id": result_id, "pattern": pattern}, max_characters=50_000)
    reach = int(re.search(r"searched from 0 to ([\d,]+)", told)[1].replace(",", ""))
    assert 0 < reach <= len(text)
    assert (reach < len(text)) == ("look on with offset" in told)


@given(
    st.text(max_size=30), st.text(alphabet="ab.*+?()[]{}|\\^$é", max_size=12), st.integers(0, 40)
)
def test_whatever_is_looked_for_the_answer_is_a_text_or_a_refusal(text, pattern, offset):
    kept, result_id = keep(text)
    asked = {"id": result_id, "pattern": pattern, "offset": offset}
    if offset < max(len(text), 1):
        told = kept.read(asked, max_characters=10)
        assert all(offset <= place <= len(text) for place in offsets(told)) or not pattern
    else:
        with pytest.raises(ToolError, match="offset: expected"):
            kept.read(asked, max_characters=10)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"id": "r9"}, 'id: no result has the id "r9"; kept are: r1'),
        ({"id": "r1", "offset": 10}, "offset: expected 0 to 9, got 10; r1 has 10 characters"),
        ({"id": "r1", "pattern": "x" * 501}, "pattern: expected at most 500 characters, got 501"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_could(arguments, told):
    kept, _ = keep("abcdefghij")
    with pytest.raises(ToolError) as raised:
        kept.read(arguments, max_characters=10)
    assert told in str(raised.value)


def test_the_oldest_go_where_the_room_is_needed_and_whoever_asks_is_told():
    kept = KeptResults(max_bytes=10_000)
    ids = [kept.keep(letter * 4_000) for letter in "abc"]
    assert kept.size_bytes <= 10_000
    with pytest.raises(ToolError, match="r1 is not kept any more, because later results"):
        kept.read({"id": ids[0]}, max_characters=5)
    assert kept.read({"id": ids[2]}, max_characters=5).startswith("ccccc")


def test_of_one_that_is_too_much_alone_the_end_is_missing_and_that_is_told():
    kept, result_id = keep("a" * 100_000, max_bytes=8_000)
    assert kept.size_bytes <= 8_000
    told = kept.read({"id": result_id, "offset": 990}, max_characters=50)
    assert told.endswith(
        "[characters 990 to 1,000 of 100,000; the last 99,000 were too much to be kept]"
    )
    with pytest.raises(ToolError, match="the last 99,000 were too much to be kept"):
        kept.read({"id": result_id, "offset": 5_000}, max_characters=50)


def test_the_memory_of_a_run_is_bounded_whatever_it_keeps():
    dice = random.Random(20)
    kept = KeptResults(max_bytes=50_000)
    for _ in range(300):
        kept.keep(dice.choice("aé😀") * dice.randrange(40_000))
        assert kept.size_bytes <= 50_000


def test_a_bound_of_nothing_is_refused():
    with pytest.raises(ValueError, match="max_bytes must be at least 1, got 0"):
        KeptResults(max_bytes=0)


def test_the_schema_is_one_that_a_tool_takes():
    tool = Tool.from_schema("read_result", "Read on.", read_result_schema(), print)
    assert tool.bind('{"id": "r1", "offset": 5}').ok
    assert not tool.bind('{"offset": 5}').ok
    assert "RE2" in json.dumps(tool.parameters)


@pytest.mark.parametrize(
    ("returned", "may_be_long"),
    [(int, False), (None, False), ("float", False), (str, True), (dict, True), ("", True)],
)
def test_a_function_says_by_its_annotation_that_it_returns_little(returned, may_be_long):
    def measure():
        """Measure."""

    if returned != "":
        measure.__annotations__["return"] = returned
    assert Tool.from_function(measure).may_be_long == may_be_long
