"""The cost of calls to OpenAI's GPT-5 and GPT-6 models, by its price list."""

from ._model_price import COMPLETION_WINDOWS, Cost, ModelPrice, Rates, ToolRates, ToolUses
from ._price_list import PRICES, READ_ON, price_of


__all__ = [
    "COMPLETION_WINDOWS",
    "PRICES",
    "READ_ON",
    "Cost",
    "ModelPrice",
    "Rates",
    "ToolRates",
    "ToolUses",
    "price_of",
]
