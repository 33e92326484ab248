"""What the model requests of a run used and cost together."""

from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from pydantic_ai import ModelResponse

from agent_server.executor import Usage
from dify_agent.adapters.llm import PRICE_KEY


class UsageSum:
    """The sum of what answers say that they used; those of recorded steps count as any other."""

    def __init__(self) -> None:
        self._requests = 0
        self._input = 0
        self._output = 0
        self._cached = 0
        self._costs: defaultdict[str, Decimal] = defaultdict(Decimal)

    def add(self, response: ModelResponse) -> None:
        """Add the usage of one answer."""
        self._requests += 1
        self._input += response.usage.input_tokens
        self._output += response.usage.output_tokens
        self._cached += response.usage.cache_read_tokens
        price = cast("Mapping[str, Any]", (response.provider_details or {}).get(PRICE_KEY) or {})
        if price:
            self._costs[str(price["currency"])] += Decimal(price["total"])

    def build(self) -> Usage:
        """Return the usage so far. There is a cost where plugins told prices, all in one currency."""
        known = list(self._costs.items())
        currency, cost = known[0] if len(known) == 1 else (None, None)
        return Usage(
            input_tokens=self._input,
            output_tokens=self._output,
            cached_tokens=self._cached or None,
            model_requests=self._requests,
            cost=None if cost is None else format(cost, "f"),
            currency=currency or None,
        )
