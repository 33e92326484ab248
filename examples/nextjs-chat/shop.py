"""The agent behind the page: it looks up orders by itself, and refunds them once a person has allowed it.

`OPENAI_API_KEY=... agent-endpoint shop --state state`, in this folder.
"""

from agent_driver import Agent
from gpt5_responses import ModelConfig, ResponsesClient


def find_order(order: str) -> str:
    """Find an order."""
    return f"Order {order}: a lamp for 30 euros, delivered on Monday."


def refund(order: str, euros: int) -> str:
    """Refund the euros of an order."""
    return f"{euros} euros for order {order} are on their way."


shop = Agent(
    ResponsesClient(ModelConfig.from_env()),
    [find_order, refund],
    approval_rules={"refund": "always"},
    emit_reasoning=True,
)
