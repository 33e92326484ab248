"""The fixed sentences that a run says to its model and its reader."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_loop._values.budgets import BudgetName, Unknown
from agent_loop._values.events import ClosingReason
from stream_text import render_thinking


_NAMES_SHOWN = 3
_MAX_RESULT_CHARACTERS = 500

MAX_CALLS = 128
"""How many calls of one round are made. No honest model asks for that many, and each takes memory while it waits. Our choice."""

MAX_ASKED_CALLS = 20
"""How many calls a person is asked about at a time: nobody would read more of them before saying yes."""

MAX_ASKED_CHARACTERS = 20_000
"""How long the arguments of a call may be that a person is asked about, in characters."""

TOOLS_OVER = "tool invoke error: no tool may be called any more; this call was not run"
AGENT_FAILED = "tool invoke error: the agent ended with an error before it could answer"
NO_ANSWER = "The model returned no answer."
CUT_BEFORE_ANSWER = (
    "The model reached its output limit before it could answer. "
    "Please raise the maximum output tokens or lower the reasoning effort."
)


def build_refusal(name: str, *, reason: ClosingReason, maximum_iterations: int) -> str:
    """Return the refusal of a call to tool `name` in the closing call."""
    name = _without_tags(name)
    if reason == "time_limit":
        return f"Time limit reached. Cannot call tool '{name}'."
    if reason == "budget":
        return f"Budget used up. Cannot call tool '{name}'."
    return (
        f"Maximum iteration limit ({maximum_iterations}) reached. Cannot call tool '{name}'. "
        "Please consider increasing the iteration limit."
    )


def build_budget_notice(budget: BudgetName) -> str:
    """Return the notice to the model that a budget is nearly used up."""
    return (
        f"Four fifths of this run's budget ({budget}) are used. Please finish now: answer with what you have, and call "
        "only the tools that the answer cannot do without."
    )


def build_schema_request(schema: Mapping[str, Any]) -> str:
    """Return the request for JSON by a schema, for a model that does not take a schema as its format."""
    written = json.dumps(schema, ensure_ascii=False)
    return f"Your last answer must be JSON that fulfils this JSON schema, with nothing around it:\n{written}"


def build_repair_request(problem: str, *, untold: Mapping[str, Any] | None) -> str:
    """Return the request to repair an answer that does not fulfil the schema.

    Args:
        problem: What is wrong with it.
        untold: The schema, where it was sent as the format alone, which some servers never read.
    """
    told = "" if untold is None else f" The schema:\n{json.dumps(untold, ensure_ascii=False)}"
    return (
        f"Your answer does not fulfil the JSON schema that it has to: {problem}. Answer once more, with JSON that "
        f"fulfils it and nothing around it.{told}"
    )


def build_invalid_answer(problem: str, *, is_repaired: bool) -> str:
    """Return the error of a run whose answer does not fulfil the schema."""
    asked = ", also after the model was asked once more" if is_repaired else ""
    return f"The answer does not fulfil answer_schema{asked}: {problem}"


def build_cut_answer(problem: str) -> str:
    """Return the error of a run whose answer was cut before it could fulfil the schema."""
    return (
        f"The model reached its output limit before its answer could fulfil answer_schema: {problem}. "
        "Please raise the maximum output tokens or lower the reasoning effort."
    )


def build_unknown(unknown: Unknown) -> str:
    """Return the error of a run whose budget cannot be kept, or whose cost cannot be summed up."""
    if unknown == "currency":
        return "The cost of the run cannot be summed up: the prices of its models are in two currencies"
    missing = "prices" if unknown == "max_cost" else "usage"
    return f"{unknown} cannot be kept: the model does not tell its {missing}"


def build_budget_above(budget: BudgetName) -> str:
    """Return the error of an agent when a run above it has no budget left."""
    return f"The budget of the run ({budget}) is used up."


def build_lacking(names: Iterable[str]) -> str:
    """Return what a fallback model is told of tools that it lacks."""
    return f"From here on these tools are not available: {', '.join(names)}. Answer without them, and say what is missing for that."


def build_too_deep(depth: int) -> str:
    """Return the refusal of an agent call that would be too deep."""
    return (
        f"tool invoke error: agents may call agents {depth} deep at most; this one was not called"
    )


def build_status(names: Sequence[str]) -> str:
    """Return a thought that only names the tools about to be called."""
    shown = ", ".join(names[:_NAMES_SHOWN])
    rest = "..." if len(names) > _NAMES_SHOWN else ""
    return render_thinking(f"Calling {shown}{rest}")


def build_model_failure(round_number: int, cause: str) -> str:
    """Return the error of a run whose model call has failed."""
    return f"The model call of round {round_number} failed: {cause}"


def build_unfinished(names: Sequence[str], *, is_late: bool) -> str:
    """Return the sentence that names tools given up while they still ran; empty if there are none."""
    if not names:
        return ""
    listed = ", ".join(dict.fromkeys(map(_without_tags, names)))
    return f"Not finished{' in time' if is_late else ''}, so missing here: {listed}."


def build_known(results: Sequence[tuple[str, str]], *, left_out: int) -> str:
    """Return the last tool results of a run that ends without an answer, each with its tool's name; empty if there are none."""
    if not results:
        return ""
    lines = [f"- {_without_tags(name)}: {result}" for name, result in results]
    more = [f"- ({left_out} earlier results)"] if left_out else []
    return "\n".join(["What the tools answered so far:", *more, *lines])


def shorten_result(text: str) -> str:
    """Return the beginning of a tool result in one line."""
    line = " ".join(text[: 2 * _MAX_RESULT_CHARACTERS].split())
    is_whole = len(text) <= 2 * _MAX_RESULT_CHARACTERS and len(line) <= _MAX_RESULT_CHARACTERS
    return line if is_whole else f"{line[:_MAX_RESULT_CHARACTERS]} [...]"


def _without_tags(name: str) -> str:
    """Return a tool's name as it can be shown: no real tool has such a name, but a model may write one that would begin a tag."""
    return name.replace("<", " ")
