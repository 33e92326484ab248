"""Conversations that outlive a run, and the calls that wait in them."""

import asyncio
import json
import shutil
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import Script, as_tool, ask, use

from agent_driver import Agent, ShowText
from agent_driver.sessions import (
    Conversation,
    MemorySession,
    SessionConflictError,
    SqliteSession,
)
from agent_loop import (
    AgentEvent,
    AskApproval,
    Decision,
    Message,
    SnapshotError,
    ToolCall,
    ToolCallEnded,
    dump_messages,
    load_messages,
)


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
    with pytest.raises(
        ValueError, match="decisions: expected none where nothing waits in the session"
    ):
        run_of(agent, session=reopen(), decisions=True)
    with pytest.raises(ValueError, match="prompt: expected a text or messages"):
        run_of(agent, session=reopen())
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


PROGRAM = """
import sys, time
from agent_driver import Agent, ShowText
from agent_driver.sessions import SqliteSession

def pay(euros: int) -> str:
    \"\"\"Pay.\"\"\"
    print("paying", euros, flush=True)
    sys.stdin.read()

def model(call):
    call_ = {"call_id": "c1", "name": "pay", "arguments": '{"euros": 5}'}
    return {"tool_calls": [call_]}

agent = Agent(model, [pay], approval_rules={"pay": "always"})
session = SqliteSession(sys.argv[1], "s")
agent.run("Pay 5.", session=session)
agent.run(session=session, decisions=True)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folder of a session whose process was killed in an approved call."""
    folder = tmp_path_factory.mktemp("killed")
    command = [sys.executable, "-c", PROGRAM, str(folder / "s.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"paying 5\n"
        process.kill()
    return folder


def test_after_a_kill_in_an_approved_call_the_next_turn_says_that_its_outcome_is_not_known(
    run_of, killed, tmp_path
):
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    session = SqliteSession(tmp_path / "s.db", "s")
    kept = session.load()
    assert [getattr(m, "role", None) or m["role"] for m in kept.messages] == [
        "user",
        "assistant",
        "tool",
    ]
    assert kept.messages[1].tool_calls[0].arguments == '{"euros": 5}'
    assert (kept.waiting, [call.name for call in kept.given_out]) == (None, ["pay"])
    assert 'not known: pay {"euros": 5}' in kept.notice

    script = Script("Shall I look whether it was made?")
    agent = Agent(script, [paying([])], approval_rules={"pay": "always"})
    with pytest.raises(ValueError, match="outcome of what you approved is not known"):
        run_of(agent, session=session, decisions=True)
    result = run_of(agent, "Did you?", session=session)
    assert "the outcome of this call is not known" in script.requests[0].messages[-2].content
    assert result.notice == kept.notice
    assert result.value == result.text == f"{kept.notice}\n\nShall I look whether it was made?"
    assert result.messages[-1].content == "Shall I look whether it was made?"
    assert session.load().notice is None
    assert run_of(agent.with_(model=Script("Yes.")), "Go.", session=session).value == "Yes."


def begin_and_let_go(agent, session, decisions):
    """Take up what waits, and stop once the first call has ended or the run of an agent has begun."""
    with agent.stream(session=session, decisions=decisions) as events:
        next(event for event in events if isinstance(event, (ToolCallEnded, AgentEvent)))


def test_what_was_denied_and_what_an_agent_was_given_stand_in_what_is_kept(reopen):
    clerk = as_tool("clerk", "Pays.", Script(ask(use("pay", '{"euros": 9}', "p"))), [paying([])])
    calls = (use("pay", '{"euros": 5}', "a"), use("clerk", '{"task": "Pay."}', "c"))
    rules = {"approval_rules": {"pay": "always"}}
    agent = Agent(Script(ask(*calls)), [paying([]), clerk], instruction="Be kind.", **rules)
    agent.run("Pay.", session=reopen())
    no = Decision(call_id="a", is_approved=False, reason="Too much.")
    begin_and_let_go(agent, reopen(), {"a": no, "c/p": True})
    kept = reopen().load()
    question, _, denied, begun = kept.messages
    assert question == {"role": "user", "content": "Pay."}
    assert denied.content.endswith("They said: Too much.")
    assert begun.content.endswith('It was to make clerk/pay {"euros": 9}.')
    assert [call.key for call in kept.given_out] == ["c/p"]


@pytest.mark.parametrize("typed", [False, True])
def test_the_notice_is_shown_first_unless_the_answer_is_json(reopen, typed):
    agent = Agent(Script(PAY), [paying([])], approval_rules={"pay": "always"})
    agent.run("Pay.", session=reopen())
    begin_and_let_go(agent, reopen(), True)
    notice = reopen().load().notice

    def broken(_):
        raise OSError("no route")

    # A turn that came to nothing is no turn: what follows says it too.
    assert agent.with_(model=broken).run("?", session=reopen()).notice == notice
    answer = {"answer": TypedDict("Sum", {"total": int})} if typed else {}
    said = '{"total":4}' if typed else "4"
    with Agent(Script(said), **answer).stream("?", session=reopen()) as stream:
        texts = [event.text for event in stream if isinstance(event, ShowText)]
    assert texts == ([said] if typed else [f"{notice}\n\n", said])
    assert stream.result.notice == notice
    assert stream.result.value == ({"total": 4} if typed else f"{notice}\n\n4")


def test_the_notice_comes_before_the_same_is_asked_again(run_of, reopen):
    long = ask(use("pay", json.dumps({"euros": 5, "to": "A" * 900})))

    def pay(euros: int, to: str = "Ann") -> str:
        """Pay."""
        return f"paid {euros} to {to}"

    agent = Agent(Script(long, PAY, "Paid."), [pay], approval_rules={"pay": "always"})
    run_of(agent, "Pay.", session=reopen())
    begin_and_let_go(agent, reopen(), True)
    result = run_of(agent, "Again.", session=reopen())
    assert result.reason == "approval"
    assert result.text.startswith("The outcome of what you approved is not known: pay")
    assert len(result.text) < 1_000
    kept = reopen().load()
    assert (kept.given_out, kept.waiting) == ((), result.waiting)
    # As long as it is under way, a call that is approved is given out.
    with agent.stream(session=reopen(), decisions=True) as events:
        next(events)
        assert [call.key for call in reopen().load().given_out] == ["c1"]
        assert [event for event in events if isinstance(event, AskApproval)]
    assert (reopen().load().given_out, reopen().load().waiting) == ((), events.result.waiting)
    assert run_of(agent, session=reopen(), decisions=True).value == "Paid."


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
