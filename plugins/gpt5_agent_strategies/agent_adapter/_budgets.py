"""What a run may use: the budgets of the agent node."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import Any

from agent_loop import Budgets

from ._errors import ParameterError
from ._model import Model


_KINDS: Mapping[str, tuple[type, int]] = {
    "max_total_tokens": (int, 100_000_000),
    "max_cost": (Decimal, 10_000),
    "max_seconds": (float, 3_600),
    "max_tool_calls": (int, 10_000),
}


def read_budgets(raw: Mapping[str, Any], model: Model) -> Budgets:
    """Read the budgets. Each may be missing, None, blank or 0, which is no limit; numbers may be text, and one above its range is the end of that.

    Raises:
        ParameterError: If one is no number or negative, or is money and the model has no prices.
    """
    budgets = {field: _read_amount(raw.get(field), field) for field in _KINDS}
    if budgets["max_cost"] is not None and model.is_unpriced:
        raise ParameterError("max_cost", "empty for a model without prices", raw["max_cost"])
    return Budgets(**budgets)


def find_above(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a line for each budget that is above its range, once `read_budgets` has read them all."""
    amounts = ((field, _read_number(raw.get(field), field)) for field in _KINDS)
    return tuple(
        f"{field} counts up to {_KINDS[field][1]:,}"
        for field, amount in amounts
        if amount > _KINDS[field][1]
    )


def _read_amount(value: object, field: str) -> Any:
    kind, maximum = _KINDS[field]
    amount = min(_read_number(value, field), Decimal(maximum))
    if kind is int:  # Rounded up, so that nothing becomes no limit but 0.
        amount = amount.to_integral_value(ROUND_CEILING)
    return kind(amount) or None


def _read_number(value: object, field: str) -> Decimal:
    if value is None or (isinstance(value, str) and not value.strip()):
        return Decimal(0)
    maximum = _KINDS[field][1]
    refused = ParameterError(field, f"a number from 0 to {maximum:,}", value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise refused
    try:
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        raise refused from None
    if not amount.is_finite() or amount < 0:
        raise refused
    return amount
