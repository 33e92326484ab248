import pytest

from agent_loop import TRANSITIONS, LocalProtocolError
from agent_loop._rules.transitions import next_state  # noqa: PLC2701 - the table itself is under test


TRIGGERS = sorted({trigger for allowed in TRANSITIONS.values() for trigger in allowed})


@pytest.mark.parametrize("state", list(TRANSITIONS))
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_the_table_alone_decides_what_may_follow(state, trigger):
    if trigger in TRANSITIONS[state]:
        assert next_state(state, trigger) == TRANSITIONS[state][trigger]
        return
    with pytest.raises(LocalProtocolError) as caught:
        next_state(state, trigger)
    assert (caught.value.state, caught.value.received) == (state, trigger)


def test_every_state_is_reached_and_only_the_last_leads_nowhere():
    reached = {target for allowed in TRANSITIONS.values() for target in allowed.values()}
    assert reached == set(TRANSITIONS)
    assert [state for state, allowed in TRANSITIONS.items() if not allowed] == ["finished"]


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        TRANSITIONS["finished"] = {"start": "model"}
