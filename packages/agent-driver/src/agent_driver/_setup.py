"""What both drivers set up alike."""

from dataclasses import dataclass

from agent_loop import AgentRun, TimeBudget

from ._time import Cancelled, Clock, can_say_so
from ._tool_calls import ToolCalls, Tools


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A run and what it is played with, but for the model.

    Attributes:
        run: The run.
        calls: What decides about its tool calls.
        clock: Its time.
        max_parallel_tools: How many tools run at the same time.
    """

    run: AgentRun
    calls: ToolCalls
    clock: Clock
    max_parallel_tools: int


def prepare(  # noqa: PLR0913 - the keyword-only settings of one drive
    run: AgentRun,
    model: object,
    tools: Tools,
    *,
    cancelled: Cancelled,
    time_budget: TimeBudget | None,
    max_parallel_tools: int,
    result_characters: int,
) -> Setup:
    """Check the settings of a drive, offer its tools where the run has none, and start its clock.

    Raises:
        LocalProtocolError: If tools are to be offered and the run has started already.
        DeclarationError: If something among the tools is no tool and cannot be made one.
        TypeError: If an argument is of a kind that cannot be it.
        ValueError: If two tools have one name, or a number is under 1.
    """
    _validate_kinds(run, model, max_parallel_tools, time_budget, cancelled)
    if max_parallel_tools < 1:
        raise ValueError(f"max_parallel_tools must be at least 1, not {max_parallel_tools!r}")
    counts_media = (
        run.max_request_bytes is None
    )  # Otherwise the run bounds them, by what is newest.
    calls = ToolCalls(tools, result_characters=result_characters, counts_media=counts_media)
    if calls.tools and not run.tools:
        run.offer(calls.tools.values())
    clock = Clock(time_budget, cancelled)
    return Setup(run=run, calls=calls, clock=clock, max_parallel_tools=max_parallel_tools)


def _validate_kinds(
    run: object, model: object, max_parallel_tools: object, time_budget: object, cancelled: object
) -> None:
    can_say = cancelled is None or can_say_so(cancelled)
    kinds = (
        ("run", run, "an AgentRun", isinstance(run, AgentRun)),
        ("model", model, "a function that is called with a CallModel", callable(model)),
        (
            "max_parallel_tools",
            max_parallel_tools,
            "a whole number",
            isinstance(max_parallel_tools, int),
        ),
        (
            "time_budget",
            time_budget,
            "a TimeBudget",
            isinstance(time_budget, TimeBudget | None),
        ),
        ("cancelled", cancelled, "an event, or a function without async", can_say),
    )
    for name, value, expected, fits in kinds:
        if not fits:
            raise TypeError(f"{name}: expected {expected}, got {type(value).__name__}")
