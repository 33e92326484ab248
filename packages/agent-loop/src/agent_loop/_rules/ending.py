"""How a run ends: with an answer, with tools that are refused, or because it has failed. The last event is always `Finished`."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from agent_loop._values.events import CheckAnswer, ClosingReason, Event, Finished, StopReason
from agent_loop._values.inputs import AnswerChecked, Failure, ToolResult
from agent_loop._values.usage import AgentUse
from stream_text import strip_think

from .calls import (
    break_answer,
    end_answer,
    end_call,
    end_round,
    end_summary,
    refuse_call,
    release_files,
    release_text,
)
from .display import has_outcome, open_display, show, show_outcome, tell
from .requests import add_round, iter_unread
from .sentences import (
    CUT_BEFORE_ANSWER,
    MAX_CALLS,
    NO_ANSWER,
    build_budget_above,
    build_refusal,
    build_unknown,
)
from .spending import (
    find_unknown_below,
    find_used_up,
    find_used_up_above,
    find_uses,
    give_back_tool_call,
)
from .state import RunContext, present


_OF_THE_MODEL: Final = ("error", "time_limit")  # while a call is open


def end_with_answer(run: RunContext) -> Iterator[Event]:
    """End with the answer of the current round, or with the sentence that there is none."""
    current = run.state.round
    if not run.state.display.has_words:  # Nothing was shown, so the commentary is the answer.
        yield from show(run, "".join(current.commentary))
    yield from end_answer(run)
    ending = current.ending
    if not current.answer.has_answer:
        yield from tell(run, CUT_BEFORE_ANSWER if ending == "output_limit" else NO_ANSWER)
    yield from finish(run, ending)


def ask_check(run: RunContext, answer: str, value: Any = None) -> Iterator[Event]:
    """Ask the driver to check the last answer, of which nothing has been shown."""
    run.move("check")
    asked = CheckAnswer(round=run.state.round.number, answer=answer, value=value)
    run.state.to_check = asked
    yield asked


def take_check(run: RunContext, checked: AnswerChecked) -> Iterator[Event]:
    """End with the answer that the driver has checked, with another in its place, or without one."""
    current, asked = run.state.round, present(run.state.to_check)
    run.move("checked")
    if checked.refusal is not None:
        # In the conversation, too: the next turn must not begin with what nobody may read.
        current.answer.replace(checked.refusal)
        error = checked.refusal
        yield from finish(run, "guardrail", error=error, is_answered=False)
        return
    # With a schema only its JSON is shown, else all that was held back, thoughts included.
    held = release_text(run)
    text, value = held if run.settings.answer_schema is None else asked.answer, asked.value
    if checked.answer is not None:
        text, value = checked.answer, checked.value
        current.answer.replace(text)
    yield from release_files(run)
    yield from (show if run.settings.answer_schema is None else tell)(run, text)
    yield from finish(run, current.ending, value=value)


def end_with_refusals(run: RunContext, reason: ClosingReason) -> Iterator[Event]:
    """End a closing call in which the model has asked for tools all the same."""
    yield from end_answer(run)
    open_display(run)
    maximum = run.settings.maximum_iterations
    for number, call in enumerate(run.state.round.answer.calls):
        name = run.settings.redact(call.name)
        text = build_refusal(name, reason=reason, maximum_iterations=maximum)
        yield from refuse_call(run, call, text)
        # All are refused, since every call has to get a result, but nobody reads more sentences.
        if number < MAX_CALLS:
            yield from tell(run, text)
            open_display(run)
    yield from finish(run, reason)


def find_stop(run: RunContext) -> Failure | None:
    """Return the failure that ends a run before its next model call because of the runs above it or its agents; None if it may continue."""
    if budget := find_used_up_above(run):
        return Failure(message=build_budget_above(budget), reason="budget")
    unknown = find_unknown_below(run)
    return Failure(message=build_unknown(unknown)) if unknown else None


def fail(run: RunContext, failure: Failure) -> Iterator[Event]:
    """End because of a failure, with the results that it brings for open tool calls."""
    for result in failure.results:
        if result.call_id in run.state.round.open_calls:
            yield end_call(run, result)
    is_answered = failure.reason != "error"
    yield from end_failed(run, failure.message, failure.reason, is_answered=is_answered)


def end_failed(
    run: RunContext, error: str, reason: StopReason, *, is_answered: bool
) -> Iterator[Event]:
    """End without an answer.

    Args:
        run: The run.
        error: The sentence of the failure.
        reason: Why the run stops.
        is_answered: Whether the sentence and what is known so far are shown in place of an answer. They never are if
            the answer has to fulfil a schema, or if a model call has failed and nothing is known.
    """
    state = run.state
    # Read before the move, which leaves only `finished`.
    is_call_open = state.status in {"model", "summary"}
    if state.status == "check":
        state.round.answer.replace(error)  # Nobody has checked it.
    if state.status == "summary":
        end_summary(run)
    run.move("failure")
    yield from give_up_waiting(run, error)
    if is_call_open and reason in _OF_THE_MODEL:
        is_answered = is_answered and has_outcome(run) and not run.settings.fail_on_model_failure
    if is_call_open:
        yield from break_answer(run, error, shows_rest=state.display.has_shown)
    for call in tuple(state.round.open_calls.values()):
        result = ToolResult(call_id=call.call_id, error=error, is_unfinished=is_answered)
        yield end_call(run, result)
    if is_answered := is_answered and not run.settings.holds_text:
        yield from show_outcome(run, error, is_late=reason == "time_limit")
    yield from finish(run, reason, error=error, is_answered=is_answered)


def give_up_waiting(run: RunContext, error: str) -> Iterator[Event]:
    """End the calls that wait for a person's decision, which comes too late now."""
    # Ended before the other open calls: these were counted and are given back.
    state = run.state
    waiting, state.waiting_calls, state.decisions = state.waiting_calls, (), {}
    # The calls of agents that wait are open, and end with the others.
    state.waiting_agents = {}
    for call, _ in waiting:
        give_back_tool_call(run)
        yield from refuse_call(run, call, error)


def finish(
    run: RunContext,
    reason: StopReason,
    *,
    error: str | None = None,
    is_answered: bool = True,
    value: Any = None,
) -> Iterator[Event]:
    """End the current round, if one has begun, and the run. `Finished` explains the arguments."""
    state = run.state
    if state.round.number:
        add_round(run)
        yield end_round(run, error)
    run.kept.clear()  # Who keeps the run's events would keep it, too.
    yield Finished(
        reason=reason,
        rounds=state.round.number,
        usage=state.spending.usage,
        answer=state.round.answer.said,
        messages=state.messages,
        error=error,
        is_answered=is_answered,
        budget=find_used_up(run),
        budgets=find_uses(run),
        models=tuple(state.models),
        value=value,
        final_text=_build_final_text(run) if is_answered else "",
        agents=find_agent_uses(run),
        cause=state.cause,
        unread=tuple(iter_unread(run)),
    )


def _build_final_text(run: RunContext) -> str:
    current, answer = run.state.round, run.state.round.answer
    if run.settings.answer_schema is not None:
        return "".join(current.told)  # The JSON, and nothing else has been told.
    # What the model says around tool calls is no answer, but with refused ones it is all that there will be.
    # A run that was resumed has the calls alone.
    has_calls = answer.has_tool_calls or bool(answer.calls)
    said = answer.finally_said if current.closing is not None or not has_calls else ""
    return "\n".join(filter(None, map(str.strip, (said, *map(strip_think, current.told)))))


def find_agent_uses(run: RunContext) -> tuple[AgentUse, ...]:
    """Return the usage of each agent so far, in the order of their calls, each before the agents that it has called itself."""
    return (*run.state.agent_uses, *_iter_agent_uses(run, ()))


def _iter_agent_uses(run: RunContext, path: tuple[str, ...]) -> Iterator[AgentUse]:
    for name, call_id, agent in tuple(run.called):  # Another thread may add one meanwhile.
        spent, inner = agent.state.spending, (*path, call_id)
        yield AgentUse(
            path=inner,
            agent=name,
            model_calls=spent.model_calls,
            models=tuple(agent.state.models),
            usage=spent.usage,
        )
        # Of those that it called before it was resumed, only the usage is left.
        for use in agent.state.agent_uses:
            yield replace(use, path=(*inner, *use.path))
        yield from _iter_agent_uses(agent, inner)
