"""What a strict type checker says of code that uses this package; it is checked and never run."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from decimal import Decimal
from typing import assert_type

from gpt5_messages import Completion, Usage
from gpt5_payloads import Effort
from gpt5_prices import price_of
from gpt5_responses import (
    Conversation,
    Job,
    ModelConfig,
    Request,
    ResponsesClient,
    ResponsesScheme,
)


def ask(effort: Effort) -> Decimal | None:
    """Ask a model that no list has at an effort that a variable holds, and tell the cost."""
    client = ResponsesClient(ModelConfig.from_env(model="gpt-7"))
    completion = client.complete(Request(effort=effort, verbosity="low", tool_choice="lookup"))
    assert_type(completion, Completion)
    assert_type(completion.usage, Usage | None)
    return completion.usage.total_price if completion.usage else None


def wait(client: ResponsesClient) -> Job:
    """Submit a job."""
    request = Conversation().request(reasoning_mode="pro")
    return client.submit(request, completion_window="8h")


def mistype(config: ModelConfig) -> None:
    """Write what is no value of an enumeration."""
    Request(effort="hihg")  # type: ignore[arg-type]
    Request(verbosity="loud")  # type: ignore[arg-type]
    Conversation().request(effort="hihg")  # type: ignore[arg-type]
    ResponsesScheme(service_tier="felx")  # type: ignore[arg-type]
    ResponsesScheme(summary="short")  # type: ignore[arg-type]
    ModelConfig(model_id="m", api_key="k", price="list")  # type: ignore[arg-type]
    ModelConfig(model_id="m", api_key="k", price=price_of(config.model_id))
