"""The tool calls of a round: which ones run, which ones a person is asked about, and what follows their results.

Calls that need no approval run first; a person is asked when all of them have answered, so that nothing is lost or run twice, however long the person takes.
"""

from collections.abc import Iterable, Iterator

from agent_loop._values.errors import LocalProtocolError
from agent_loop._values.events import AskApproval, Event, RunTools, ToolCallStarted
from agent_loop._values.inputs import Decision, ToolResult
from agent_loop._values.messages import ToolCall
from agent_tooling import denied_call_text

from .call_filter import filter_calls, grant, to_shown
from .calls import end_answer, end_call, end_round, refuse_call, release_text
from .display import show, show_results, show_status, show_unfinished
from .ending import fail, find_stop, finish
from .requests import add_round, add_user_text, relax_tool_choice
from .rounds import begin_round
from .sentences import MAX_CALLS, build_budget_notice
from .spending import give_back_tool_call, take_near
from .state import MadeCall, RunContext
from .transitions import next_state


def begin_tools(run: RunContext) -> Iterator[Event]:
    """Decide about the calls of the current round, and ask the driver for those that are made."""
    current, shows_thoughts = run.state.round, run.settings.emit_intermediate_thoughts
    yield from end_answer(run)
    if run.settings.holds_text and shows_thoughts:
        yield from show(run, release_text(run))
    calls = current.answer.calls
    filtered = filter_calls(run, calls)
    made = (*filtered.made, *filtered.waiting)
    current.made_names = {call.call_id: tool_call.name for call, tool_call in made}
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
    """Take the result of a call that was asked for, and go on once all have answered.

    Raises:
        LocalProtocolError: If no running call has its id.
    """
    state = run.state
    next_state(state.status, "tool_result")
    waiting = {call.call_id for call, _ in state.waiting_calls}
    if result.call_id in waiting or result.call_id not in state.round.open_calls:
        problem = f"no open call has the id {result.call_id!r}"
        raise LocalProtocolError(problem, state=state.status, received="tool_result")
    yield end_call(run, result)
    # Calls that wait for a person are open as well.
    if len(state.round.open_calls) == len(waiting):
        yield from _go_on(run)


def take_decision(run: RunContext, decision: Decision) -> Iterator[Event]:
    """Take a person's decision, and go on once all calls are decided.

    Raises:
        LocalProtocolError: If no waiting call has its id.
    """
    state = run.state
    next_state(state.status, "decision")
    if all(call.call_id != decision.call_id for call in _find_undecided(run)):
        problem = f"no call that waits for a decision has the id {decision.call_id!r}"
        raise LocalProtocolError(problem, state="approval", received="decision")
    run.move("decision")
    state.decisions = {**state.decisions, decision.call_id: decision}
    if not _find_undecided(run):
        yield from _act_on_decisions(run)


def ask_approval(run: RunContext) -> AskApproval:
    """Return the request to ask a person about the calls that nobody has decided about yet."""
    calls = tuple(to_shown(run, call) for call in _find_undecided(run))
    return AskApproval(round=run.state.round.number, calls=calls)


def _find_undecided(run: RunContext) -> list[ToolCall]:
    decisions = run.state.decisions
    return [made for call, made in run.state.waiting_calls if call.call_id not in decisions]


def _act_on_decisions(run: RunContext) -> Iterator[Event]:
    run.move("decided")
    waiting, decisions = run.state.waiting_calls, run.state.decisions
    run.state.waiting_calls, run.state.decisions = (), {}
    approved: list[MadeCall] = []
    for call, made in waiting:
        decision = decisions[call.call_id]
        if decision.is_approved:
            grant(run, made)
            approved.append((call, made))
            continue
        give_back_tool_call(run)  # It was counted when it was filtered, and is not made.
        text = decision.refusal or denied_call_text(decision.reason)
        yield from refuse_call(run, call, text)
    yield from _run_tools(run, approved)


def _run_tools(run: RunContext, calls: Iterable[MadeCall]) -> Iterator[Event]:
    tool_calls: list[ToolCall] = []
    for call, made in calls:
        yield ToolCallStarted(call=call, made=None if made == call else made)
        tool_calls.append(made)
    if tool_calls:
        yield RunTools(calls=tuple(tool_calls))
    else:
        yield from _go_on(run)


def _go_on(run: RunContext) -> Iterator[Event]:
    if run.state.waiting_calls:
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
