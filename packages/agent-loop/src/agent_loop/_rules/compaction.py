"""Compaction of a run that is about to fill its model's window: the request for a summary, and what follows from its answer."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from agent_loop._values.events import CallModel, CompactionKind, Event, RunCompacted
from agent_loop._values.inputs import CompactedWindow, ModelDelta, ModelDone, ModelFailure
from agent_loop._values.messages import Message
from agent_loop._values.models import Window

from .calls import end_summary
from .cuts import SUMMARY_REQUEST, Cut, build_gap, build_summary, count_reasoning, find_cut, rebuild
from .ending import fail, find_stop
from .requests import (
    bound_requests,
    build_request,
    find_hosted,
    get_window_use,
    open_round,
    take_over,
)
from .round_messages import ModelAnswer
from .spending import find_used_up_above, wait
from .state import Compaction, RunContext, present
from .window_use import estimate_message


_SUMMARY_SHARE = 0.1  # of the window; our choice

type OfSummary = ModelDelta | ModelDone | ModelFailure | CompactedWindow
"""An input that belongs to a call for a summary."""

OF_SUMMARY = ModelDelta | ModelDone | ModelFailure | CompactedWindow


def ask_in_round(run: RunContext, wait_seconds: float = 0.0) -> Iterator[Event]:
    """Call the model in a round that has begun, or first ask for a summary if the request would fill the window and something can be left out."""
    cut = find_next_cut(run) if _is_full(run) else None
    if cut is not None:
        run.state.compaction = Compaction(cut=cut)
        if asked := _ask(run, wait_seconds):
            run.move("compact")
            yield asked
            return
        yield _drop(run, "there was no room, time or budget for a summary")
        run.state.compaction = None
    yield build_request(run, wait_seconds)


def take_summary(run: RunContext, received: OfSummary) -> Iterator[Event]:
    """Take an input of the call for a summary, and continue with the round when it ends. Nothing of it is shown."""
    # If the summary is asked for once more, `_retry_or_drop` moves back by `compact`.
    run.move("delta" if isinstance(received, ModelDelta) else "compacted")
    compaction = _open(run)
    match received:
        case ModelDelta(text=text, phase=phase):
            compaction.answer.take_text(text, is_commentary=phase == "commentary")
            compaction.answer.take_rest(received)
            return
        case ModelFailure():
            event = _retry_or_drop(run, received)
            yield event
            if isinstance(event, CallModel):
                return
        case CompactedWindow(messages=messages, usage=usage):
            end_summary(run, usage)
            yield _compact(run, "api", window=messages)
        case _:
            yield _end(run)
    run.state.compaction = None
    if stop := find_stop(run):  # The summary has used what was left.
        yield from fail(run, stop)
        return
    # Meanwhile time has passed and budgets were used.
    open_round(run, run.state.round.number)
    yield build_request(run)


def find_next_cut(run: RunContext) -> Cut | None:
    """Return where the messages would be cut; None if none could be left out."""
    state = run.state
    if state.window is None:
        return None
    use = get_window_use(run)
    sizes = use.measure(state.messages)
    # A model may report more tokens than are estimated, for instance for reasoning; the last rounds
    # get their part of those.
    share = min(sum(sizes) / use.estimate(state.messages), 1.0)
    room = int(state.window.tokens * state.window.keep * share)
    return find_cut(state.messages, sizes, state.marks, room)


def shrink_window(run: RunContext) -> None:
    """Lower the window below the request that was just refused for its length."""
    window = _window(run)
    # Less than what was refused, so that the run counts as full whatever `compact_at` says and the
    # next request is a shorter one; 1,000 is the least that a window may have.
    tokens = max(int(_count_tokens(run) * 0.9), 1_000)
    run.state.window = replace(window, tokens=min(window.tokens, tokens))


def _is_full(run: RunContext) -> bool:
    """Return whether the next request would fill so much of the window that the run has to be compacted first."""
    window = run.state.window
    return window is not None and _count_tokens(run) >= window.tokens * window.compact_at


def _ask(run: RunContext, wait_seconds: float = 0.0) -> CallModel | None:
    """Return the request for a summary of what will be left out; None if there is no time or budget for one, or the model could not read it.

    It holds the whole conversation if that fits, and otherwise leaves out the last rounds, which are kept anyway.
    """
    state, offered, compaction = run.state, run.settings.offered, _open(run)
    if state.round.closing in {"time_limit", "budget"} or find_used_up_above(run):
        return None
    # A second attempt must not go on from half a summary.
    compaction.answer = ModelAnswer()
    asked = Message(role="user", content=SUMMARY_REQUEST)
    messages, tokens = state.messages, _count_tokens(run)
    reserve = estimate_message(asked) + _max_summary_tokens(run)
    if tokens + reserve > _window(run).tokens:
        tokens -= sum(get_window_use(run).measure(messages)[compaction.cut.index :])
        messages = messages[: compaction.cut.index]
    if tokens + reserve > _window(run).tokens:
        return None
    state.is_rewritten = True  # The next request begins neither with this one nor the last.
    return CallModel(
        round=state.round.number,
        messages=(*messages, asked),
        tools=offered if state.has_tool_choice else (),
        tool_choice="none" if offered and state.has_tool_choice else None,
        wait_seconds=wait_seconds,
        allowed_tools=run.settings.allowed_names,
        model=state.model,
        is_compaction=True,
        hosted_tools=find_hosted(run),
        is_rewritten=len(messages) < len(state.messages),
        kept=run.kept,
    )


def _retry_or_drop(run: RunContext, failure: ModelFailure) -> CallModel | RunCompacted:
    """Ask for the summary once more, ask another model for it, or do without it."""
    end_summary(run)  # What the failed call has used counts, whatever follows.
    compaction, fallback, asked = _open(run), run.state.fallback, None
    if fallback is not None and failure.may_pass_elsewhere and failure.has_time:
        take_over(run, fallback)
        asked = _ask(run)
    elif failure.is_transient and failure.has_time and not compaction.is_retry:
        compaction.is_retry = True
        wait(run, failure.wait_seconds)
        asked = _ask(run, failure.wait_seconds)
    if asked is None:
        return _drop(run, failure.message)
    run.move("compact")
    return asked


def _end(run: RunContext) -> RunCompacted:
    """Compact the run with the model's summary, or without it if it cannot be used."""
    answer = _open(run).answer
    answer.complete()
    end_summary(run)
    summary = answer.finally_said.strip()
    if answer.finish_reason == "length":
        return _drop(run, "the summary was cut at the model's output limit")
    if not summary:
        return _drop(run, "the model wrote no summary")
    message = build_summary(summary)
    if estimate_message(message) > _max_summary_tokens(run):
        return _drop(run, "the summary was too long")
    return _compact(run, "summary", window=(message,))


def _drop(run: RunContext, error: str) -> RunCompacted:
    """Compact the run by dropping the oldest messages."""
    messages, summary = run.state.messages, run.state.marks.summary
    known = None if summary is None else messages[summary]
    gap = build_gap(len(_open(run).cut.replaced), known)
    return _compact(run, "dropped", window=(gap,), error=error)


def _compact(
    run: RunContext, kind: CompactionKind, *, window: Iterable[Any], error: str | None = None
) -> RunCompacted:
    """Compact the run, and return the event that reports it.

    Args:
        run: The run.
        kind: How it is compacted.
        window: The messages that replace those that are left out.
        error: Why there is no summary, if there is none.
    """
    state, compaction = run.state, _open(run)
    earlier, before, cut = state.messages, _count_tokens(run), compaction.cut
    state.messages, state.marks = rebuild(earlier, cut, state.marks, window, has_task=kind == "api")
    # Both have counted the messages, which are different ones now.
    get_window_use(run).forget()
    bound_requests(run)
    state.is_rewritten = True
    return RunCompacted(
        kind=kind,
        replaced=len(cut.replaced),
        reasoning_dropped=count_reasoning(earlier[index] for index in cut.replaced),
        tokens_before=before,
        tokens_after=_count_tokens(run),
        usage=compaction.usage,
        error=error,
        messages=state.messages,
    )


def _count_tokens(run: RunContext) -> int:
    """Return an estimate of the tokens of the next request."""
    return get_window_use(run).estimate(run.state.messages)


def _max_summary_tokens(run: RunContext) -> int:
    return int(_window(run).tokens * _SUMMARY_SHARE)


def _open(run: RunContext) -> Compaction:
    return present(run.state.compaction)


def _window(run: RunContext) -> Window:
    return present(run.state.window)
