"""The cost of a response, as a part of its usage."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from gpt5_messages import Completion
from gpt5_prices import ModelPrice


type FindPrice = Callable[[str], ModelPrice | None]
"""A function that returns the price of a model by its name, such as `gpt5_prices.price_of`."""

WINDOW_KEY = "completion_window"
"""The name of a job's window in the metadata, since the server returns them with the response, but not the window."""


def with_price(completion: Completion, find_price: FindPrice) -> Completion:
    """Return a response with its cost in the usage; unchanged if usage or price are unknown.

    The price is that of the model and the tier or completion window that the response names.

    There is no response without input, and no items without output: where one is 0, the server has not counted it.
    """
    usage, price = completion.usage, find_price(completion.model or "")
    if usage is None or price is None or not usage.input_tokens:
        return completion
    if completion.items and not usage.output_tokens:
        return completion
    tools: dict[str, Any] = asdict(completion.tool_usage)
    cost = price.cost(
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cache_write_12h_tokens=usage.cache_write_12h_tokens,
        output_tokens=usage.output_tokens,
        service_tier=completion.service_tier,
        completion_window=completion.metadata.get(WINDOW_KEY),
        **tools,
    )
    priced = replace(usage, total_price=cost.total, currency=cost.currency)
    return replace(completion, usage=priced)
