"""The layer that carries a conversation from one run to the next."""

from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import ModelMessage

from dify_agent.compositor import LayerConfig, NoLayerDeps, PlainLayer


__all__ = ["HistoryLayer", "HistoryLayerConfig"]


class HistoryLayerConfig(LayerConfig):
    """The request for a conversation that continues; it has no options."""


class HistoryState(BaseModel):
    """The conversation so far.

    Attributes:
        messages: Pydantic AI's messages, including reasoning and tool results.
    """

    model_config = ConfigDict(
        defer_build=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64"
    )

    messages: list[ModelMessage] = Field(default_factory=list[ModelMessage], fail_fast=True)


@dataclass(slots=True, eq=False)
class HistoryLayer(PlainLayer[NoLayerDeps, HistoryLayerConfig, HistoryState]):
    """The conversation, which the session's snapshot keeps.

    Attributes:
        config: An empty configuration.
    """

    type_id: ClassVar[str] = "pydantic_ai.history"

    config: HistoryLayerConfig = field(default_factory=HistoryLayerConfig)
