"""The fixed sentences of a run."""

from collections.abc import Sequence

from stream_text import render_thinking

from ._events import ClosingReason


_NAMES_SHOWN = 3

MAX_CALLS = 128
"""How many calls of one round are made: no honest model asks for as many, and each takes a place among those that wait; our choice."""

TOO_MANY_CALLS = (
    f"tool invoke error: only the first {MAX_CALLS} calls of a round are made; this one was not run"
)

NO_ANSWER = "The model returned no answer."
CUT_BEFORE_ANSWER = (
    "The model reached its output limit before it could answer. "
    "Please raise the maximum output tokens or lower the reasoning effort."
)


def build_refusal(name: str, *, reason: ClosingReason, maximum_iterations: int) -> str:
    """Return what a call to tool `name` gets that came after the closing call."""
    # No tool is called so, and where this is shown it could begin a tag.
    name = name.replace("<", " ")
    if reason == "time_limit":
        return f"Time limit reached. Cannot call tool '{name}'."
    return (
        f"Maximum iteration limit ({maximum_iterations}) reached. Cannot call tool '{name}'. "
        "Please consider increasing the iteration limit."
    )


def build_status(names: Sequence[str]) -> str:
    """Return a thought that says which tools are about to be called, and no more than that."""
    shown = ", ".join(names[:_NAMES_SHOWN])
    rest = "..." if len(names) > _NAMES_SHOWN else ""
    return render_thinking(f"Calling {shown}{rest}")
