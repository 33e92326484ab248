"""The state machine of a run and its driver, set up by the agent node's parameters."""

from collections.abc import Generator, Mapping, Sequence

from agent_driver import drive
from agent_loop import AgentRun, Decision, Event, FallbackModel, Message, Window

from ._model import Model
from ._model_calls import ModelCalls, find_room
from ._open_questions import OpenQuestions
from ._run_log import find_run_log
from ._settings import Settings
from ._turn import Turn


_LEAST_TOKENS = 4_000  # In a smaller window, a summary would leave no room for anything else.


def start_run(  # noqa: PLR0913 - the parts of one run
    turn: Turn,
    messages: Sequence[Message],
    *,
    allowed: tuple[str, ...] | None,
    approvals: OpenQuestions | None,
    resume: str | None = None,
    decisions: Mapping[str, Decision] | None = None,
) -> tuple[AgentRun, Generator[Event]]:
    """Return a run and its events: a new one, or one that continues.

    Args:
        turn: The turn.
        messages: The messages that a new run begins with.
        allowed: The names of the only tools that may be called; None for all.
        approvals: Which calls a person has to approve; None for none.
        resume: The snapshot of a run that was waiting.
        decisions: The decisions that it was waiting for, by the ids of its calls.

    Raises:
        SnapshotError: If the snapshot cannot be resumed.
    """
    parameters, settings, toolbox = turn.parameters, turn.settings, turn.toolbox
    model, fallback = parameters.model, parameters.fallback
    tool_search = settings.tool_search_from if parameters.searches_tools else None
    tools = toolbox.find_prompts(tool_search)
    run = AgentRun(
        messages,
        tools=tools,
        maximum_iterations=parameters.maximum_iterations,
        emit_intermediate_thoughts=parameters.emit_intermediate_thoughts,
        fail_on_model_failure=parameters.fails_with_model,
        tool_choice=model.tool_choice,
        has_tool_choice=model.has_tool_choice,
        budgets=parameters.budgets,
        allowed_tools=allowed,
        approval_rules=approvals and approvals.rules,
        answer_schema=parameters.answer_schema,
        has_answer_format=model.has_answer_format,
        model=model.full_name,
        fallback=fallback and _to_fallback(fallback, settings),
        max_request_bytes=find_room(tools, parameters.models.values()),
        window=_to_window(model, settings),
        redact=turn.known.redact,
    )
    return run, drive(
        run,
        ModelCalls(turn),
        toolbox.tools,
        time_budget=settings.time,
        result_characters=settings.result_characters,
        tool_search=tool_search,
        log=find_run_log(turn),
        snapshot_key=approvals and approvals.key,
        snapshot_seconds=settings.approval_seconds,
        resume=resume,
        decisions=decisions,
    )


def _to_fallback(model: Model, settings: Settings) -> FallbackModel:
    """Return a model as the fallback of a run."""
    return FallbackModel(
        name=model.full_name,
        has_tool_choice=model.has_tool_choice,
        has_answer_format=model.has_answer_format,
        window=_to_window(model, settings),
    )


def _to_window(model: Model, settings: Settings) -> Window | None:
    """Return a model's context window; None if its size is unknown or runs are not compacted."""
    tokens = settings.window_tokens or model.input_tokens
    if tokens is None or tokens < _LEAST_TOKENS or not settings.compact_percent:
        return None
    share = settings.compact_percent / 100
    return Window(tokens=tokens, compact_at=share, keep=share / 4)
