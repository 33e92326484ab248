"""The filter for a round's tool calls: each is made, waits for a person, is answered by the run itself, or is refused."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent_loop._values.inputs import ToolResult
from agent_loop._values.messages import ToolCall
from agent_tooling import (
    BUDGET_USED_UP,
    Approval,
    disallowed_tool_text,
    parse_tool_arguments,
    repeated_key_text,
    too_long_question_text,
    too_many_calls_text,
    too_many_questions_text,
)
from stream_text import find_repeated_key

from .sentences import MAX_ASKED_CALLS, MAX_ASKED_CHARACTERS, MAX_CALLS
from .spending import give_back_tool_call, iter_chain, take_tool_call
from .state import Bind, MadeCall, RunContext


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredCalls:
    """The tool calls of a round, sorted by what becomes of them.

    Attributes:
        made: The calls to make at once.
        waiting: The calls that the run stops for.
        asked: Those of them that a person is asked about.
        answered: The calls that the run has answered itself, with their results.
        refused: The other calls, each with the sentence that refuses it.
    """

    made: list[MadeCall] = field(default_factory=list[MadeCall])
    waiting: list[MadeCall] = field(default_factory=list[MadeCall])
    asked: list[ToolCall] = field(default_factory=list[ToolCall])
    answered: list[tuple[ToolCall, ToolResult]] = field(
        default_factory=list[tuple[ToolCall, ToolResult]]
    )
    refused: list[tuple[ToolCall, str]] = field(default_factory=list[tuple[ToolCall, str]])


def filter_calls(run: RunContext, calls: Sequence[ToolCall]) -> FilteredCalls:
    """Sort the calls of a round, and answer those of own functions."""
    filtered = FilteredCalls()
    for call in calls[:MAX_CALLS]:
        _filter_one(run, call, filtered)
    filtered.refused.extend((call, too_many_calls_text(MAX_CALLS)) for call in calls[MAX_CALLS:])
    return filtered


def grant(run: RunContext, call: ToolCall) -> None:
    """Remember that a person has approved a call, in each run whose rules are content with that for more than this one."""
    for each in iter_chain(run):
        approval = _find_approval(each, call, run.bind)
        if approval.ask == "once":
            with run.lock:
                each.state.grants = tuple(dict.fromkeys((*each.state.grants, approval.grant)))


def asks_person(run: RunContext, call: ToolCall) -> bool:
    """Return whether a call that waits is for a person to decide about, and not for whoever resumes the run to make."""
    bound = run.bind and run.bind(call)
    return not bound or not bound.is_external or run.caller is not None


def to_shown(run: RunContext, call: ToolCall) -> ToolCall:
    """Return a call as its tool would get it, without hidden values.

    The JSON is written anew, so that a person reads exactly what counts.
    """
    bound = run.bind and run.bind(call)
    bound = parse_tool_arguments(call.arguments) if bound is None else bound
    if not bound:
        return call
    shown = bound.args if bound.shown is None else bound.shown
    return replace(call, arguments=json.dumps(shown, ensure_ascii=False, default=str))


def _needs_approval(run: RunContext, call: ToolCall) -> bool:
    """Return whether a person has to approve a call that has not been approved yet: by the rules of its run, or of a run that this one belongs to."""
    for each in iter_chain(run):
        approval = _find_approval(each, call, run.bind)
        if approval.ask == "always":
            return True
        if approval.ask == "once" and approval.grant not in each.state.grants:
            return True
    return False


def _find_approval(run: RunContext, call: ToolCall, bind: Bind | None) -> Approval:
    """Return what the rules ask of a call: the stricter of the results for its arguments as written and as the tool gets them."""
    rules = run.settings.approval_rules
    if rules is None:
        return Approval(ask="never")
    written = parse_tool_arguments(call.arguments)
    readings = [written.args if written.ok else None]
    bound = bind and bind(call)
    if bound is None:
        # How the tool would read the arguments is unknown, so the model's text decides.
        return rules.find(call.name, *readings)
    if not bound:  # Refused arguments: the driver refuses the call, so it is never made.
        return Approval(ask="never")
    return rules.find(call.name, *readings, bound.args, schema=bound.schema)


def _filter_one(run: RunContext, call: ToolCall, filtered: FilteredCalls) -> None:
    own = run.settings.own.get(call.name)
    if own is None and (problem := _find_disallowed(run, call.name)):
        filtered.refused.append((call, problem))
        return
    # Checked and counted in one step, since agents count in threads of their own. Calls of own
    # functions count, too.
    if not take_tool_call(run):
        filtered.refused.append((call, BUDGET_USED_UP))
        return
    taken = call if own is None else own.take(call)
    if isinstance(taken, ToolResult):
        filtered.answered.append((call, taken))
    # Checked again, by the name of the tool that the call stands for.
    elif problem := _find_disallowed(run, taken.name):
        filtered.refused.append((call, problem))
    else:
        _admit(run, call, taken, filtered)


def _admit(run: RunContext, call: ToolCall, made: ToolCall, filtered: FilteredCalls) -> None:
    """Let a call be made or wait for a person, or refuse it if no person could be asked about it."""
    problem = _find_repeated_key(run, call, made)
    has_to_wait = problem is None and _needs_approval(run, made)
    if has_to_wait and asks_person(run, made):
        problem = _find_excess(run, made, len(filtered.asked))
        if problem is None:
            filtered.asked.append(made)
    if problem is not None:
        give_back_tool_call(run)
        filtered.refused.append((call, problem))
    else:
        (filtered.waiting if has_to_wait else filtered.made).append((call, made))


def _find_repeated_key(run: RunContext, call: ToolCall, made: ToolCall) -> str | None:
    """Return the refusal of a call with a repeated key, if a rule may ask about its tool.

    A reader could take either value for the one that counts.
    """
    rules = (each.settings.approval_rules for each in iter_chain(run))
    if all(each is None or each.find(made.name, None).ask == "never" for each in rules):
        return None
    keys = (find_repeated_key(one.arguments) for one in (call, made))
    return next((repeated_key_text(key) for key in keys if key is not None), None)


def _find_excess(run: RunContext, made: ToolCall, waiting: int) -> str | None:
    if waiting >= MAX_ASKED_CALLS:
        return too_many_questions_text(MAX_ASKED_CALLS)
    length = len(to_shown(run, made).arguments)
    is_long = length > MAX_ASKED_CHARACTERS
    return too_long_question_text(length, MAX_ASKED_CHARACTERS) if is_long else None


def _find_disallowed(run: RunContext, name: str) -> str | None:
    allowed = run.settings.allowed
    if allowed is None or name in allowed:
        return None
    return disallowed_tool_text(run.settings.redact(name), allowed)
