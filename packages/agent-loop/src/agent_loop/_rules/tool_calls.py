"""The tool calls of a round: which ones run, which ones a person is asked about, and what follows their results.

Calls that need no approval run first; a person is asked when all of them have answered, so that nothing is lost or run
twice, however long the person takes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from agent_loop._values.errors import LocalProtocolError
from agent_loop._values.events import (
    AgentDecisions,
    AskApproval,
    Event,
    RunTools,
    ToolCallStarted,
)
from agent_loop._values.inputs import AgentWaiting, Decision, ToolResult
from agent_loop._values.messages import AskedCall, ToolCall
from agent_tooling import denied_call_text, too_many_questions_text

from .call_filter import asks_person, filter_calls, grant, to_shown
from .calls import (
    end_answer,
    end_call,
    end_round,
    refuse_call,
    release_files,
    release_text,
)
from .display import show, show_results, show_status, show_unfinished
from .ending import fail, find_stop, finish
from .requests import add_round, add_user_text, relax_tool_choice
from .rounds import begin_round
from .sentences import MAX_ASKED_CALLS, MAX_CALLS, build_budget_notice
from .spending import give_back_tool_call, take_near
from .state import MadeCall, RunContext
from .transitions import next_state


def begin_tools(run: RunContext) -> Iterator[Event]:
    """Decide about the calls of the current round, and ask the driver for those that are made."""
    current, shows_thoughts = run.state.round, run.settings.emit_intermediate_thoughts
    yield from end_answer(run)
    yield from release_files(run)
    if run.settings.holds_text and shows_thoughts:
        yield from show(run, release_text(run))
    calls = current.answer.calls
    filtered = filter_calls(run, calls)
    made = (*filtered.made, *filtered.waiting)
    current.made_calls = {call.call_id: to_make for call, to_make in made if to_make != call}
    if made and shows_thoughts and not run.state.display.has_words:
        yield from show_status(run, map(current.name_of, calls))
    for call, text in filtered.refused:
        yield from refuse_call(run, call, text)
    for call, result in filtered.answered:
        yield ToolCallStarted(call=call)
        yield end_call(run, result, is_own=True)
    # Set before the tools run: if there are none, `_go_on` is called at once and reads this.
    run.state.waiting_calls = tuple(filtered.waiting)
    yield from _run_tools(run, filtered.made)


def take_result(run: RunContext, result: ToolResult) -> Iterator[Event]:
    """Take the result of a call that was asked for, and continue once all have answered.

    Raises:
        LocalProtocolError: If no running call has its id.
    """
    state = run.state
    next_state(state.status, "tool_result")
    if result.call_id in _find_waiting(run) or result.call_id not in state.round.open_calls:
        problem = f"no open call has the id {result.call_id!r}"
        raise LocalProtocolError(problem, state=state.status, received="tool_result")
    yield end_call(run, result)
    yield from _go_on_if_idle(run)


def take_agent_waiting(run: RunContext, waiting: AgentWaiting) -> Iterator[Event]:
    """Keep the call of an agent open that waits for a person, and continue once no other call runs.

    Raises:
        LocalProtocolError: If no call that runs has its id.
    """
    state = run.state
    next_state(state.status, "agent_waiting")
    if waiting.call_id in _find_waiting(run) or waiting.call_id not in state.round.open_calls:
        problem = f"no open call has the id {waiting.call_id!r}"
        raise LocalProtocolError(problem, state=state.status, received="agent_waiting")
    external = sum(not asks_person(run, made) for _, made in state.waiting_calls)
    room = MAX_ASKED_CALLS + external - len(_find_undecided(run))
    state.waiting_agents = {**state.waiting_agents, waiting.call_id: waiting}
    # Nobody reads more of them before saying yes, however many agents ask.
    text = too_many_questions_text(MAX_ASKED_CALLS)
    refused = {
        call.key: Decision(call_id=call.key, is_approved=False, refusal=text)
        for call in waiting.asked[max(room, 0) :]
    }
    state.decisions = {**state.decisions, **refused}
    yield from _go_on_if_idle(run)


def take_decision(run: RunContext, decision: Decision) -> Iterator[Event]:
    """Take what a person has decided, and continue once all is decided.

    Raises:
        LocalProtocolError: If no call that waits has its id.
    """
    state = run.state
    next_state(state.status, "decision")
    if all(call.key != decision.call_id for call in _find_undecided(run)):
        problem = f"no call that waits for a decision has the id {decision.call_id!r}"
        raise LocalProtocolError(problem, state="approval", received="decision")
    run.move("decision")
    state.decisions = {**state.decisions, decision.call_id: decision}
    if not _find_undecided(run):
        yield from _act(run)


def ask_approval(run: RunContext) -> AskApproval:
    """Return the request to ask a person about the calls that nobody has decided about yet, those of agents behind the run's own."""
    return AskApproval(round=run.state.round.number, calls=tuple(_find_undecided(run)))


def _find_waiting(run: RunContext) -> set[str]:
    """Return the ids of the open calls that wait for a person, themselves or because of what their agent wants to call."""
    return {call.call_id for call, _ in run.state.waiting_calls} | set(run.state.waiting_agents)


def _find_undecided(run: RunContext) -> list[AskedCall]:
    own = (to_shown(run, made) for _, made in run.state.waiting_calls)
    asked = [
        AskedCall(call_id=call.call_id, name=call.name, arguments=call.arguments) for call in own
    ]
    asked += (call for agent in run.state.waiting_agents.values() for call in agent.asked)
    return [call for call in asked if call.key not in run.state.decisions]


def _go_on_if_idle(run: RunContext) -> Iterator[Event]:
    # Calls that wait for a person are open as well.
    if len(run.state.round.open_calls) == len(_find_waiting(run)):
        yield from _go_on(run)


def _act(run: RunContext) -> Iterator[Event]:
    run.move("decided")
    state = run.state
    waiting, agents, decisions = state.waiting_calls, state.waiting_agents, state.decisions
    state.waiting_calls, state.waiting_agents, state.decisions = (), {}, {}
    approved: list[MadeCall] = []
    for call, made in waiting:
        decision = decisions[call.call_id]
        if decision.is_approved:
            grant(run, made)
            approved.append((call, made))
            continue
        give_back_tool_call(run)  # It was counted, and is not made.
        text = decision.refusal or denied_call_text(decision.reason)
        yield from refuse_call(run, call, text)
    resumed = {call_id: _resume(agent, decisions) for call_id, agent in agents.items()}
    yield from _run_tools(run, approved, resumed)


def _resume(agent: AgentWaiting, decisions: Mapping[str, Decision]) -> AgentDecisions:
    """Return what an agent goes on with: the decisions about its calls, by the keys that they have there."""
    pairs = zip(agent.calls, agent.asked, strict=True)
    found = tuple(replace(decisions[asked.key], call_id=call.key) for call, asked in pairs)
    return AgentDecisions(snapshot=agent.snapshot, decisions=found, calls=agent.calls)


def _run_tools(
    run: RunContext, calls: Iterable[MadeCall], resumed: Mapping[str, AgentDecisions] | None = None
) -> Iterator[Event]:
    """Ask for calls that begin, and for those of agents that go on."""
    tool_calls: list[ToolCall] = []
    for call, made in calls:
        yield ToolCallStarted(call=call, made=None if made == call else made)
        tool_calls.append(made)
    going_on = resumed or {}
    tool_calls += (run.state.round.find_made(call_id) for call_id in going_on)
    if tool_calls:
        yield RunTools(calls=tuple(tool_calls), resumed=going_on)
    else:
        yield from _go_on(run)


def _go_on(run: RunContext) -> Iterator[Event]:
    if run.state.waiting_calls or run.state.waiting_agents:
        run.move("ask")
        yield ask_approval(run)
        return
    yield from show_unfinished(run)
    if run.settings.maximum_iterations == 1:
        run.move("results_shown")
        # Those beyond the maximum were all refused with the same sentence; one of them is shown.
        yield from show_results(run, run.state.round.ordered_results[: MAX_CALLS + 1])
        yield from finish(run, "maximum_iterations")
    elif stop := find_stop(run):
        yield from fail(run, stop)
    else:
        yield from _end_round(run)


def _end_round(run: RunContext) -> Iterator[Event]:
    run.move("results")
    add_round(run)
    yield end_round(run)
    # After the results: APIs want those directly after the calls.
    if near := take_near(run):
        add_user_text(run, build_budget_notice(near))
    relax_tool_choice(run)
    yield from begin_round(run)
