"""The fixed sentences that a model reads instead of, or around, a tool's own words.

They are part of the contract: applications and prompts rely on the wording.

Source: docs/contracts/gpt5-agent-strategies.md, B22 to B31 and B36; docs/contracts/dify-agent.md, C34.
"""

from collections.abc import Iterable
from typing import Final

from ._json_text import value_text


_NAMES_LISTED: Final = 20

TOOL_FAILED: Final = "tool invoke error: failed to execute tool"
"""The sentence for a tool that raised an error."""

TOOL_UNFINISHED: Final = "tool invoke error: the tool did not answer in time"
"""The sentence for a tool that was given up."""

BUDGET_USED_UP: Final = "tool invoke error: the budget of the run is used up; this call was not run"
"""The sentence for a call that a budget did not allow."""

REPEATED_FAILURE: Final = "tool invoke error: repeated failure detected; skipped duplicate call"
"""The sentence for a call that has failed before with the same arguments."""

REPEATED_SUCCESS_NOTICE: Final = "this call was already made with the same arguments and was not run again; its earlier result was:\n"
"""The notice before the earlier result of a call that was made already."""


def timed_out_text(name: str, seconds: float, *, may_go_on: bool = True) -> str:
    """Return the sentence for a call that exceeded the `seconds` that its tool may take.

    `may_go_on` says whether the tool may still be running.
    """
    unit = "second" if seconds == 1 else "seconds"
    rest = "it may still be going on" if may_go_on else "it was cancelled"
    return f"tool invoke error: {name} did not answer within {seconds:g} {unit}; {rest}"


def too_many_calls_text(limit: int) -> str:
    """Return the sentence for a call of a round in which only the first `limit` calls are made."""
    return (
        f"tool invoke error: only the first {limit} calls of a round are made; this one was not run"
    )


def too_many_questions_text(limit: int) -> str:
    """Return the sentence for a call that a person would have to approve, when they are asked about `limit` calls already."""
    return f"tool invoke error: only {limit} calls are asked for at a time; this one was not run"


def too_long_question_text(length: int, limit: int) -> str:
    """Return the sentence for a call that a person would have to approve, with arguments of over `limit` characters, which nobody would read."""
    return (
        f"tool invoke error: the arguments have {length:,} characters, and a person is asked about {limit:,} at most; "
        "this call was not run"
    )


def repeated_key_text(key: str) -> str:
    """Return the sentence for a call that a person may have to approve, and that has a repeated key."""
    return parse_error_text(f"the key {value_text(key)} stands twice; each may stand once")


def disallowed_tool_text(name: str, allowed: Iterable[str]) -> str:
    """Return the sentence for a call of a tool that a run may not call; it names the first 20 of the `allowed` ones."""
    names = list(allowed)
    more = ", ..." if len(names) > _NAMES_LISTED else ""
    listed = ", ".join(names[:_NAMES_LISTED]) or "none"
    return f"tool invoke error: {name} may not be called in this run; allowed are: {listed}{more}"


def denied_call_text(reason: str | None = None) -> str:
    """Return the sentence for a call that a person did not approve, with their reason."""
    said = f" They said: {reason}" if reason else ""
    return f"tool invoke error: the user did not approve this call; it was not run.{said}"


def changed_tool_text(name: str) -> str:
    """Return the sentence for an approved call of a tool that was changed after the person was asked about it."""
    return (
        f"tool invoke error: {name} was changed after the user was asked about this call "
        "(its provider, credentials or settings); it was not run."
    )


def unknown_tool_text(name: str) -> str:
    """Return the sentence for a call of a tool that does not exist."""
    return f"there is not a tool named {name}"


def parse_error_text(error: str) -> str:
    """Return the sentence that says why a call's arguments could not be parsed."""
    return f"tool arguments parse error: {error}"


def validation_error_text(error: str) -> str:
    """Return the sentence that says why a call's arguments do not fit the tool's declaration."""
    return f"tool arguments validation error: {error}"


def dropped_arguments_text(names: Iterable[str]) -> str:
    """Return the note before the result of a call if some of its arguments were not used."""
    return f"note: not used, because the app has set it already: {', '.join(names)}\n"
