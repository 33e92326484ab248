"""The state machine of a run, set up as the agent node says."""

from collections.abc import Callable, Iterable
from typing import Any

from agent_loop import AgentRun, FallbackModel, Window
from agent_tooling import ApprovalRules

from ._model import Model
from ._model_calls import find_room
from ._parameters import Parameters
from ._settings import Settings
from ._tools import Toolbox


_LEAST_TOKENS = 4_000  # Of a smaller one there would be nothing left beside a summary.


def build_run(  # noqa: PLR0913 - the parts of one run
    parameters: Parameters,
    settings: Settings,
    toolbox: Toolbox,
    *,
    messages: Iterable[Any],
    allowed: tuple[str, ...] | None,
    rules: ApprovalRules | None,
    redact: Callable[[str], str],
) -> AgentRun:
    """Return a run that has not started.

    Args:
        parameters: What the node has set.
        settings: What the administrator has set.
        toolbox: The tools.
        messages: What the run begins with.
        allowed: The names of the only tools that may be called; None for all.
        rules: Which calls a person has to approve; None for none.
        redact: Takes out what nobody may read.
    """
    model = parameters.model
    tools = toolbox.find_prompts(find_tool_search(parameters, settings))
    return AgentRun(
        messages,
        tools=tools,
        maximum_iterations=parameters.maximum_iterations,
        emit_intermediate_thoughts=parameters.emit_intermediate_thoughts,
        fail_on_model_failure=parameters.fails_with_model,
        tool_choice=model.tool_choice,
        has_tool_choice=model.has_tool_choice,
        budgets=parameters.budgets,
        allowed_tools=allowed,
        approval_rules=rules,
        answer_schema=parameters.answer_schema,
        has_answer_format=model.has_answer_format,
        model=model.full_name,
        fallback=parameters.fallback and _to_fallback(parameters.fallback, settings),
        max_request_bytes=find_room(tools, parameters.models.values()),
        window=_to_window(model.input_tokens, settings),
        redact=redact,
    )


def find_tool_search(parameters: Parameters, settings: Settings) -> int | None:
    """Return the number of tools from which the model searches them; None for never."""
    return settings.tool_search_from if parameters.searches_tools else None


def _to_fallback(model: Model, settings: Settings) -> FallbackModel:
    """Return the model as a run knows it."""
    return FallbackModel(
        name=model.full_name,
        has_tool_choice=model.has_tool_choice,
        has_answer_format=model.has_answer_format,
        window=_to_window(model.input_tokens, settings),
    )


def _to_window(input_tokens: int | None, settings: Settings) -> Window | None:
    """Return a model's context window; None if its size is unknown or runs are not compacted."""
    tokens = settings.window_tokens or input_tokens
    if tokens is None or tokens < _LEAST_TOKENS or not settings.compact_percent:
        return None
    share = settings.compact_percent / 100
    return Window(tokens=tokens, compact_at=share, keep=share / 4)
