"""Dispatch of a run's inputs: finds the rule for each input, and returns the events that follow."""

from collections.abc import Iterable, Iterator

from agent_loop._values.events import Event
from agent_loop._values.inputs import (
    AgentWaiting,
    AnswerChecked,
    CompactedWindow,
    Decision,
    Failure,
    ModelDelta,
    ModelDone,
    ModelFailure,
    Steered,
    TimePassed,
    TimeShort,
    ToolResult,
)
from agent_loop._values.models import FILTERED
from agent_loop._values.reading import read_input
from agent_tooling import AnswerSchema

from .calls import end_answer, end_round, refuse_call, take_delta
from .compaction import OF_SUMMARY, take_summary
from .display import tell
from .ending import (
    ask_check,
    end_failed,
    end_with_answer,
    end_with_refusals,
    fail,
    find_stop,
    finish,
    take_check,
)
from .requests import add_round, add_user_text, has_to_answer, take_steered
from .rounds import begin_again, begin_round, is_passed_on
from .sentences import (
    TOOLS_OVER,
    build_cut_answer,
    build_invalid_answer,
    build_model_failure,
    build_repair_request,
    build_unknown,
)
from .spending import find_unknown, find_used_up_above, pass_seconds
from .state import RunContext
from .tool_calls import begin_tools, take_agent_waiting, take_decision, take_result
from .transitions import next_state


def start_run(run: RunContext) -> tuple[Event, ...]:
    """Begin the first round, unless a run above has no budget left for it."""
    # In any other state `move` raises, because the run has started already.
    if run.state.status == "ready" and (stop := find_stop(run)):
        return tuple(fail(run, stop))
    run.move("start")
    return tuple(begin_round(run))


def take_input(run: RunContext, received: object) -> tuple[Event, ...]:  # noqa: C901 - a case for each input
    """Take one input and return what follows from it, in order."""
    if run.state.status == "summary" and isinstance(received, OF_SUMMARY):
        return tuple(take_summary(run, received))
    events: Iterable[Event]
    match received:
        case ModelDelta():
            run.move("delta")
            return take_delta(run, received)
        case ModelDone():
            events = _end_model_call(run)
        case ToolResult():
            events = take_result(run, received)
        case AgentWaiting():
            events = take_agent_waiting(run, received)
        case Decision():
            events = take_decision(run, received)
        case AnswerChecked():
            events = take_check(run, received)
        case ModelFailure():
            events = _take_model_failure(run, received)
        # Always refused by its rule: if a summary were open, the first lines would have taken it.
        case CompactedWindow():
            events = take_summary(run, received)
        case Steered() | TimeShort() | TimePassed():
            events = _take_news(run, received)
        case Failure():
            events = fail(run, received)
        case _:
            return take_input(run, read_input(received))
    # Rules are generators; here they run to their end, so that no driver can stop one half way.
    return tuple(events)


def _end_model_call(run: RunContext) -> Iterator[Event]:
    next_state(run.state.status, "answer")  # Allowed only while a model call is open.
    answer, schema = run.state.round.answer, run.settings.answer_schema
    # In this order: an answer that a filter has removed entirely, or whose only calls are broken,
    # is no answer, so it is not held against the schema.
    if is_passed_on(run):
        return _take_model_failure(run, FILTERED)
    if fault := answer.fault:
        error = build_model_failure(run.state.round.number, fault)
        return end_failed(run, error, "error", is_answered=True)
    if not answer.has_tool_calls and _may_hear_more(run):
        return _go_on(run)
    if schema is not None and (has_to_answer(run) or not answer.has_tool_calls):
        return _end_structured_answer(run, schema)
    is_last = run.state.round.closing is not None or not answer.has_tool_calls
    if is_last and run.settings.checks_answer and answer.has_answer:
        return _end_checked_answer(run)
    return _take_tool_calls(run) if answer.has_tool_calls else _end_with_answer(run)


def _end_with_answer(run: RunContext) -> Iterator[Event]:
    run.move("answer")
    yield from end_with_answer(run)


def _may_hear_more(run: RunContext) -> bool:
    """Return whether somebody has said something since the open round began, and there may be a round that reads it."""
    state, current = run.state, run.state.round
    is_last = current.closing is not None or current.number >= run.settings.maximum_iterations
    return (
        bool(state.steered)
        and not is_last
        and find_used_up_above(run) is None
        and find_unknown(run, current.answer.usage) is None
    )


def _go_on(run: RunContext) -> Iterator[Event]:
    """Let what the model has said be no answer yet, since it has not read all: nothing of it is checked, and what was held back is not shown."""
    run.move("go_on")
    run.state.is_repair = False
    yield from end_answer(run)
    # APIs refuse a message that says nothing.
    if run.state.round.answer.has_answer:
        add_round(run)
    yield end_round(run)
    yield from begin_round(run)


def _end_checked_answer(run: RunContext) -> Iterator[Event]:
    yield from end_answer(run)
    for call in run.state.round.answer.calls:
        yield from refuse_call(run, call, TOOLS_OVER)
    yield from ask_check(run, run.state.round.answer.finally_said)


def _end_structured_answer(run: RunContext, schema: AnswerSchema) -> Iterator[Event]:
    """End the round of an answer by a schema: finish the run if the answer fulfils it, else ask once more or fail."""
    state, current = run.state, run.state.round
    yield from end_answer(run)
    for call in current.answer.calls:
        yield from refuse_call(run, call, TOOLS_OVER)
    checked = schema.check(current.answer.finally_said)
    if checked.problem is None and run.settings.checks_answer:
        yield from ask_check(run, checked.text, checked.value)
        return
    if checked.problem is None:
        run.move("answer")
        yield from tell(run, checked.text)
        yield from finish(run, current.ending, value=checked.value)
        return
    problem = run.settings.redact(checked.problem)
    if current.ending == "output_limit":
        # Under the same limit it would be cut again.
        run.move("refusal")
        yield from finish(run, "output_limit", error=build_cut_answer(problem), is_answered=False)
        return
    is_last = current.is_beyond_budget or current.number >= run.settings.maximum_iterations
    if state.is_repair or is_last or find_used_up_above(run):
        run.move("refusal")
        error = build_invalid_answer(problem, is_repaired=state.is_repair)
        yield from finish(run, "invalid_answer", error=error, is_answered=False)
    elif unknown := find_unknown(run, current.answer.usage):
        run.move("refusal")  # No further call, because its usage would be unknown, too.
        yield from finish(run, "error", error=build_unknown(unknown), is_answered=False)
    else:
        run.move("repair")
        state.is_repair = True
        add_round(run)
        untold = schema.schema if run.settings.has_answer_format else None
        add_user_text(run, build_repair_request(problem, untold=untold))
        yield end_round(run)
        yield from begin_round(run)


def _take_tool_calls(run: RunContext) -> Iterator[Event]:
    current = run.state.round
    if current.closing is not None:
        run.move("refusal")
        return end_with_refusals(run, current.closing)
    if unknown := find_unknown(run, current.answer.usage):
        return fail(run, Failure(message=build_unknown(unknown)))
    run.move("tool_calls")
    return begin_tools(run)


def _take_model_failure(run: RunContext, failure: ModelFailure) -> Iterator[Event]:
    next_state(run.state.status, "retry")  # Allowed only while a model call is open.
    error = build_model_failure(run.state.round.number, failure.message)
    again = begin_again(run, failure, error)
    if again is None:
        run.state.cause = failure.cause
        return end_failed(run, error, "error", is_answered=failure.is_transient)
    # `again` is a generator that has not begun: the round that failed is still the current one.
    run.move("retry")
    return again


def _take_news(run: RunContext, news: Steered | TimeShort | TimePassed) -> tuple[Event, ...]:
    match news:
        case Steered():
            take_steered(run, news)
        case TimePassed():
            run.move("time_passed")
            pass_seconds(run, news.seconds)
        case _:
            run.move("time_short")
            run.state.is_time_short = True
    return ()
