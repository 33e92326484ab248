"""One model call, as Dify asks for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dify_plugin.entities.model.message import (
    PromptMessage,
    PromptMessageTool,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """What Dify asks for in one call, as the SDK hands it over."""

    model: str
    credentials: Mapping[str, Any]
    messages: Sequence[PromptMessage] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tools: Sequence[PromptMessageTool] = ()
    stop: Sequence[str] = ()
    stream: bool = False
    user: str | None = None
