"""The settings of `drive` and `adrive`, and how they are checked."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

from agent_driver._steps.steps import Steps
from agent_driver._time import Cancelled, can_say_so
from agent_driver._tools.calls import Tools
from agent_driver._tools.guardrails import Guardrails
from agent_loop import AgentRun, CallModel, Decision, TimeBudget
from agent_tooling import ApprovalOption, ApprovalRules


if TYPE_CHECKING:  # Whoever writes no log need not wait for what writes it.
    from run_log import RunFeed


type Decisions = bool | Mapping[str, bool | Decision]
"""A person's decisions: one for all waiting calls, or one for each by its id."""


@dataclass(frozen=True, slots=True)
class DriveSettings:
    """The arguments of `drive` and `adrive`.

    Attributes:
        run: A run that has not started. Where it offers no tools, it offers these.
        model: What calls the model: with a `CallModel`, it returns an iterable of what `AgentRun.feed` takes, or the
            whole answer; for `adrive` it may be async.
        tools: What the model may call.
        cancelled: An event, or a function that returns true, once nobody wants the run any more. It ends within a
            second: a tool that cannot be stopped is abandoned, and named.
        time_budget: How long the run and its calls may take.
        max_parallel_tools: How many tools run at the same time, at least 1.
        result_characters: How much of one result the model reads.
        tool_search: From how many tools on the model finds and calls them by the functions of a `ToolSearch`, at least
            1; None for never. It then is given those, and besides them only what the run offers by itself, or the one
            tool that its tool choice names.
        deps: What the functions of tools find in their `Context`, also those of agents that are called as tools: a
            connection, a client, who is asking. With `steps` it may be left out, for others may make the calls
            (`Agent.make_step`), and have it.
        tool_timeout: Seconds that one try of a tool call may take, over 0, where the tool says nothing itself;
            `math.inf` or None for any number. A tool that takes longer is given up: where it cannot be stopped, it goes
            on in a thread that nobody waits for, and is told.
        tool_retries: How often a call that failed or timed out is tried again, from 0 on, where the tool says nothing
            itself. One that ended in a `ToolError` is not.
        tool_approval: When a person has to approve a call of any tool, as `agent_tooling.ToolOptions` says. Of this,
            the tool's own and the run's rules the strictest counts.
        guardrails: Functions that check what the run begins with, its tool calls and its last answer; a run whose
            answer they check has to be made with `checks_answer`.
        log: Where the run is written; None for nowhere.
        snapshot_key: What snapshots are signed with, at least 16 bytes; needed where the run has approval rules or a
            tool asks for approval. Where it stops for approval, the last event is an `AskApproval` with a snapshot, and
            nothing follows.
        snapshot_seconds: How long a snapshot is good. With `steps` it is good for ever, because the run has to come to
            the same whenever it is played again: whoever keeps its steps says how long it may wait.
        resume: The snapshot of a run that continues, or the `AskApproval` that holds it, in a new run in which a call
            means the same; see `AgentRun.resume`. Its messages do not matter.
        decisions: What a person has decided about its calls: true or false for all, or for each by its id, or a `Decision` with a reason.
        steps: Where `adrive` has its calls of models, tools and the guardrails of input and answer recorded, so that a
            run that is played again does not make them again; None for nowhere.

    Raises:
        DeclarationError: If `tool_approval` is no approval.
        TypeError: If an argument is of a kind that cannot be it.
        ValueError: If `max_parallel_tools` or `tool_search` is under 1, `tool_retries` under 0, or `tool_timeout` not over 0.
    """

    run: AgentRun
    model: Callable[[CallModel], Any]
    tools: Tools = ()
    _: KW_ONLY
    cancelled: Cancelled = None
    time_budget: TimeBudget | None = None
    max_parallel_tools: int = 8
    result_characters: int = 200_000
    tool_search: int | None = None
    deps: object = None
    tool_timeout: float | None = None
    tool_retries: int = 0
    tool_approval: ApprovalOption | None = None
    log: "RunFeed | None" = None
    guardrails: Guardrails = Guardrails()  # noqa: RUF009 - it never changes
    snapshot_key: bytes | None = None
    snapshot_seconds: float = 86_400.0
    resume: object = None
    decisions: Decisions | None = None
    steps: Steps | None = None

    def __post_init__(self) -> None:
        """Check the kinds and ranges of the settings."""
        for name, expected, fits in _KINDS:
            if not fits(value := getattr(self, name)):
                raise TypeError(f"{name}: expected {expected}, got {type(value).__name__}")
        for name, least in (("max_parallel_tools", 1), ("tool_search", 1), ("tool_retries", 0)):
            number = getattr(self, name)
            if number is not None and number < least:
                raise ValueError(f"{name} must be at least {least}, not {number!r}")
        if self.tool_timeout is not None and not self.tool_timeout > 0:
            raise ValueError(f"tool_timeout must be over 0, not {self.tool_timeout!r}")
        _ = self.common_rules

    @property
    def common_rules(self) -> list[ApprovalRules]:
        """The rule that `tool_approval` is for every tool; none if it asks for nothing.

        Raises:
            DeclarationError: If it is none; it names the place.
        """
        if self.tool_approval in (None, "never"):
            return []
        return [ApprovalRules.from_option(self.tool_approval, tool="*", field="tool_approval")]


def _is_a(kind: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind) and not isinstance(value, bool)


_KINDS: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    ("run", "an AgentRun", _is_a(AgentRun)),
    ("model", "a function that is called with a CallModel", callable),
    ("max_parallel_tools", "a whole number", _is_a(int)),
    ("tool_search", "a whole number or None", _is_a(int | None)),
    ("tool_timeout", "a number of seconds or None", _is_a(int | float | None)),
    ("tool_retries", "a whole number", _is_a(int)),
    ("guardrails", "Guardrails", _is_a(Guardrails)),
    ("time_budget", "a TimeBudget", _is_a(TimeBudget | None)),
    (
        "cancelled",
        "an event, or a function without async",
        lambda value: value is None or can_say_so(value),
    ),
)


def takes_settings[**P, Events](
    settings: Callable[P, DriveSettings],
) -> Callable[[Callable[[DriveSettings], Events]], Callable[P, Events]]:
    """Return a decorator by which a function takes settings as arguments of its own, so that they are written once."""

    def decorate(play: Callable[[DriveSettings], Events]) -> Callable[P, Events]:
        @wraps(play)
        def played(*args: P.args, **kwargs: P.kwargs) -> Events:
            return play(settings(*args, **kwargs))

        returned = signature(play).return_annotation
        shown = signature(settings).replace(return_annotation=returned)
        vars(played)["__signature__"] = shown
        return played

    return decorate
