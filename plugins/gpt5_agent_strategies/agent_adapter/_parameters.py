"""The strategy's parameters, as Dify's agent node sends them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import Any, Self

from agent_loop import Budgets
from agent_policy import check_overrides
from agent_tooling import AnswerSchema, ApprovalRules, DeclarationError
from stream_text import is_list, is_object

from ._allowed_tools import parse_json, read_allowed_tools
from ._answer_schema import read_answer_schema
from ._errors import ParameterError
from ._model import Model
from ._settings import read_flag


APPROVAL_RULES = "approval_rules"
"""The name of the parameter with the approval rules."""

_FALLBACK = "fallback_model"
_PROVIDER_PARTS = 3  # author/plugin/provider
_DEFAULT_ITERATIONS = 6
_MAXIMUM_ITERATIONS = 500
# The type and the maximum of each budget.
_BUDGETS: Mapping[str, tuple[type, int]] = {
    "max_total_tokens": (int, 100_000_000),
    "max_cost": (Decimal, 10_000),
    "max_seconds": (float, 3_600),
    "max_tool_calls": (int, 10_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The parameters of one run.

    Attributes:
        query: The question.
        instruction: The task's instruction.
        prompt_policy_overrides: The overrides for `build_system_instruction`.
        model: The model to call.
        tools: The chosen tools, as Dify dumps them.
        maximum_iterations: The maximum number of model calls, 1 to 500.
        emit_intermediate_thoughts: Whether thoughts are shown.
        context: The sources of the answer, in any shape.
        files: The files of the question, in any shape.
        budgets: The run's budgets.
        budgets_above: A line for each budget that was set above its range.
        allowed_tools: The names of the only tools that may be called; None for all.
        answer_schema: The schema of the answer; None for a text.
        fallback: The model that takes over; None for none.
        fails_with_model: Whether the run always fails if its model does.
        approval_rules: Which calls a person has to approve; None for none.
        searches_tools: Whether the model searches its tools if there are many.
        remembers_turns: Whether later turns begin with what this one has called, read and thought.
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
    remembers_turns: bool

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Self:
        """Read the parameters. Optional ones may be missing or None, numbers may be text.

        Raises:
            ParameterError: If a parameter has a type that cannot be read, or cannot be kept with this model.
        """
        model = Model.from_raw(raw.get("model"))
        # A blank field of the node counts as unset.
        given = {name: value for name, value in raw.items() if not _is_blank(value)}
        budgets, above = _read_budgets(given, model)
        return cls(
            query=_read_text(raw, "query"),
            instruction=_read_text(raw, "instruction"),
            prompt_policy_overrides=_read_overrides(raw.get("prompt_policy_overrides")),
            model=model,
            tools=_read_tools(raw.get("tools")),
            maximum_iterations=_read_iterations(raw.get("maximum_iterations")),
            emit_intermediate_thoughts=read_flag(
                given.get("emit_intermediate_thoughts"), default=True
            ),
            context=raw.get("context"),
            files=raw.get("files"),
            budgets=budgets,
            budgets_above=above,
            allowed_tools=read_allowed_tools(given.get("allowed_tools")),
            answer_schema=read_answer_schema(given.get("answer_schema")),
            approval_rules=_read_approval_rules(given.get(APPROVAL_RULES)),
            fallback=_read_fallback(given.get(_FALLBACK), model),
            fails_with_model=read_flag(given.get("fail_on_model_failure"), default=False),
            searches_tools=read_flag(given.get("tool_search"), default=False),
            remembers_turns=read_flag(given.get("remember_turns"), default=False),
        )

    @property
    def models(self) -> Mapping[str, Model]:
        """The models that may be called, by name."""
        both = (self.model, *((self.fallback,) if self.fallback else ()))
        return {model.full_name: model for model in both}

    @property
    def unused_overrides(self) -> tuple[str, ...]:
        """A clause for each override that has no effect."""
        return check_overrides(self.prompt_policy_overrides)


def _is_blank(value: object) -> bool:
    return isinstance(value, str) and not value.strip()


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
    if is_object(value):
        return value
    raise ParameterError("prompt_policy_overrides", "text or a JSON object", value)


def _read_tools(value: object) -> Sequence[Any]:
    if value is None:
        return ()
    if not is_list(value):
        raise ParameterError("tools", "a list of tools", value)
    return value


def _read_iterations(value: Any) -> int:
    """Read a count, which may be text; use the default if it is not a number, and the nearest limit if it is out of range."""
    try:
        # Through a float, for texts such as "6.0".
        iterations = int(float(value))
    except (TypeError, ValueError, OverflowError):
        return _DEFAULT_ITERATIONS
    return min(max(iterations, 1), _MAXIMUM_ITERATIONS)


def _read_budgets(given: Mapping[str, Any], model: Model) -> tuple[Budgets, tuple[str, ...]]:
    """Read the budgets, and a line for each that is above its range, which is cut to the maximum.

    Each may be missing, None or 0, which means no limit; numbers may be text.

    Raises:
        ParameterError: If one is negative or not a number, or is a cost budget for a model without prices.
    """
    amounts = {field: _read_amount(given.get(field), field) for field in _BUDGETS}
    if amounts["max_cost"] and model.is_unpriced:
        raise ParameterError("max_cost", "empty for a model without prices", given["max_cost"])
    limits: dict[str, Any] = {}
    above: list[str] = []
    for field, (kind, maximum) in _BUDGETS.items():
        amount = amounts[field]
        if amount > maximum:
            above.append(f"{field} counts up to {maximum:,}")
            amount = Decimal(maximum)
        if kind is int:  # Rounded up, so that only 0 means no limit.
            amount = amount.to_integral_value(ROUND_CEILING)
        limits[field] = kind(amount) or None
    return Budgets(**limits), tuple(above)


def _read_amount(value: object, field: str) -> Decimal:
    if value is None:
        return Decimal(0)
    refused = ParameterError(field, f"a number from 0 to {_BUDGETS[field][1]:,}", value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise refused
    try:
        # Not from the float itself: 0.1 would become 0.1000000000000000055.
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        raise refused from None
    if not amount.is_finite() or amount < 0:
        raise refused
    return amount


def _read_approval_rules(value: object) -> ApprovalRules | None:
    try:
        return None if value is None else ApprovalRules.parse(value)
    except DeclarationError as error:
        raise refuse_rules(str(error)) from None


def refuse_rules(sentence: str) -> ParameterError:
    """Return an error with a sentence about the rules."""
    return ParameterError(APPROVAL_RULES, "rules", None, sentence=sentence)


def _read_fallback(raw: object, model: Model) -> Model | None:
    """Read the parameter: `author/plugin/provider/model`, a model's name alone, or a selector, as JSON or as Dify dumps it.

    None if no model is named.

    Facts that Dify does not provide are taken from `model` if both have the same provider; another provider's model is assumed to read only text.

    Raises:
        ParameterError: If it cannot be read, or is `model` itself.
    """
    selector = _read_selector(raw.strip(), model) if isinstance(raw, str) else raw
    if not selector:
        return None
    fallback = Model.from_raw(selector, field=_FALLBACK).as_known_from(model)
    if fallback.full_name == model.full_name:
        problem = "must be another model than that of the field model"
        raise ParameterError(_FALLBACK, problem, raw, sentence=f"{_FALLBACK} {problem}")
    return fallback


def _read_selector(text: str, model: Model) -> Any:
    if text[:1] in ("{", "[", '"'):
        return parse_json(text, _FALLBACK)
    *provider, name = (part.strip() for part in text.split("/", _PROVIDER_PARTS))
    if len(text.splitlines()) > 1 or not (all(provider) and name):
        raise ParameterError(_FALLBACK, "a model's name, or author/plugin/provider/model", text)
    if len(provider) < _PROVIDER_PARTS:
        return {"provider": model.provider, "model": text}
    return {"provider": "/".join(provider), "model": name}
