"""A plugin, read without starting it: what it declares, what it offers, and where it comes from."""

from ._declarations import (
    Declarations,
    ModelProvider,
    Strategy,
    ToolProvider,
    model_providers,
    provider_contents,
    strategies,
    tool_providers,
)
from ._offers import Offer, offers
from ._source import FolderSource, PluginSource, stamp


__all__ = [
    "Declarations",
    "FolderSource",
    "ModelProvider",
    "Offer",
    "PluginSource",
    "Strategy",
    "ToolProvider",
    "model_providers",
    "offers",
    "provider_contents",
    "stamp",
    "strategies",
    "tool_providers",
]
