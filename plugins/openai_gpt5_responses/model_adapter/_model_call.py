"""One model call, as Dify asks for it, and the model behind its name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dify_plugin.entities.model.message import (
    PromptMessage,
    PromptMessageTool,
)


BY_NAME = "by-name"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """The arguments of one model call, as the SDK passes them."""

    model: str
    credentials: Mapping[str, Any]
    messages: Sequence[PromptMessage] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tools: Sequence[PromptMessageTool] = ()
    stop: Sequence[str] = ()
    stream: bool = False
    user: str | None = None


def base_model(model: str, credentials: Mapping[str, object]) -> str:
    """Return the model that the credentials name for this one, or the name itself."""
    chosen = credentials.get("base_model")
    return chosen if isinstance(chosen, str) and chosen.strip() not in ("", BY_NAME) else model
