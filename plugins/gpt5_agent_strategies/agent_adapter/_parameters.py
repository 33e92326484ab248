"""The strategy's parameters as Dify's agent node sends them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

from agent_loop import Budgets
from agent_policy import check_overrides
from agent_tooling import AnswerSchema, ApprovalRules

from ._allowed_tools import read_allowed_tools
from ._answer_schema import read_answer_schema
from ._approval_rules import read_approval_rules
from ._budgets import find_above, read_budgets
from ._errors import ParameterError
from ._fallback import read_fallback
from ._flags import read_flag
from ._model import Model


_DEFAULT_ITERATIONS = 6
_MAXIMUM_ITERATIONS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The parameters of one run.

    Attributes:
        query: The question.
        instruction: The task's instruction.
        prompt_policy_overrides: As `build_system_instruction` takes them.
        model: The model to call.
        tools: The chosen tools, as Dify dumps them.
        maximum_iterations: The cap of model calls, 1 to 500.
        emit_intermediate_thoughts: Whether thoughts are shown.
        context: What the answer's sources are taken from, in any shape.
        files: What comes with the question, in any shape.
        budgets: What the run may use.
        budgets_above: A line for each that was set above its range.
        allowed_tools: The names of the only tools that may be called; None for all.
        answer_schema: What the answer has to be; None for a text.
        fallback: The model that takes over; None for none.
        fails_with_model: Whether the run fails in any case where its model does.
        approval_rules: Which calls a person has to approve; None for none.
        searches_tools: Whether the model searches its tools where they are many.
    """

    query: str
    instruction: str
    prompt_policy_overrides: str | Mapping[str, object] | None
    model: Model
    tools: Sequence[Any]
    maximum_iterations: int
    emit_intermediate_thoughts: bool
    context: object
    files: object
    budgets: Budgets
    budgets_above: tuple[str, ...]
    allowed_tools: tuple[str, ...] | None
    answer_schema: AnswerSchema | None
    fallback: Model | None
    fails_with_model: bool
    approval_rules: ApprovalRules | None
    searches_tools: bool

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Self:
        """Read the parameters. Optional ones may be missing or None, numbers may be text.

        Raises:
            ParameterError: If a parameter has a type that cannot be read, or cannot be kept with this model.
        """
        model = Model.from_raw(raw.get("model"))
        return cls(
            query=_read_text(raw, "query"),
            instruction=_read_text(raw, "instruction"),
            prompt_policy_overrides=_read_overrides(raw.get("prompt_policy_overrides")),
            model=model,
            tools=_read_tools(raw.get("tools")),
            maximum_iterations=_read_iterations(raw.get("maximum_iterations")),
            emit_intermediate_thoughts=read_flag(
                raw.get("emit_intermediate_thoughts"), default=True
            ),
            context=raw.get("context"),
            files=raw.get("files"),
            budgets=read_budgets(raw, model),
            budgets_above=find_above(raw),
            allowed_tools=read_allowed_tools(raw.get("allowed_tools")),
            answer_schema=read_answer_schema(raw.get("answer_schema")),
            approval_rules=read_approval_rules(raw.get("approval_rules")),
            fallback=read_fallback(raw.get("fallback_model"), model),
            fails_with_model=read_flag(raw.get("fail_on_model_failure"), default=False),
            searches_tools=read_flag(raw.get("tool_search"), default=False),
        )

    @property
    def models(self) -> Mapping[str, Model]:
        """The models that may be called, by name."""
        both = (self.model, *((self.fallback,) if self.fallback else ()))
        return {model.full_name: model for model in both}

    @property
    def unused_overrides(self) -> tuple[str, ...]:
        """What in the overrides changes nothing, a clause for each."""
        return check_overrides(self.prompt_policy_overrides)


def _read_text(raw: Mapping[str, Any], field: str) -> str:
    value = raw.get(field)
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise ParameterError(field, "text", value)
    return str(value)


def _read_overrides(value: object) -> str | Mapping[str, object] | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value)
    raise ParameterError("prompt_policy_overrides", "text or a JSON object", value)


def _read_tools(value: object) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ParameterError("tools", "a list of tools", value)
    return cast("list[Any]", value)


def _read_iterations(value: object) -> int:
    """Read a count that may be text; what is no number gets the default, what is outside the range its nearest end."""
    try:
        iterations = int(float(cast("str", value)))
    except (TypeError, ValueError, OverflowError):
        return _DEFAULT_ITERATIONS
    return min(max(iterations, 1), _MAXIMUM_ITERATIONS)
