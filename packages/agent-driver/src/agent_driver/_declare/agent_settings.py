"""How an agent is declared: the settings that it and its runs take, and how they are read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, Final, TypedDict

from agent_driver._steps.steps import Steps
from agent_driver._time import Cancelled
from agent_driver._tools.calls import Tools, read_tools
from agent_driver._tools.guardrails import Guardrails
from agent_loop import AskApproval, Budgets, RunSettings, TimeBudget, Window
from agent_tooling import AnswerSchema, ApprovalOption, ApprovalRules
from stream_text import is_object

from .declaration import Declaration
from .drive_settings import Decisions, DriveSettings
from .models import Model, Models, validate_models
from .tool_options import iter_hosted, validate_hosted


if TYPE_CHECKING:  # Who needs neither does not wait for them.
    from agent_driver.sessions import Session
    from run_log import RunFeed


# Without a key of its own an agent can ask a person, and go on, within this process.
_PROCESS_KEY: Final = token_bytes(32)


class AgentSettings(TypedDict, total=False):
    """Settings of an `Agent` besides its model, tools and answer. Each has a default.

    Attributes:
        instruction: The system message of each run; empty for none.
        maximum_iterations: How many model calls a run may make, at least 1; 10.
        budgets: The tokens, money, seconds and tool calls that a run may use.
        approval_rules: Which tool calls a person has to approve: rules, or what `ApprovalRules.parse` takes.
        allowed_tools: The names of the only tools that may be called; all are offered.
        tool_timeout: Seconds that a try of a tool call may take, for tools that say nothing; None for any number.
        tool_retries: How often a failed tool call is tried again, for tools that say nothing; 0.
        tool_approval: When a person has to approve a tool call, beside what tools and rules say: `never`, `once` in a run or `always`.
        tool_search: From how many tools on the model searches them; None for never.
        tool_choice: The choice of the first call: `auto`, `none`, `required` or a tool's name.
        guardrails: Functions that check the input, tool calls and the answer.
        fallback: The model that takes over after an error that another may not have.
        time_budget: How long a run, its closing call and each model call may take.
        window: How much the model reads, so that a long run is compacted.
        redact: Takes secrets out of what is shown of tools.
        log: Where runs are written: a `run_log.RunLog`.
        snapshot_key: The key that the snapshot of a run that waits is signed with, at least 16 bytes. Without one a run can be
            resumed within this process alone.
        snapshot_seconds: How long such a snapshot is valid; a day. That of a run with `steps` always is.
        emit_intermediate_thoughts: Whether events show thoughts and what the model says around tool calls; False.
        emit_reasoning: Whether events show what the model thinks, as `ShowReasoning`; False.
        max_parallel_tools: How many tools run at the same time; 8.
        result_characters: How much of one tool result the model reads; 200,000.
        max_request_bytes: How many bytes the messages of a request may have; None for any number.
        max_agent_depth: How deep agents may call agents; 2.
    """

    instruction: str
    maximum_iterations: int
    budgets: Budgets | None
    approval_rules: ApprovalRules | Mapping[str, Any] | list[Any] | str | None
    allowed_tools: Iterable[str] | None
    tool_timeout: float | None
    tool_retries: int
    tool_approval: ApprovalOption | None
    tool_search: int | None
    tool_choice: str | None
    guardrails: Guardrails
    fallback: Model | None
    time_budget: TimeBudget | None
    window: Window | None
    redact: Callable[[str], str]
    log: "RunFeed | None"
    snapshot_key: bytes
    snapshot_seconds: float
    emit_intermediate_thoughts: bool
    emit_reasoning: bool
    max_parallel_tools: int
    result_characters: int
    max_request_bytes: int | None
    max_agent_depth: int


class RunOptions[Deps](TypedDict, total=False):
    """Options of one run of an agent.

    Attributes:
        history: The conversation before it: `messages` of the last result.
        session: Where the conversation is loaded from and saved to, in place of `history`.
        deps: What tools get by their `Context`.
        cancelled: An event, or a function that returns true, once nobody wants the run any more.
        resume: What a run continues from that has waited for a person: `waiting` of its result, or the snapshot in it. With a session
            that is not needed.
        decisions: What the person has decided about the calls that wait: true or false for all, or for each by its id.
        steps: Where `arun` and `astream` have calls of models, tools and guardrails recorded, so that a run that was cut
            short can be played again; see `Steps`. Not beside a session.
    """

    history: Iterable[object]
    session: "Session | None"
    deps: Deps
    cancelled: Cancelled
    resume: AskApproval | str | None
    decisions: Decisions | None
    steps: Steps | None


_SETTINGS: Final = frozenset(AgentSettings.__annotations__)
_OF_RUN: Final = frozenset(known.name for known in fields(RunSettings) if known.init)
_OF_DRIVE: Final = frozenset(known.name for known in fields(DriveSettings))


def read_declaration(
    model: Model, tools: Tools, answer: Any, deps: Any, settings: Mapping[str, Any]
) -> Declaration:
    """Read the arguments of an `Agent`, which says what they may be and what is raised."""
    refuse_unknown(settings, _SETTINGS, "setting")
    instruction: object = settings.get("instruction", "")
    if not isinstance(instruction, str):
        raise TypeError(f"instruction: expected a text, got {type(instruction).__name__}")
    models = Models.of(model, settings.get("fallback"))
    declared = Declaration(
        models=models,
        tools=read_tools(tools),
        instruction=instruction,
        run=_read_run_settings(models, answer, settings),
        deps_type=deps,
        drive={
            "snapshot_key": _PROCESS_KEY,
            **{name: value for name, value in settings.items() if name in _OF_DRIVE},
        },
    )
    # Made once here, so that a wrong setting is told where the agent is declared.
    run = declared.build_run(())
    drive = DriveSettings(run, models.call, declared.tools, **declared.drive)
    validate_hosted(iter_hosted(drive, declared.tools.values()), drive)
    validate_models(run.budgets, *declared.priced)
    return declared


def refuse_unknown(given: Mapping[str, Any], known: Iterable[str], kind: str) -> None:
    """Refuse a name that is not known.

    Raises:
        TypeError: If there is one.
    """
    for name in given:
        if name not in known:
            raise TypeError(f"{name}: expected a {kind} of an agent: {', '.join(sorted(known))}")


def _read_run_settings(models: Models, answer: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in settings.items() if name in _OF_RUN}
    guardrails = settings.get("guardrails")
    return {
        "maximum_iterations": 10,
        "emit_intermediate_thoughts": False,
        **given,
        "approval_rules": _read_rules(settings.get("approval_rules")),
        "answer_schema": _read_answer(answer),
        "has_answer_format": models.has_answer_format,
        "checks_answer": isinstance(guardrails, Guardrails) and bool(guardrails.answer),
        "model": models.name,
        "fallback": models.fallback,
        "hosted_tools": models.hosted_tools,
    }


def _read_rules(raw: object) -> ApprovalRules | None:
    if raw is None or isinstance(raw, ApprovalRules):
        return raw
    return ApprovalRules.parse(raw)


def _read_answer(answer: Any) -> AnswerSchema | None:
    if answer is None or isinstance(answer, AnswerSchema):
        return answer
    if isinstance(answer, str) or is_object(answer):
        return AnswerSchema.parse(answer)
    return AnswerSchema.from_type(answer, field="answer")
