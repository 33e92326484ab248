"""Requests to the model: the messages so far, the tools and their choice, the schema, and which model is called.

Each request begins with the previous one, unless something no longer fits.
"""

from collections.abc import Iterator
from typing import Any

from agent_loop._values.events import CallModel, ClosingReason, Event, RunSteered
from agent_loop._values.inputs import Steered
from agent_loop._values.messages import Message
from agent_loop._values.models import FallbackModel, without_reasoning
from agent_loop._values.usage import Usage
from stream_text import (
    RequestSize,
    ThinkFilter,
    ThinkReader,
    ToolCallMerger,
    read_member,
    render_omission,
)

from .display import open_display
from .round_messages import Round
from .sentences import build_lacking, build_schema_request
from .spending import count_calls_left, find_used_up, find_used_up_above
from .state import RunContext
from .window_use import WindowUse


def begin_conversation(run: RunContext) -> None:
    """Set the bound of a run's requests, and ask for the answer's schema in words if the model does not take it as a format."""
    bound_requests(run)
    if not run.settings.has_answer_format:
        _ask_for_schema(run)


def open_round(run: RunContext, number: int) -> None:
    """Make a new round the current one, and decide whether it has to be the last."""
    # The later check wins: a reached maximum is always the reason, and time comes before a budget.
    is_beyond_budget = find_used_up(run) is not None
    closing: ClosingReason | None = "budget" if is_beyond_budget else None
    if run.state.is_time_short:
        closing = "time_limit"
    if 0 < run.settings.closing_round <= number:
        closing = "maximum_iterations"
    opened = Round(number=number, closing=closing, is_beyond_budget=is_beyond_budget)
    # Each round's own, and the same again where a run is played again.
    opened.answer.fragments = ToolCallMerger(seed=f"{len(run.state.messages)}.{number}")
    # A new filter a round, so that a tag left open in one does not swallow the next.
    opened.answer.shown = ThinkFilter(show=run.settings.emit_intermediate_thoughts)
    if run.settings.emit_reasoning:
        opened.answer.thoughts = ThinkReader(trim=True, by_line=True)
    run.state.round = opened
    open_display(run)


def has_to_answer(run: RunContext) -> bool:
    """Return whether the model may call no tool in the current round."""
    return run.state.round.closing is not None or run.state.is_repair


def can_repeat_call(run: RunContext) -> bool:
    """Return whether another round could repeat the request of the open model call: rounds and budget are left, and no words were shown."""
    state = run.state
    is_last = state.round.is_beyond_budget or state.round.number >= run.settings.maximum_iterations
    return not (is_last or state.display.has_words or find_used_up_above(run))


def build_request(run: RunContext, wait_seconds: float = 0.0) -> CallModel:
    """Return the request of the current round, within its bound."""
    state, settings = run.state, run.settings
    left_out = _fit(run)
    is_closing = has_to_answer(run)
    # Providers cache prompts by their beginnings, which hold the tools: so a closing call forbids
    # them by its choice. Only a model without tool choice gets none.
    # Source: docs/decisions/0012-closing-call.md.
    tools = settings.offered if state.has_tool_choice or not is_closing else ()
    choice = "none" if is_closing else state.tool_choice
    hosted = find_hosted(run) if state.has_tool_choice or not is_closing else ()
    if state.model is not None:
        state.models.append(state.model)
    # Said by this request alone; the one after it begins with this one again.
    is_rewritten, state.is_rewritten = state.is_rewritten, False
    return CallModel(
        round=state.round.number,
        messages=state.messages,
        tools=tools,
        tool_choice=choice if (tools or hosted) and state.has_tool_choice else None,
        is_closing=is_closing,
        wait_seconds=wait_seconds,
        allowed_tools=_find_allowed(run),
        answer_schema=None if settings.answer_schema is None else settings.answer_schema.schema,
        model=state.model,
        left_out=left_out,
        is_rewritten=is_rewritten,
        hosted_tools=hosted,
        max_hosted_calls=count_calls_left(run),
        kept=run.kept,
    )


def find_hosted(run: RunContext) -> tuple[str, ...] | None:
    """Return the names of the tools of its server that the model of the next request has; None if the run does not know them."""
    names, lacking = run.settings.hosted_tools, find_lacking(run)
    return None if names is None else tuple(name for name in names if name not in lacking)


def find_lacking(run: RunContext) -> tuple[str, ...]:
    """Return the names of the tools that were left out because the fallback model, which has taken over, lacks them."""
    fallback = run.settings.fallback
    if fallback is None or run.state.model != fallback.name:
        return ()
    return fallback.lacking_tools


def _find_allowed(run: RunContext) -> tuple[str, ...] | None:
    allowed, lacking = run.settings.allowed_names, find_lacking(run)
    return allowed if allowed is None else tuple(name for name in allowed if name not in lacking)


def add_messages(run: RunContext, *messages: Message, pinned: frozenset[str] = frozenset()) -> None:
    """Add messages to the end of the next request.

    Args:
        run: The run.
        messages: The messages.
        pinned: The ids of the calls whose results stay when the run is compacted.
    """
    state = run.state
    for index, message in enumerate(messages, len(state.messages)):
        if message.tool_call_id in pinned:
            state.marks.pinned += (index,)
    state.messages += messages


def add_user_text(run: RunContext, text: str) -> None:
    """Add a sentence of the run itself to the model, as a user message."""
    add_messages(run, Message(role="user", content=text))


def add_round(run: RunContext) -> None:
    """Add the answer of the current round and the results of its calls."""
    current = run.state.round
    add_messages(run, *current.to_messages(), pinned=current.pinned_ids)


def take_steered(run: RunContext, steered: Steered) -> None:
    """Keep what somebody says to the run for the next round."""
    run.move("steered")
    state = run.state
    known = {one.number: one for one in state.steered}
    if steered.number > state.heard:
        # By number: where calls are played again, their records may come in another order.
        known.setdefault(steered.number, steered)
        state.steered = tuple(known[number] for number in sorted(known))


def iter_unread(run: RunContext) -> Iterator[Message]:
    """Yield what was said to the run that no request has."""
    return (message for one in run.state.steered for message in one.messages)


def hear_steered(run: RunContext) -> Iterator[Event]:
    """Put what was said to the run into the request of the round that begins."""
    state, heard = run.state, tuple(iter_unread(run))
    state.heard = max([state.heard, *(one.number for one in state.steered)])
    state.steered = ()
    if heard:
        add_messages(run, *heard)
        yield RunSteered(round=state.round.number, messages=heard)


def relax_tool_choice(run: RunContext) -> None:
    """Let the model choose once tools have run: one that is forced to call them could never answer."""
    if run.state.tool_choice not in {None, "auto", "none"}:
        run.state.tool_choice = "auto"


def take_usage(run: RunContext, usage: Usage) -> None:
    """Note the usage that the model reports for its last request; to be called before its answer is added."""
    if run.state.window is not None:
        # The count is that of the request's messages, so the answer must not be among them yet.
        get_window_use(run).take(usage, len(run.state.messages))


def take_over(run: RunContext, fallback: FallbackModel) -> None:
    """Ask the fallback model from now on, without the reasoning of the first."""
    state = run.state
    # There is only one; a second failure ends the run.
    state.fallback = None
    state.model = fallback.name
    state.has_tool_choice = fallback.has_tool_choice
    state.messages = tuple(map(without_reasoning, state.messages))
    state.window = fallback.window or state.window
    bound_requests(run)  # The messages are smaller.
    if state.window_use is not None:
        state.window_use.forget()
    if fallback.lacking_tools:
        add_user_text(run, build_lacking(fallback.lacking_tools))
    if state.tool_choice in fallback.lacking_tools:
        state.tool_choice = "auto"
    if run.settings.has_answer_format and not fallback.has_answer_format:
        _ask_for_schema(run)


def bound_requests(run: RunContext) -> None:
    """Start counting the size of requests anew; a file that no request could hold is left out even if it is the newest."""
    maximum = run.settings.max_request_bytes
    if maximum is not None:
        # It remembers the messages that it has seen and expects each request to begin with them,
        # so it begins anew wherever they are rewritten.
        run.state.request_size = RequestSize(maximum, omit=_to_sentence, max_file_bytes=maximum)


def get_window_use(run: RunContext) -> WindowUse:
    """Return the estimate of how full the window is, which is made at its first use."""
    if run.state.window_use is None:  # The tools are known by now.
        run.state.window_use = WindowUse(run.settings.offered)
    return run.state.window_use


def _ask_for_schema(run: RunContext) -> None:
    if run.settings.answer_schema is not None:
        run.state.marks.fixed += (len(run.state.messages),)
        add_user_text(run, build_schema_request(run.settings.answer_schema.schema))


def _fit(run: RunContext) -> int:
    """Keep the messages within their bound, and return how many images and files were replaced by sentences."""
    if run.state.request_size is None:
        return 0
    fitted, left_out = run.state.request_size.fit(run.state.messages)
    run.state.messages = tuple(fitted)
    run.state.is_rewritten |= run.state.request_size.has_lost_reasoning
    return left_out


def _to_sentence(part: object, reason: str) -> dict[str, Any]:
    """Return the text part that replaces an image or file, of the same provider's kind."""
    kind = read_member(part, "type", "kind")
    kind = str(getattr(kind, "value", kind))
    name = read_member(part, "filename", "name")
    word = next((word for word in ("image", "audio", "video") if word in kind), "file")
    text = render_omission(word, reason=reason, name=name if isinstance(name, str) else "")
    return {"type": "input_text" if kind.startswith("input_") else "text", "text": text}
