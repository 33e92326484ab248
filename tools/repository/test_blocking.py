"""The blocking twins are what is made of the asynchronous modules, and wait for nothing."""

import re

import pytest
from blocking import ROOT, TWINS, write_blocking


@pytest.mark.parametrize("source", TWINS)
def test_a_blocking_twin_is_what_is_made_of_the_asynchronous_module(source: str) -> None:
    target, _ = TWINS[source]
    assert (ROOT / target).read_text(encoding="utf-8") == write_blocking(source), (
        "run `uv run nox -s blocking`"
    )


@pytest.mark.parametrize("source", TWINS)
def test_a_blocking_twin_has_nothing_asynchronous(source: str) -> None:
    twin = (ROOT / TWINS[source][0]).read_text(encoding="utf-8")
    assert re.findall(r"asyncio|\basync\b|\bawait\b|\bAsync[A-Z]\w+", twin) == []
