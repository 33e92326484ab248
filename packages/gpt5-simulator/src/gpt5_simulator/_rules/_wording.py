"""The sentences of the rule-driven model."""

from collections.abc import Sequence

from gpt5_simulator._rules._clauses import Clause
from gpt5_simulator._rules._conversation import ToolResult
from gpt5_simulator._rules._plan import PlannedCall


_MAX_QUOTE = 500


def planning_thoughts(calls: Sequence[PlannedCall]) -> tuple[str, ...]:
    """Return what to think before tools are called, most important part first."""
    pairs = "; ".join(f"{call.tool.name} for “{_clip(call.clause)}”" for call in calls)
    count = "one call" if len(calls) == 1 else f"{len(calls)} calls"
    return (
        f"**Planning the tool calls**\n\nThis takes {count}: {pairs}.",
        f"**Choosing the arguments**\n\n{_order(calls)}",
        "**Looking ahead**\n\nOnce the results are here I can see what is still open.",
    )


def answering_thoughts(results: Sequence[ToolResult]) -> tuple[str, ...]:
    """Return what to think before an answer is written."""
    if not results:
        return (
            "**Looking for a tool**\n\nNothing on offer fits the question, so I answer in words.",
            "**Being honest**\n\nI am a simulator and should say so.",
        )
    names = ", ".join(dict.fromkeys(result.name for result in results))
    return (
        f"**Reading the results**\n\nThere are results of {names}.",
        "**Writing the answer**\n\nEach result answers its part of the question.",
        "**Checking it**\n\nNothing may be said that no tool has said.",
    )


def preamble(calls: Sequence[PlannedCall]) -> str:
    """Return what to tell the user before tools are called."""
    names = " and ".join(dict.fromkeys(call.tool.name for call in calls))
    return f"I will use {names} for this."


def answer(
    results: Sequence[ToolResult], *, open_calls: Sequence[PlannedCall], unserved: Sequence[Clause]
) -> str:
    """Return the answer that the results give, with what stays open."""
    lines = ["This is what the tools returned:"]
    lines += [_result_line(result) for result in results]
    lines += [
        f"- Not done, since no tool may be called any more: “{_clip(call.clause)}”."
        for call in open_calls
    ]
    lines += [f"- No tool could help with “{_clip(clause.text)}”." for clause in unserved]
    return "\n".join(lines)


def no_tool_answer(question: str, *, offered: int) -> str:
    """Return the answer to a question that no tool fits."""
    tools = f"None of the {offered} tools on offer fits" if offered else "There is no tool for"
    asked = f" “{_clip(question)}”" if question.strip() else " what was asked"
    return f"I am a simulator that works by rules, not a language model. {tools}{asked}."


def _order(calls: Sequence[PlannedCall]) -> str:
    if len(calls) == 1:
        return "The question gives all that the call needs."
    return "No call needs the result of another, so they can run at the same time."


def _result_line(result: ToolResult) -> str:
    if result.failed:
        return f"- The tool {result.name} failed, so its part stays open. It said: {_clip(result.output)}"
    return f"- {result.name}: {_clip(result.output) or '(nothing)'}"


def _clip(text: str) -> str:
    plain = text.strip()
    return plain if len(plain) <= _MAX_QUOTE else f"{plain[:_MAX_QUOTE]}…"
