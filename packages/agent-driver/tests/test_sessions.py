"""Conversations that outlive a run, and the calls that wait in them."""

import asyncio
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import Script, ask, use

from agent_driver import Agent
from agent_driver.sessions import (
    Conversation,
    MemorySession,
    SessionConflictError,
    SqliteSession,
)
from agent_loop import Message, SnapshotError, ToolCall, dump_messages, load_messages


@pytest.fixture(params=["memory", "sqlite"])
def reopen(request, tmp_path):
    """Return a function that opens the same session again."""
    memory = MemorySession()
    is_memory = request.param == "memory"
    return lambda: memory if is_memory else SqliteSession(tmp_path / "sessions.db", "s1")


@pytest.fixture(params=["run", "arun"])
def run_of(request):
    def run(agent, *args, **options):
        if request.param == "run":
            return agent.run(*args, **options)
        return asyncio.run(agent.arun(*args, **options))

    return run


def paying(paid):
    def pay(euros: int) -> str:
        """Pay."""
        paid.append(euros)
        return "paid"

    return pay


PAY = ask(use("pay", '{"euros": 5}'))


def test_each_turn_begins_with_the_ones_before_it(run_of, reopen):
    script = Script("Hello Ann.")
    agent = Agent(script, instruction="Be kind.")
    assert run_of(agent, "I am Ann.", session=reopen()).unsaved is None
    script = Script("Ann.")
    run_of(agent.with_(model=script), "Who am I?", session=reopen())
    texts = [getattr(m, "content", None) or m["content"] for m in script.requests[0].messages]
    assert texts == ["Be kind.", "I am Ann.", "Hello Ann.", "Who am I?"]
    assert reopen().load().version == 2


def test_what_waits_is_given_out_once(run_of, reopen):
    paid = []
    agent = Agent(Script(PAY, "Paid."), [paying(paid)], approval_rules={"pay": "always"})
    assert run_of(agent, "Pay 5.", session=reopen()).reason == "approval"
    with pytest.raises(ValueError, match=r"decisions: expected one .* pay \(c1\)"):
        run_of(agent, "Pay 6.", session=reopen())

    stale = reopen().load()
    assert run_of(agent, session=reopen(), decisions=True).value == "Paid."
    assert paid == [5]
    with pytest.raises(SessionConflictError, match="another run has changed it"):
        reopen().save(stale)
    with pytest.raises(ValueError, match="prompt: expected"):
        run_of(agent, session=reopen(), decisions=True)
    assert reopen().load().messages[-1].content == "Paid."


def test_of_decisions_at_the_same_time_one_goes_on(tmp_path):
    paid = []
    agent = Agent(Script(PAY, "Paid."), [paying(paid)], approval_rules={"pay": "always"})
    agent.run("Pay 5.", session=SqliteSession(tmp_path / "s.db", "s"))

    def decide(_):
        try:
            return agent.run(session=SqliteSession(tmp_path / "s.db", "s"), decisions=True).reason
        except (SessionConflictError, ValueError) as error:
            return type(error).__name__

    with ThreadPoolExecutor(6) as pool:
        reasons = list(pool.map(decide, range(6)))
    assert paid == [5]
    assert reasons.count("answered") == 1


def test_a_wrong_decision_takes_nothing_out_of_the_session(reopen):
    agent = Agent(Script(PAY, "Paid."), [paying([])], approval_rules={"pay": "always"})
    agent.run("Pay 5.", session=reopen())
    with pytest.raises(ValueError, match="decisions"):
        agent.run(session=reopen(), decisions={"c2": True})
    assert reopen().load().waiting is not None


def test_a_turn_that_another_one_has_overtaken_is_not_saved(run_of, reopen):
    def model(_):
        reopen().save(Conversation(messages=(Message(role="user", content="First."),)))
        return "Second."

    result = run_of(Agent(model), "?", session=reopen())
    assert result.value == "Second."
    assert "another run has changed it" in result.unsaved
    assert [message.content for message in reopen().load().messages] == ["First."]


def test_a_turn_that_came_to_nothing_can_be_asked_again(run_of, reopen):
    def broken(_):
        raise OSError("no route")

    assert run_of(Agent(broken), "?", session=reopen()).error
    assert reopen().load() == Conversation()


def test_what_tools_have_done_in_a_turn_that_failed_is_remembered(run_of, reopen):
    def broken():
        raise OSError("no route")

    paid = []
    result = run_of(Agent(Script(PAY, broken), [paying(paid)]), "Pay 5.", session=reopen())
    assert paid == [5]
    assert reopen().load().messages == tuple(result.messages)


def test_history_and_session_exclude_each_other(reopen):
    with pytest.raises(ValueError, match="history: expected none beside a session"):
        Agent(Script("Two.")).run("?", session=reopen(), history=[{"role": "user", "content": ""}])


def test_a_file_holds_many_sessions_for_its_owner_alone(tmp_path):
    path = tmp_path / "sessions.db"
    one, other = SqliteSession(path, "one"), SqliteSession(path, "other")
    one.save(Conversation(messages=(Message(role="user", content="Ann"),)))
    assert other.load() == Conversation()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    one.delete()
    assert one.load() == Conversation()
    with pytest.raises(ValueError, match="session_id"):
        SqliteSession(path, "")


def test_what_json_cannot_hold_is_refused_and_nothing_is_written(tmp_path):
    session = SqliteSession(tmp_path / "s.db", "s")
    with pytest.raises(SnapshotError, match=r"messages\[0\].content"):
        session.save(Conversation(messages=({"role": "user", "content": object()},)))
    assert session.load() == Conversation()


def test_a_store_that_fails_at_the_start_is_the_callers_to_see(tmp_path):
    session = SqliteSession(tmp_path / "s.db", "s")
    (tmp_path / "s.db").write_bytes(b"no database, but long enough to be read as one" * 40)
    with pytest.raises(sqlite3.DatabaseError, match=r"s\.db: file is not a database"):
        Agent(Script("Two.")).run("?", session=session)


@pytest.mark.parametrize("damage", ["messages = '[{'", "waiting = '[1]'", "messages = x'ff'"])
def test_a_damaged_session_says_which_one_it_is(tmp_path, damage):
    session = SqliteSession(tmp_path / "s.db", "ann")
    session.save(Conversation())
    with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
        database.execute(f"UPDATE sessions SET {damage}")

    with pytest.raises(SnapshotError, match=r"s\.db: expected the session 'ann'"):
        session.load()


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
messages = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "tool"]),
        content=st.text(max_size=8),
        tool_calls=st.lists(
            st.builds(ToolCall, call_id=st.text(max_size=3), name=st.just("t")), max_size=2
        ).map(tuple),
        opaque_body=plain,
    )
    | st.dictionaries(st.text(max_size=3), plain),
    max_size=4,
)


@given(messages)
def test_messages_come_back_as_they_were_written(given_):
    assert load_messages(dump_messages(given_)) == tuple(given_)
