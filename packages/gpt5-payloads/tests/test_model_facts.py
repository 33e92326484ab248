"""The simulated server refuses what the models refuse, by a table of its own; both tables say the same."""

import pytest

from gpt5_payloads import profile_for
from gpt5_simulator import iter_profiles


SERVED = list(iter_profiles())
FACTS = {
    "efforts": lambda served: served.efforts,
    "summaries": lambda served: served.summaries,
    "verbosities": lambda served: served.verbosities,
    "image_details": lambda served: served.image_details,
    "streaming": lambda served: served.streams,
    "system_role": lambda served: "system" if served.takes_system else "developer",
    "retired": lambda served: served.successor is not None,
    "shutdown_date": lambda served: served.shutdown_date,
}


@pytest.mark.parametrize("served", SERVED, ids=lambda served: served.name)
def test_each_model_of_the_simulator_is_known_by_its_name(served):
    assert profile_for(served.name).family == served.name


@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_that_both_tables_know_is_the_same_in_both(fact):
    ours = {served.name: getattr(profile_for(served.name), fact) for served in SERVED}
    snapshots = {served.name: getattr(profile_for(served.snapshot), fact) for served in SERVED}
    assert ours == snapshots == {served.name: FACTS[fact](served) for served in SERVED}


def test_a_retired_model_s_successor_is_the_same_in_both_tables():
    ours = {served.name: profile_for(served.name) for served in SERVED}

    assert {name: profile.replacement for name, profile in ours.items() if profile.retired} == {
        served.name: served.successor for served in SERVED if served.successor
    }


def test_the_simulator_serves_models_of_every_kind():
    assert len(SERVED) > 15
    assert {served.streams for served in SERVED} == {True, False}
    assert {served.takes_system for served in SERVED} == {True, False}
    assert {served.successor for served in SERVED} == {None, "gpt-5.5"}
