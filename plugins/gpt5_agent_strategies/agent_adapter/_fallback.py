"""The model that takes over where the first has failed by what another may not have."""

from agent_loop import Budgets, FallbackModel

from ._errors import ParameterError
from ._model import Model
from ._settings import Settings
from ._windows import to_window


_FIELD = "fallback_model"


def read_fallback(raw: object, model: Model, budgets: Budgets) -> Model | None:
    """Read the parameter; None where no model is chosen.

    Raises:
        ParameterError: If it cannot be read, or cannot take the place of `model`: it is the same one, or has no prices that its budgets and sums could be kept by.
    """
    if not raw:
        return None
    fallback = Model.from_raw(raw, field=_FIELD)
    problem = _find_problem(fallback, model, budgets)
    if problem:
        raise ParameterError(_FIELD, problem, raw, sentence=f"{_FIELD} must be {problem}")
    return fallback


def _find_problem(fallback: Model, model: Model, budgets: Budgets) -> str | None:
    """Return what a fallback would have to be, None where it will do."""
    if fallback.full_name == model.full_name:
        return "another model than that of the field model"
    if budgets.max_cost is not None and fallback.is_unpriced:
        return "a model with prices where max_cost is set"
    if model.currency and fallback.currency and model.currency != fallback.currency:
        return f"a model with prices in {model.currency}, as those of the field model"
    return None


def to_fallback(model: Model, settings: Settings) -> FallbackModel:
    """Return the model as a run knows it."""
    return FallbackModel(
        name=model.full_name,
        has_tool_choice=model.has_tool_choice,
        has_answer_format=model.has_answer_format,
        window=to_window(model.input_tokens, settings),
    )
