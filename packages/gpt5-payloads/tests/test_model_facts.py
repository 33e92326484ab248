"""The simulated server refuses what the models refuse, by a table of its own; both tables say the same."""

import pytest

from gpt5_payloads import profile_for
from gpt5_simulator import iter_profiles


SERVED = list(iter_profiles())
TIERS = ("auto", "default")  # which every model has
FACTS = {
    "takes_sampling": lambda served: served.takes_sampling,
    "service_tiers": lambda served: (*TIERS, *served.tiers),
    "reasoning_contexts": lambda served: served.contexts,
    "cache_ttls": lambda served: ("30m", "12h") if served.has_cache_options else (),
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


def test_a_mode_that_can_be_asked_for_is_the_same_in_both_tables():
    ours = {served.name: profile_for(served.name).reasoning_modes for served in SERVED}

    assert {name: modes if len(modes) > 1 else () for name, modes in ours.items()} == {
        served.name: served.modes for served in SERVED
    }


def test_a_tool_that_a_model_lacks_is_the_same_in_both_tables():
    known = set(profile_for("a name that nobody knows").hosted_tools)

    assert {
        served.name: known - set(profile_for(served.name).hosted_tools) for served in SERVED
    } == {served.name: known & served.lacks_tools for served in SERVED}


def test_earlier_reasoning_is_asked_for_where_the_simulator_does_not_read_it():
    asked = {s.name for s in SERVED if profile_for(s.name).default_reasoning_context == "all_turns"}

    assert asked == {s.name for s in SERVED if s.default_context == "current_turn"}


def test_the_simulator_serves_models_of_every_kind():
    assert len(SERVED) > 15
    assert {served.streams for served in SERVED} == {True, False}
    assert {served.takes_system for served in SERVED} == {True, False}
    assert {served.successor for served in SERVED} == {None, "gpt-5.5"}
