"""Names by which a model calls tools."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import valid_tool_names


def names(*identities: tuple[str, str]) -> tuple[str, ...]:
    return valid_tool_names(identities)


def test_a_valid_name_of_its_own_is_kept() -> None:
    assert names(("a/b/web", "search"), ("clock", "get-time_2")) == ("search", "get-time_2")


def test_tools_that_share_a_name_get_their_providers_in_front() -> None:
    """Defect C12: both tools were offered under one name and the last one always ran."""
    assert names(("x/google/google", "search"), ("bing", "search")) == (
        "google_search",
        "bing_search",
    )


def test_providers_that_end_alike_are_told_apart_by_a_digest() -> None:
    first, second = names(("x/web", "search"), ("y/web", "search"))

    assert first != second
    assert re.fullmatch(r"web_search_[0-9a-f]{8}", first)


def test_a_name_that_was_already_taken_is_told_apart() -> None:
    assert len(set(names(("a", "x"), ("b", "x"), ("c", "a_x")))) == 3


@pytest.mark.parametrize("name", ["get weather", "検索", "a" * 65, "a.b"])
def test_an_invalid_name_becomes_a_valid_one(name: str) -> None:
    [valid] = names(("p", name))

    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", valid)


def test_the_same_tool_listed_again_is_numbered() -> None:
    first, second, third = names(*[("p", "search")] * 3)

    assert (second, third) == (f"{first}_2", f"{first}_3")


IDENTITIES = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "x/a", "y/a"]) | st.text(),
        st.sampled_from(["s", "a_s", "s_2", "s" * 64]) | st.text(min_size=1),
    ),
    max_size=8,
)


@given(IDENTITIES)
def test_names_are_valid_and_distinct_whatever_the_tools_are_called(
    identities: list[tuple[str, str]],
) -> None:
    found = names(*identities)

    assert len(set(found)) == len(found) == len(identities)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in found)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), unique=True))
def test_a_tools_name_does_not_depend_on_the_order(identities: list[tuple[str, str]]) -> None:
    forwards = dict(zip(identities, names(*identities), strict=True))
    backwards = dict(zip(reversed(identities), names(*reversed(identities)), strict=True))

    assert forwards == backwards
