"""The course of a round's calls: the model's answer piece by piece, and the ends of model calls and tool calls.

What follows from them is decided elsewhere.
"""

from collections.abc import Iterable, Iterator

from agent_loop._values.events import (
    Event,
    ModelCallEnded,
    RoundEnded,
    ShowFile,
    ShowReasoning,
    ToolCallEnded,
    ToolCallStarted,
)
from agent_loop._values.inputs import ModelDelta, ToolResult
from agent_loop._values.messages import ToolCall
from agent_loop._values.usage import Usage
from stream_text import ThinkPiece

from .display import note_result, should_emit_text, show
from .requests import take_usage
from .spending import add_usage, find_unknown, find_uses
from .state import RunContext, present


def take_delta(run: RunContext, delta: ModelDelta) -> tuple[Event, ...]:
    """Take a piece of the model's answer and return what is shown of it."""
    is_commentary = delta.phase == "commentary"
    answer = run.state.round.answer
    text = answer.take_text(delta.text, is_commentary=is_commentary) if delta.text else ""
    # The calls first: text that comes in one piece with them is hidden where text around calls is.
    answer.take_rest(delta)
    shown: tuple[Event, ...] = ()
    if text:
        shown = _show_answer(run, text, is_commentary=is_commentary)
    if answer.thoughts is not None:
        shown = (*_show_reasoning(answer.thoughts.feed(delta.text)), *shown)
    if not delta.files:
        return shown
    run.state.held_files += delta.files
    return shown if run.settings.checks_answer else (*shown, *release_files(run))


def release_files(run: RunContext) -> Iterator[ShowFile]:
    """Show the files that were held back, and stop holding them."""
    files, run.state.held_files = run.state.held_files, []
    run.state.display.has_shown = run.state.display.has_shown or bool(files)
    return (ShowFile(file=file) for file in files)


def end_answer(run: RunContext) -> Iterator[Event]:
    """End a model call that has succeeded."""
    current = run.state.round
    usage = current.answer.usage
    add_usage(run, usage, current.answer.hosted_calls)
    find_unknown(run, usage)
    take_usage(run, usage)
    rest = current.answer.complete()
    # Every call has to get a result, whatever becomes of it: APIs refuse a call without one.
    current.open_calls = {call.call_id: call for call in current.answer.calls}
    yield from _end_reasoning(run)
    yield from _show_answer(run, rest)
    yield _to_call_ended(run)


def break_answer(run: RunContext, error: str, *, shows_rest: bool) -> Iterator[Event]:
    """End a model call that has failed, and show or drop the part of its answer that was held back."""
    rest = run.state.round.answer.break_off()
    if run.settings.checks_answer:  # Nobody checks a part of an answer.
        run.state.round.answer.replace("")
    yield from _end_reasoning(run)
    if shows_rest:
        yield from _show_answer(run, rest)
    # A call that broke off may have reported its usage, and that was paid for.
    answer = run.state.round.answer
    add_usage(run, answer.usage, answer.hosted_calls)
    yield _to_call_ended(run, error)


def end_summary(run: RunContext, usage: Usage | None = None) -> None:
    """Count the usage of the call for a summary, which has ended."""
    compaction = present(run.state.compaction)
    used = usage.counted() if usage else compaction.answer.usage
    compaction.usage += used
    add_usage(run, used)


def refuse_call(run: RunContext, call: ToolCall, text: str) -> Iterator[Event]:
    """Begin and end a tool call that is not made."""
    yield ToolCallStarted(call=call)
    yield end_call(run, ToolResult(call_id=call.call_id, error=text))


def end_call(run: RunContext, result: ToolResult, *, is_own: bool = False) -> ToolCallEnded:
    """Take the result of an open tool call and return its end."""
    current = run.state.round
    call = current.take_result(result)
    if not is_own:  # The answer of an own function is nothing that a tool has found.
        note_result(run, current.name_of(call), result)
    return ToolCallEnded(call=call, result=result, is_own=is_own)


def end_round(run: RunContext, error: str | None = None) -> RoundEnded:
    """Return the end of the current round."""
    current = run.state.round
    return RoundEnded(
        round=current.number,
        answer=current.answer.said,
        results=current.ordered_results,
        usage=current.answer.usage,
        error=error,
        budgets=find_uses(run),
    )


def release_text(run: RunContext) -> str:
    """Return the text that was held back, and stop holding it."""
    held, run.state.held_text = run.state.held_text, []
    return "".join(held)


def _to_call_ended(run: RunContext, error: str | None = None) -> ModelCallEnded:
    """Return the end of the model call; one that failed has no tool calls."""
    answer = run.state.round.answer
    return ModelCallEnded(
        round=run.state.round.number,
        text="".join(answer.text),
        tool_calls=answer.calls if error is None else (),
        usage=answer.usage,
        error=error,
        opaque_body=answer.opaque_body,
    )


def _show_reasoning(pieces: Iterable[ThinkPiece]) -> Iterator[ShowReasoning]:
    return (ShowReasoning(text=piece.text) for piece in pieces if piece.kind == "thought")


def _end_reasoning(run: RunContext) -> Iterator[ShowReasoning]:
    """Show the part of a thought that was held back."""
    thoughts = run.state.round.answer.thoughts
    return iter(()) if thoughts is None else _show_reasoning(thoughts.close())


def _show_answer(run: RunContext, text: str, *, is_commentary: bool = False) -> tuple[Event, ...]:
    settings, current = run.settings, run.state.round
    # Whether this is the answer is known only after the round, when the schema has been checked.
    if settings.holds_text:
        run.state.held_text.append(text)
    elif should_emit_text(
        has_tool_calls=is_commentary or current.answer.has_tool_calls,
        iteration=current.number,
        maximum_iterations=settings.maximum_iterations,
        emit_intermediate_thoughts=settings.emit_intermediate_thoughts,
    ):
        return show(run, text)
    elif is_commentary:
        current.commentary.append(text)
    return ()
