"""The output of a run: its answer, with a line break between the texts of different rounds, or what is shown instead of one."""

from collections.abc import Iterable, Iterator

from agent_loop._values.events import ShowText
from agent_loop._values.inputs import ToolResult
from stream_text import ThinkFilter, break_tags, strip_think

from .sentences import NO_ANSWER, build_known, build_status, build_unfinished, shorten_result
from .state import RunContext


# Our choice; each is shown as one short line.
_RESULTS_SHOWN = 20
# Far more than is shown, so that nothing secret is cut in two before it is looked for.
_MAX_KEPT_CHARACTERS = 4_000


def should_emit_text(
    *,
    has_tool_calls: bool,
    iteration: int,
    maximum_iterations: int,
    emit_intermediate_thoughts: bool,
) -> bool:
    """Return whether a round's text is shown, given whether the round has asked for tools so far.

    Text without tool calls always is. Text with tool calls is shown with `emit_intermediate_thoughts`, otherwise only
    in the last round (`iteration` counts from 1). Commentary counts as text with tool calls.
    """
    if not has_tool_calls or emit_intermediate_thoughts:
        return True
    return iteration >= maximum_iterations


def has_outcome(run: RunContext) -> bool:
    """Return whether the reader has seen something, or a tool has answered."""
    return run.state.display.has_shown or run.state.display.known_count > 0


def open_display(run: RunContext) -> None:
    """Begin the output of another round."""
    display = run.state.display
    display.has_words = False
    # The line break is owed and not shown: a round that shows nothing leaves no blank line.
    display.owes_break = not display.ends_line


def show(run: RunContext, text: str) -> tuple[ShowText, ...]:
    """Return the event that shows `text`; none for an empty one."""
    if not text:
        return ()
    display = run.state.display
    if display.owes_break:
        text = f"\n{text}"
    display.owes_break = False
    display.ends_line = text.endswith("\n")
    display.has_words = display.has_words or not text.isspace()
    display.has_shown = display.has_shown or display.has_words
    return (ShowText(text=text),)


def tell(run: RunContext, text: str) -> tuple[ShowText, ...]:
    """Show a text that does not stream from the model, and is part of what the run ends with if its round is the last."""
    run.state.round.told.append(text)
    return show(run, text)


def show_status(run: RunContext, names: Iterable[str]) -> tuple[ShowText, ...]:
    """Say which tools are about to be called."""
    return show(run, build_status(list(map(run.settings.redact, names))))


def show_results(run: RunContext, results: Iterable[ToolResult]) -> Iterator[ShowText]:
    """Show the tool results if they are the only answer."""
    for result in results:
        open_display(run)
        yield from tell(run, _balance(run, run.settings.redact(result.text)))
    if not run.state.display.has_words:
        yield from tell(run, NO_ANSWER)


def note_result(run: RunContext, name: str, result: ToolResult) -> None:
    """Remember a tool's result in case the run ends without an answer."""
    display = run.state.display
    if result.is_unfinished:
        display.unfinished.append(name)
    elif result.error is None:
        display.known_count += 1
        display.known.append((name, result.text[:_MAX_KEPT_CHARACTERS]))
        del display.known[:-_RESULTS_SHOWN]


def show_unfinished(run: RunContext, *, is_late: bool = True) -> Iterator[ShowText]:
    """Name the tools that were given up while they still ran."""
    names, run.state.display.unfinished = run.state.display.unfinished, []
    redacted = list(map(run.settings.redact, names))
    yield from _show_apart(run, build_unfinished(redacted, is_late=is_late))


def show_outcome(run: RunContext, error: str, *, is_late: bool) -> Iterator[ShowText]:
    """Show why there is no answer, and what the tools have answered so far.

    Args:
        run: The run.
        error: The sentence that says why.
        is_late: Whether tools that still ran were late; otherwise they were stopped.
    """
    display, redact = run.state.display, run.settings.redact
    known = [
        (redact(name), break_tags(shorten_result(strip_think(redact(text)))))
        for name, text in display.known
    ]
    yield from _show_apart(run, _balance(run, error))
    yield from show_unfinished(run, is_late=is_late)
    yield from _show_apart(run, build_known(known, left_out=display.known_count - len(known)))


def _show_apart(run: RunContext, text: str) -> Iterator[ShowText]:
    """Show a text of the run's own on a separate line, so that it does not look like part of an answer."""
    open_display(run)
    yield from tell(run, text)
    open_display(run)


def _balance(run: RunContext, text: str) -> str:
    """Return a text in which no thought is left open, which would swallow everything after it."""
    shown = ThinkFilter(show=run.settings.emit_intermediate_thoughts)
    return shown.feed(text) + shown.close(goes_on=True)
