import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import REPEATED_FAILURE, REPEATED_SUCCESS_NOTICE, FailureMemory, call_signature


def test_a_new_call_is_made():
    assert FailureMemory().recall("search", {"q": "x"}) is None


def test_a_failed_call_is_not_made_again():
    """Defect C9: an identical failing call was executed in every round."""
    memory = FailureMemory()
    memory.record_failure("search", {"q": "x", "n": 1})

    assert memory.recall("search", {"n": 1, "q": "x"}) == REPEATED_FAILURE
    assert memory.recall("search", {"q": "y", "n": 1}) is None
    assert memory.recall("find", {"q": "x", "n": 1}) is None


def test_a_call_that_succeeded_twice_gives_its_latest_result_with_a_notice():
    memory = FailureMemory()
    memory.record_success("clock", {}, "12:00")
    assert memory.recall("clock", {}) is None
    memory.record_success("clock", {}, "12:01")

    assert memory.recall("clock", {}) == f"{REPEATED_SUCCESS_NOTICE}12:01"
    assert memory.recall("clock", {}) == f"{REPEATED_SUCCESS_NOTICE}12:01"


def test_a_failure_outweighs_successes():
    memory = FailureMemory(identical_successes=1)
    memory.record_failure("clock", {})
    memory.record_success("clock", {}, "12:00")

    assert memory.recall("clock", {}) == REPEATED_FAILURE


def test_at_least_one_success_must_be_allowed():
    with pytest.raises(ValueError, match="identical_successes must be at least 1, got 0"):
        FailureMemory(identical_successes=0)


def test_two_memories_know_nothing_of_each_other():
    FailureMemory().record_failure("search", {})

    assert FailureMemory().recall("search", {}) is None


def test_values_of_different_types_make_different_calls():
    signatures = {call_signature("t", {"v": value}) for value in (1, 1.0, "1", True, None, [1])}

    assert len(signatures) == 6


ARGUMENTS = st.dictionaries(
    st.text(max_size=5),
    st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=3),
    max_size=5,
)


@given(st.text(), ARGUMENTS)
def test_the_order_of_keys_does_not_matter(name, arguments):
    turned = dict(reversed(arguments.items()))

    assert call_signature(name, turned) == call_signature(name, arguments)


@given(st.tuples(st.text(), ARGUMENTS), st.tuples(st.text(), ARGUMENTS))
def test_two_calls_share_a_signature_only_when_they_are_equal(first, second):
    assert (call_signature(*first) == call_signature(*second)) == (first == second)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=20),
    st.integers(min_value=1, max_value=4),
)
def test_no_call_is_made_after_its_failure_nor_more_often_than_allowed(calls, limit):
    memory = FailureMemory(identical_successes=limit)
    outcomes = {"a": [], "b": []}
    for name, succeeds in calls:
        if memory.recall(name, {}) is not None:
            continue
        outcomes[name].append(succeeds)
        if succeeds:
            memory.record_success(name, {}, "result")
        else:
            memory.record_failure(name, {})

    for made in outcomes.values():
        assert made.count(True) <= limit
        assert False not in made[:-1]
