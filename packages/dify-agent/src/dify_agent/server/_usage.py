"""What the model requests of a run used and cost together."""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal

from pydantic_ai import ModelResponse

from agent_server.executor import Usage
from dify_agent.adapters.llm import PRICE_KEY


def sum_usage(answers: Sequence[ModelResponse]) -> Usage:
    """Return what a run's answers say that they used; there is a cost where plugins told prices, all in one currency."""
    costs: defaultdict[str, Decimal] = defaultdict(Decimal)
    for answer in answers:
        if price := (answer.provider_details or {}).get(PRICE_KEY):
            costs[str(price["currency"])] += Decimal(price["total"])
    currency, cost = next(iter(costs.items())) if len(costs) == 1 else (None, None)
    return Usage(
        input_tokens=sum(answer.usage.input_tokens for answer in answers),
        output_tokens=sum(answer.usage.output_tokens for answer in answers),
        cached_tokens=sum(answer.usage.cache_read_tokens for answer in answers) or None,
        model_requests=len(answers),
        cost=None if cost is None else format(cost, "f"),
        currency=currency or None,
    )
