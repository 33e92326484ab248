"""The state machine of a run, set up as the agent node says."""

from collections.abc import Callable, Iterable
from typing import Any

from agent_loop import AgentRun
from agent_tooling import ApprovalRules

from ._fallback import to_fallback
from ._model_calls import find_room
from ._parameters import Parameters
from ._settings import Settings
from ._tools import Toolbox
from ._windows import to_window


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
        fallback=parameters.fallback and to_fallback(parameters.fallback, settings),
        max_request_bytes=find_room(tools, parameters.models.values()),
        window=to_window(model.input_tokens, settings),
        redact=redact,
    )


def find_tool_search(parameters: Parameters, settings: Settings) -> int | None:
    """Return from how many tools on the model searches them; None for never."""
    return settings.tool_search_from if parameters.searches_tools else None
